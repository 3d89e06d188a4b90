package testscripts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// copied demands that a topic holds what another one does, read by another client
// than kcm: key, value, headers and time of every committed record, null told from
// empty. With -p the partitions are the same, too, and the order in each; without,
// the order of each key.
func copied(ts *testscript.TestScript, s *script, args []string) {
	where := args[0] == "-p"
	if where {
		args = args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("copied [-p] FROM TO")
	}
	from, to := s.lanes(ts, args[0], where), s.lanes(ts, args[1], where)
	for _, lane := range slices.Sorted(keysOf(from, to)) {
		if !slices.Equal(from[lane], to[lane]) {
			ts.Fatalf("%s:\n%s\nwas copied as\n%s", lane, strings.Join(from[lane], "\n"), strings.Join(to[lane], "\n"))
		}
	}
}

func keysOf(maps ...map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, m := range maps {
			for k := range m {
				if !seen[k] {
					seen[k] = true
					if !yield(k) {
						return
					}
				}
			}
		}
	}
}

// lanes are a topic's records, a line each, by partition or by key.
func (s *script) lanes(ts *testscript.TestScript, text string, byPartition bool) map[string][]string {
	c, topic := s.topic(ts, text)
	lanes := map[string][]string{}
	for _, r := range everything(ts, c, topic) {
		lane := fmt.Sprintf("key %s", quoted(r.Key))
		if byPartition {
			lane = fmt.Sprintf("partition %d", r.Partition)
		}
		line := fmt.Sprintf("%d %s %s", r.Timestamp.UnixMilli(), quoted(r.Key), quoted(r.Value))
		for _, h := range r.Headers {
			line += fmt.Sprintf(" %q=%s", h.Key, quoted(h.Value))
		}
		lanes[lane] = append(lanes[lane], line)
	}
	if !byPartition {
		slices.Sort(lanes["key null"]) // which has no order
	}
	return lanes
}

func quoted(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

// everything reads the committed records of a topic up to its ends.
func everything(ts *testscript.TestScript, c *kafkatest.Cluster, topic string) (all []*kgo.Record) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ends, err := c.Admin().ListCommittedOffsets(ctx, topic)
	ts.Check(err)
	ts.Check(ends.Error())
	left := map[int32]int64{}
	at := map[int32]kgo.Offset{}
	for p, o := range ends[topic] {
		if at[p] = kgo.NewOffset().AtStart(); o.Offset > 0 {
			left[p] = o.Offset
		}
	}
	if len(left) == 0 {
		return nil
	}
	opts := append(c.ClientOpts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxBytes(64<<20), kgo.FetchMaxPartitionBytes(64<<20))
	cl, err := kgo.NewClient(opts...)
	ts.Check(err)
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		ts.Check(fetches.Err0())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return all
}

// configure changes a topic's settings.
func configure(ts *testscript.TestScript, s *script, args []string) {
	c, topic := s.topic(ts, args[0])
	var changes []kadm.AlterConfig
	for _, a := range args[1:] {
		k, v, _ := strings.Cut(a, "=")
		changes = append(changes, kadm.AlterConfig{Name: k, Value: &v})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done, err := c.Admin().AlterTopicConfigs(ctx, changes, topic)
	ts.Check(err)
	for _, d := range done {
		ts.Check(d.Err)
	}
}

// noise writes one record of n bytes that no codec makes smaller.
func noise(ts *testscript.TestScript, s *script, args []string) {
	c, topic := s.topic(ts, args[0])
	value := make([]byte, number(ts, args[1]))
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	c.Produce(topic, kafkatest.Record{Time: firstTime, Value: value})
}
