package source_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// following is a run that takes later plans.
type following struct {
	*run
	t        *testing.T
	updates  chan source.Plan
	clusters map[string]*cluster.Cluster
	dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
}

// newFollowing prepares a run over clusters that begins with streams.
func newFollowing(t *testing.T, clusters []*kafkatest.Cluster, streams ...*metadata.Stream) *following {
	t.Helper()
	f := &following{run: newRun(t, clusters, streams...), t: t, updates: make(chan source.Plan), clusters: map[string]*cluster.Cluster{}}
	for name, c := range f.opts.Clusters {
		f.clusters[name] = c
	}
	f.opts.Updates = f.updates
	f.opts.Refresh = 200 * time.Millisecond
	return f
}

// redefine describes a cluster anew, so that the next plan connects to it anew.
func (f *following) redefine(name, bootstrap string) {
	f.t.Helper()
	c, err := cluster.New(cluster.Config{Name: name, Bootstrap: strings.Split(bootstrap, ","), Dial: f.dial})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	f.clusters[name] = c
}

// plan makes streams the ones that are read.
func (f *following) plan(streams ...*metadata.Stream) {
	f.t.Helper()
	p := source.Plan{Clusters: map[string]*cluster.Cluster{}}
	for _, s := range streams {
		for i := range s.Sources {
			src := &s.Sources[i]
			p.Wants = append(p.Wants, source.Want{Stream: s, Source: src, Committed: src.Isolation == metadata.ReadCommitted})
			p.Clusters[src.Cluster] = f.clusters[src.Cluster]
		}
	}
	select {
	case f.updates <- p:
	case <-time.After(time.Minute):
		f.t.Fatal("the plan is not taken")
	}
	for name := range f.clusters { // a cluster that comes back is a new one, as in the command
		if p.Clusters[name] == nil {
			f.redefine(name, strings.Join(f.clusters[name].Bootstrap(), ","))
		}
	}
}

// awaitLine waits for an event's text.
func (f *following) awaitLine(kind source.EventKind, text string) {
	f.t.Helper()
	eventually(f.t, text, func() bool { return slices.Contains(f.told(kind), text) })
}

func (f *following) awaitLines(n int) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%d lines", n), func() bool { return f.count() >= n })
}

// more are values after the first n.
func more(prefix string, partition int32, n, count int) []kafkatest.Record {
	list := make([]kafkatest.Record, count)
	for i := range list {
		list[i] = kafkatest.Record{Partition: partition, Value: fmt.Appendf(nil, "%s%d", prefix, n+i)}
	}
	return list
}

func TestAClusterThatLeavesIsDrainedAndReadOnWhenItComesBack(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 2, nil)
			c.Produce(topic, values("v", 0, 100)...)
		}
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east"))
		end := f.follow(t)
		f.awaitLines(100)
		f.plan(stream("orders", topic, "east", "west"))
		f.awaitLine(source.Added, fmt.Sprintf("+ west/%s (2 partitions) for orders, from its start", topic))
		f.awaitLines(200)
		east.Produce(topic, more("v", 0, 100, 400)...)
		f.plan(stream("orders", topic, "west"))
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:500 1:0, for orders", topic))
		checkLines(t, f.sink.all()[:600], slices.Concat(
			lines("orders", "east/"+topic+"/0", "v", 500), lines("orders", "west/"+topic+"/0", "v", 100)))
		east.Produce(topic, more("v", 0, 500, 20)...)
		east.Produce(topic, values("w", 1, 5)...)
		west.Produce(topic, more("v", 0, 100, 1)...)
		f.awaitLines(601)
		f.plan(stream("orders", topic, "west", "east"))
		f.awaitLine(source.Added, fmt.Sprintf("+ east/%s (2 partitions) for orders, from where it was left", topic))
		f.awaitLines(626)
		stats, err := end()
		if stats.Records != 626 || err == nil {
			t.Errorf("%d records, %v", stats.Records, err)
		}
		checkLines(t, f.sink.all(), slices.Concat(
			lines("orders", "east/"+topic+"/0", "v", 520), lines("orders", "east/"+topic+"/1", "w", 5), lines("orders", "west/"+topic+"/0", "v", 101)))
	})
}

// With "end" as the start, a source that comes later begins at the first record
// since the run began, and a topic that takes the place of another at its start.
func TestWhereWhatComesLaterBegins(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic, other := rig.Name("orders"), rig.Name("other")
		east.CreateTopic(topic, 1, nil)
		west.CreateTopic(topic, 1, nil)
		west.CreateTopic(other, 1, nil)
		now := time.Now().UnixMilli()
		old := func(n int) (list []kafkatest.Record) {
			for i := range n {
				list = append(list, kafkatest.Record{Value: fmt.Appendf(nil, "v%d", i), Time: now - 60_000})
			}
			return list
		}
		west.Produce(topic, old(10)...)
		west.Produce(other, old(10)...)
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east"))
		f.opts.Start = spec.Bound{Kind: spec.End}
		end := f.follow(t)
		eventually(t, "begun", func() bool { return len(f.told(source.Begun)) == 1 })
		west.Produce(topic, more("v", 0, 10, 3)...)
		f.plan(stream("orders", topic, "east", "west"))
		f.awaitLine(source.Added, fmt.Sprintf("+ west/%s (1 partition) for orders, from the first record since this run began", topic))
		f.awaitLines(3)
		f.plan(stream("orders", topic, "east"), stream("orders", other, "west"))
		f.awaitLine(source.Added, fmt.Sprintf("+ west/%s (1 partition) for orders, from its start", other))
		f.awaitLines(13)
		east.AddPartitions(topic, 2)
		east.Produce(topic, values("w", 1, 4)...)
		f.awaitLine(source.Added, fmt.Sprintf("+ east/%s (partition 1) for orders, from its start", topic))
		f.awaitLines(17)
		_, _ = end()
		checkLines(t, f.sink.all(), slices.Concat(
			lines("orders", "east/"+topic+"/1", "w", 4),
			lines("orders", "west/"+topic+"/0", "v", 13)[10:], lines("orders", "west/"+other+"/0", "v", 10)))
	})
}

func TestRemovalCanStopAtOnce(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		a, b := rig.Name("a"), rig.Name("b")
		for _, topic := range []string{a, b} {
			east.CreateTopic(topic, 1, nil)
			east.Produce(topic, values("v", 0, 10)...)
		}
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("a", a, "east"), stream("b", b, "east"))
		f.opts.OnRemove = source.RemoveStop
		f.follow(t)
		f.awaitLines(20)
		f.plan(stream("b", b, "east"))
		f.awaitLine(source.Removed, fmt.Sprintf("- east/%s left at 0:10, for a", a))
		f.plan()
		f.awaitLine(source.Removed, fmt.Sprintf("- east/%s left at 0:10, for b", b))
		east.Produce(a, more("v", 0, 10, 5)...)
		f.plan(stream("a", a, "east"))
		f.awaitLines(25)
		checkLines(t, f.sink.all(), slices.Concat(lines("a", "east/"+a+"/0", "v", 15), lines("b", "east/"+b+"/0", "v", 10)))
	})
}

// Streams that share a topic share its reader, and each comes and goes by itself.
func TestStreamsOverOneTopicComeAndGo(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 10)...)
		a, b, c := stream("a", topic, "east"), stream("b", topic, "east"), stream("c", topic, "east")
		f := newFollowing(t, []*kafkatest.Cluster{east}, a, b)
		f.follow(t)
		f.awaitLines(20)
		f.plan(b)
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:10, for a", topic))
		east.Produce(topic, more("v", 0, 10, 5)...)
		f.awaitLines(25)
		f.plan(b, c)
		f.awaitLines(40)
		f.plan(b, c, a)
		f.awaitLines(45)
		east.Produce(topic, more("v", 0, 15, 5)...)
		f.awaitLines(60)
		split := "east/" + topic + "/0"
		got := f.sink.all()
		slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
		want := slices.Concat(lines("a", split, "v", 20), lines("b", split, "v", 20), lines("c", split, "v", 20))
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

// A cluster under another name is the same one: its records are read on, once.
func TestARenamedClusterIsReadOn(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 2, nil)
		east.Produce(topic, values("v", 0, 50)...)
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
		f.follow(t)
		f.awaitLines(50)
		f.redefine("renamed", east.Bootstrap())
		f.plan(stream("orders", topic, "renamed"))
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:50 1:0, for orders", topic))
		east.Produce(topic, more("v", 0, 50, 10)...)
		f.awaitLines(60)
		checkLines(t, f.sink.all(), slices.Concat(
			lines("orders", "east/"+topic+"/0", "v", 50), lines("orders", "renamed/"+topic+"/0", "v", 60)[50:]))
		if failed := f.told(source.Failed); len(failed) > 0 {
			t.Errorf("told %q", failed)
		}
		// As long as both names are there only the first is read.
		f.redefine("again", east.Bootstrap())
		f.plan(stream("orders", topic, "renamed", "again"))
		eventually(t, "a refusal", func() bool { return len(f.told(source.Failed)) == 1 })
		if text := f.told(source.Failed)[0]; !strings.HasPrefix(text, "renamed and again are the same cluster (id ") {
			t.Errorf("told %q", text)
		}
		f.plan(stream("orders", topic, "again"))
		east.Produce(topic, more("v", 0, 60, 10)...)
		f.awaitLines(70)
		checkLines(t, f.sink.all()[60:], lines("orders", "again/"+topic+"/0", "v", 70)[60:])
	})
}

func TestChangedConnectionsKeepPositions(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 1, nil)
			c.Produce(topic, values(c.Name(), 0, 30)...)
		}
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
		f.follow(t)
		f.awaitLines(30)
		good := f.clusters["east"].Bootstrap()
		f.redefine("east", "127.0.0.1:1")
		f.plan(stream("orders", topic, "east"))
		eventually(t, "that the new address fails", func() bool { return len(f.told(source.Failed)) == 1 })
		east.Produce(topic, more("east", 0, 30, 5)...)
		f.awaitLines(35) // read on with what works
		f.redefine("east", strings.Join(good, ","))
		f.plan(stream("orders", topic, "east"))
		f.awaitLine(source.Note, "east: connected anew with the changed settings")
		east.Produce(topic, more("east", 0, 35, 5)...)
		f.awaitLines(40)
		f.redefine("east", west.Bootstrap()) // another cluster altogether
		f.plan(stream("orders", topic, "east"))
		f.awaitLines(70)
		f.redefine("east", strings.Join(good, ","))
		east.Produce(topic, more("east", 0, 40, 5)...)
		f.plan(stream("orders", topic, "east"))
		f.awaitLines(75)
		checkLines(t, f.sink.all()[:40], lines("orders", "east/"+topic+"/0", "east", 40))
		checkLines(t, f.sink.all()[40:70], lines("orders", "east/"+topic+"/0", "west", 30))
		checkLines(t, f.sink.all()[70:], lines("orders", "east/"+topic+"/0", "east", 45)[40:])
	})
}

// A dead cluster can be taken away at once, and holds up nobody.
func TestADeadClusterHoldsUpNothing(t *testing.T) {
	for name, breakIt := range map[string]func(c *kafkatest.Cluster){
		"killed": func(c *kafkatest.Cluster) { c.Kill9(c.FirstNode()) },
		"silent": func(c *kafkatest.Cluster) { c.Pause(c.FirstNode()) },
	} {
		t.Run(name, func(t *testing.T) {
			kafkatest.EachWith(t, kafkatest.Options{Brokers: 1}, func(t *testing.T, rig *kafkatest.Rig) {
				east, west, north := rig.Cluster("east"), rig.Cluster("west"), rig.Cluster("north")
				topic := rig.Name("orders")
				for _, c := range []*kafkatest.Cluster{east, west, north} {
					c.CreateTopic(topic, 1, nil)
					c.Produce(topic, values("v", 0, 10)...)
				}
				f := newFollowing(t, []*kafkatest.Cluster{east, west, north}, stream("orders", topic, "east", "west"))
				end := f.follow(t)
				f.awaitLines(20)
				breakIt(west)
				f.plan(stream("orders", topic, "east", "north"))
				f.awaitLines(30)
				east.Produce(topic, more("v", 0, 10, 5)...)
				f.awaitLines(35)
				f.awaitLine(source.Removed, fmt.Sprintf("- west/%s not drained: the cluster gives no contact; left at 0:10, for orders", topic))
				f.plan(stream("orders", topic, "east", "north", "west")) // dead when it comes
				f.plan(stream("orders", topic, "east", "north"))
				f.awaitLine(source.Removed, fmt.Sprintf("- west/%s removed; the cluster gave no contact", topic))
				begun := time.Now()
				_, _ = end()
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("the end took %v", took)
				}
			})
		})
	}
}

func TestADrainingSourceIsLeftWhenItIsQuiet(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 1, nil)
			c.Produce(topic, values("v", 0, 10)...)
		}
		s := stream("orders", topic, "east", "west")
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, s)
		f.follow(t)
		f.awaitLines(20)
		draining := stream("orders", topic, "east", "west")
		draining.Sources[0].Role = metadata.Draining
		f.plan(draining)
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:10, for orders", topic))
		east.Produce(topic, more("v", 0, 10, 3)...)
		f.awaitLine(source.Note, fmt.Sprintf("east/%s: 3 more offsets were written after it had been drained: reading on", topic))
		f.awaitLines(23)
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:13, for orders", topic))
		f.plan(s)
		east.Produce(topic, more("v", 0, 13, 2)...)
		f.awaitLines(25)
		f.plan(draining)
		f.plan(stream("orders", topic, "west"))
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:15, for orders", topic))
		checkLines(t, f.sink.all(), slices.Concat(lines("orders", "east/"+topic+"/0", "v", 15), lines("orders", "west/"+topic+"/0", "v", 10)))
	})
}

func TestTopicsOfAPatternComeAndGo(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		prefix := rig.Name("orders")
		pattern, err := metadata.Pattern(prefix + "-[a-z]+")
		if err != nil {
			t.Fatal(err)
		}
		s := stream("orders", "", "east")
		s.Sources[0].Topics = []metadata.Topic{pattern}
		east.CreateTopic(prefix+"-a", 1, nil)
		east.CreateTopic("x"+prefix+"-a", 1, nil)
		east.CreateTopic(prefix+"-internal", 1, nil)
		for _, topic := range []string{prefix + "-a", "x" + prefix + "-a", prefix + "-internal"} {
			east.Produce(topic, values("v", 0, 5)...)
		}
		f := newFollowing(t, []*kafkatest.Cluster{east}, s)
		f.opts.Start = spec.Bound{Kind: spec.End}
		f.follow(t)
		eventually(t, "begun", func() bool { return len(f.told(source.Begun)) == 1 })
		east.CreateTopic(prefix+"-b", 2, nil)
		east.Produce(prefix+"-b", values("v", 1, 5)...)
		f.awaitLine(source.Added, fmt.Sprintf("+ east/%s-b (2 partitions) for orders, from its start", prefix))
		f.awaitLines(5)
		east.DeleteTopic(prefix + "-b")
		f.awaitLine(source.Removed, fmt.Sprintf("- east/%s-b deleted, for orders", prefix))
		east.CreateTopic(prefix+"-b", 1, nil)
		east.Produce(prefix+"-b", values("again", 0, 3)...)
		f.awaitLines(8)
		checkLines(t, f.sink.all(), slices.Concat(
			lines("orders", "east/"+prefix+"-b/0", "again", 3), lines("orders", "east/"+prefix+"-b/1", "v", 5)))
	})
}

// A topic that is made anew while it is out of the metadata is another one.
func TestATopicMadeAnewWhileItWasAwayIsReadFromItsStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, other := rig.Name("orders"), rig.Name("other")
		east.CreateTopic(topic, 1, nil)
		east.CreateTopic(other, 1, nil)
		east.Produce(topic, values("v", 0, 10)...)
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"), stream("other", other, "east"))
		f.follow(t)
		f.awaitLines(10)
		f.plan(stream("other", other, "east"))
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:10, for orders", topic))
		east.DeleteTopic(topic)
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("new", 0, 20)...)
		f.plan(stream("other", other, "east"), stream("orders", topic, "east"))
		f.awaitLines(30)
		f.awaitLine(source.Recreated, fmt.Sprintf("east/%s: the topic was deleted and made again while it was not read: reading the new one from its start", topic))
		checkLines(t, f.sink.all()[10:], lines("orders", "east/"+topic+"/0", "new", 20))
	})
}

// Another stop or isolation level is taken over without a loss or a repeat.
func TestChangedBoundsAreTakenOver(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 100)...)
		until := func(n int64) *metadata.Stream {
			s := stream("orders", topic, "east")
			s.Sources[0].Stop = &metadata.Spec{Text: fmt.Sprint(n), Bound: spec.Bound{Kind: spec.Offset, N: n}}
			return s
		}
		keep := stream("keep", rig.Name("keep"), "east")
		east.CreateTopic(rig.Name("keep"), 1, nil)
		f := newFollowing(t, []*kafkatest.Cluster{east}, until(40), keep)
		f.follow(t)
		f.awaitLines(40)
		f.plan(until(70), keep)
		f.awaitLines(70)
		s := stream("orders", topic, "east")
		s.Sources[0].Isolation = metadata.ReadCommitted
		f.plan(s, keep)
		f.awaitLines(100)
		f.plan(stream("orders", topic, "east"), keep)
		east.Produce(topic, more("v", 0, 100, 1)...)
		f.awaitLines(101)
		checkLines(t, f.sink.all(), lines("orders", "east/"+topic+"/0", "v", 101))
	})
}

// A stream whose start lies ahead of the log leaves alone, and takes what is not
// written yet when it comes back.
func TestAStartAheadOfTheLogIsAwaitedByThoseThatStay(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 3)...)
		a, b := stream("a", topic, "east"), stream("b", topic, "east")
		f := newFollowing(t, []*kafkatest.Cluster{east}, a, b)
		var err error
		if f.opts.Offsets, err = spec.ParseOffsets([]string{"5"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		f.follow(t)
		eventually(t, "begun", func() bool { return len(f.told(source.Begun)) == 1 })
		f.plan(a)
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:5, for b", topic))
		f.plan(a, b)
		east.Produce(topic, more("v", 0, 3, 5)...)
		f.awaitLines(6)
		split := "east/" + topic + "/0"
		got := f.sink.all()
		slices.Sort(got)
		if want := slices.Concat(lines("a", split, "v", 8)[5:], lines("b", split, "v", 8)[5:]); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

// Two clusters that exchange their addresses, and two names of one cluster that
// exchange their topics, are read on where each topic was left.
func TestWhatIsExchangedIsReadOn(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic, other := rig.Name("orders"), rig.Name("other")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 1, nil)
			c.Produce(topic, values(c.Name(), 0, 10)...)
		}
		east.CreateTopic(other, 1, nil)
		east.Produce(other, values("other", 0, 10)...)
		s := stream("orders", topic, "east", "west")
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, s)
		f.follow(t)
		f.awaitLines(20)
		f.redefine("east", west.Bootstrap())
		f.redefine("west", east.Bootstrap())
		f.plan(s)
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.Produce(topic, more(c.Name(), 0, 10, 5)...)
		}
		f.awaitLines(30)
		// Each record comes once; the name that drains may take some of those
		// written after the change.
		at := func(names []string, kafkaTopic, value string, n int) (found bool) {
			for _, name := range names {
				found = found || slices.Contains(f.sink.all(), fmt.Sprintf("orders %s/%s/0@%d %s%d", name, kafkaTopic, n, value, n))
			}
			return found
		}
		for n := 10; n < 15; n++ {
			names := []string{"east", "west"}
			if !at(names, topic, "east", n) || !at(names, topic, "west", n) {
				t.Errorf("record %d is missing in %q", n, f.sink.all()[20:])
			}
		}

		both := func(a, b string) *metadata.Stream {
			s := stream("orders", a, "west", "twin")
			s.Sources[1].Topics = []metadata.Topic{metadata.Named(b)}
			return s
		}
		f.redefine("twin", east.Bootstrap())
		f.plan(both(topic, other))
		f.awaitLines(40)
		f.plan(both(other, topic))
		east.Produce(topic, more("east", 0, 15, 5)...)
		east.Produce(other, more("other", 0, 10, 5)...)
		f.awaitLines(50)
		for n := 15; n < 20; n++ {
			names := []string{"west", "twin"}
			if !at(names, topic, "east", n) || !at(names, other, "other", n-5) {
				t.Errorf("record %d or %d is missing in %q", n, n-5, f.sink.all()[40:])
			}
		}
		if n := f.count(); n != 50 {
			t.Errorf("%d lines", n)
		}
	})
}

// A refusal that comes while the run goes on is waited out: what the metadata
// says may be corrected.
func TestARefusalIsWaitedOut(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 1, nil)
			c.Produce(topic, values("v", 0, 10)...)
		}
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east"))
		f.follow(t)
		f.awaitLines(10)
		wrong, err := cluster.New(cluster.Config{Name: "west", Bootstrap: strings.Split(west.Bootstrap(), ","), ClusterID: "another"})
		if err != nil {
			t.Fatal(err)
		}
		f.clusters["west"] = wrong
		f.plan(stream("orders", topic, "west"))
		eventually(t, "that the cluster is refused", func() bool { return len(f.told(source.Lost)) == 1 })
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:10, for orders", topic))
		f.redefine("west", west.Bootstrap())
		f.plan(stream("orders", topic, "west"))
		f.awaitLines(20)
	})
}

// A start by time that nobody asked for leaves no record out that is written
// after it, whatever time it bears.
func TestOldTimesAreReadWhereTheRunChoseItsStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 1, nil)
			c.Produce(topic, kafkatest.Record{Value: []byte("v0"), Time: 1000}, kafkatest.Record{Value: []byte("v1"), Time: 1001})
		}
		f := newFollowing(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east"))
		f.opts.Start = spec.Bound{Kind: spec.End}
		f.follow(t)
		eventually(t, "begun", func() bool { return len(f.told(source.Begun)) == 1 })
		later := time.Now().Add(time.Second).UnixMilli()
		west.Produce(topic, kafkatest.Record{Value: []byte("v2"), Time: later}, kafkatest.Record{Value: []byte("v3"), Time: 978307200000}, kafkatest.Record{Value: []byte("v4"), Time: later})
		f.plan(stream("orders", topic, "east", "west"))
		f.awaitLines(3)
		checkLines(t, f.sink.all(), lines("orders", "west/"+topic+"/0", "v", 5)[2:])
	})
}
