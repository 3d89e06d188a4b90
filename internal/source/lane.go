package source

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
)

// lane is what of one split waits to be merged. Its fields belong to the writer,
// unless the merger's mu guards them.
type lane struct {
	split *split
	born  int64 // tells the lanes of one partition apart
	rank  int   // in the order of equal times

	cur   *job // whose deliveries are being merged; nil is none
	at    int  // the first of them that has not been
	high  int64
	some  bool      // high is a time
	dirty bool      // something of it is not flushed
	full  bool      // it holds as much as it may
	since time.Time // since when it has had nothing; zero while it has

	tail int64 // where the part of it ends that is among the last ones

	// Guarded by mu.
	jobs    []*job // behind cur
	started int    // of these, how many a worker has taken
	working int    // of these, how many are not ready
	busy    bool   // it has a cur
	closed  bool   // nothing more comes
	horizon int64  // time of the last delivery that has been prepared
	raw     int64  // bytes of all batches that are not through
	largest int64  // bytes of the largest chunk
	paused  bool
}

// Cut is where one delivery ends in a Block.
type Cut struct {
	Time   int64 // the record's timestamp
	Offset int64 // of the record
	End    int   // of the delivery in Data
	Stream int   // that it is for: an index in the Chunk's Streams
}

// Joiner is a Sink that does not ask which split something is of: deliveries that
// are put in order come to it joined, in Blocks with nothing but Data.
type Joiner interface {
	Sink
	Joins() bool
}

// Cutter is the Load of a Block whose deliveries can be written one by one.
type Cutter interface {
	// Cut returns the load of some deliveries, and its part of Size.
	Cut(from, to int) (load any, size int)
}

// leastShare is what a split may hold at least before it is paused.
const leastShare = 64 << 10

// mostPiece is the most of a split that is prepared at once, unless a batch is
// larger.
const mostPiece = 64 << 10

// share is how many bytes of batches each split may hold. The caller holds mu.
func (m *merger) share() int64 {
	return max(m.memory/2/int64(max(len(m.lanes), 1)), leastShare)
}

// attend tells the merger whether the reader may still find something that belongs
// before what is there, and that what it finds from now on comes too late to be
// among the last records.
func (r *reader) attend(l *looks) {
	if l.err == nil || !r.e.Bounded {
		r.e.tail.giveUp(r)
	}
	r.e.pipe.merge.await(r, l.err != nil || r.e.Bounded && l.searching() || r.group.joining())
}

// pieceBytes is the size at which answers are cut for merging: of every split at
// least one piece is held as it is to be written.
func (m *merger) pieceBytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(min(max(m.share()/4, 16<<10), mostPiece))
}

// most is how much a lane may hold: its share, and two batches so that one can
// be fetched while the other is merged. The caller holds mu.
func (m *merger) most(l *lane) int64 { return max(m.share(), 2*l.largest) }

// open makes a split one that is waited for.
func (m *merger) open(s *split) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lane(s)
	m.poke()
}

// lane returns a split's lane. The caller holds mu.
func (m *merger) lane(s *split) *lane {
	l := m.of[s]
	if l == nil {
		m.born++
		l = &lane{split: s, born: m.born, since: time.Now(), horizon: least, tail: s.tail}
		if m.tail != nil && m.tail.n == 0 {
			l.tail = s.backlog
		}
		m.of[s] = l
		m.lanes = append(m.lanes, l)
		m.unsorted = true
	}
	return l
}

// put takes a chunk. It never blocks: whoever is too far ahead is paused, so that
// the one that is waited for finds memory to be fetched with.
func (m *merger) put(c *Chunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(c.split)
	m.count++
	size := int64(c.size())
	l.jobs = append(l.jobs, &job{number: m.count, chunk: c, came: time.Now(), first: c.first, raw: int(size)})
	l.raw += size
	l.largest = max(l.largest, size)
	if l.raw >= m.most(l) {
		l.hold(true)
	}
	m.free.Signal()
}

// hold pauses the fetching of a split, or ends that. The caller holds mu.
func (l *lane) hold(on bool) {
	l.paused = on
	s := l.split
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	switch {
	case f == nil:
	case on:
		f.Pause(s.id)
	default:
		f.Resume(s.id)
	}
}

// detach copies the batches of chunks out of the answers that they came with,
// which may be much larger: what waits to be merged may wait for long.
func (m *merger) detach(chunks []*Chunk) {
	for _, c := range chunks {
		all := m.copies.get(c.size())
		list := make([]batch.Raw, len(c.batches))
		for i, raw := range c.batches {
			from := len(all)
			all = append(all, raw...)
			list[i] = batch.Raw(all[from:len(all):len(all)])
		}
		c.batches, c.release = list, nil
		c.copied = all
	}
}

// copies keeps buffers of batches for use again.
type copies struct {
	mu   sync.Mutex
	free [][]byte
}

// mostCopies is how many are kept.
const mostCopies = 64

func (c *copies) get(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.free) - 1; i >= 0; i-- {
		if b := c.free[i]; cap(b) >= size {
			c.free = slices.Delete(c.free, i, i+1)
			return b[:0]
		}
	}
	return make([]byte, 0, size)
}

func (c *copies) put(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) < mostCopies && cap(b) > 0 && cap(b) <= 2*chunkBytes {
		c.free = append(c.free, b)
	}
}

// rank puts the lanes into the order that equal times have. The caller holds mu.
func (m *merger) rank() {
	slices.SortFunc(m.lanes, func(a, b *lane) int {
		return cmp.Or(a.split.Compare(b.split.Split), slices.Compare(a.split.streams, b.split.streams), cmp.Compare(a.born, b.born))
	})
	for i, l := range m.lanes {
		l.rank = i
	}
	for i := range m.heap {
		m.heap[i].rank = m.heap[i].lane.rank
	}
	m.heap.order()
	m.unsorted = false
	limit := m.share()
	for _, l := range m.lanes {
		l.split.mu.Lock()
		f := l.split.feed
		l.split.mu.Unlock()
		if f != nil {
			f.LimitPartition(limit)
		}
	}
}

// drop forgets lanes. The caller holds mu.
func (m *merger) drop(gone []*lane) {
	for _, l := range gone {
		delete(m.of, l.split)
	}
	m.lanes = slices.DeleteFunc(m.lanes, func(l *lane) bool { return m.of[l.split] != l })
	m.unsorted = true
	m.left.Broadcast()
}
