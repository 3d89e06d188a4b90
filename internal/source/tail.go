package source

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// tail chooses the last records of all splits of all clusters. Those of one split
// are a suffix of it: of every split its last n records are merged by timestamp as
// Order has it, and the last n of that are taken. A record with an early time that
// stands behind later ones of its split comes right after them in the merge, so it
// hides none of them.
type tail struct {
	n       int
	wait    time.Duration
	bounded bool

	mu     sync.Mutex
	state  map[*reader]tailState
	found  []pick
	chosen chan struct{} // closed when found holds the records that are taken
	over   bool          // it is
}

// tailState is how far a reader has got that was there when the run began.
type tailState uint8

const (
	reaching  tailState = iota // its cluster has not answered yet
	searching                  // it looks for the last records of its splits
	ready                      // it has handed them in
	without                    // it is not waited for, and gives none
)

// pick is a record that may be among the last ones.
type pick struct {
	time   int64 // the latest of its split so far, which is its place in the merge
	split  *split
	offset int64
}

func (c pick) compare(o pick) int {
	if c.time != o.time {
		return cmp.Compare(c.time, o.time)
	}
	if c.split != o.split {
		return cmp.Or(c.split.Compare(o.split.Split), slices.Compare(c.split.streams, o.split.streams))
	}
	return cmp.Compare(c.offset, o.offset)
}

func newTail(o Options) *tail {
	if o.Tail <= 0 {
		return nil
	}
	t := &tail{wait: o.OrderWait, bounded: o.Bounded, state: map[*reader]tailState{}, chosen: make(chan struct{})}
	t.n = int(min(o.Tail, 1<<40))
	return t
}

// newHistory makes the time in which a merge takes what was there when it began: it waits
// for no split that has given all of that. It chooses nothing.
func newHistory(o Options) *tail {
	t := &tail{wait: o.OrderWait, bounded: o.Bounded, state: map[*reader]tailState{}, chosen: make(chan struct{}), over: true}
	close(t.chosen)
	return t
}

// mustHave reports whether a reader that has not found its splits is waited for,
// however long that takes.
func (t *tail) mustHave(r *reader) bool {
	return t != nil && (t.bounded || t.n > 0) && !t.without(r)
}

// expect notes a reader that begins with the run.
func (t *tail) expect(r *reader) {
	if t != nil {
		t.state[r] = reaching
	}
}

// search notes that a reader begins to look for the last records of its splits,
// and reports whether it still may.
func (t *tail) search(r *reader) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	st, known := t.state[r]
	if t.over || !known || st != reaching {
		return false
	}
	t.state[r] = searching
	return true
}

// giveUp goes on without a reader that has handed in nothing.
func (t *tail) giveUp(r *reader) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if st, known := t.state[r]; known && st != ready {
		t.state[r] = without
	}
	t.settle()
}

// without reports whether a reader has no part in the last records.
func (t *tail) without(r *reader) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	st, known := t.state[r]
	return !known || st == without
}

// offer hands in records of one split.
func (t *tail) offer(list []pick) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found = append(t.found, list...)
	if len(t.found) > 2*t.n+1024 {
		t.cut()
	}
}

// cut keeps the last n of what has been found.
func (t *tail) cut() {
	slices.SortFunc(t.found, pick.compare)
	if drop := len(t.found) - t.n; drop > 0 {
		t.found = append(t.found[:0], t.found[drop:]...)
	}
}

// settle chooses if nobody is waited for. The caller holds mu.
func (t *tail) settle() {
	if t.over {
		return
	}
	for _, st := range t.state {
		if st == reaching || st == searching {
			return
		}
	}
	t.cut()
	t.over = true
	close(t.chosen)
}

// choose notes that a reader has handed in all that it has, waits for the others
// and returns where each of its splits begins; a split that is not in it has none
// of the last records. A run without an end does not wait for long for clusters
// that do not answer.
func (t *tail) choose(ctx context.Context, r *reader) (map[*split]int64, error) {
	t.mu.Lock()
	t.state[r] = ready
	t.settle()
	t.mu.Unlock()
	var late <-chan time.Time
	if !t.bounded {
		timer := time.NewTimer(t.wait)
		defer timer.Stop()
		late = timer.C
	}
	for done := false; !done; {
		select {
		case <-t.chosen:
			done = true
		case <-late:
			t.goOn()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	begin := map[*split]int64{}
	for _, c := range t.found {
		if _, some := begin[c.split]; c.split.r == r && !some {
			begin[c.split] = c.offset
		}
	}
	return begin, nil
}

// goOn gives up whoever has not answered yet.
func (t *tail) goOn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r, st := range t.state {
		if st == reaching {
			t.state[r] = without
		}
	}
	t.settle()
}

// look ends the time of the last records when they have been merged. It is the
// merger's, which holds its mu.
func (t *tail) look(m *merger) {
	if t == nil {
		return
	}
	select {
	case <-t.chosen:
	default:
		return
	}
	for r, since := range m.missing {
		if t.mustHave(r) || t.n == 0 && time.Since(since) < t.wait {
			return
		}
	}
	for _, l := range m.lanes {
		if !l.pastTail() {
			return
		}
	}
	m.tail = nil
	t.mu.Lock()
	t.found = nil
	t.mu.Unlock()
	for i := range m.heap {
		h := &m.heap[i]
		h.time = m.key(h.lane.cur, h.lane.at)
	}
	m.heap.order()
}

// pastTail reports whether nothing of the last records is left of a lane.
func (l *lane) pastTail() bool {
	switch s := l.split; {
	case l.cur != nil:
		return l.cur.block.Cuts[l.at].Offset >= l.tail
	case len(l.jobs) > 0:
		return l.jobs[0].chunk.first >= l.tail
	default:
		return max(s.read.Load(), s.next) >= l.tail || l.finished()
	}
}

// picks are records of one split as they compete with those of others: with
// the latest time up to each.
func picks(s *split, list []found) []pick {
	out := make([]pick, len(list))
	for i, f := range list {
		if i > 0 {
			f.time = max(f.time, out[i-1].time)
		}
		out[i] = pick{f.time, s, f.offset}
	}
	return out
}
