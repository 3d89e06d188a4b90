package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
)

// TestATopicMadeAnewThatEndsTheRunIsToldByTheEndAlone: the error says it, and no
// event besides.
func TestATopicMadeAnewThatEndsTheRunIsToldByTheEndAlone(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, other := rig.Name("orders"), rig.Name("other")
		east.CreateTopic(topic, 2, nil)
		east.CreateTopic(other, 1, nil)
		east.Produce(topic, values("v", 0, 10)...)
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"), stream("other", other, "east"))
		f.opts.OnRecreate = source.RecreateFail
		g := f.begin(t)
		f.awaitLines(10)
		f.plan(stream("other", other, "east"))
		eventually(t, "the drain", func() bool { return len(f.told(source.Drained)) == 1 })
		east.DeleteTopic(topic)
		east.CreateTopic(topic, 2, nil)
		f.plan(stream("other", other, "east"), stream("orders", topic, "east"))
		g.ends(t)
		if want := "east/" + topic + ": the topic was deleted and made again while it was not read"; g.err == nil || g.err.Error() != want || fault.KindOf(g.err) != fault.Failed {
			t.Errorf("ended with %v, want %s", g.err, want)
		}
		if f.says("made again") {
			t.Errorf("told %q besides", f.told(source.Failed))
		}
	})
}

// TestAnAbsentTopicIsToldOnce, whoever notices it first, and again when it is gone
// again.
func TestAnAbsentTopicIsToldOnce(t *testing.T) {
	for name, refresh := range map[string]time.Duration{"looks": 10 * time.Millisecond, "fetches": time.Minute} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
				east := rig.Cluster("east")
				topic := rig.Name("orders")
				east.CreateTopic(topic, 2, nil)
				east.CreateTopic(topic+"x", 1, nil)
				r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
				r.opts.Refresh = refresh
				g := r.begin(t)
				absent := func() (n int) {
					r.mu.Lock()
					defer r.mu.Unlock()
					for _, ev := range r.events {
						if strings.HasPrefix(ev.Text, "east/"+topic) && strings.HasSuffix(ev.Text, "; waiting for it") {
							n++
						}
					}
					return n
				}
				for round := range 2 {
					east.Produce(topic, values("v", 0, 5)...)
					eventually(t, "the records", func() bool { return r.count() == 5*(round+1) })
					east.DeleteTopic(topic)
					eventually(t, "a word", func() bool { return absent() > round })
					for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
						if n := absent(); n > round+1 {
							t.Fatalf("told %d times in round %d", n, round)
						}
					}
					east.CreateTopic(topic, 2, nil)
				}
				g.end(t)
			})
		})
	}
}
