package source_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// picky is a sink that stops a split at a record whose value is "no".
type picky struct{ *collector }

type pickyWorker struct{}

func (picky) Worker() source.Worker { return pickyWorker{} }

func (pickyWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	b := source.Block{Next: c.First(), ByStream: make([]int, len(c.Streams))}
	var refused error
	err := c.Records(func(r *record.Record, stream int) bool {
		if string(r.Value) == "no" {
			refused = fault.New(fault.Partial, "%s: the record at offset %d is refused", c.Split, r.Offset)
			return false
		}
		b.Data = fmt.Appendf(b.Data, "%s %s@%d %s\n", c.Streams[stream], c.Split, r.Offset, r.Value)
		b.Count(stream, 1)
		b.Next = r.Offset + 1
		return limit < 0 || b.Written < limit
	})
	if refused != nil {
		return b, refused
	}
	if err == nil && (limit < 0 || b.Written < limit) {
		b.Next = c.Next()
	}
	return b, err
}

func (r *run) picks() *run {
	r.opts.Sink = picky{r.sink}
	return r
}

// no is a record that a picky sink refuses.
func no(partition int32) kafkatest.Record {
	return kafkatest.Record{Partition: partition, Value: []byte("no")}
}

// TestAMemberOfWhichAllHasStoppedEnds, and not before: as long as something flows
// it goes on. What it has written is committed.
func TestAMemberOfWhichAllHasStoppedEnds(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 3, nil)
		for p := range int32(3) {
			east.Produce(topic, values(fmt.Sprintf("p%d-", p), p, 5)...)
		}
		g := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).picks().inGroup(group).begin(t)
		waitUntil(t, "all there is", func() bool { return len(g.sink.all()) == 15 })
		east.Produce(topic, no(0), no(1))
		waitUntil(t, "words of both", func() bool { return len(g.told(source.Failed)) == 2 })
		began := time.Now()
		waitUntil(t, "what flows still", func() bool {
			east.Produce(topic, values("more", 2, 1)...)
			return strings.Count(strings.Join(g.sink.all(), "\n"), " more") > 10 && time.Since(began) > 2*time.Second
		})
		if g.ended.Load() {
			t.Fatal("the run has ended while a partition flowed")
		}
		east.Produce(topic, no(2))
		g.ends(t)
		if fault.KindOf(g.err) != fault.Partial || g.stats.Uncommitted != nil {
			t.Errorf("it ended with %v, %v", g.err, g.stats.Uncommitted)
		}
		if told := g.told(source.Failed); len(told) != 3 {
			t.Errorf("told %q", told)
		}
		written := len(g.sink.all())
		for p, want := range []int64{5, 5, int64(written - 10)} {
			if at := east.Committed(group, topic, int32(p)); at != want {
				t.Errorf("partition %d has commit %d, want %d", p, at, want)
			}
		}
	})
}

// TestAMemberWithoutPartitionsWaitsForThoseOfOneThatEnds: nobody holds for ever
// what it does not read.
func TestAMemberWithoutPartitionsWaitsForThoseOfOneThatEnds(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 5)...)
		begin := func() *going {
			return newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).picks().inGroup(group).begin(t)
		}
		a := begin()
		waitUntil(t, "all there is", func() bool { return len(a.sink.all()) == 5 })
		b := begin()
		has := func(g *going) bool { return g.says("its other members have them all; waiting") }
		waitUntil(t, "one without partitions", func() bool { return has(a) || has(b) })
		if has(a) {
			a, b = b, a
		}
		if a.ended.Load() || b.ended.Load() {
			t.Fatal("one has ended before anything has stopped")
		}
		east.Produce(topic, no(0))
		a.ends(t) // and the other one has the partition then, which stops it too
		b.ends(t)
		for i, g := range []*going{a, b} {
			if kind := fault.KindOf(g.err); kind != fault.Partial {
				t.Errorf("member %d ended with %v", i, g.err)
			}
			if told := g.told(source.Failed); len(told) != 1 {
				t.Errorf("member %d told %q", i, told)
			}
		}
		if at := east.Committed(group, topic, 0); at != 5 {
			t.Errorf("the commit is %d, want 5", at)
		}
	})
}
