package produce

import (
	"sync"

	"github.com/kcm-cli/kcm/internal/record"
)

// Lane is the way of one source partition: what is sent on it fails together, so
// that nothing arrives behind something that has not.
type Lane struct {
	From record.Split // what is sent on it

	mu  sync.Mutex
	err error
}

// failure is why the lane takes nothing more; nil if it does.
func (l *Lane) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// fail closes the lane; the first reason stays.
func (l *Lane) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// block is what was handed over at once. It is answered when nothing of it is on
// its way any more.
type block struct {
	writer   *Writer
	open     int // batches without an answer
	arrived  int // records
	bytes    int // that these took as batches
	missing  int64
	err      error
	answered func(Result)
}

// Result is what became of a Load.
type Result struct {
	Arrived int // records that are in the cluster
	Bytes   int // that these take as batches
	// Next is the offset of the first record that did not arrive; -1 if all did.
	Next int64
	Err  error // why the first that did not arrive has not; nil if all did
}

// heard takes the answer for a batch.
func (l *Lane) heard(b *Batch, err error) {
	x := b.block
	l.mu.Lock()
	x.open--
	switch {
	case err == nil:
		x.arrived += b.Records
		x.bytes += len(b.Raw)
	case x.err == nil || b.First < x.missing:
		x.err, x.missing = err, b.offset(0)
	}
	over, r := x.open == 0, Result{Arrived: x.arrived, Bytes: x.bytes, Next: -1, Err: x.err}
	if x.err != nil {
		r.Next = x.missing
	}
	l.mu.Unlock()
	if over {
		x.answered(r)
	}
}

// split notes that a batch has become two.
func (l *Lane) split(b *Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.block.open++
}

// Send writes a load on a lane, behind everything that was sent on it before.
// Answered is called once, from any goroutine, when all of it has arrived or what
// has not never will.
func (w *Writer) Send(l *Lane, load *Load, answered func(Result)) {
	if len(load.batches) == 0 {
		answered(Result{Next: -1})
		return
	}
	x := &block{writer: w, open: len(load.batches), answered: answered}
	for _, b := range load.batches {
		b.Lane, b.block = l, x
	}
	w.write(load.batches)
}
