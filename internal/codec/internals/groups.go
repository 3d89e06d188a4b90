package internals

// The tables of __consumer_offsets: Kafka's group-coordinator/src/main/resources
// /common/message/*.json as of 4.3, names in snake_case, those of the first
// types spelled as the later ones.
var consumerOffsets = coordinator{types: []recordType{
	{0, "offset_commit", offsetKey, message{flexible: never, fields: []field{
		int64s("offset"), text("metadata"), int64s("commit_timestamp"),
	}}},
	{1, "offset_commit", offsetKey, offsetValue},
	{2, "group_metadata", old(text("group")), groupValue},

	{3, "consumer_group_metadata", groupKey, v0(int32s("epoch")).with(int64s("metadata_hash"))},
	{4, "consumer_group_partition_metadata", groupKey, v0(many(one("topics", v0(
		topicID, text("topic_name"), int32s("num_partitions"),
		many(one("partition_metadata", v0(int32s("partition"), many(text("racks"))))),
	))))},
	{5, "consumer_group_member_metadata", memberKey, consumerMember},
	{6, "consumer_group_target_assignment_metadata", groupKey, targetMetadata},
	{7, "consumer_group_target_assignment_member", memberKey, v0(many(one("topic_partitions", topicPartitions)))},
	{8, "consumer_group_current_member_assignment", memberKey, v0(
		int32s("member_epoch"), int32s("previous_member_epoch"),
		words("state", memberStates),
		many(one("assigned_partitions", topicPartitionEpochs)),
		many(one("partitions_pending_revocation", topicPartitionEpochs)),
	)},
	{16, "consumer_group_regular_expression", old(text("group_id"), text("regular_expression")), v0(
		many(text("topics")), int64s("regular_expression_version"), int64s("timestamp"),
	)},

	{10, "share_group_member_metadata", memberKey, v0(
		null(text("rack_id")), text("client_id"), text("client_host"), many(text("subscribed_topic_names")),
	)},
	{11, "share_group_metadata", groupKey, v0(int32s("epoch"), int64s("metadata_hash"))},
	{12, "share_group_target_assignment_metadata", groupKey, targetMetadata},
	{13, "share_group_target_assignment_member", memberKey, v0(many(one("topic_partitions", topicPartitions)))},
	{14, "share_group_current_member_assignment", memberKey, v0(
		int32s("member_epoch"), int32s("previous_member_epoch"), words("state", memberStates),
		many(one("assigned_partitions", topicPartitions)),
	)},
	{15, "share_group_state_partition_metadata", groupKey, v0(
		many(one("initializing_topics", shareTopic)), many(one("initialized_topics", shareTopic)),
		many(one("deleting_topics", v0(topicID, text("topic_name")))),
	)},

	{17, "streams_group_metadata", groupKey, v0(int32s("epoch"), int64s("metadata_hash")).
		with(int32s("validated_topology_epoch"), null(many(one("last_assignment_configs", keyValue))))},
	{19, "streams_group_member_metadata", memberKey, streamsMember},
	{20, "streams_group_target_assignment_metadata", groupKey, targetMetadata},
	{21, "streams_group_target_assignment_member", memberKey, v0(
		many(one("active_tasks", taskIDs)), many(one("standby_tasks", taskIDs)), many(one("warmup_tasks", taskIDs)),
	)},
	{22, "streams_group_current_member_assignment", memberKey, v0(
		int32s("member_epoch"), int32s("previous_member_epoch"), words("state", streamsStates),
		many(one("active_tasks", taskEpochs)), many(one("standby_tasks", taskEpochs)), many(one("warmup_tasks", taskEpochs)),
		many(one("active_tasks_pending_revocation", taskEpochs)), many(one("standby_tasks_pending_revocation", taskEpochs)),
		many(one("warmup_tasks_pending_revocation", taskEpochs)),
	)},
	{23, "streams_group_topology", groupKey, v0(int32s("epoch"), many(one("subtopologies", subtopology)))},
}}

var (
	offsetKey = old(text("group"), text("topic"), int32s("partition"))
	groupKey  = old(text("group_id"))
	memberKey = old(text("group_id"), text("member_id"))

	offsetValue = message{last: 4, flexible: 4, fields: []field{
		int64s("offset"),
		{name: "leader_epoch", kind: i32, since: 3},
		text("metadata"),
		int64s("commit_timestamp"),
		{name: "expire_timestamp", kind: i64, since: 1, until: 1},
	}, tagged: []field{topicID}}

	groupValue = message{last: 4, flexible: 4, fields: []field{
		text("protocol_type"),
		int32s("generation"),
		null(text("protocol")),
		null(text("leader")),
		{name: "current_state_timestamp", kind: i64, since: 2},
		many(one("members", message{fields: []field{
			text("member_id"),
			null(field{name: "group_instance_id", kind: str, since: 3}),
			text("client_id"),
			text("client_host"),
			{name: "rebalance_timeout", kind: i32, since: 1},
			int32s("session_timeout"),
			{name: "subscription", kind: subscription},
			{name: "assignment", kind: assignment},
		}})),
	}}
)

// What the members of a group of consumers tell each other in the bytes of a
// group's record (ConsumerProtocolSubscription and ConsumerProtocolAssignment).
var (
	consumerSubscription = message{last: 3, flexible: never, fields: []field{
		many(text("topics")),
		null(field{name: "user_data", kind: raw}),
		{name: "owned_partitions", kind: object, list: true, since: 1, of: &namedPartitions},
		{name: "generation_id", kind: i32, since: 2},
		null(field{name: "rack_id", kind: str, since: 3}),
	}}
	consumerAssignment = message{last: 3, flexible: never, fields: []field{
		many(one("assigned_partitions", namedPartitions)),
		null(field{name: "user_data", kind: raw}),
	}}
	namedPartitions = message{fields: []field{text("topic"), many(int32s("partitions"))}}
)

var (
	consumerMember = v0(
		null(text("instance_id")), null(text("rack_id")), text("client_id"), text("client_host"),
		many(text("subscribed_topic_names")), null(text("subscribed_topic_regex")),
		int32s("rebalance_timeout_ms"), null(text("server_assignor")),
	).with(null(one("classic_member_metadata", v0(
		int32s("session_timeout_ms"),
		many(one("supported_protocols", v0(text("name"), field{name: "metadata", kind: subscription}))),
	))))

	targetMetadata       = v0(int32s("assignment_epoch")).with(int64s("assignment_timestamp"))
	topicPartitions      = v0(topicID, many(int32s("partitions")))
	topicPartitionEpochs = topicPartitions.with(null(many(int32s("assignment_epochs"))))
	shareTopic           = v0(topicID, text("topic_name"), many(int32s("partitions")))
	keyValue             = v0(text("key"), text("value"))

	taskIDs    = v0(text("subtopology_id"), many(int32s("partitions")))
	taskEpochs = taskIDs.with(null(many(int32s("assignment_epochs"))))

	streamsMember = v0(
		null(text("instance_id")), null(text("rack_id")), text("client_id"), text("client_host"),
		int32s("rebalance_timeout_ms"), int32s("topology_epoch"), text("process_id"),
		null(one("user_endpoint", v0(text("host"), field{name: "port", kind: u16}))),
		many(one("client_tags", keyValue)),
	)

	topicInfo = v0(
		text("name"), int32s("partitions"), int16s("replication_factor"), many(one("topic_configs", keyValue)),
	)
	subtopology = v0(
		text("subtopology_id"), many(text("source_topics")), many(text("source_topic_regex")),
		many(one("state_changelog_topics", topicInfo)), many(text("repartition_sink_topics")),
		many(one("repartition_source_topics", topicInfo)),
		many(one("copartition_groups", v0(
			many(int16s("source_topics")), many(int16s("source_topic_regex")), many(int16s("repartition_source_topics")),
		))),
	)
)
