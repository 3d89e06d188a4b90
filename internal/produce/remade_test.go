package produce

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

const madeAgain = "west/%s: the topic was deleted and made again while it was written to: nothing is written to the new one, which lacks 100 records of this run"

// Nothing goes into a topic that has taken the place of the one that was there.
func TestATopicThatIsMadeAgain(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("west")
		name, other := rig.Name("again"), rig.Name("other")
		for _, n := range []string{name, other} {
			c.CreateTopic(n, 1, nil)
		}
		w := newWriting(t, c, nil)
		topic, lane, fine := w.topic(name), &Lane{}, &Lane{}
		w.send(lane, stored(topic, origin, 10, numbers(0, 100)...))
		w.fine()
		c.DeleteTopic(name)
		c.CreateTopic(name, 1, nil)
		w.send(lane, stored(topic, origin, 10, numbers(100, 100)...))
		w.send(fine, stored(w.topic(other), origin, 10, numbers(0, 100)...))
		w.settled()
		w.send(lane, stored(topic, origin, 10, numbers(200, 100)...)) // another chunk of the same split
		w.send(&Lane{}, stored(topic, origin, 10, numbers(300, 100)...))
		failed := 0
		for _, r := range w.settled() {
			if r.Err == nil {
				continue
			}
			failed++
			if want := strings.ReplaceAll(madeAgain, "%s", name); r.Err.Error() != want || fault.KindOf(r.Err) != fault.Partial || r.Arrived != 0 || r.Next != int64(100*failed) {
				t.Errorf("%+v", r)
			}
		}
		if failed != 3 {
			t.Errorf("%d loads failed, want 3", failed)
		}
		if log := w.log(name, 0); len(log) != 0 {
			t.Errorf("the new topic has %d records", len(log))
		}
		equal(t, "the other topic", w.log(other, 0), numbers(0, 100))
	})
}

// A broker that knows topics by name only writes on; that is noticed soon.
func TestATopicThatIsMadeAgainUnderBrokersWithoutIDs(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Options{Fake: []kfake.Opt{kfake.MaxVersions(kversion.V3_9_0())}}).Cluster("west")
	c.CreateTopic("t", 1, nil)
	w := newWriting(t, c, func(cfg *Config) { cfg.timing.identity = 50 * time.Millisecond })
	topic, lane := w.topic("t"), &Lane{}
	w.send(lane, stored(topic, origin, 10, numbers(0, 100)...))
	w.fine()
	c.DeleteTopic("t")
	c.CreateTopic("t", 1, nil)
	sent := 1
	for ; sent < 1000 && lane.failure() == nil; sent++ {
		w.send(lane, stored(topic, origin, 10, numbers(100*sent, 100)...))
		w.settled()
	}
	err := lane.failure()
	if err == nil || !strings.Contains(err.Error(), "the topic was deleted and made again") {
		t.Fatalf("after %d loads: %v", sent, err)
	}
	before := c.EndOffset("t", 0)
	w.send(&Lane{}, stored(topic, origin, 10, numbers(0, 10)...))
	if r := w.settled(); r[len(r)-1].Err == nil || c.EndOffset("t", 0) != before {
		t.Errorf("%+v arrived later", r[len(r)-1])
	}
}
