package fetch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kafkatest.M(m)) }

// patience tells a hang, on a machine however busy.
const patience = 60 * time.Second

// got is one record as it was read.
type got struct {
	Offset     int64
	Key, Value string
}

// reader is a handler that keeps everything, and the Fetcher that feeds it.
type reader struct {
	*Fetcher
	t  testing.TB
	mu sync.Mutex

	records map[Partition][]got
	next    map[Partition]int64
	last    map[Partition]Data // without batches
	calls   map[Partition]int
	events  []Event

	onData  func(Data)  // before it is kept, outside of mu
	onEvent func(Event) // after it is kept, outside of mu
	end     func()
	begun   time.Time
}

// quick is a timing for tests: as usual, where that does not take seconds.
func quick() timing {
	return timing{
		slow: time.Second, trouble: 300 * time.Millisecond, backoff: 50 * time.Millisecond, longest: time.Second,
		farewell: 50 * time.Millisecond,
	}
}

// newReader makes a reader of a cluster; change may alter the Config and the
// reader's hooks before it runs.
func newReader(t testing.TB, c *kafkatest.Cluster, change func(*reader, *Config)) *reader {
	t.Helper()
	opts := c.ClientOpts()
	return newReaderOf(t, func(cluster.Role) (*kgo.Client, error) { return kgo.NewClient(opts...) }, change)
}

// newReaderOf makes a reader of what the clients are connected to.
func newReaderOf(t testing.TB, client func(cluster.Role) (*kgo.Client, error), change func(*reader, *Config)) *reader {
	t.Helper()
	r := &reader{
		t: t, records: map[Partition][]got{}, next: map[Partition]int64{},
		last: map[Partition]Data{}, calls: map[Partition]int{}, begun: time.Now(),
	}
	cfg := Config{Cluster: "test", Handler: r, timing: quick(), Client: client}
	if change != nil {
		change(r, &cfg)
	}
	r.Fetcher = New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}()
	r.end = sync.OnceFunc(func() {
		cancel()
		begun := time.Now()
		<-ran
		if d := time.Since(begun); d > 5*time.Second { // what it waits for without end are calls of 10 s and more
			t.Errorf("Run took %v to end", d)
		}
		select {
		case <-r.finished:
		case <-time.After(patience):
			t.Error("the background of the Fetcher does not end")
		}
		if used := r.cfg.Budget.Used(); used != 0 {
			t.Errorf("%d bytes of the budget are still used at the end", used)
		}
	})
	t.Cleanup(r.end)
	return r
}

func (r *reader) Fetched(d Data) {
	defer d.Release()
	if r.onData != nil {
		r.onData(d)
	}
	dec := batch.NewDecoder(&batch.Pool{})
	var records []got
	for _, raw := range d.Batches {
		b, err := dec.Decode(raw, 1<<30)
		if err != nil {
			r.t.Errorf("%v: %v", d.Partition, err)
			continue
		}
		var rec record.Record
		w := b.Records()
		for w.Next(&rec) {
			if rec.Offset >= d.From {
				records = append(records, got{rec.Offset, string(rec.Key), string(rec.Value)})
			}
		}
		if w.Err() != nil {
			r.t.Errorf("%v: %v", d.Partition, w.Err())
		}
		b.Release()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, ok := r.next[d.Partition]; ok && next != d.From {
		r.t.Errorf("%v: data from %d after %d", d.Partition, d.From, next)
	}
	r.calls[d.Partition]++
	r.records[d.Partition] = append(r.records[d.Partition], records...)
	r.next[d.Partition] = d.Next
	d.Batches = nil
	r.last[d.Partition] = d
}

func (r *reader) Event(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	if r.onEvent != nil {
		r.onEvent(e)
	}
}

// from starts reading a partition, at an offset that was not reached by reading.
func (r *reader) from(topic string, id int32, offset, until int64) Partition {
	p := Partition{topic, id}
	r.mu.Lock()
	delete(r.next, p)
	r.mu.Unlock()
	r.Add(p, Position{Offset: offset, Epoch: -1}, until)
	return p
}

func (r *reader) read(p Partition) []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records[p])
}

// told returns the events so far.
func (r *reader) told() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *reader) until(what string, cond func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("waited in vain for %s; positions %v, events %+v", what, r.next, r.events)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// waitRecords waits until n records of p have been read.
func (r *reader) waitRecords(p Partition, n int) []got {
	r.t.Helper()
	r.until(fmt.Sprintf("%d records of %v", n, p), func() bool { return len(r.read(p)) >= n })
	if rs := r.read(p); len(rs) != n {
		r.t.Fatalf("%v: %d records, want %d", p, len(rs), n)
	}
	return r.read(p)
}

// event waits for an event of type E and returns the first.
func event[E Event](r *reader) E {
	r.t.Helper()
	var found E
	r.until(fmt.Sprintf("an event of type %T", found), func() bool {
		es := events[E](r)
		if len(es) > 0 {
			found = es[0]
		}
		return len(es) > 0
	})
	return found
}

// events returns the events of type E so far.
func events[E Event](r *reader) []E {
	var out []E
	for _, e := range r.told() {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// numbered are n records v<first>... for partition id.
func numbered(id int32, first, n int) []kafkatest.Record {
	rs := make([]kafkatest.Record, n)
	for i := range rs {
		rs[i] = kafkatest.Record{Partition: id, Value: fmt.Appendf(nil, "v%d", first+i)}
	}
	return rs
}

// checkNumbered checks that rs are what numbered wrote, from offset = number.
func checkNumbered(t testing.TB, rs []got, first, n int) {
	t.Helper()
	if len(rs) != n {
		t.Fatalf("%d records, want %d", len(rs), n)
	}
	for i, g := range rs {
		if want := (got{int64(first + i), "", fmt.Sprintf("v%d", first+i)}); g != want {
			t.Fatalf("record %d is %+v, want %+v", i, g, want)
		}
	}
}
