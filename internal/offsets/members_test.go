package offsets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// TestStreamsMembers: a member of Kafka Streams has tasks; a task is a partition of
// each of the topics that its part of the topology reads.
func TestStreamsMembers(t *testing.T) {
	d := kmsg.NewStreamsGroupDescribeResponseGroup()
	d.State = "Stable"
	sub := kmsg.NewStreamsGroupDescribeResponseGroupTopologySubtopology()
	sub.SubtopologyID, sub.SourceTopics = "0", []string{"orders", "customers"}
	again := kmsg.NewTopicInfo()
	again.Topic = "app-repartition"
	other := kmsg.NewStreamsGroupDescribeResponseGroupTopologySubtopology()
	other.SubtopologyID, other.RepartitionSourceTopics = "1", []kmsg.TopicInfo{again}
	topology := kmsg.NewStreamsGroupDescribeResponseGroupTopology()
	topology.Subtopologies = append(topology.Subtopologies, sub, other)
	d.Topology = &topology
	m := kmsg.NewStreamsGroupDescribeResponseGroupMember()
	m.MemberID, m.ClientID, m.ClientHost, m.InstanceID = "m", "app", "/10.0.0.1", kmsg.StringPtr("one")
	for id, partitions := range map[string][]int32{"0": {2, 0}, "1": {1}, "gone": {7}} {
		task := kmsg.NewTaskIDs()
		task.SubtopologyID, task.Partitions = id, partitions
		m.Assignment.ActiveTasks = append(m.Assignment.ActiveTasks, task)
	}
	d.Members = append(d.Members, m)

	g := &Group{Name: "app", Coordinator: 1}
	takeStreams(g, &d)
	want := &Group{
		Name: "app", Kind: cluster.StreamsGroup, State: "Stable", Protocol: "streams", Coordinator: 1,
		Members: []Member{{ID: "m", Instance: "one", Client: "app", Host: "10.0.0.1", Assigned: []Partition{
			{Topic: "app-repartition", Partition: 1}, {Topic: "customers"}, {Topic: "customers", Partition: 2}, {Topic: "orders"}, {Topic: "orders", Partition: 2},
		}}},
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
	d.Topology = nil // before the members have told it
	takeStreams(&Group{}, &d)
}
