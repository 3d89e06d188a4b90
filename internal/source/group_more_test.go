package source_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// going is a run of the engine in the background.
type going struct {
	*run
	stop  context.CancelFunc
	stats source.Stats
	err   error
	done  chan struct{}
}

func (r *run) begin(t *testing.T) *going {
	t.Helper()
	ctx, stop := contextOf(t)
	g := &going{run: r, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		g.stats, g.err = r.run(ctx)
	}()
	return g
}

// end stops the run and waits for it.
func (g *going) end(t *testing.T) {
	t.Helper()
	g.stop()
	g.ends(t)
}

func (g *going) ends(t *testing.T) {
	t.Helper()
	select {
	case <-g.done:
	case <-time.After(time.Minute):
		t.Fatal("the run does not end")
	}
}

func (r *run) says(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(ev source.Event) bool { return strings.Contains(ev.Text, part) })
}

// TestTwoStreamsOfOneTopicInAGroup: what both have is committed, and no more.
func TestTwoStreamsOfOneTopicInAGroup(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 100)...)
		short := stream("short", topic, "east")
		short.Sources[0].Stop = &metadata.Spec{Text: "30", Bound: spec.Bound{Kind: spec.Offset, N: 30}}
		r := newRun(t, []*kafkatest.Cluster{east}, stream("long", topic, "east"), short).bounded().inGroup(group)
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.sink.all()); n != 130 {
			t.Errorf("%d lines, want 130", n)
		}
		if at := east.Committed(group, topic, 0); at != 30 {
			t.Errorf("the commit is %d, want 30", at)
		}
	})
}

// TestTopicsComeAndGoInAGroup: what the metadata drops is drained and committed,
// what it adds is read, and the rest never pauses or begins again.
func TestTopicsComeAndGoInAGroup(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		group := rig.Name("g")
		names := []string{rig.Name("one"), rig.Name("two"), rig.Name("three")}
		for _, n := range names {
			east.CreateTopic(n, 2, nil)
			east.Produce(n, values("a", 0, 10)...)
		}
		of := func(topics ...string) *metadata.Stream {
			s := stream("s", topics[0], "east")
			for _, t := range topics[1:] {
				s.Sources[0].Topics = append(s.Sources[0].Topics, metadata.Named(t))
			}
			return s
		}
		r := newRun(t, []*kafkatest.Cluster{east}, of(names[0], names[1])).inGroup(group)
		updates := make(chan source.Plan)
		r.opts.Updates, r.opts.Refresh = updates, 200*time.Millisecond
		g := r.begin(t)
		waitUntil(t, "both topics", func() bool { return len(r.sink.all()) == 20 })
		next := of(names[0], names[2])
		updates <- source.Plan{Wants: []source.Want{{Stream: next, Source: &next.Sources[0]}}, Clusters: r.opts.Clusters}
		waitUntil(t, "the third topic", func() bool { return len(r.sink.all()) == 30 })
		waitUntil(t, "the drain", func() bool {
			return r.says(names[1]+" (2 partitions) of s drained") || r.says(names[1]) && r.says("drained")
		})
		waitUntil(t, "the last commit of what has left", func() bool { return east.Committed(group, names[1], 0) == 10 })
		for _, n := range names {
			east.Produce(n, values("b", 1, 5)...)
		}
		waitUntil(t, "more of those that are read", func() bool { return len(r.sink.all()) == 40 })
		// It comes back, and goes on at its commits.
		all := of(names...)
		updates <- source.Plan{Wants: []source.Want{{Stream: all, Source: &all.Sources[0]}}, Clusters: r.opts.Clusters}
		waitUntil(t, "what it missed", func() bool { return len(r.sink.all()) == 45 })
		g.end(t)
		if n := len(distinct(r.sink.all())); n != 45 || g.stats.Uncommitted != nil {
			t.Errorf("%d of %d lines are different; %v", n, len(r.sink.all()), g.stats.Uncommitted)
		}
		for _, n := range names {
			if a, b := east.Committed(group, n, 0), east.Committed(group, n, 1); a != 10 || b != 5 {
				t.Errorf("%s is committed at %d and %d", n, a, b)
			}
		}
	})
}

// TestPartitionsAddedInAGroup are given out and read from their beginning.
func TestPartitionsAddedInAGroup(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 1, nil)
		r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group)
		r.opts.Start, r.opts.Refresh = spec.Bound{Kind: spec.End}, 200*time.Millisecond
		g := r.begin(t)
		waitUntil(t, "the beginning", func() bool { return r.says("reading from here on") })
		east.Produce(topic, values("a", 0, 5)...)
		waitUntil(t, "records", func() bool { return len(r.sink.all()) == 5 })
		east.AddPartitions(topic, 3)
		east.Produce(topic, values("b", 1, 5)...)
		east.Produce(topic, values("c", 2, 5)...)
		waitUntil(t, "all of the new partitions", func() bool { return len(r.sink.all()) == 15 })
		g.end(t)
		checkLines(t, r.sink.all(), slices.Concat(lines("orders", "east/"+topic+"/0", "a", 5), lines("orders", "east/"+topic+"/1", "b", 5), lines("orders", "east/"+topic+"/2", "c", 5)))
		for p := range int32(3) {
			if at := east.Committed(group, topic, p); at != 5 {
				t.Errorf("partition %d is committed at %d", p, at)
			}
		}
	})
}

// TestAWriteThatHangsIsNotCommitted: another member gets the partitions in time,
// and what the write brings later counts for nothing.
func TestAWriteThatHangsIsNotCommitted(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 2, nil)
		quick := func(r *run) *run {
			c, err := cluster.New(cluster.Config{Name: "east", Bootstrap: strings.Split(east.Bootstrap(), ","), Properties: []cluster.Property{
				{Key: "max.poll.interval.ms", Value: "9000"}, {Key: "heartbeat.interval.ms", Value: "500"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			r.opts.Clusters["east"] = c
			return r
		}
		a := quick(newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group))
		a.sink.block = make(chan struct{})
		first := a.begin(t)
		waitUntil(t, "the beginning", func() bool { return a.says("reading from here on") })
		east.Produce(topic, values("v", 0, 5)...)
		east.Produce(topic, values("w", 1, 5)...)
		waitUntil(t, "a write that hangs", func() bool { a.sink.mu.Lock(); defer a.sink.mu.Unlock(); return a.sink.waiting })
		b := quick(newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group))
		at := time.Now()
		second := b.begin(t)
		waitUntil(t, "records for the second", func() bool { return len(b.sink.all()) == 5 })
		t.Logf("handed over after %v", time.Since(at))
		close(a.sink.block)
		waitUntil(t, "the end of the write", func() bool { return len(a.sink.all()) > 0 })
		second.end(t)
		first.end(t)
		if all := distinct(a.sink.all(), b.sink.all()); len(all) != 10 {
			t.Errorf("%d of 10 records", len(all))
		}
		for p := range int32(2) {
			if n := east.Committed(group, topic, p); n != 5 {
				t.Errorf("partition %d is committed at %d", p, n)
			}
		}
	})
}

// TestCommitsThatAreRefused are tried again while that may help; one that fails at
// the end is told.
func TestCommitsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		code  *kerr.Error
		times int32 // requests that are refused
		fail  bool
	}{
		"for a moment":   {kerr.RebalanceInProgress, 3, false},
		"for good":       {kerr.InvalidCommitOffsetSize, 1 << 30, true},
		"by a rebalance": {kerr.RebalanceInProgress, 1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := kafkatest.Fake(t, kafkatest.Options{})
			east := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			east.CreateTopic(topic, 1, nil)
			east.Produce(topic, values("v", 0, 10)...)
			var refused atomic.Int32
			east.Fake().ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
				east.Fake().KeepControl()
				if refused.Add(1) > tc.times {
					return nil, nil, false
				}
				c := req.(*kmsg.OffsetCommitRequest)
				resp := c.ResponseKind().(*kmsg.OffsetCommitResponse)
				for _, one := range c.Topics {
					rt := kmsg.NewOffsetCommitResponseTopic()
					rt.Topic, rt.TopicID = one.Topic, one.TopicID
					for _, p := range one.Partitions {
						rp := kmsg.NewOffsetCommitResponseTopicPartition()
						rp.Partition, rp.ErrorCode = p.Partition, tc.code.Code
						rt.Partitions = append(rt.Partitions, rp)
					}
					resp.Topics = append(resp.Topics, rt)
				}
				return resp, nil, true
			})
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).bounded().inGroup(group)
			at := time.Now()
			stats, err := r.run(t.Context())
			if err != nil || len(r.sink.all()) != 10 {
				t.Fatal(err, r.sink.all())
			}
			if took := time.Since(at); took > 8*time.Second {
				t.Errorf("it took %v", took)
			}
			if tc.fail != (stats.Uncommitted != nil) || tc.fail && fault.KindOf(stats.Uncommitted) != fault.Failed {
				t.Errorf("uncommitted: %v", stats.Uncommitted)
			}
			if tc.fail != r.says("the last commit failed") {
				t.Error("told wrongly")
			}
		})
	}
}

// TestADeadCoordinatorHoldsUpNoOtherCluster, neither in the run nor at its end.
func TestADeadCoordinatorHoldsUpNoOtherCluster(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic, group := rig.Name("orders"), rig.Name("g")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values(c.Name(), 0, 10)...)
	}
	west.Fake().ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		west.Fake().KeepControl()
		west.Fake().SleepControl(func() { <-t.Context().Done() })
		return nil, nil, false
	})
	r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west")).inGroup(group)
	g := r.begin(t)
	at := time.Now()
	waitUntil(t, "east", func() bool { return len(r.sink.all()) == 10 })
	if took := time.Since(at); took > 3*time.Second {
		t.Errorf("east came after %v", took)
	}
	waitUntil(t, "east's commit", func() bool { return east.Committed(group, topic, 0) == 10 })
	waitUntil(t, "a word about west", func() bool { return r.says("west: ") })
	at = time.Now()
	g.end(t)
	if took := time.Since(at); took > 6*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

// TestAClusterIsConnectedToAnewInAGroup: the new client is the member from then
// on, and goes on at the commits of the old one.
func TestAClusterIsConnectedToAnewInAGroup(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 2, nil)
		s := stream("orders", topic, "east")
		f := newFollowing(t, []*kafkatest.Cluster{east}, s)
		f.inGroup(group)
		g := f.begin(t)
		for n := range 3 {
			before := len(f.sink.all())
			east.Produce(topic, values(fmt.Sprintf("v%d-", n), 0, 10)...)
			east.Produce(topic, values(fmt.Sprintf("w%d-", n), 1, 10)...)
			waitUntil(t, "records", func() bool { return len(f.sink.all()) == before+20 })
			if n < 2 {
				f.redefine("east", east.Bootstrap())
				f.plan(s)
				waitUntil(t, "the new client", func() bool {
					return len(f.told(source.Note)) > 0 && strings.Count(strings.Join(f.told(source.Note), "\n"), "connected anew") == n+1
				})
			}
		}
		g.end(t)
		if n := len(distinct(f.sink.all())); n != 60 || len(f.sink.all()) != 60 || g.stats.Uncommitted != nil {
			t.Errorf("%d lines, %d different; %v", len(f.sink.all()), n, g.stats.Uncommitted)
		}
		for p := range int32(2) {
			if at := east.Committed(group, topic, p); at != 30 {
				t.Errorf("partition %d is committed at %d", p, at)
			}
		}
	})
}
