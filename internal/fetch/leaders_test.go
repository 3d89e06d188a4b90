package fetch

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// fakeTopic makes an embedded cluster of three brokers with a topic of two
// partitions that has 10 records in each.
func fakeTopic(t *testing.T) (c *kafkatest.Cluster, topic string) {
	t.Helper()
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	c = rig.Cluster("three")
	topic = rig.Name("t")
	c.CreateTopic(topic, 2, nil)
	c.Produce(topic, numbered(0, 0, 10)...)
	c.Produce(topic, numbered(1, 0, 10)...)
	return c, topic
}

func TestLeadersAreFollowed(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	q := r.from(topic, 1, 0, -1)
	r.waitRecords(p, 10)
	for i := range 9 {
		node := (c.Leader(topic, 0) + 1) % 3
		if err := c.Fake().MoveTopicPartition(topic, 0, node); err != nil {
			t.Fatal(err)
		}
		c.Produce(topic, numbered(0, 10+i, 1)...)
		r.waitRecords(p, 11+i)
	}
	checkNumbered(t, r.read(p), 0, 19)
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
	for _, e := range r.told() {
		if _, ok := e.(CaughtUp); !ok {
			t.Errorf("a moved leader is told: %+v", e)
		}
	}
}

// TestErrorsThatPass answers fetches with errors that are mended by waiting or
// by another look-up: nothing is told, lost or repeated.
func TestErrorsThatPass(t *testing.T) {
	for _, err := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnknownTopicOrPartition,
		kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable,
		kerr.KafkaStorageError, kerr.OffsetNotAvailable, kerr.UnknownServerError, kerr.CorruptMessage,
	} {
		t.Run(err.Message, func(t *testing.T) {
			t.Parallel()
			c, topic := fakeTopic(t)
			fault := c.Fake().Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: err, Count: 2,
			})
			r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing.trouble = 5 * time.Second })
			p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
			checkNumbered(t, r.waitRecords(p, 10), 0, 10)
			checkNumbered(t, r.waitRecords(q, 10), 0, 10)
			if fault.Hits() != 2 {
				t.Errorf("the fault was hit %d times, want 2", fault.Hits())
			}
			r.until("both caught up", func() bool { return len(events[CaughtUp](r)) == 2 })
			// And again, where it is in a session.
			fault = c.Fake().Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: err, Count: 2,
			})
			r.until("the fault", func() bool { return fault.Hits() == 2 })
			c.Produce(topic, numbered(0, 10, 1)...)
			checkNumbered(t, r.waitRecords(p, 11), 0, 11)
			if n := len(r.told()); n != 2 {
				t.Errorf("told %+v, want CaughtUp twice", r.told())
			}
		})
	}
}

func TestAnErrorThatStaysIsToldOnce(t *testing.T) {
	c, topic := fakeTopic(t)
	fetches := countFetches(c)
	fault := c.Fake().Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: kerr.KafkaStorageError, Count: -1,
	})
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	if e := event[NoLeader](r); e.Partition != p || !errors.Is(e.Err, kerr.KafkaStorageError) {
		t.Errorf("got %+v", e)
	}
	begun, before := time.Now(), fetches.Hits()
	r.until("some more tries", func() bool { return time.Since(begun) > 600*time.Millisecond })
	if n := fetches.Hits() - before; n > 30 {
		t.Errorf("%d fetches in 600 ms: a hot loop", n)
	}
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
	fault.Remove()
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	if e := event[Recovered](r); e.Partition != p {
		t.Errorf("got %+v", e)
	}
	if n := len(events[NoLeader](r)); n != 1 {
		t.Errorf("NoLeader was told %d times", n)
	}
}

func TestDeniedStopsThePartitionOnly(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	c.Fake().Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed, Count: 1,
	})
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	if e := event[Denied](r); e.Partition != p || !errors.Is(e.Err, kerr.TopicAuthorizationFailed) {
		t.Errorf("got %+v", e)
	}
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
	if n := len(r.read(p)); n != 0 {
		t.Errorf("%d records of a partition that is denied", n)
	}
	r.from(topic, 0, 5, -1)
	checkNumbered(t, r.waitRecords(p, 5), 5, 5)
}

func TestMissingIsToldAndFound(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	r := newReader(t, c, nil)
	p, q, other := Partition{topic, 2}, r.from(topic, 1, 0, -1), Partition{topic + "-later", 0}
	r.from(p.Topic, p.ID, 0, -1)
	r.from(other.Topic, other.ID, 0, -1)
	r.until("Missing twice", func() bool { return len(events[Missing](r)) == 2 })
	for _, e := range events[Missing](r) {
		if e.Topic != (e.Partition == other) {
			t.Errorf("got %+v", e)
		}
	}
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
	c.AddPartitions(topic, 3)
	c.CreateTopic(other.Topic, 1, nil)
	c.Produce(topic, numbered(2, 0, 1)...)
	c.Produce(other.Topic, numbered(0, 0, 2)...)
	checkNumbered(t, r.waitRecords(p, 1), 0, 1)
	checkNumbered(t, r.waitRecords(other, 2), 0, 2)
	r.until("Recovered twice", func() bool { return len(events[Recovered](r)) == 2 })
	if n := len(events[Missing](r)); n != 2 {
		t.Errorf("Missing was told %d times", n)
	}
}

func TestARecreatedTopicIsAnotherTopic(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic, steady := rig.Name("t"), rig.Name("steady")
		c.CreateTopic(topic, 1, nil)
		c.CreateTopic(steady, 1, nil)
		c.Produce(topic, numbered(0, 0, 100)...)
		r := newReader(t, c, func(r *reader, _ *Config) {
			r.onEvent = func(e Event) {
				if e, ok := e.(Recreated); ok {
					r.from(e.Topic, e.ID, 0, -1)
				}
			}
		})
		p, q := r.from(topic, 0, 0, -1), r.from(steady, 0, 0, -1)
		r.waitRecords(p, 100)
		c.DeleteTopic(topic)
		c.Produce(steady, numbered(0, 0, 1)...)
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(0, 0, 5)...)
		e := event[Recreated](r)
		if e.Partition != p || e.Old == e.New || e.Old == [16]byte{} || e.New == [16]byte{} {
			t.Errorf("got %+v", e)
		}
		rs := r.waitRecords(p, 105)
		checkNumbered(t, rs[100:], 0, 5)
		checkNumbered(t, r.waitRecords(q, 1), 0, 1)
		r.mu.Lock()
		defer r.mu.Unlock()
		if id := r.last[p].TopicID; id != e.New {
			t.Errorf("the data has topic id %x, want %x", id, e.New)
		}
	})
}

// countFetches counts the Fetch requests that an embedded cluster gets; it does
// so per partition that they carry.
func countFetches(c *kafkatest.Cluster) *kfake.FaultHandle {
	return c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
}
