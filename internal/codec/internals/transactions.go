package internals

// __transaction_state: transaction-coordinator's TransactionLog*.json.
var transactionState = coordinator{types: []recordType{
	{0, "transaction", old(text("transactional_id")), message{last: 1, flexible: 1, fields: []field{
		int64s("producer_id"),
		int16s("producer_epoch"),
		int32s("transaction_timeout_ms"),
		words("transaction_status", transactionStates),
		null(many(one("transaction_partitions", message{fields: []field{text("topic"), many(int32s("partition_ids"))}}))),
		int64s("transaction_last_update_timestamp_ms"),
		int64s("transaction_start_timestamp_ms"),
	}, tagged: []field{
		int64s("previous_producer_id"),
		int64s("next_producer_id"),
		int16s("client_transaction_version"),
		int16s("next_producer_epoch"),
	}}},
}}

// __share_group_state: share-coordinator's ShareSnapshot*.json and ShareUpdate*.json.
var (
	shareGroupState = coordinator{types: []recordType{
		{0, "share_snapshot", sharePartition, v0(
			int32s("snapshot_epoch"), int32s("state_epoch"), int32s("leader_epoch"), int64s("start_offset"),
			int64s("create_timestamp"), int64s("write_timestamp"), many(one("state_batches", stateBatch)),
		).with(int32s("delivery_complete_count"))},
		{1, "share_update", sharePartition, v0(
			int32s("snapshot_epoch"), int32s("leader_epoch"), int64s("start_offset"), many(one("state_batches", stateBatch)),
		).with(int32s("delivery_complete_count"))},
	}}
	sharePartition = old(text("group_id"), topicID, int32s("partition"))
	stateBatch     = v0(
		int64s("first_offset"), int64s("last_offset"),
		words("delivery_state", deliveryStates), int16s("delivery_count"),
	)
)

// Kafka's words for numbers, as its own messages spell them.
var (
	transactionStates = []string{
		"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
	}
	memberStates   = []string{"STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"}
	streamsStates  = []string{1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
	deliveryStates = []string{"AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED"}
)
