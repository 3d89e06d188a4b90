package source

import (
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// split is one partition under way.
type split struct {
	record.Split
	id        fetch.Partition
	r         *reader
	topic     cluster.Topic // as it was found
	wants     []*wanted
	committed bool
	streams   []string
	read      atomic.Int64  // position behind what has been put into the pipeline
	backlog   int64         // the end of the log when the split was found
	logStart  int64         // and its start
	logEnd    int64         // and its end, whatever may be read of it
	past      *recollection // what is read before the log; nil: nothing
	tailed    bool          // it begins at the last records of all
	tailFrom  int64         // where
	tail      int64         // and where that part ends
	quota     *quota        // nil: it may give any number of deliveries
	underway  atomic.Int32  // chunks of it that a Forwarder has not answered for
	disowned  atomic.Bool   // a group has taken it away: nothing more of it may be written

	// handing is held while an answer is put into the pipeline: whoever holds it
	// knows that nothing lies between read and the pipeline.
	handing sync.Mutex

	mu         sync.Mutex
	feed       *feed
	topicID    [16]byte // of what has been fetched, or as it was found
	epoch      int32    // leader epoch of the batch before read; -1 is unknown
	deliveries []*delivery
	spans      []span // of deliveries; replaced, never changed
	taken      int64  // position behind what has been cut into chunks, by the spans of that moment
	next       int64  // position behind what has been written; changed by the writer only

	sight sight

	// Of the writer only.
	stopped bool // nothing more of it may be written
	sending sending
}

// delivery is how one stream takes a split, and how far that has come.
type delivery struct {
	want   string // key of the wanted
	stream string // under which it is delivered
	split  *split
	from   int64
	window spec.Window
	how    string // where it begins, for people
	cuts   []cut  // that may end it before until; of whoever holds the split's handing
	origin origin
	stop   spec.Bound // of its source

	// Guarded by the split's mu.
	until int64 // where it is finished; spec.Open is never
	wish  int64 // until, unless it is on its way out
	done  bool  // its end has been told to its reader
	short bool  // and it was stopped before

	// Of the reader's goroutine.
	state  state
	leave  *leaving // it is on its way out
	aimed  bool     // and knows where it ends
	target int64    // which is there; -1 is unknown
	cut    string   // why it ends before that
	ends   int64    // the log's end at the last look, for a draining source; -1 is unknown
}

// state is what has become of a delivery.
type state uint8

const (
	reading state = iota
	ended         // by a bound of its own
	failed        // and not tried again
	rested        // drained, and looked at in case something comes late
)

// span is what a delivery takes: from ≤ offset < until, within window.
type span struct {
	from, until int64
	window      spec.Window
}

func (s *span) wants(r *record.Record) bool {
	return r.Offset >= s.from && r.Offset < s.until && s.window.Holds(r.Timestamp)
}

func newSplit(r *reader, key splitKey, wants []*wanted) *split {
	s := &split{
		Split: record.Split{Cluster: r.name, Topic: key.topic, Partition: key.partition}, r: r,
		id: fetch.Partition{Topic: key.topic, ID: key.partition}, committed: key.committed, wants: wants, epoch: -1,
	}
	for _, w := range wants {
		s.streams = append(s.streams, w.Stream.NameFor(key.topic))
	}
	return s
}

// bound puts the split at the first offset that its deliveries want.
func (s *split) bound() (from int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.deliveries[0].from
	for _, d := range s.deliveries[1:] {
		from = min(from, d.from)
	}
	s.next = from
	s.read.Store(from)
	s.bind()
	return from
}

// bind makes the spans anew. The caller holds mu.
func (s *split) bind() {
	s.spans = make([]span, len(s.deliveries))
	for i, d := range s.deliveries {
		s.spans[i] = span{d.from, d.until, d.window}
	}
}

// end is where the last of its deliveries is finished.
func (s *split) end() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.deliveries[0].until
	for _, d := range s.deliveries[1:] {
		until = max(until, d.until)
	}
	return until
}

// fetchUntil is end in the words of package fetch.
func (s *split) fetchUntil() int64 {
	if until := s.end(); until != spec.Open {
		return until
	}
	return -1
}

// position is where to go on reading.
func (s *split) position() fetch.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fetch.Position{Offset: s.read.Load(), Epoch: s.epoch, TopicID: s.topicID}
}

func (s *split) setEpoch(epoch int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = epoch
}

// advance moves the position behind what has been written and returns the
// deliveries that end there, with err or because it may give no more, and
// whether none is left.
func (s *split) advance(c *Chunk, next int64, err error) (over []*delivery, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = max(s.next, next); c.rewinds {
		s.next = c.next
	}
	if c.follows {
		s.past.written = true
	}
	all = true
	for _, d := range s.deliveries {
		if !d.done && (err != nil || c.full || s.next >= s.past.end(d)) {
			d.done, d.short = true, err != nil
			over = append(over, d)
		}
		all = all && d.done
	}
	return over, all
}

// left is where a delivery that is done has ended.
func (s *split) left(d *delivery) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.next, d.until)
}

// over reports whether none of its deliveries is left.
func (s *split) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		if !d.done {
			return false
		}
	}
	return true
}

// retire ends a split without a word: another one takes its place, or another
// member of a group has it. It reports whether something of it was under way.
func (s *split) retire() (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		some = some || !d.done
		d.done = true
	}
	return some
}

// finishAt lets a delivery end at a position, or where the split has been read
// to if that is further.
func (s *split) finishAt(d *delivery, position int64) {
	s.handing.Lock()
	defer s.handing.Unlock()
	read := s.read.Load()
	s.mu.Lock()
	d.until = max(position, read)
	over := read >= d.until
	s.bind()
	s.mu.Unlock()
	if over { // no answer may come any more that would show it
		_ = s.r.e.pipe.put(s.r.ctx, &Chunk{Split: s.Split, split: s, next: read})
	}
}

// goOn takes finishAt back, unless it is too late: it has ended, or what lies
// behind its end has been left out of chunks already.
func (s *split) goOn(d *delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.done || s.taken > d.until {
		return false
	}
	d.until = d.wish
	s.bind()
	return true
}

// chunks cuts an answer into chunks of about piece bytes.
func (s *split) chunks(d fetch.Data, piece int) []*Chunk {
	s.mu.Lock()
	base := Chunk{Split: s.Split, Streams: s.streams, split: s, spans: s.spans, maxBatch: s.r.e.MaxBatch, first: d.From, next: d.Next}
	s.taken = d.Next
	s.mu.Unlock()
	var list []*Chunk
	for rest := d.Batches; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n]) <= piece) {
			size += len(rest[n])
			n++
		}
		c := base
		c.batches, rest = rest[:n:n], rest[n:]
		if len(rest) > 0 {
			if h, err := c.batches[n-1].Head(); err == nil {
				c.next = h.Next()
			}
			base.first = c.next
		}
		list = append(list, &c)
	}
	if len(list) == 0 {
		c := base
		list = append(list, &c)
	}
	// The writer works in order: when the last chunk is through, all are.
	list[len(list)-1].release = d.Release
	return list
}

func (s *split) at() cluster.TopicPartition {
	return cluster.TopicPartition{Topic: s.Topic, Partition: s.Partition}
}
