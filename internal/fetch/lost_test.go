package fetch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// twoLeaders is fakeTopic with partition 0 on broker 1 and partition 1 on 2.
func twoLeaders(t *testing.T) (*kafkatest.Cluster, string) {
	t.Helper()
	c, topic := fakeTopic(t)
	c.MoveLeader(topic, 0, 1)
	c.MoveLeader(topic, 1, 2)
	return c, topic
}

func TestADeadBrokerIsLostAndBack(t *testing.T) {
	for name, trouble := range map[string]struct {
		begin, end func(*kafkatest.Cluster, int32)
	}{
		"killed": {(*kafkatest.Cluster).Kill9, (*kafkatest.Cluster).Restart},
		"paused": {(*kafkatest.Cluster).Pause, (*kafkatest.Cluster).Continue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, topic := twoLeaders(t)
			r := newReader(t, c, nil)
			p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
			r.waitRecords(p, 10)
			r.waitRecords(q, 10)
			produce := producer(c)
			produce(topic, numbered(1, 10, 1)...) // it knows its way before the trouble begins
			trouble.begin(c, 1)
			begun := time.Now()
			e := event[Lost](r)
			if d := time.Since(begun); d > 15*time.Second {
				t.Errorf("it took %v to tell", d)
			}
			if e.Broker != 1 || e.Addr == "" || e.Err == nil {
				t.Errorf("got %+v", e)
			}
			if name == "killed" && !strings.Contains(e.Err.Error(), e.Addr) {
				t.Errorf("%q does not name %s", e.Err, e.Addr)
			}
			produce(topic, numbered(1, 11, 4)...)
			checkNumbered(t, r.waitRecords(q, 15), 0, 15)
			begun = time.Now()
			r.until("some tries", func() bool { return time.Since(begun) > 1500*time.Millisecond })
			trouble.end(c, 1)
			if b := event[Back](r); b != (Back{Broker: 1, Addr: e.Addr}) {
				t.Errorf("got %+v", b)
			}
			c.Produce(topic, numbered(0, 10, 5)...)
			checkNumbered(t, r.waitRecords(p, 15), 0, 15)
			if n := len(events[Lost](r)) + len(events[Back](r)); n != 2 {
				t.Errorf("told %+v", r.told())
			}
		})
	}
}

// producer returns a function that writes without asking more than the
// partition's leader, once it has written there before.
func producer(c *kafkatest.Cluster) func(topic string, records ...kafkatest.Record) {
	cl := c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.MetadataMinAge(time.Minute))
	return func(topic string, records ...kafkatest.Record) {
		for _, r := range records {
			cl.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: r.Partition, Value: r.Value}, nil)
		}
		_ = cl.Flush(context.Background())
	}
}

func TestALostBrokerWhosePartitionsMoveIsNotMissed(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	r.waitRecords(p, 10)
	r.waitRecords(q, 10)
	c.Kill9(1)
	event[Lost](r)
	c.MoveLeader(topic, 0, 2)
	c.Produce(topic, numbered(0, 10, 5)...)
	checkNumbered(t, r.waitRecords(p, 15), 0, 15)
	if b := event[Back](r); b.Broker != 1 || !b.Moved {
		t.Errorf("got %+v", b)
	}
}

// TestOneFailureIsNoLoss cuts single answers off and wants silence.
func TestOneFailureIsNoLoss(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	r.waitRecords(p, 10)
	for i := range 3 {
		var cut atomic.Bool
		c.Fake().ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			cut.Store(true)
			return nil, errors.New("cut"), true
		})
		r.until("the cut", cut.Load)
		c.Produce(topic, numbered(0, 10+i, 1)...)
		checkNumbered(t, r.waitRecords(p, 11+i), 0, 11+i)
	}
	if n := len(events[Lost](r)); n > 0 {
		t.Errorf("told %+v", r.told())
	}
}

// TestASlowAnswerIsNoLoss holds answers back for longer than a request may stay
// unanswered, while the broker answers pings.
func TestASlowAnswerIsNoLoss(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	slept := make(chan struct{})
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().SleepControl(func() { time.Sleep(1500 * time.Millisecond) })
		close(slept)
		c.Fake().DropControl()
		return nil, nil, false
	})
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing.slow = 300 * time.Millisecond })
	p := r.from(topic, 0, 0, -1)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	<-slept
	if n := len(events[Lost](r)); n > 0 {
		t.Errorf("told %+v", r.told())
	}
}

func TestADeadClusterIsLostAndBack(t *testing.T) {
	t.Parallel()
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("one")
	topic := rig.Name("t")
	c.CreateTopic(topic, 1, nil)
	c.Produce(topic, numbered(0, 0, 10)...)
	c.Kill9(0)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	if e := event[Lost](r); e.Broker != -1 || !strings.Contains(e.Err.Error(), "refused") {
		t.Errorf("got %+v", e)
	}
	c.Restart(0)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	if b := event[Back](r); b != (Back{Broker: -1}) {
		t.Errorf("got %+v", b)
	}
}

func TestAClientThatCannotBeMadeIsALoss(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	var made atomic.Int32
	want := errors.New("no key")
	r := newReader(t, c, func(_ *reader, cfg *Config) {
		can := cfg.Client
		cfg.Client = func(role cluster.Role) (*kgo.Client, error) {
			if made.Add(1) < 3 {
				return nil, want
			}
			return can(role)
		}
	})
	p := r.from(topic, 0, 0, -1)
	if e := event[Lost](r); !errors.Is(e.Err, want) {
		t.Errorf("got %+v", e)
	}
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
}

// nodeOf counts the fetches of partition id that a node gets.
func nodeOf(c *kafkatest.Cluster, node, id int32, topic string) *kfake.FaultHandle {
	return c.Fake().Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Nodes: []int32{node}, Topic: topic, Partitions: []int32{id}, Observe: true, Count: -1,
	})
}

func TestThePreferredReplicaIsReadFrom(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	c.Fake().SetFollowers(topic, 0, []int32{0})
	var racks []string
	c.Fake().Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Observe: true, Count: -1,
		When: func(req kmsg.Request) bool { racks = append(racks, req.(*kmsg.FetchRequest).Rack); return false },
	})
	atFollower := nodeOf(c, 0, 0, topic)
	prefer := func() {
		answerFetch(c, 0, func(rp *kmsg.FetchResponseTopicPartition) {
			if c.Fake().CurrentNode() == 1 {
				rp.PreferredReadReplica = 0
			} else {
				c.Fake().KeepControl()
			}
		})
	}
	prefer()
	r := newReader(t, c, func(_ *reader, cfg *Config) {
		cfg.Rack, cfg.timing.replica = "r1", 800*time.Millisecond
	})
	p := r.from(topic, 0, 0, -1)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	if atFollower.Hits() == 0 {
		t.Error("the follower was not asked")
	}
	// Its time is over, the leader is asked again and names it again.
	n := 0
	r.until("the leader to be asked again", func() bool {
		c.Produce(topic, numbered(0, 10+n, 1)...)
		n++
		r.waitRecords(p, 10+n)
		return r.replicaOf(p) == -1
	})
	prefer()
	hits := atFollower.Hits()
	r.until("the follower to be asked again", func() bool { return atFollower.Hits() > hits })
	// What it refuses the leader decides.
	c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Nodes: []int32{0}, Topic: topic, Err: kerr.OffsetOutOfRange})
	c.Produce(topic, numbered(0, 10+n, 1)...)
	checkNumbered(t, r.waitRecords(p, 11+n), 0, 11+n)
	r.until("the leader to be asked", func() bool { return r.replicaOf(p) == -1 })
	for _, e := range r.told() {
		if _, ok := e.(CaughtUp); !ok {
			t.Errorf("told %+v", e)
		}
	}
	r.end()
	if !slices.Contains(racks, "r1") {
		t.Errorf("racks %q", racks)
	}
}

func (r *reader) replicaOf(p Partition) int32 {
	answer := make(chan int32)
	r.post(func() { answer <- r.topics[p.Topic][p.ID].replica })
	return <-answer
}

func TestADeadPreferredReplicaIsLeft(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	c.Fake().SetFollowers(topic, 0, []int32{0})
	answerFetch(c, 0, func(rp *kmsg.FetchResponseTopicPartition) { rp.PreferredReadReplica = 0 })
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.Rack = "r1" })
	p := r.from(topic, 0, 0, -1)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	c.Kill9(0)
	c.Produce(topic, numbered(0, 10, 5)...)
	checkNumbered(t, r.waitRecords(p, 15), 0, 15)
	if n := r.replicaOf(p); n != -1 {
		t.Errorf("%d is still preferred", n)
	}
}

func TestAThrottledAnswerIsObeyed(t *testing.T) {
	c, topic := twoLeaders(t)
	var last time.Time
	var gaps []time.Duration
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		if !last.IsZero() {
			gaps = append(gaps, time.Since(last))
		}
		last = time.Now()
		if len(gaps) == 3 {
			c.Fake().DropControl()
			return nil, nil, false
		}
		c.Fake().KeepControl()
		resp := kreq.ResponseKind().(*kmsg.FetchResponse)
		resp.ThrottleMillis = 300
		return resp, nil, true
	})
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	r.end()
	for _, gap := range gaps {
		if gap < 290*time.Millisecond {
			t.Errorf("asked again after %v, want 300 ms", gap)
		}
	}
}

// TestTheBulkClientIsClosed when all are at their ends, and made anew when one
// falls behind.
func TestTheBulkClientIsClosed(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	var made atomic.Int32
	r := newReader(t, c, func(_ *reader, cfg *Config) {
		cfg.timing.idle = 300 * time.Millisecond
		can := cfg.Client
		cfg.Client = func(role cluster.Role) (*kgo.Client, error) {
			if role == cluster.Bulk {
				made.Add(1)
			}
			return can(role)
		}
	})
	p := r.from(topic, 0, 0, -1)
	r.waitRecords(p, 10)
	r.until("the bulk client to be closed", func() bool {
		r.clients.mu.Lock()
		defer r.clients.mu.Unlock()
		return r.clients.made[cluster.Bulk] == nil
	})
	c.Produce(topic, numbered(0, 10, 1)...)
	r.waitRecords(p, 11)
	if n := made.Load(); n != 1 {
		t.Errorf("%d bulk clients were made, want 1", n)
	}
	q := r.from(topic, 1, 0, -1)
	r.waitRecords(q, 10)
	if n := made.Load(); n != 2 {
		t.Errorf("%d bulk clients were made, want 2", n)
	}
}

// TestAnOutageOfAllBrokers in the middle of a tail loses nothing.
func TestAnOutageOfAllBrokers(t *testing.T) {
	t.Parallel()
	c, topic := twoLeaders(t)
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	r.waitRecords(p, 10)
	r.waitRecords(q, 10)
	for node := range int32(3) {
		c.Kill9(node)
	}
	r.until("no broker to answer look-ups", func() bool {
		return slices.ContainsFunc(events[Lost](r), func(e Lost) bool { return e.Broker == -1 })
	})
	r.until("both leaders to be lost", func() bool { return len(events[Lost](r)) == 3 })
	begun := time.Now()
	r.until("a while", func() bool { return time.Since(begun) > 2*time.Second })
	for node := range int32(3) {
		c.Restart(node)
	}
	c.Produce(topic, numbered(0, 10, 5)...)
	c.Produce(topic, numbered(1, 10, 5)...)
	checkNumbered(t, r.waitRecords(p, 15), 0, 15)
	checkNumbered(t, r.waitRecords(q, 15), 0, 15)
	r.until("all to be back", func() bool { return len(events[Back](r)) == 3 })
	if len(events[Lost](r)) != 3 || len(events[NoLeader](r)) > 0 {
		t.Errorf("told %+v", r.told())
	}
}
