package source_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// compacted makes a log of keyed records and deletions, has it compacted, and
// returns what is left as the collector's lines, by offset; "" is a hole.
func compacted(t *testing.T, c *kafkatest.Cluster, topic string) (left []string) {
	t.Helper()
	c.CreateTopic(topic, 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "1", "delete.retention.ms": "0", "retention.ms": "-1",
	})
	n := 0
	write := func(key string, value []byte) {
		c.Produce(topic, kafkatest.Record{Key: []byte(key), Value: value, Time: int64(1000 + n)})
		n++
	}
	for round := range 3 {
		for k := range 4 {
			write(fmt.Sprint("k", k), fmt.Appendf(nil, "r%dk%d", round, k))
		}
	}
	write("k2", nil)
	write("k3", nil)
	for i := 0; ; i++ {
		write("last", fmt.Append(nil, "last", i)) // a new segment, so that those before may be cleaned
		if fake := c.Fake(); fake != nil {
			fake.Compact()
		}
		left = remains(t, c, topic, n)
		holes := 0
		for _, line := range left[:12] {
			if line == "" {
				holes++
			}
		}
		if holes >= 8 {
			return settled(t, c, topic, n)
		}
		if i > 200 {
			t.Fatalf("not compacted: %q", left)
		}
	}
}

// settled ends the compaction and returns what is left when nothing goes any more.
func settled(t *testing.T, c *kafkatest.Cluster, topic string, n int) (left []string) {
	t.Helper()
	keep := "delete"
	_, err := c.Admin().AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &keep}}, topic)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	eventually(t, "nothing goes for twice the cleaner's pause", func() bool {
		if now := remains(t, c, topic, n); !slices.Equal(now, left) {
			left, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return left
}

// remains reads a log of n offsets with an ordinary client.
func remains(t *testing.T, c *kafkatest.Cluster, topic string, n int) []string {
	t.Helper()
	left := make([]string, n)
	cl, err := kgo.NewClient(append(c.ClientOpts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for left[n-1] == "" { // the last record is never cleaned away
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			left[r.Offset] = fmt.Sprintf("s east/%s/0@%d %s", topic, r.Offset, r.Value)
		})
	}
	return left
}

// startOf is where a log begins, which compaction moves on some brokers.
func startOf(t *testing.T, c *kafkatest.Cluster, topic string) int {
	t.Helper()
	starts, err := c.Admin().ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := starts.Lookup(topic, 0)
	return int(o.Offset)
}

func between(left []string, from, until int) (lines []string) {
	for i := from; i < until && i < len(left); i++ {
		if left[i] != "" {
			lines = append(lines, left[i])
		}
	}
	return lines
}

// TestBoundsInACompactedLog has every range of offsets, of which many begin or
// end where nothing is left.
func TestBoundsInACompactedLog(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("compacted")
		left := compacted(t, c, topic)
		start := startOf(t, c, topic)
		read := func(text string) []string {
			r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded()
			r.opts.Event = func(source.Event) {}
			var err error
			if r.opts.Offsets, err = spec.ParseOffsets([]string{text}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.run(t.Context()); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return r.sink.all()
		}
		n := len(left)
		for from := 0; from <= 15; from++ {
			for _, until := range []int{from, from + 1, from + 2, from + 5, 12, 14, n, n + 5} {
				if until >= from {
					checkLines(t, read(fmt.Sprintf("%d:%d", from, until)), between(left, from, until))
				}
			}
			checkLines(t, read(fmt.Sprintf("start+%d", from)), between(left, start+from, n))
			checkLines(t, read(fmt.Sprintf("end-%d", from)), between(left, n-from, n))
		}
		// A share of each partition counts what is there.
		all := between(left, 0, n)
		for each := 1; each <= len(all)+1; each++ {
			r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded()
			r.opts.PerSplit = int64(each)
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkLines(t, r.sink.all(), all[:min(each, len(all))])
		}
	})
}
