package fetch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRemoveWaitsForARunningCall and nothing comes after it.
func TestRemoveWaitsForARunningCall(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	began, blocked := make(chan struct{}), make(chan struct{})
	var running, after atomic.Bool
	r := newReader(t, c, func(r *reader, _ *Config) {
		first := sync.OnceFunc(func() { close(began) })
		r.onData = func(d Data) {
			if d.ID != 0 {
				return
			}
			after.Store(after.Load() || running.Load())
			running.Store(true)
			first()
			<-blocked
			running.Store(false)
		}
	})
	release := sync.OnceFunc(func() { close(blocked) })
	t.Cleanup(release)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	<-began
	removed := make(chan struct{})
	go func() {
		r.Remove(p)
		if running.Load() {
			t.Error("Remove has returned during a call of Fetched")
		}
		close(removed)
	}()
	c.Produce(topic, numbered(0, 10, 5)...)
	c.Produce(topic, numbered(1, 10, 5)...)
	checkNumbered(t, r.waitRecords(q, 15), 0, 15)
	select {
	case <-removed:
		t.Error("Remove did not wait")
	default:
	}
	release()
	<-removed
	n := len(r.read(p))
	c.Produce(topic, numbered(1, 15, 1)...)
	r.waitRecords(q, 16)
	if len(r.read(p)) != n || after.Load() {
		t.Errorf("%d records before and %d after Remove", n, len(r.read(p)))
	}
	r.Remove(p) // what is not there can be removed, paused and resumed
	r.Pause(p)
	r.Resume(p)
}

// TestAddMoves begins anew with a partition that is being read, while a call of
// Fetched runs: that call ends before the next begins.
func TestAddMoves(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	began, blocked := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(began) })
	var inside atomic.Int32
	r := newReader(t, c, func(r *reader, _ *Config) {
		r.onData = func(d Data) {
			if d.From == 4 {
				r.mu.Lock()
				delete(r.next, d.Partition) // begun anew
				r.mu.Unlock()
			}
			if inside.Add(1) > 1 {
				t.Error("two calls of Fetched for one partition at once")
			}
			first()
			<-blocked
			inside.Add(-1)
		}
	})
	p := r.from(topic, 0, 0, -1)
	<-began
	r.Add(p, Position{Offset: 5, Epoch: -1}, 8)
	r.Add(p, Position{Offset: 4, Epoch: -1}, 8)
	begun := time.Now()
	r.until("a moment", func() bool { return time.Since(begun) > 100*time.Millisecond })
	close(blocked)
	r.until("Done", func() bool { return len(events[Done](r)) == 1 })
	rs := r.read(p)
	if len(rs) != 16 {
		t.Fatalf("got %+v", rs)
	}
	checkNumbered(t, rs[:10], 0, 10)
	checkNumbered(t, rs[10:], 4, 6)
}

func TestAnEndThatIsReachedAlready(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 10, 10)
	q := r.from("no such topic", 0, 11, 4)
	r.until("Done twice", func() bool { return len(events[Done](r)) == 2 })
	if es := events[Done](r); es[0] != (Done{p, 10}) || es[1] != (Done{q, 11}) {
		t.Errorf("got %+v", es)
	}
	if n := r.requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
	r.from(topic, 0, 10, 11) // and then a later one
	c.Produce(topic, numbered(0, 10, 1)...)
	checkNumbered(t, r.waitRecords(p, 1), 10, 1)
	r.until("Done again", func() bool { return len(events[Done](r)) == 3 })
}

// TestATopicIDThatIsAnother: a position of a topic that is gone is not used.
func TestATopicIDThatIsAnother(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	r := newReader(t, c, nil)
	p := Partition{topic, 0}
	old := [16]byte{1, 2, 3}
	r.Add(p, Position{Offset: 3, Epoch: -1, TopicID: old}, -1)
	if e := event[Recreated](r); e.Partition != p || e.Old != old || e.New != c.Fake().TopicInfo(topic).TopicID {
		t.Errorf("got %+v", e)
	}
	if n := len(r.read(p)); n > 0 {
		t.Errorf("%d records", n)
	}
}

func TestChunks(t *testing.T) {
	one := func(id int32, alone bool) *part {
		p := newPart(Partition{"t", id}, Position{}, -1)
		p.alone = alone
		return p
	}
	for _, tt := range []struct {
		parts string // a is alone
		n     int
		want  string
	}{
		{"", 3, "[]"},
		{"nnnn", 2, "[[0 1] [2 3]]"},
		{"nnn", 2, "[[0 1] [2]]"},
		{"n", 4, "[[0]]"},
		{"nan", 3, "[[1] [0] [2]]"},
		{"aaa", 2, "[[0] [1]]"},
		{"nan", 1, "[[1]]"},
	} {
		var parts []*part
		for i, k := range tt.parts {
			parts = append(parts, one(int32(i), k == 'a'))
		}
		ids := [][]int32{}
		for _, c := range chunks(parts, tt.n) {
			var of []int32
			for _, p := range c {
				of = append(of, p.key.ID)
			}
			ids = append(ids, of)
		}
		if got := fmt.Sprint(ids); got != tt.want {
			t.Errorf("chunks(%s, %d) = %s, want %s", tt.parts, tt.n, got, tt.want)
		}
	}
	many := make([]*part, 1000)
	for i := range many {
		many[i] = one(int32(i), false)
	}
	if got := chunks(many, 3); len(got) != 3 || len(got[0]) != mostParts {
		t.Errorf("%d chunks, the first of %d", len(got), len(got[0]))
	}
}

func TestGrowing(t *testing.T) {
	for n, want := range []time.Duration{100, 100, 200, 400, 800, 1000, 1000} {
		for range 20 {
			if d := growing(n, 100, 1000); d < want*3/4 || d > want*5/4 {
				t.Errorf("growing(%d) = %d, want about %d", n, d, want)
			}
		}
	}
	if d := growing(1_000_000, time.Second, time.Minute); d > 75*time.Second {
		t.Errorf("growing has no end: %v", d)
	}
}

func TestTooLargeSize(t *testing.T) {
	const tail = ": response exceeds BrokerMaxReadBytes"
	for _, tt := range []struct {
		err         error
		size, limit int64
		ok          bool
	}{
		{errors.New("invalid large response size 300 > limit 256" + tail), 300, 256, true},
		{fmt.Errorf("read: %w", errors.New("invalid large response size 300 > limit 256"+tail)), 300, 256, true},
		{errors.New("invalid large response size 352518912 > limit 268435456; the first three bytes received appear to be a tls alert record"), 0, 0, false},
		{os.ErrDeadlineExceeded, 0, 0, false},
	} {
		if size, limit, ok := tooLargeSize(tt.err); size != tt.size || limit != tt.limit || ok != tt.ok {
			t.Errorf("tooLargeSize(%v) = %d, %d, %v", tt.err, size, limit, ok)
		}
	}
}

// TestNameless: without an id an answer that names topics by id says nothing.
func TestNameless(t *testing.T) {
	f := New(Config{})
	p, q := newPart(Partition{"t", 0}, Position{Offset: 3}, -1), newPart(Partition{"u", 0}, Position{TopicID: [16]byte{7}}, -1)
	fl := &flight{wants: map[Partition]*want{p.key: p.want(1), q.key: q.want(1)}}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = versionIDs
	for _, id := range [][16]byte{{}, {7}} {
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = id
		rt.Partitions = append(rt.Partitions, kmsg.NewFetchResponseTopicPartition())
		resp.Topics = append(resp.Topics, rt)
	}
	outs := f.read(resp, fl)
	if len(outs) != 2 || outs[0].w.p != p || outs[0].code != 100 || outs[1].w.p != q || outs[1].code != 0 {
		t.Errorf("%d outcomes: %+v", len(outs), outs)
	}
	resp.Version = versionIDs - 1
	resp.Topics[0].Topic, resp.Topics[1].Topic = "t", "u"
	if outs = f.read(resp, fl); len(outs) != 2 || outs[0].code != 0 {
		t.Errorf("by name: %d outcomes: %+v", len(outs), outs)
	}
}

// TestACallThatHangsDoesNotHoldUpTheEnd and what comes after it is dropped.
func TestACallThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	began, blocked := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	r := newReader(t, c, func(r *reader, _ *Config) {
		r.onData = func(Data) {
			if calls.Add(1) == 1 {
				close(began)
			}
			<-blocked
		}
	})
	r.from(topic, 0, 0, -1)
	<-began
	time.AfterFunc(1500*time.Millisecond, func() { close(blocked) })
	r.end() // checks that Run ends within a second
	r.from(topic, 1, 0, -1)
	r.Remove(Partition{topic, 0})
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// TestTurns: without a session those come first that have waited longest.
func TestTurns(t *testing.T) {
	f := New(Config{})
	b := f.broker(1)
	for id, served := range []uint64{3, 1, 2} {
		p := newPart(Partition{"t", int32(id)}, Position{}, -1)
		p.on, p.joined, p.served = b, true, served
		b.joined[p] = struct{}{}
	}
	var ids []int32
	for _, p := range f.tailParts(b) {
		ids = append(ids, p.key.ID)
	}
	if got := fmt.Sprint(ids); got != "[1 2 0]" {
		t.Errorf("got %s", got)
	}
}

// TestAnswersTooLargeAskForLess until there has been an answer again.
func TestAnswersTooLargeAskForLess(t *testing.T) {
	f := New(Config{Handler: &recorder{}})
	b := f.broker(1)
	err := errors.New("invalid large response size 300 > limit 256: response exceeds BrokerMaxReadBytes")
	for range 20 {
		f.land(&flight{b: b, wants: map[Partition]*want{}}, nil, nil, err)
	}
	if b.most != leastBytes || b.fails != 0 {
		t.Errorf("asks for %d after %d failures, want %d after none", b.most, b.fails, leastBytes)
	}
	f.land(&flight{b: b, wants: map[Partition]*want{}}, kmsg.NewPtrFetchResponse(), nil, nil)
	if b.most != 2*leastBytes {
		t.Errorf("asks for %d after an answer, want %d", b.most, 2*leastBytes)
	}
}
