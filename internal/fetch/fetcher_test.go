package fetch

import (
	"slices"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestReadsToAnEndAndOn(t *testing.T) {
	kafkatest.EachWith(t, kafkatest.Options{Brokers: 3}, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("three")
		topic := rig.Name("t")
		c.CreateTopic(topic, 4, nil)
		for p := range int32(3) {
			c.Produce(topic, numbered(p, 0, 100)...)
		}
		r := newReader(t, c, nil)
		bounded := r.from(topic, 0, 0, 100)
		middle := r.from(topic, 1, 37, -1)
		tail := r.from(topic, 2, 100, -1)
		empty := r.from(topic, 3, 0, -1)

		checkNumbered(t, r.waitRecords(bounded, 100), 0, 100)
		checkNumbered(t, r.waitRecords(middle, 63), 37, 63)
		if d := event[Done](r); d != (Done{bounded, 100}) {
			t.Errorf("got %+v", d)
		}
		r.until("three CaughtUp beside one Done", func() bool { return len(events[CaughtUp](r)) == 4 })
		for _, p := range []int32{0, 1, 2, 3} {
			c.Produce(topic, numbered(p, 100, 1)...)
		}
		checkNumbered(t, r.waitRecords(middle, 64), 37, 64)
		checkNumbered(t, r.waitRecords(tail, 1), 100, 1)
		if rs := r.waitRecords(empty, 1); rs[0].Value != "v100" || rs[0].Offset != 0 {
			t.Errorf("got %+v", rs)
		}
		if n := len(r.read(bounded)); n != 100 {
			t.Errorf("%d records of the bounded partition", n)
		}
		r.mu.Lock()
		d := r.last[middle]
		r.mu.Unlock()
		if d.LogStart != 0 || d.Stable != 101 || d.End != 101 || d.Next != 101 || d.TopicID == [16]byte{} || d.Epoch < 0 {
			t.Errorf("the last data is %+v", d)
		}
	})
}

func TestTheTailIsQuick(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 2, nil)
		r := newReader(t, c, nil)
		p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
		r.until("both at the end", func() bool { return len(events[CaughtUp](r)) == 2 })
		var waits []time.Duration
		for i := range 20 {
			begun := time.Now()
			c.Produce(topic, numbered(0, i, 1)...)
			written := time.Now()
			r.waitRecords(p, i+1)
			waits = append(waits, time.Since(written))
			if d := written.Sub(begun); d > time.Second {
				t.Logf("writing took %v", d)
			}
		}
		// A poll that had to end first would cost each of them half a second.
		slices.Sort(waits)
		if d := waits[len(waits)/2]; d > 400*time.Millisecond {
			t.Errorf("a record at the end took %v to be read, as often as not", d)
		}
		if n := len(r.read(q)); n != 0 {
			t.Errorf("%d records of the other partition", n)
		}
	})
}
