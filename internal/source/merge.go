package source

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// least is before every time.
const least = math.MinInt64

// preparedAhead is how many bytes may lie ready behind the deliveries that are
// being merged. The next piece of a split that has none ready always may be
// prepared, so there is no deadlock.
const preparedAhead = 4 << 20

// merger is the middle of a pipeline that puts deliveries in order: a lane for
// each split in place of one queue, and a writer that takes the least of all
// first deliveries. Workers prepare pieces beside it; the merge itself only
// compares times.
type merger struct {
	p       *pipeline
	byTime  bool          // otherwise only the last ones are merged, and then comes first what came first
	wait    time.Duration // how long an idle split is waited for, at most
	bounded bool          // the run has an end, and waits for everything that was there when it began
	exit    bool          // every split has an end
	memory  int64

	wake chan struct{} // capacity 1: of the writer

	mu       sync.Mutex
	free     sync.Cond // there may be work
	left     sync.Cond // lanes have gone
	lanes    []*lane
	of       map[*split]*lane
	missing  map[*reader]time.Time // readers that have not found their splits yet, and since when
	unsorted bool
	born     int64
	count    int64
	copies   copies
	ahead    int // bytes that are ready and not being merged
	stopped  bool

	// Of the writer.
	heap   heads
	joins  bool   // what is merged is joined
	joined []byte // what is to be written, if so
	parts  int    // of joined
	out    []Block
	bytes  int // of out and joined
	read   int // that was fetched for done
	done   []*job
	high   int64 // the highest time that was written
	forced bool  // nothing is waited for until what there is has been written
	tail   *tail // nil once the last ones have been written
	late   atomic.Int64
	back   atomic.Int64
}

func newMerger(o Options, p *pipeline) *merger {
	if _, forwards := o.Sink.(Forwarder); forwards || o.Order != OrderTimestamp && o.Tail == 0 {
		return nil
	}
	m := &merger{
		p: p, byTime: o.Order == OrderTimestamp, wait: o.OrderWait, bounded: o.Bounded, exit: o.Exit, memory: o.Memory,
		wake: make(chan struct{}, 1), of: map[*split]*lane{}, missing: map[*reader]time.Time{}, high: least,
	}
	if j, ok := o.Sink.(Joiner); ok {
		m.joins = j.Joins()
	}
	m.free.L, m.left.L = &m.mu, &m.mu
	if o.Monitor != nil {
		o.Monitor.merging.Store(m)
	}
	return m
}

// begin gives the merger what it begins with: the last records, or all that there
// is by now.
func (m *merger) begin(t *tail, o Options) {
	switch {
	case m == nil:
	case t != nil:
		m.tail = t
	case !o.Exit:
		m.tail = newHistory(o)
	}
}

// expect notes a reader that begins with the run.
func (m *merger) expect(r *reader) {
	if m != nil && m.tail != nil {
		m.tail.expect(r)
	}
}

// counts returns how many deliveries came late, and how many their own split holds
// behind later ones.
func (m *merger) counts() (late, back int64) {
	if m == nil {
		return 0, 0
	}
	return m.late.Load(), m.back.Load()
}

func (m *merger) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // the writer has been woken and will look
	}
}

// await notes that a reader has not found its splits yet, or has. A reader that
// has ended has found them.
func (m *merger) await(r *reader, waits bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, was := m.missing[r]
	switch {
	case waits && !was:
		m.missing[r] = time.Now()
	case !waits && was:
		delete(m.missing, r)
	}
	m.poke()
}

// leave ends the lanes of a reader that is given up, and waits until what has
// been fetched for them is written.
func (m *merger) leave(ctx context.Context, r *reader) {
	if m == nil {
		return
	}
	defer context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.left.Broadcast()
	})()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.poke()
	for ctx.Err() == nil {
		some := false
		for _, l := range m.lanes {
			if l.split.r == r {
				l.closed, some = true, true
			}
		}
		if !some {
			return
		}
		m.left.Wait()
	}
}

// prepare is one worker's loop.
func (m *merger) prepare(ctx context.Context) {
	w := m.p.preparer()
	defer context.AfterFunc(ctx, func() {
		m.p.end()
		m.stop()
	})()
	for {
		l, j := m.take()
		if j == nil {
			return
		}
		j.chunk.cuts = true
		if j.block, j.err = w.prepare(j.chunk, -1); errors.Is(j.err, errEnded) {
			return
		}
		m.prepared(l, j)
	}
}

func (m *merger) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.free.Broadcast()
}

// take returns the piece that is needed first, as far as is known: that of a lane
// which has nothing ready, or whose last delivery has the least time.
func (m *merger) take() (*lane, *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.stopped {
		var best *lane
		for _, l := range m.lanes {
			if l.started == len(l.jobs) || m.ahead >= preparedAhead && (l.busy || l.started > 0) {
				continue
			}
			if best == nil || l.sooner(best) {
				best = l
			}
		}
		if best != nil {
			j := best.jobs[best.started]
			best.started++
			best.working++
			return best, j
		}
		m.free.Wait()
	}
	return nil, nil
}

// sooner reports whether a lane runs out before another one.
func (l *lane) sooner(o *lane) bool {
	if (l.working > 0) != (o.working > 0) {
		return l.working == 0
	}
	return l.horizon < o.horizon
}

// prepared notes that a worker has done with a job.
func (m *merger) prepared(l *lane, j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j.isReady = true
	j.size = len(j.block.Data)
	m.ahead += j.size
	l.working--
	if n := len(j.block.Cuts); n > 0 {
		l.horizon = max(l.horizon, j.block.Cuts[n-1].Time)
	}
	m.poke()
}
