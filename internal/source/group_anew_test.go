package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// TestATopicMadeAgainInAGroup is read from its start, all of it, whatever was read,
// resolved or committed of the old one, and committed under its own id.
func TestATopicMadeAgainInAGroup(t *testing.T) {
	for _, tc := range []struct {
		name     string
		protocol source.GroupProtocol
		pause    time.Duration
		parts    int32 // of the new one
	}{
		{"classic at once", source.GroupClassic, 300 * time.Millisecond, 2},
		{"classic with more partitions", source.GroupClassic, 2 * time.Second, 3},
		{"by the brokers at once", source.GroupServer, 300 * time.Millisecond, 2},
		{"by the brokers after a while", source.GroupServer, 3 * time.Second, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
				east := rig.Cluster("east")
				topic, group := rig.Name("orders"), rig.Name("g")
				east.CreateTopic(topic, 2, nil)
				east.Produce(topic, values("before", 0, 3)...)
				east.Produce(topic, values("before", 1, 3)...)
				r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group)
				r.opts.Start, r.opts.GroupProtocol, r.opts.Refresh = spec.Bound{Kind: spec.End}, tc.protocol, 500*time.Millisecond
				g := r.begin(t)
				waitUntil(t, "the beginning", func() bool { return r.says("reading from here on") })
				east.Produce(topic, values("old", 0, 2)...)
				east.Produce(topic, values("old", 1, 2)...)
				waitUntil(t, "the commits of the old one", func() bool {
					return east.Committed(group, topic, 0) == 5 && east.Committed(group, topic, 1) == 5
				})
				east.DeleteTopic(topic)
				time.Sleep(tc.pause) // of the user
				east.CreateTopic(topic, tc.parts, nil)
				var want []string
				for p := range tc.parts {
					east.Produce(topic, values("new", p, 8)...)
					want = append(want, lines("orders", fmt.Sprintf("east/%s/%d", topic, p), "new", 8)...)
				}
				waitUntil(t, "all of the new one", func() bool { return len(r.sink.all()) >= 4+len(want) })
				waitUntil(t, "the commits of the new one", func() bool {
					for p := range tc.parts {
						if east.Committed(group, topic, p) != 8 {
							return false
						}
					}
					return true
				})
				g.end(t)
				got := slices.DeleteFunc(r.sink.all(), func(line string) bool { return strings.Contains(line, " old") })
				checkLines(t, got, want)
				if told := r.told(source.Recreated); len(told) != 1 || g.stats.Uncommitted != nil {
					t.Errorf("told %q; %v", told, g.stats.Uncommitted)
				}
			})
		})
	}
}

// TestATopicMadeAgainThatIsNotToBeRead: no partition of it is, also not one that
// the old one did not have.
func TestATopicMadeAgainThatIsNotToBeRead(t *testing.T) {
	for name, group := range map[string]bool{"alone": false, "in a group": true} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
				east := rig.Cluster("east")
				topic, other := rig.Name("orders"), rig.Name("other")
				east.CreateTopic(topic, 2, nil)
				east.CreateTopic(other, 1, nil)
				east.Produce(topic, values("old", 0, 5)...)
				r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"), stream("other", other, "east"))
				if group {
					r.inGroup(rig.Name("g"))
				}
				r.opts.OnRecreate, r.opts.Refresh = source.RecreateStop, 300*time.Millisecond
				g := r.begin(t)
				waitUntil(t, "the old one", func() bool { return len(r.sink.all()) == 5 })
				east.DeleteTopic(topic)
				east.CreateTopic(topic, 4, nil)
				for p := range int32(4) {
					east.Produce(topic, values("new", p, 5)...)
				}
				waitUntil(t, "a word", func() bool { return r.says("not read any more") })
				for range 8 { // looks at the topics
					east.Produce(other, values("tick", 0, 1)...)
					time.Sleep(300 * time.Millisecond)
				}
				g.end(t)
				for _, line := range r.sink.all() {
					if strings.Contains(line, " new") {
						t.Errorf("read: %s", line)
					}
				}
			})
		})
	}
}

// TestATopicMadeAgainBeforeItIsReadFrom: what was found out about the old one is
// not taken for the new one.
func TestATopicMadeAgainBeforeItIsReadFrom(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	for _, policy := range []source.RecreatePolicy{source.RecreateStart, source.RecreateStop} {
		t.Run(string(policy), func(t *testing.T) {
			topic := rig.With(t).Name("orders")
			east.CreateTopic(topic, 1, nil)
			east.Produce(topic, values("old", 0, 5)...)
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
			r.opts.OnRecreate = policy
			r.opts.Start = spec.Bound{Kind: spec.Offset, N: 3}
			note := r.opts.Event
			r.opts.Event = func(ev source.Event) {
				note(ev)
				if strings.HasSuffix(ev.Text, "/0: from 3 on") { // which is said before anything is fetched
					east.DeleteTopic(topic)
					east.CreateTopic(topic, 1, nil)
					east.Produce(topic, values("new", 0, 5)...)
				}
			}
			g := r.begin(t)
			waitUntil(t, "a word", func() bool { return r.says("the topic was deleted and made again") })
			var want []string
			if policy == source.RecreateStart {
				want = lines("orders", "east/"+topic+"/0", "new", 5)
				waitUntil(t, "the new one", func() bool { return len(r.sink.all()) >= 5 })
			}
			g.end(t)
			checkLines(t, r.sink.all(), want)
		})
	}
}

// TestAMemberOutlastsBrokersThatRefuseConnections for less than its session: it
// keeps its partitions, and reads nothing twice.
func TestAMemberOutlastsBrokersThatRefuseConnections(t *testing.T) {
	for _, protocol := range []source.GroupProtocol{source.GroupClassic, source.GroupServer} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			rig := kafkatest.Fake(t, kafkatest.Options{})
			east := rig.Cluster("east")
			topic, group := rig.Name("orders"), rig.Name("g")
			east.CreateTopic(topic, 2, nil)
			c, err := cluster.New(cluster.Config{Name: "east", Bootstrap: strings.Split(east.Bootstrap(), ","), Properties: []cluster.Property{
				{Key: "heartbeat.interval.ms", Value: "300"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group)
			r.opts.Clusters["east"], r.opts.GroupProtocol = c, protocol
			g := r.begin(t)
			total := 0
			for range 2 {
				east.Produce(topic, values("v", 0, 50)...)
				east.Produce(topic, values("w", 1, 50)...)
				total += 100
				waitUntil(t, "records", func() bool { return len(r.sink.all()) == total })
				east.Kill9(east.FirstNode())
				time.Sleep(3 * time.Second) // of the outage
				east.Restart(east.FirstNode())
			}
			east.Produce(topic, values("v", 0, 50)...)
			waitUntil(t, "the last records", func() bool { return len(r.sink.all()) >= total+50 })
			g.end(t)
			if n := len(r.sink.all()); n != total+50 || r.says("has lost this run") || r.says("joining again") {
				t.Errorf("%d lines for %d records", n, total+50)
			}
			if v, w := east.Committed(group, topic, 0), east.Committed(group, topic, 1); v != 150 || w != 100 {
				t.Errorf("%d and %d are committed, want 150 and 100", v, w)
			}
		})
	}
}

// TestTheEndOfARunIsNoTroubleOfItsGroup, whatever ends it.
func TestTheEndOfARunIsNoTroubleOfItsGroup(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 3, nil)
			c.Produce(topic, values(c.Name(), 0, 20)...)
		}
		for i := range 12 {
			r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west")).inGroup(rig.Name("g") + string('a'+rune(i)))
			if i%2 == 0 {
				r.bounded()
			}
			if i%3 == 0 {
				r.opts.Limit = 1
			}
			g := r.begin(t)
			if i%3 == 0 || i%2 == 0 {
				g.ends(t)
			} else {
				waitUntil(t, "a record", func() bool { return len(r.sink.all()) > 0 })
				g.end(t)
			}
			for _, part := range []string{"canceled", "closed", "takes", "lost"} {
				if r.says(part) {
					t.Errorf("run %d tells of its own end: %s", i, part)
				}
			}
		}
	})
}
