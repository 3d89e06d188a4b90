package produce

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
)

func TestMain(m *testing.M) {
	if kafkatest.Wanted() {
		os.Exit(kafkatest.M(m).Run()) // the shared brokers' clients live as long as the binary
	}
	goleak.VerifyTestMain(kafkatest.M(m))
}

const patience = time.Minute

// writing is a Writer under test.
type writing struct {
	*Writer
	t testing.TB
	c *kafkatest.Cluster

	mu      sync.Mutex
	events  []Event
	results []Result
	open    int
}

// quick is a timing for tests.
func quick() timing {
	return timing{tell: 300 * time.Millisecond, silent: time.Second, backoff: 10 * time.Millisecond, longest: 200 * time.Millisecond}
}

func newWriting(t testing.TB, c *kafkatest.Cluster, change func(*Config)) *writing {
	t.Helper()
	target, err := cluster.New(cluster.Config{Name: "west", Bootstrap: strings.Split(c.Bootstrap(), ",")})
	if err != nil {
		t.Fatal(err)
	}
	w := &writing{t: t, c: c}
	cfg := Config{Cluster: target, timing: quick(), Event: func(ev Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, ev)
	}}
	if change != nil {
		change(&cfg)
	}
	if w.Writer, err = New(context.WithoutCancel(t.Context()), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		target.Close()
	})
	return w
}

func (w *writing) topic(name string) *Topic {
	w.t.Helper()
	t, err := w.Topic(w.t.Context(), name, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// stored makes a load of stored batches, a record each value, batches of size
// values.
func stored(t *Topic, o Origin, size int, values ...string) *Load {
	l := NewLoader()
	l.Begin(o)
	for chunk := range slices.Chunk(values, size) {
		var recs []batchtest.Record
		for _, v := range chunk {
			recs = append(recs, batchtest.Record{Offset: number(v), Time: 1_700_000_000_000 + number(v), Value: []byte(v)})
		}
		b := batchtest.New(recs...)
		b.LeaderEpoch, b.ProducerID, b.ProducerEpoch, b.Sequence = 5, 77, 3, 1000
		raw := batch.Raw(b.Bytes())
		h, _ := raw.Head()
		if !l.Store([]*Topic{t}, &h, raw) {
			panic("it cannot be stored")
		}
	}
	return l.End()
}

// built makes a load of single records.
func built(tb testing.TB, t *Topic, o Origin, values ...string) *Load {
	tb.Helper()
	l := NewLoader()
	l.Begin(o)
	for _, v := range values {
		if err := l.Add(t, &record.Record{Offset: number(v), Timestamp: number(v), Value: []byte(v)}); err != nil {
			tb.Fatal(err)
		}
	}
	return l.End()
}

// number is the number that a value begins with.
func number(v string) int64 {
	var n int64
	_, _ = fmt.Sscanf(v, "%d", &n)
	return n
}

func numbers(from, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%06d", from+i))
	}
	return list
}

// send sends a load and keeps what becomes of it, in the order of the answers.
func (w *writing) send(l *Lane, load *Load) {
	w.mu.Lock()
	w.open++
	w.mu.Unlock()
	w.Send(l, load, func(r Result) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
		w.results = append(w.results, r)
	})
}

// settle waits until everything is answered.
func (w *writing) settled() []Result {
	w.t.Helper()
	w.until("every answer", func() bool { return w.open == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.results)
}

// fine demands that everything has arrived.
func (w *writing) fine() {
	w.t.Helper()
	for _, r := range w.settled() {
		if r.Err != nil || r.Next != -1 {
			w.t.Fatalf("%+v", r)
		}
	}
}

// until waits for a condition that is looked at under the lock.
func (w *writing) until(what string, cond func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		ok := cond()
		w.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited %v for %s; events %v", patience, what, w.told())
		}
	}
}

func (w *writing) told() (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		texts = append(texts, string(ev.Kind)+" "+ev.Text)
	}
	return texts
}

// log reads the values of a partition.
func (w *writing) log(topic string, p int32) []string {
	w.t.Helper()
	return readLog(w.t, w.c, topic, p)
}

func readLog(t testing.TB, c *kafkatest.Cluster, topic string, p int32) (values []string) {
	t.Helper()
	end := c.EndOffset(topic, p)
	if end == 0 {
		return nil
	}
	cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}}))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for next := int64(0); next < end; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			values = append(values, string(r.Value))
			next = r.Offset + 1
		})
	}
	return values
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d values, want %d\n got %.600q\nwant %.600q", what, len(got), len(want), got, want)
	}
}

// headersOf encodes headers as a record has them.
func headersOf(list ...record.Header) record.Headers {
	h := record.Headers{Count: len(list)}
	for _, x := range list {
		h.Raw = append(binary.AppendVarint(h.Raw, int64(len(x.Key))), x.Key...)
		if x.Value == nil {
			h.Raw = append(h.Raw, 1)
			continue
		}
		h.Raw = append(binary.AppendVarint(h.Raw, int64(len(x.Value))), x.Value...)
	}
	return h
}
