package fetch

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestSameAsKgosConsumer reads the same topics as kgo's consumer does, from the
// same offsets and in both isolation levels, and wants the same records.
func TestSameAsKgosConsumer(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 7, nil)
		ends := fillForComparison(c, rig, topic)
		for _, committed := range []bool{false, true} {
			for _, start := range []int64{0, 1, 7, 50, 99, 133} {
				t.Run(fmt.Sprintf("committed=%v from %d", committed, start), func(t *testing.T) {
					span{topic, min64(ends, start), ends, committed}.compare(t, c)
				})
			}
		}
	})
}

func min64(ends map[int32]int64, start int64) map[int32]int64 {
	starts := map[int32]int64{}
	for p, end := range ends {
		starts[p] = min(start, end)
	}
	return starts
}

// fillForComparison writes one partition per codec, one with transactions, and
// leaves the last empty. It returns the ends.
func fillForComparison(c *kafkatest.Cluster, rig *kafkatest.Rig, topic string) map[int32]int64 {
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	for p, codec := range codecs {
		for i := range 8 {
			c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(codec)}, numbered(int32(p), i*20, 20)...)
		}
	}
	one, two := c.Begin(rig.Name("one")), c.Begin(rig.Name("two"))
	for i := range 12 {
		one.Produce(topic, numbered(5, i*100, 5)...)
		two.Produce(topic, numbered(5, i*100+5, 5)...)
		c.Produce(topic, numbered(5, i*100+10, 3)...)
		for j, tx := range []*kafkatest.Tx{one, two} {
			if (i+j)%3 == 0 {
				tx.Abort()
			} else if i%2 == j {
				tx.Commit()
			} else {
				continue
			}
			tx.Again()
		}
	}
	one.Abort()
	two.Commit()
	ends := map[int32]int64{}
	for p := range int32(7) {
		ends[p] = c.EndOffset(topic, p)
	}
	return ends
}

// span is what of a topic is read, and how.
type span struct {
	topic        string
	starts, ends map[int32]int64
	committed    bool
}

func (s span) compare(t *testing.T, c *kafkatest.Cluster) {
	want := s.consume(t, c)
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.Committed = s.committed })
	for p, end := range s.ends {
		r.from(s.topic, p, s.starts[p], end)
	}
	r.until("all of them Done", func() bool { return len(events[Done](r)) == len(s.ends) })
	for p := range s.ends {
		have := r.read(Partition{s.topic, p})
		if !slices.Equal(have, want[p]) {
			t.Errorf("partition %d: %d records, kgo has %d: %s", p, len(have), len(want[p]), firstDifference(have, want[p]))
		}
	}
	if len(want[0]) == 0 {
		t.Error("nothing was compared")
	}
}

func firstDifference(a, b []got) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("at %d %+v and %+v", i, a[i], b[i])
		}
	}
	return "one ends earlier"
}

// consume reads with kgo's consumer up to the ends by position.
func (s span) consume(t *testing.T, c *kafkatest.Cluster) map[int32][]got {
	t.Helper()
	offsets := map[int32]kgo.Offset{}
	open := map[int32]bool{}
	for p, start := range s.starts {
		if start < s.ends[p] {
			offsets[p] = kgo.NewOffset().At(start)
			open[p] = true
		}
	}
	level := kgo.ReadUncommitted()
	if s.committed {
		level = kgo.ReadCommitted()
	}
	cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.topic: offsets}),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())
	defer cl.Close()
	out := map[int32][]got{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(open) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("kgo: %v; open %v", err, open)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out[r.Partition] = append(out[r.Partition], got{r.Offset, string(r.Key), string(r.Value)})
			}
			if r.Offset >= s.ends[r.Partition]-1 {
				delete(open, r.Partition)
			}
		})
	}
	return out
}

// TestAllPartitionsOfAManyTopicAreRead has far more partitions than one request
// asks for, on three brokers, and keeps writing to them.
func TestAllPartitionsOfAManyTopicAreRead(t *testing.T) {
	t.Parallel()
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	c := rig.Cluster("three")
	const n = 700
	topic := rig.Name("t")
	c.CreateTopic(topic, n, nil)
	var rs []kafkatest.Record
	for p := range int32(n) {
		rs = append(rs, numbered(p, 0, 3)...)
	}
	c.Produce(topic, rs...)
	r := newReader(t, c, nil)
	for p := range int32(n) {
		r.from(topic, p, 0, -1)
	}
	r.until("all CaughtUp", func() bool { return len(events[CaughtUp](r)) == n })
	for i := range 3 {
		for p := range int32(n) {
			rs[p] = numbered(p, 3+i, 1)[0]
		}
		c.Produce(topic, rs[:n]...)
		r.until("all to be read", func() bool {
			for p := range int32(n) {
				if len(r.read(Partition{topic, p})) < 4+i {
					return false
				}
			}
			return true
		})
	}
	for p := range int32(n) {
		checkNumbered(t, r.read(Partition{topic, p}), 0, 6)
	}
}
