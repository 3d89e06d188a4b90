package fetch

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestSessionSaysOnlyWhatHasChanged(t *testing.T) {
	s := newSession()
	a, b, c := newPart(Partition{"t", 0}, Position{Epoch: -1}, -1), newPart(Partition{"t", 1}, Position{Epoch: -1}, -1), newPart(Partition{"u", 0}, Position{Epoch: -1}, -1)
	for _, step := range []struct {
		name   string
		before func()
		parts  []*part
		answer int32 // session id; -1: the answer was lost
		want   string
	}{
		{"all is new", nil, []*part{a, b}, 7, "0/0 +t0@0 +t1@0"},
		{"nothing has changed", nil, []*part{a, b}, 7, "7/1"},
		{"one has moved", func() { a.at.Offset = 5 }, []*part{a, b}, 7, "7/2 +t0@5"},
		{"another leader epoch", func() { b.epoch = 3 }, []*part{a, b}, 7, "7/3 +t1@0"},
		{"one is paused, one is new", nil, []*part{b, c}, 7, "7/4 +u0@0 -t0"},
		{"it is back", nil, []*part{a, b, c}, 7, "7/5 +t0@5"},
		{"the answer is lost", func() { a.at.Offset = 9 }, []*part{a, b, c}, -1, "7/6 +t0@9"},
		{"so all is said again", nil, []*part{a, b, c}, 8, "7/0 +t0@9 +t1@0 +u0@0"},
		{"a new session", nil, []*part{a, b, c}, 8, "8/1"},
		{"another topic of the same name", func() { c.at.TopicID = [16]byte{1} }, []*part{a, b, c}, 9, "8/0 +t0@9 +t1@0 +u0@0"},
		{"the broker's cache is full", nil, []*part{a, b, c}, 0, "9/1"},
		{"everything each time", nil, []*part{a, b, c}, 0, "0/0 +t0@9 +t1@0 +u0@0"},
		{"in any order", nil, []*part{c, a}, 4, "0/0 +u0@0 +t0@9"},
		{"until there is room", nil, []*part{c, a}, 4, "4/1"},
	} {
		if step.before != nil {
			step.before()
		}
		fl := &flight{}
		if got := describe(s.request(step.parts, 100, fl)); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		if len(fl.wants) != len(step.parts) {
			t.Errorf("%s: an answer may speak of %d partitions, want %d", step.name, len(fl.wants), len(step.parts))
		}
		if step.answer < 0 {
			s.reset()
		} else {
			s.answered(step.answer)
		}
	}
	s.epoch = math.MaxInt32
	s.answered(4)
	if s.epoch != 1 {
		t.Errorf("the epoch after the last is %d, want 1", s.epoch)
	}
	s.refused(kerr.InvalidFetchSessionEpoch.Code)
	if s.id != 4 || s.epoch != 0 {
		t.Errorf("after a wrong epoch %d/%d, want 4/0: the old session is closed", s.id, s.epoch)
	}
	s.refused(kerr.FetchSessionIDNotFound.Code)
	if s.id != 0 || s.open() {
		t.Errorf("after an unknown id %d, want 0", s.id)
	}
}

func describe(req *kmsg.FetchRequest) string {
	out := fmt.Sprintf("%d/%d", req.SessionID, req.SessionEpoch)
	for _, rt := range req.Topics {
		for _, p := range rt.Partitions {
			out += fmt.Sprintf(" +%s%d@%d", rt.Topic, p.Partition, p.FetchOffset)
		}
	}
	for _, rt := range req.ForgottenTopics {
		for _, p := range rt.Partitions {
			out += fmt.Sprintf(" -%s%d", rt.Topic, p)
		}
	}
	return out
}

func TestSessionErrorsOpenANewSession(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIDError} {
		t.Run(err.Message, func(t *testing.T) {
			t.Parallel()
			testSession(t, nil, func(c *kafkatest.Cluster, hit func()) {
				c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
					req := kreq.(*kmsg.FetchRequest)
					if req.SessionEpoch < 1 {
						return nil, nil, false
					}
					hit()
					resp := req.ResponseKind().(*kmsg.FetchResponse)
					resp.ErrorCode = err.Code
					return resp, nil, true
				})
			})
		})
	}
}

func TestALostAnswerOpensANewSession(t *testing.T) {
	t.Parallel()
	testSession(t, nil, func(c *kafkatest.Cluster, hit func()) {
		c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			if kreq.(*kmsg.FetchRequest).SessionEpoch < 1 {
				return nil, nil, false
			}
			hit()
			return nil, errors.New("cut"), true
		})
	})
}

// TestOldVersionsOfFetch reads from brokers that know topics by name only, and
// from ones that know no sessions.
func TestOldVersionsOfFetch(t *testing.T) {
	for name, v := range map[string]*kversion.Versions{"v12": kversion.V3_0_0(), "v11": kversion.V2_3_0(), "v6": kversion.V1_0_0()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSession(t, []kfake.Opt{kfake.MaxVersions(v)}, func(_ *kafkatest.Cluster, hit func()) { hit() })
		})
	}
}

// testSession reads two partitions at their ends, has break interfere, and
// wants everything once and in order before and after.
func testSession(t *testing.T, opts []kfake.Opt, interfere func(c *kafkatest.Cluster, hit func())) {
	rig := kafkatest.Fake(t, kafkatest.Options{Fake: opts})
	c := rig.Cluster("one")
	topic := rig.Name("t")
	c.CreateTopic(topic, 2, nil)
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	for round := range 3 {
		for i := range 5 {
			c.Produce(topic, numbered(0, round*10+i, 1)...)
			r.waitRecords(p, round*10+i+1)
		}
		c.Produce(topic, numbered(0, round*10+5, 5)...)
		checkNumbered(t, r.waitRecords(p, round*10+10), 0, round*10+10)
		hit := make(chan struct{})
		interfere(c, sync.OnceFunc(func() { close(hit) }))
		select {
		case <-hit:
		case <-time.After(patience):
			t.Fatal("no request of a session was interfered with")
		}
	}
	c.Produce(topic, numbered(0, 30, 1)...)
	c.Produce(topic, numbered(1, 0, 1)...)
	checkNumbered(t, r.waitRecords(p, 31), 0, 31)
	checkNumbered(t, r.waitRecords(q, 1), 0, 1)
	for _, e := range r.told() {
		if _, ok := e.(CaughtUp); !ok {
			t.Errorf("told %+v", e)
		}
	}
}

// TestWhatIsPausedDoesNotMakeAHotLoop: left in the session, a paused or removed
// partition with records to read has every request answered at once.
func TestWhatIsPausedDoesNotMakeAHotLoop(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 3, nil)
		r := newReader(t, c, nil)
		p, q, s := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1), r.from(topic, 2, 0, -1)
		r.until("all at their ends", func() bool { return len(events[CaughtUp](r)) == 3 })
		r.Pause(p)
		r.Remove(q)
		c.Produce(topic, numbered(0, 0, 1)...)
		c.Produce(topic, numbered(1, 0, 1)...)
		c.Produce(topic, numbered(2, 0, 1)...)
		r.waitRecords(s, 1)
		r.until("the paused partition to be idle", func() bool { return idle(r, p) })
		c.Produce(topic, numbered(0, 1, 20)...) // whatever was in flight before, this is not read
		read := len(r.read(p))

		begun, before := time.Now(), r.requests()
		r.until("a second to pass", func() bool { return time.Since(begun) > time.Second })
		if n := r.requests() - before; n > 6 {
			t.Errorf("%d requests in a second of silence", n)
		}
		if n := len(r.read(p)); n != read {
			t.Errorf("%d records of a paused partition", n)
		}
		if n := len(r.read(q)); n > 0 {
			t.Errorf("%d records of a removed partition", n)
		}
		r.Resume(p)
		checkNumbered(t, r.waitRecords(p, 21), 0, 21)
	})
}

// requests is how many requests have been sent so far.
func (r *reader) requests() int {
	answer := make(chan int)
	r.post(func() { answer <- r.sent })
	return <-answer
}

// TestTheSessionIsClosed when nothing is left in it, and when Run ends.
func TestTheSessionIsClosed(t *testing.T) {
	t.Parallel()
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("one")
	topic := rig.Name("t")
	c.CreateTopic(topic, 1, nil)
	closed := c.Fake().Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1, TopLevel: true,
		When: func(req kmsg.Request) bool {
			r := req.(*kmsg.FetchRequest)
			return r.SessionID > 0 && r.SessionEpoch == -1
		},
	})
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing.farewell = 5 * time.Second })
	for i := range 2 {
		p := r.from(topic, 0, int64(i), -1)
		c.Produce(topic, numbered(0, i, 1)...)
		r.waitRecords(p, i+1)

		r.until("a session", func() bool { return r.inSession() })
		if i == 0 {
			r.Remove(p)
			r.until("the session to be closed", func() bool { return closed.Hits() >= 1 })
		}
	}
	r.end()
	// More on a busy machine: a partition whose call takes long leaves its session.
	if n := closed.Hits(); n < 2 {
		t.Errorf("%d sessions were closed, want 2", n)
	}
}

func (r *reader) inSession() bool {
	answer := make(chan bool)
	r.post(func() {
		open := false
		for _, b := range r.brokers {
			open = open || b.session.open()
		}
		answer <- open
	})
	return <-answer
}
