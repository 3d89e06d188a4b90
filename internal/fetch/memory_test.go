package fetch

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestBudget(t *testing.T) {
	b := NewBudget(10 << 20)
	wake := make(chan struct{}, 1)
	b.addLanes(4)
	if n, ok := b.reserve(mostBytes, wake); n != 10<<20/4 || !ok {
		t.Errorf("a quarter is %d, %v", n, ok)
	}
	if n, ok := b.reserve(1<<20, wake); n != 1<<20 || !ok {
		t.Errorf("no more than asked for is %d, %v", n, ok)
	}
	b.addLanes(-4)
	b.take(13 << 18) // 3.25 MiB: 3.25 are left
	if n, ok := b.reserve(mostBytes, wake); n != 13<<18 || !ok {
		t.Errorf("the rest is %d, %v", n, ok)
	}
	if n, ok := b.reserve(mostBytes, wake); ok {
		t.Errorf("%d of nothing", n)
	}
	b.take(1 << 20) // more than there is
	b.give(1 << 20)
	select {
	case <-wake:
		t.Error("woken although there is nothing")
	default:
	}
	b.give(leastBytes)
	select {
	case <-wake:
	default:
		t.Error("not woken although there is something")
	}
	b.addLanes(100)
	if n, ok := b.reserve(mostBytes, wake); n != leastBytes || !ok {
		t.Errorf("the least is %d, %v", n, ok)
	}
	if used := b.Used(); used != b.Total() {
		t.Errorf("%d of %d used", used, b.Total())
	}
}

// TestABlockedPartitionHoldsUpNoOther has one call of Fetched hang: that
// partition is not fetched meanwhile, the others are.
func TestABlockedPartitionHoldsUpNoOther(t *testing.T) {
	c, topic := fakeTopic(t)
	c.MoveLeader(topic, 0, 1)
	c.MoveLeader(topic, 1, 1)
	blocked := make(chan struct{})
	release := sync.OnceFunc(func() { close(blocked) })
	r := newReader(t, c, func(r *reader, _ *Config) {
		r.onData = func(d Data) {
			if d.ID == 0 {
				<-blocked
			}
		}
	})
	t.Cleanup(release)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	r.waitRecords(q, 10)
	for i := range 5 {
		c.Produce(topic, numbered(0, 10+i, 1)...)
		c.Produce(topic, numbered(1, 10+i, 1)...)
		r.waitRecords(q, 11+i)
	}
	begun, before := time.Now(), r.requests()
	r.until("some silence", func() bool { return time.Since(begun) > 700*time.Millisecond })
	if n := r.requests() - before; n > 5 {
		t.Errorf("%d requests in 700 ms of silence", n)
	}
	if n := len(r.read(p)); n != 0 {
		t.Errorf("%d records of the blocked partition", n)
	}
	release()
	checkNumbered(t, r.waitRecords(p, 15), 0, 15)
	checkNumbered(t, r.read(q), 0, 15)
}

// TestTheBudgetBoundsWhatIsNotReleased keeps all data: fetching stops near the
// budget, and goes on when it is released.
func TestTheBudgetBoundsWhatIsNotReleased(t *testing.T) {
	t.Parallel()
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	c := rig.Cluster("three")
	topic := rig.Name("t")
	c.CreateTopic(topic, 6, nil)
	value := bytes.Repeat([]byte("x"), 20_000)
	const each, total = 100, 600
	for p := range int32(6) {
		for range each / 10 {
			rs := make([]kafkatest.Record, 10)
			for i := range rs {
				rs[i] = kafkatest.Record{Partition: p, Value: value}
			}
			c.Produce(topic, rs...)
		}
	}
	var mu sync.Mutex
	var held []Data
	var records int64
	hold := true
	keeper := handlerFunc(func(d Data) {
		mu.Lock()
		defer mu.Unlock()
		records += d.Next - d.From
		if held = append(held, d); !hold {
			d.Release()
			d.Release() // once too often does nothing
		}
	})
	budget := NewBudget(2 << 20)
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.Handler, cfg.Budget = keeper, budget })
	for p := range int32(6) {
		r.from(topic, p, 0, -1)
	}
	r.until("the budget to be used up", func() bool { return budget.Total()-budget.Used() < leastBytes })
	r.until("nothing to be in flight", func() bool { return r.flying() == 0 })
	sent := r.requests()
	begun := time.Now()
	r.until("a while", func() bool { return time.Since(begun) > 300*time.Millisecond })
	if n := r.requests() - sent; n > 0 {
		t.Errorf("%d requests without budget", n)
	}
	mu.Lock()
	bytes := 0
	for _, d := range held {
		bytes += d.Bytes
	}
	if used := budget.Used(); int64(bytes) != used || used > 4<<20 {
		t.Errorf("%d bytes are held, %d used, of %d", bytes, used, budget.Total())
	}
	hold = false
	for _, d := range held {
		d.Release()
	}
	mu.Unlock()
	r.until("all to be read", func() bool { mu.Lock(); defer mu.Unlock(); return records == total })
}

type handlerFunc func(Data)

func (h handlerFunc) Fetched(d Data) { h(d) }
func (handlerFunc) Event(Event)      {}

func (r *reader) flying() int {
	answer := make(chan int)
	r.post(func() {
		n := 0
		for _, b := range r.brokers {
			n += len(b.flights)
		}
		answer <- n
	})
	return <-answer
}

func large(n int) kafkatest.Record { return kafkatest.Record{Value: bytes.Repeat([]byte("x"), n)} }

// TestABatchAboveEveryLimitIsRead: brokers give the first batch whole (KIP-74).
func TestABatchAboveEveryLimitIsRead(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 1, map[string]string{"max.message.bytes": "12000000"})
		c.Produce(topic, numbered(0, 0, 1)...)
		c.Produce(topic, large(10<<20))
		c.Produce(topic, numbered(0, 2, 1)...)
		r := newReader(t, c, func(_ *reader, cfg *Config) {
			cfg.MaxBytes, cfg.PartitionMaxBytes, cfg.Budget = leastBytes, 1000, NewBudget(1<<20)
		})
		p := r.from(topic, 0, 0, 3)
		event[Done](r)
		rs := r.waitRecords(p, 3)
		if n := len(rs[1].Value); n != 10<<20 || rs[2].Value != "v2" {
			t.Errorf("the second value has %d bytes, the third is %s", n, rs[2].Value)
		}
	})
}

// TestAnAnswerTooLargeToReceive stops the one partition that makes it so.
func TestAnAnswerTooLargeToReceive(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 3, map[string]string{"max.message.bytes": "12000000"})
		c.Produce(topic, numbered(0, 0, 2)...)
		c.Produce(topic, large(3<<20))
		c.Produce(topic, numbered(0, 3, 1)...)
		c.Produce(topic, numbered(1, 0, 10)...)
		c.Produce(topic, numbered(2, 0, 10)...)
		r := newReader(t, c, func(_ *reader, cfg *Config) {
			opts := append(c.ClientOpts(), kgo.BrokerMaxReadBytes(2<<20), kgo.FetchMaxBytes(1<<20))
			cfg.Client = func(cluster.Role) (*kgo.Client, error) { return kgo.NewClient(opts...) }
			cfg.BulkLanes = 1
		})
		p, q, s := r.from(topic, 0, 0, 4), r.from(topic, 1, 0, 10), r.from(topic, 2, 0, 10)
		e := event[TooLarge](r)
		if e.Partition != p || e.Offset != 2 || e.Size < 3<<20 || e.Limit != 2<<20 || e.Err == nil {
			t.Errorf("got %+v", e)
		}
		checkNumbered(t, r.waitRecords(p, 2), 0, 2)
		checkNumbered(t, r.waitRecords(q, 10), 0, 10)
		checkNumbered(t, r.waitRecords(s, 10), 0, 10)
		r.from(topic, 0, 3, 4)
		if rs := r.waitRecords(p, 3); rs[2] != (got{3, "", "v3"}) {
			t.Errorf("got %+v", rs[2])
		}
		if lost := events[Lost](r); len(lost) > 0 {
			t.Errorf("told %+v", lost)
		}
	})
}

// TestAnAnswerThatTakesTooLong is the same with a read time-out, from a broker
// that answers everything else.
func TestAnAnswerThatTakesTooLong(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	c.MoveLeader(topic, 0, 1)
	c.MoveLeader(topic, 1, 1)
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		for _, rt := range kreq.(*kmsg.FetchRequest).Topics {
			for _, p := range rt.Partitions {
				if p.Partition == 0 {
					c.Fake().KeepControl()
					return nil, nil, true
				}
			}
		}
		return nil, nil, false
	})
	r := newReader(t, c, func(_ *reader, cfg *Config) {
		opts := append(c.ClientOpts(), kgo.RequestTimeoutOverhead(time.Second))
		cfg.Client = func(cluster.Role) (*kgo.Client, error) { return kgo.NewClient(opts...) }
		cfg.timing.slow = 300 * time.Millisecond
	})
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	e := event[TooLarge](r)
	if e.Partition != p || e.Offset != 0 || !errors.Is(e.Err, os.ErrDeadlineExceeded) {
		t.Errorf("got %+v", e)
	}
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
	if lost := events[Lost](r); len(lost) > 0 {
		t.Errorf("told %+v", lost)
	}
}

func TestADamagedBatchStopsItsPartition(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	good := batchtest.New(batchtest.Record{Offset: 10, Value: []byte("good")}).Bytes()
	bad := batchtest.New(batchtest.Record{Offset: 11, Value: []byte("bad")}).Bytes()
	bad[len(bad)-2] ^= 1
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	r.waitRecords(p, 10)
	answerFetch(c, 0, func(rp *kmsg.FetchResponseTopicPartition) {
		rp.RecordBatches, rp.HighWatermark = append(bytes.Clone(good), bad...), 20
	})
	e := event[Damaged](r)
	var damage *batch.DamagedError
	if e.Partition != p || e.Offset != 11 || !errors.As(e.Err, &damage) || !strings.Contains(e.Err.Error(), "checksum") {
		t.Errorf("got %+v", e)
	}
	if rs := r.waitRecords(p, 11); rs[10] != (got{10, "", "good"}) {
		t.Errorf("got %+v", rs[10])
	}
	c.Produce(topic, numbered(1, 10, 1)...)
	checkNumbered(t, r.waitRecords(q, 11), 0, 11)
}

// TestAPieceOfABatch is asked for again alone, and given up if that gives no
// more.
func TestAPieceOfABatch(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	whole := batchtest.New(batchtest.Record{Offset: 10, Value: bytes.Repeat([]byte("x"), 500)}).Bytes()
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	r.waitRecords(p, 10)
	piece := func(rp *kmsg.FetchResponseTopicPartition) {
		rp.RecordBatches, rp.HighWatermark = whole[:100], 20
	}
	answerFetch(c, 0, piece)
	answerFetch(c, 0, piece)
	if e := event[TooLarge](r); e.Partition != p || e.Offset != 10 || e.Size != int64(len(whole)) || e.Limit < leastBytes {
		t.Errorf("got %+v", e)
	}
}

// TestReadBatches: a broker may begin with a batch that ends before the position.
func TestReadBatches(t *testing.T) {
	rec := func(offset int64) batchtest.Record { return batchtest.Record{Offset: offset, Value: []byte("v")} }
	old, first, second := batchtest.New(rec(0), rec(4)).Bytes(), batchtest.New(rec(5), rec(9)).Bytes(), batchtest.New(rec(20)).Bytes()
	o := &outcome{w: &want{p: newPart(Partition{"t", 0}, Position{}, -1), at: Position{Offset: 7, Epoch: 3}}, next: 7, epoch: 3}
	o.readBatches(bytes.Join([][]byte{old, first, second, old[:30]}, nil), nil)
	if o.next != 21 || len(o.batches) != 2 || !bytes.Equal(o.batches[0], first) || !bytes.Equal(o.batches[1], second) {
		t.Errorf("next %d, %d batches", o.next, len(o.batches))
	}
	if o.damage != nil || o.cut != 0 {
		t.Errorf("damage %v, cut %d", o.damage, o.cut)
	}
	marker := batchtest.Marker(21, 5, 0, true)
	o = &outcome{w: &want{p: o.w.p, at: Position{Offset: 21, Epoch: 3}}, next: 21, epoch: 3, bytes: len(marker)}
	o.readBatches(marker, nil)
	if o.next != 22 || len(o.batches) != 0 || o.held() != 0 || !o.news() {
		t.Errorf("a marker: next %d, %d batches, %d bytes", o.next, len(o.batches), o.held())
	}
}

// FuzzReadBatches: whatever an answer holds, the position only grows and what is
// kept is whole.
func FuzzReadBatches(f *testing.F) {
	rec := func(offset int64) batchtest.Record { return batchtest.Record{Offset: offset, Value: []byte("v")} }
	good := batchtest.New(rec(5), rec(9)).Bytes()
	f.Add(good, int64(5))
	f.Add(append(bytes.Clone(good), batchtest.Marker(10, 5, 0, false)...), int64(7))
	f.Add(good[:40], int64(0))
	f.Add(batchtest.Message(1, rec(3)), int64(3))
	f.Fuzz(func(t *testing.T, b []byte, from int64) {
		o := &outcome{w: &want{p: newPart(Partition{"t", 0}, Position{}, -1), at: Position{Offset: from}}, next: from, bytes: len(b)}
		o.readBatches(b, batch.NewFilter(nil))
		next, bytes := from, 0
		for _, raw := range o.batches {
			h, err := raw.Head()
			if err != nil || raw.Check() != nil || h.Next() <= next {
				t.Fatalf("kept a batch that ends at %d, behind %d: %v", h.Next(), next, err)
			}
			next, bytes = h.Next(), bytes+len(raw)
		}
		if o.next < next || bytes > len(b) || o.held() > len(b) {
			t.Fatalf("next is %d after %d, %d bytes of %d", o.next, next, bytes, len(b))
		}
	})
}
