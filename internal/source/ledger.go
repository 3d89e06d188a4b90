package source

import "sync"

// ledger knows how far each place has been written out and taken.
type ledger struct {
	taken func(end bool) int64 // bytes that have been taken of what was written; nil: all

	mu       sync.Mutex
	accounts map[Place]*account
	changed  []*account
	wrote    int64   // bytes of all entries
	pending  []entry // written, and as far as is known not taken
	held     int     // bytes of the chunks that pending holds
}

// account is one place's. Of several splits that are read for it one after the
// other only the last one counts: the others are of a topic that is gone.
type account struct {
	mark    Mark
	owner   *split
	changed bool
}

// entry is a chunk that has been written.
type entry struct {
	split *split
	next  int64
	epoch int32
	size  int64
	end   int64 // of its bytes among all
	chunk *Chunk
}

// mostHeld is how much of chunks is held to find the last record that was taken
// of the last one.
const mostHeld = 4 << 20

func newLedger() *ledger { return &ledger{accounts: map[Place]*account{}} }

// open begins the accounts of a split. A nil ledger keeps none.
func (l *ledger) open(s *split, epoch int32) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.disowned.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	topicID := s.topicID
	if topicID == [16]byte{} {
		topicID = s.topic.ID
	}
	for _, d := range s.deliveries {
		if d.how == notRead { // what is kept of it stays: the next run is to stop at it too
			continue
		}
		a := l.accounts[s.placeOf(d)]
		if a == nil {
			a = &account{}
			l.accounts[s.placeOf(d)] = a
		}
		a.owner, a.mark = s, Mark{Place: s.placeOf(d), TopicID: topicID, Offset: d.from, Epoch: epoch}
		l.touch(a)
	}
}

func (l *ledger) touch(a *account) {
	if !a.changed {
		a.changed = true
		l.changed = append(l.changed, a)
	}
}

func (s *split) placeOf(d *delivery) Place {
	return Place{ClusterID: s.r.id, Split: s.Split, Stream: d.want}
}

// left notes that a delivery is not read any more.
func (l *ledger) left(d *delivery) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[d.split.placeOf(d)]; a != nil && a.owner == d.split {
		a.mark.Left = true
		l.touch(a)
	}
}

// add notes that a chunk was written, after the split has moved on.
func (l *ledger) add(c *Chunk, b Block) {
	if l == nil {
		return
	}
	s := c.split
	s.mu.Lock()
	next := s.next
	s.mu.Unlock()
	l.enter(entry{split: s, next: next, epoch: c.epochBefore(next), size: int64(len(b.Data)), chunk: c})
}

// attempt notes blocks whose write failed. Some of it may have been taken.
func (l *ledger) attempt(c *Chunk, b Block) {
	if l == nil || l.taken == nil || b.Next < 0 {
		return
	}
	l.enter(entry{split: c.split, next: b.Next, epoch: c.epochBefore(b.Next), size: int64(len(b.Data)), chunk: c})
}

func (l *ledger) enter(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote += e.size
	e.end = l.wrote
	if l.taken == nil {
		l.settle(e)
		return
	}
	l.pending = append(l.pending, e)
	l.held += e.chunk.size()
	for i := 0; l.held > mostHeld && i < len(l.pending); i++ {
		l.pending[i].drop(l)
	}
}

func (e *entry) drop(l *ledger) {
	if e.chunk != nil {
		l.held -= e.chunk.size()
		e.chunk = nil
	}
}

// settle moves the marks of a split behind what has been taken.
func (l *ledger) settle(e entry) {
	s := e.split
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		a := l.accounts[s.placeOf(d)]
		if a == nil || a.owner != s {
			continue
		}
		at, epoch := e.next, e.epoch
		if at < d.from || at > d.until {
			at, epoch = min(max(at, d.from), d.until), -1
		}
		if at == a.mark.Offset {
			continue
		}
		a.mark.Offset, a.mark.Epoch = at, epoch
		if s.topicID != [16]byte{} {
			a.mark.TopicID = s.topicID
		}
		l.touch(a)
	}
}

// news reports whether there may be something to collect.
func (l *ledger) news() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.changed) > 0 || len(l.pending) > 0
}

// collect returns the marks that have changed since the last call.
func (l *ledger) collect() []Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sift(false)
	return l.marks()
}

// sift settles what has been taken, and returns up to which byte that is.
func (l *ledger) sift(end bool) (taken int64) {
	if l.taken == nil {
		return l.wrote
	}
	taken = l.taken(end)
	n := 0
	for n < len(l.pending) && l.pending[n].end <= taken {
		l.settle(l.pending[n])
		l.pending[n].drop(l)
		n++
	}
	l.pending = append(l.pending[:0], l.pending[n:]...)
	return taken
}

func (l *ledger) marks() []Mark {
	list := make([]Mark, 0, len(l.changed))
	for _, a := range l.changed {
		a.changed = false
		list = append(list, a.mark)
	}
	l.changed = l.changed[:0]
	return list
}

// last settles what has been taken of the chunk of which only a part has. Prepare
// makes at most limit deliveries of a chunk ready. It is called once, when
// nothing is written any more.
func (l *ledger) last(prepare func(c *Chunk, limit int) (Block, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.sift(true)
	if len(l.pending) == 0 || l.pending[0].chunk == nil || prepare == nil {
		return
	}
	e := l.pending[0]
	part := taken - (e.end - e.size)
	least, most := 0, e.chunk.most()
	for least < most { // the largest number of deliveries that part holds
		n := (least + most + 1) / 2
		b, _ := prepare(e.chunk, n)
		if int64(len(b.Data)) <= part {
			least = n
		} else {
			most = n - 1
		}
		free(b)
	}
	b, _ := prepare(e.chunk, least)
	if int64(len(b.Data)) <= part && b.Next >= 0 {
		l.settle(entry{split: e.split, next: b.Next, epoch: e.chunk.epochBefore(b.Next)})
	}
	free(b)
}
