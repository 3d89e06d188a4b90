package filter

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// What one record may cost. A verdict must not depend on how fast the machine is
// today, so the bound counts gojq's steps and not time: two million take about a
// twentieth of a second, and an expression that looks at all of a record takes a few
// for each byte of it.
const (
	mostSteps    = 2_000_000
	stepsPerByte = 64
	// mostMemory is for what needs few steps, such as doubling a text over and over.
	mostMemory = 256 << 20
)

// bound ends a run of an expression that takes more than it may, or that nobody
// waits for any more. gojq asks its context before every step; being one that
// counts costs no timer and no goroutine. It implements context.Context and
// belongs to one goroutine.
type bound struct {
	stopped func() bool // nothing more is wanted of this worker; nil is never
	steps   int         // still allowed
	next    int         // of steps: where the next look is due
	most    int         // were allowed
	looked  time.Time   // at the last look at the clock; zero before the first
	heap    uint64      // bytes in use at the first look at memory
	over    error       // why the run was ended; nil while it goes on
}

// ErrStopped is what an expression fails with that StopWhen has ended. It says
// nothing about the record.
var ErrStopped = errors.New("stopped")

// ended is ready for whoever asks.
var ended = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// begin allows a run about a record whose JSON form has so many bytes.
func (b *bound) begin(size int) {
	b.most = mostSteps + stepsPerByte*size
	b.steps, b.next, b.looked, b.heap, b.over = b.most, b.most-firstLook, time.Time{}, 0, nil
}

// How many steps there are between looks at memory and at what else may end a
// run. Most expressions are through before the first one.
const (
	firstLook = 64
	nextLook  = 16
)

// Done implements context.Context. It is called before every step.
func (b *bound) Done() <-chan struct{} {
	b.steps--
	if b.steps <= b.next {
		b.look()
	}
	if b.over == nil {
		return nil
	}
	return ended
}

// Err implements context.Context.
func (b *bound) Err() error { return b.over }

// Deadline implements context.Context.
func (b *bound) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (b *bound) Value(any) any { return nil }

// look is where a run may end.
func (b *bound) look() {
	b.next = b.steps - nextLook
	switch {
	case b.over != nil:
	case b.steps <= 0:
		b.over = fmt.Errorf("it takes more than %d steps", b.most)
	case b.stopped != nil && b.stopped():
		b.over = ErrStopped
	default:
		b.weigh()
	}
}

// slowLook is the time between two looks from which on one of the steps may have
// allocated much.
const slowLook = 2 * time.Millisecond

// weigh looks at the memory in use when the last steps were slow. The memory is
// the whole process's; so what another goroutine leaves behind is swept away
// before a record is said to take too much.
func (b *bound) weigh() {
	now := time.Now()
	slow := !b.looked.IsZero() && now.Sub(b.looked) > slowLook
	b.looked = now
	if !slow {
		return
	}
	heap := heapInUse()
	switch {
	case b.heap == 0:
		b.heap = heap
	case heap > b.heap+mostMemory:
		runtime.GC()
		if heapInUse() > b.heap+mostMemory {
			b.over = fmt.Errorf("it takes more than %d MiB of memory", mostMemory>>20)
		}
		b.looked = time.Now()
	}
}

// heapInUse is how many bytes the heap's objects take.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
