//go:build kafka

package internals_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/codec/internals"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.M(m).Run()) }

const patience = 60 * time.Second

// What brokers write for groups of every kind and for transactions is decoded to
// the last record, and says what was committed.
func TestDecodesWhatBrokersWrite(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east := rig.Cluster("east")
	topic := rig.Name("orders")
	east.CreateTopic(topic, 2, nil)
	for i := range 20 {
		east.Produce(topic, kafkatest.Record{Partition: int32(i % 2), Value: fmt.Append(nil, i)})
	}
	simple, gone := rig.Name("simple-é"), rig.Name("gone")
	east.Commit(simple, topic, 0, 3)
	east.Commit(simple, topic, 0, 4)
	east.Commit(gone, topic, 1, 1)
	if _, err := east.Admin().DeleteGroup(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	classic, server, share := rig.Name("classic"), rig.Name("server"), rig.Name("share")
	consume(t, east, topic, kgo.ConsumerGroup(classic))
	consume(t, east, topic, kgo.ConsumerGroup(server), kgo.ServerSideBalancer())
	consumeShared(t, east, topic, share)
	done, undone := rig.Name("done"), rig.Name("undone")
	tx := east.Begin(done)
	tx.Produce(topic, kafkatest.Record{Value: []byte("x")})
	tx.Commit()
	tx = east.Begin(undone)
	tx.Produce(topic, kafkatest.Record{Value: []byte("x")})
	tx.Abort()

	offsets := decoded(t, east, "__consumer_offsets")
	want := map[string]any{
		simple + " 0":  json.Number("4"),
		gone + " 1":    nil,
		classic + " 0": json.Number("10"), classic + " 1": json.Number("10"),
		server + " 0": json.Number("10"), server + " 1": json.Number("10"),
	}
	if diff := cmp.Diff(want, commits(offsets, topic)); diff != "" {
		t.Errorf("commits (-made +decoded):\n%s", diff)
	}
	checkMembers(t, offsets, classic, topic)
	for _, name := range []string{
		"consumer_group_metadata", "consumer_group_member_metadata", "consumer_group_target_assignment_metadata",
		"consumer_group_target_assignment_member", "consumer_group_current_member_assignment",
		"share_group_metadata", "share_group_member_metadata", "share_group_current_member_assignment",
		"share_group_state_partition_metadata",
	} {
		if !slices.ContainsFunc(offsets, func(r row) bool { return r.key["type"] == name && r.value != nil }) {
			t.Errorf("no record of %s", name)
		}
	}
	states := decoded(t, east, "__share_group_state")
	if !slices.ContainsFunc(states, func(r row) bool { return r.key["group_id"] == share && r.value["snapshot_epoch"] != nil }) {
		t.Errorf("no state of the share group in %v", states)
	}
	for id, want := range map[string]string{done: "CompleteCommit", undone: "CompleteAbort"} {
		checkTransaction(t, east, id, want)
	}
}

// consume reads the 20 records in a group, commits and leaves.
func consume(t *testing.T, c *kafkatest.Cluster, topic string, opts ...kgo.Opt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl := c.Client(append(opts, kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	for n := 0; n < 20; {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatal(err)
		}
		n += f.NumRecords()
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	cl.CloseAllowingRebalance()
}

// consumeShared takes part in a share group until it has got a record. Such a
// group begins at the end of a topic.
func consumeShared(t *testing.T, c *kafkatest.Cluster, topic, group string) {
	t.Helper()
	extra := topic + "-shared"
	c.CreateTopic(extra, 1, nil)
	cl := c.Client(kgo.ConsumeTopics(extra), kgo.ShareGroup(group))
	defer cl.CloseAllowingRebalance()
	for end := time.Now().Add(patience); ; {
		c.Produce(extra, kafkatest.Record{Value: []byte("x")})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		f := cl.PollFetches(ctx)
		cancel()
		if f.NumRecords() > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no record came to the share group: %v", f.Errors())
		}
	}
}

// row is a decoded record.
type row struct{ key, value map[string]any }

// decoded reads an internal topic whole; every record has to be decoded, and to
// be of a known type and version.
func decoded(t *testing.T, c *kafkatest.Cluster, topic string) []row {
	t.Helper()
	ends, err := c.Admin().ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	for p, end := range ends[topic] {
		if end.Offset > 0 {
			from[p], left[p] = kgo.NewOffset().AtStart(), end.Offset
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords())
	var rows []row
	for len(left) > 0 {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				rows = append(rows, decode(t, topic, r))
			}
		})
	}
	return rows
}

func decode(t *testing.T, name string, r *kgo.Record) row {
	t.Helper()
	topic := internals.For(name)
	var out row
	key, err := topic.AppendKey(nil, r.Key)
	if err != nil {
		t.Fatalf("%s, key %x: %v", name, r.Key, err)
	}
	value, err := topic.AppendValue(nil, r.Key, r.Value)
	if err != nil {
		t.Fatalf("%s, key %s, value %x: %v", name, key, r.Value, err)
	}
	out.key, out.value = object(t, key), object(t, value)
	if out.key["bytes"] != nil || out.value["bytes"] != nil {
		t.Errorf("%s has no table for %s %s", name, key, value)
	}
	return out
}

// commits are the last offsets for a topic, by group and partition; nil where
// they were deleted.
func commits(rows []row, topic string) map[string]any {
	last := map[string]any{}
	for _, r := range rows {
		if r.key["type"] == "offset_commit" && r.key["topic"] == topic {
			last[fmt.Sprint(r.key["group"], " ", r.key["partition"])] = r.value["offset"]
		}
	}
	return last
}

// checkMembers looks for the record in which the classic group's only member has
// both partitions.
func checkMembers(t *testing.T, rows []row, group, topic string) {
	t.Helper()
	for _, r := range rows {
		if r.key["group"] != group || r.key["type"] != "group_metadata" {
			continue
		}
		members, _ := r.value["members"].([]any)
		for _, m := range members {
			member := m.(map[string]any)
			subscribed, _ := member["subscription"].(map[string]any)
			assigned, _ := member["assignment"].(map[string]any)
			if cmp.Equal(subscribed["topics"], []any{topic}) &&
				cmp.Equal(assigned["assigned_partitions"], []any{map[string]any{"topic": topic, "partitions": []any{json.Number("0"), json.Number("1")}}}) {
				return
			}
			t.Logf("member %v", member)
		}
	}
	t.Errorf("no record says that a member of %s has both partitions", group)
}

// checkTransaction waits until the coordinator has written a transaction's end.
func checkTransaction(t *testing.T, c *kafkatest.Cluster, id, want string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		var last any
		for _, r := range decoded(t, c, "__transaction_state") {
			if r.key["transactional_id"] == id {
				last = r.value["transaction_status"]
			}
		}
		if last == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("transaction %s is %v, want %s", id, last, want)
		}
	}
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
