package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// Past has records from before a run, such as an earlier one wrote to files. A
// split that is there is read from it first, and then from the log, from the
// offset behind the last record on (as in Flink's HybridSource).
type Past interface {
	// Find says what there is of a partition that is delivered under the name of a
	// stream. It may be called by several goroutines at once.
	Find(stream string, s record.Split) (part PastPart, ok bool)
	// Places lists what there is.
	Places() []PastPlace
	// Read gives the records of parts, each from an offset on, in their order. It
	// ends with the first error of give, or when ctx ends.
	Read(ctx context.Context, from map[int]int64, give func(PastBlock) error) error
}

// PastPlace is a partition as one stream took it.
type PastPlace struct {
	Stream string
	record.Split
}

// PastPart is what a Past has of one partition.
type PastPart struct {
	ID    int   // tells parts apart
	First int64 // offset of the first record
	Next  int64 // the one behind the last record
}

// PastBlock is some records of one part, in order. It may be read until the run
// ends, by several goroutines at once.
type PastBlock struct {
	ID      int
	First   int64 // no record lies below
	Next    int64 // behind the last one
	Size    int   // bytes that it takes
	Records func(yield func(*record.Record) bool) error
}

// recollection is a split's part of the past, and how the log follows on it.
// What nothing guards does not change.
type recollection struct {
	part    PastPart
	span    span  // what is delivered of it
	live    int64 // where the log is read from
	rewinds bool  // which lies before what the past has
	until   int64 // where reading the log is finished
	err     error // why it is not read at all

	read   atomic.Bool // everything is in the pipeline
	paused atomic.Bool // the sink is behind
	news   chan struct{}

	// Guarded by the split's mu.
	final   int64 // where the delivery ends once the log is read; valid when follows
	follows bool  // the log is read
	written bool  // everything has been written
}

// end is where a delivery ends as far as the writer has come: what lies beyond
// the end of the log is delivered of the past all the same. The caller holds the
// split's mu.
func (p *recollection) end(d *delivery) int64 {
	if p != nil && p.follows && !p.written && d.until == p.final {
		return p.span.until
	}
	return d.until
}

// recall has a delivery begin with the past, if that has something of it that is
// wanted, and reports whether it does. Back says that the delivery was left
// before at the offset where it begins.
func (r *reader) recall(s *split, d *delivery, back bool, rg ranges) bool {
	if r.e.Past == nil {
		return false
	}
	part, ok := r.e.Past.Find(d.stream, s.Split)
	if first := r.e.pasts.claim(place{d.want, s.Topic, s.Partition}, r.name); !ok || !first && !back {
		return false
	}
	low, live := int64(0), part.Next
	switch start := rg.command.Start; {
	case back:
		low = d.from
	case start.Kind == spec.Offset:
		low = start.N
	case start.Kind == spec.Time && s.logStart <= live: // the log has no such record before d.from
		live = max(live, d.from)
	}
	until := min(pastStop(rg.command.Stop), pastStop(rg.source.Stop))
	if low >= part.Next || until <= part.First {
		return false
	}
	d.from = max(low, part.First)
	p := &recollection{part: part, span: span{d.from, until, d.window}, live: live, until: d.until, news: make(chan struct{}, 1)}
	if live > s.logEnd && until > part.Next {
		r.endsBefore(s, p)
	}
	d.until, d.wish, d.how = until, until, "the files on"
	s.past = p
	r.recalls = append(r.recalls, s)
	return true
}

// pastStop is where a stop ends what the past has. A time is found by the window;
// what counts from the log's ends says nothing about the past.
func pastStop(stop spec.Bound) int64 {
	if stop.Kind == spec.Offset {
		return stop.N
	}
	return spec.Open
}

// endsBefore deals with a past that goes on behind the end of the log: that is of
// another topic, or has lost records.
func (r *reader) endsBefore(s *split, p *recollection) {
	err := fault.New(fault.Partial, "%s: the files go on to offset %d, the log ends at %d: it is another one, or a restored one", s, p.part.Next-1, s.logEnd).On(r.name)
	switch r.e.OnGap {
	case GapStop:
		p.err = err
	case GapFail:
		err.Kind = fault.Failed
		r.e.stop(err)
	default:
		p.live, p.rewinds = s.logStart, true
		r.event(Event{Kind: Gap, Split: s.Split, Text: err.Error() + "; behind the files it is read from its start"})
	}
}

// wayText says how a split goes on from where it begins.
func (s *split) wayText(until int64) string {
	if s.past == nil {
		return untilText(until)
	}
	return fmt.Sprintf("in the files, from %d %s in the log", s.past.live, untilText(min(s.past.until, until)))
}

// recalling reports whether the past of a split is not in the pipeline yet.
func (s *split) recalling() bool { return s.past != nil && !s.past.read.Load() }

// goOver goes on with the logs of the splits whose past is in the pipeline.
func (r *reader) goOver() {
	r.recalls = slices.DeleteFunc(r.recalls, func(s *split) bool {
		switch {
		case s.over():
			return true
		case s.recalling():
			return false
		}
		r.follow(s)
		return true
	})
}

// follow goes on with the log of a split.
func (r *reader) follow(s *split) {
	p, d := s.past, s.deliveries[0]
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	if p.err != nil {
		f.abandon(s, p.err)
		return
	}
	s.handing.Lock()
	s.mu.Lock()
	d.wish = min(p.until, p.span.until)
	if d.leave == nil {
		d.until = d.wish
	}
	if p.rewinds {
		d.from = min(d.from, p.live)
	}
	p.final, p.follows = d.until, true
	s.bind()
	over := p.live >= d.until
	s.mu.Unlock()
	s.read.Store(p.live)
	_ = r.e.pipe.put(r.ctx, &Chunk{Split: s.Split, split: s, next: p.live, rewinds: p.rewinds, follows: true})
	s.handing.Unlock()
	if !over {
		f.add(s, s.position())
	}
}

// pasts reads the past for all splits that begin with it.
type pasts struct {
	news chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []*split
	claimed map[claim]bool
}

// claim is a place by the name that its cluster has.
type claim struct {
	place
	cluster string
}

// claim reports whether a place is asked for for the first time: another cluster
// that the name leads to later, or a topic that is made anew, has another past.
func (p *pasts) claim(at place, cluster string) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claimed == nil {
		p.claimed = map[claim]bool{}
	}
	c := claim{at, cluster}
	first = !p.claimed[c]
	p.claimed[c] = true
	return first
}

// admit has a split's past read.
func (p *pasts) admit(s *split) {
	p.mu.Lock()
	p.waiting = append(p.waiting, s)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *pasts) take() []*split {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.waiting
	p.waiting = nil
	return list
}

// remember reads the past until ctx ends: once for all splits that are there when
// every cluster has been looked at, and again for those that come later.
func (e *engine) remember(ctx context.Context) {
	select {
	case <-e.begun.all:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-e.pasts.news:
		case <-ctx.Done():
			return
		}
		if list := e.pasts.take(); len(list) > 0 {
			if err := e.readPast(ctx, list); err != nil {
				e.stop(err)
				return
			}
		}
	}
}

// errNobody ends a reading of the past that nobody wants any more of.
var errNobody = errors.New("nothing more is wanted")

// readPast puts the past of splits into the pipeline.
func (e *engine) readPast(ctx context.Context, list []*split) error {
	e.pipe.recalling.Store(true)
	defer e.pipe.recalling.Store(false)
	from, of := map[int]int64{}, map[int][]*split{}
	for _, s := range list {
		id := s.past.part.ID
		if at, there := from[id]; !there || s.past.span.from < at {
			from[id] = s.past.span.from
		}
		of[id] = append(of[id], s)
	}
	err := e.Past.Read(ctx, from, func(b PastBlock) error {
		for _, s := range of[b.ID] {
			if err := s.recalled(ctx, &b); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(list, func(s *split) bool { return !s.over() }) {
			return errNobody
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNobody) {
		return err
	}
	for _, s := range list {
		s.past.read.Store(true)
		s.r.poke()
	}
	return nil
}

// recalled puts a block of the past into the pipeline, once the sink is not
// behind with the split.
func (s *split) recalled(ctx context.Context, b *PastBlock) error {
	p := s.past
	for p.paused.Load() && !s.over() {
		select {
		case <-p.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if b.Next <= p.span.from || s.over() {
		return nil
	}
	s.handing.Lock()
	defer s.handing.Unlock()
	s.mu.Lock()
	bounds := p.span
	bounds.until = min(bounds.until, s.deliveries[0].until)
	s.mu.Unlock()
	c := &Chunk{
		Split: s.Split, Streams: s.streams, split: s, spans: []span{bounds}, past: b,
		first: max(b.First, p.span.from), next: b.Next,
	}
	if err := s.r.e.pipe.put(ctx, c); err != nil {
		return err
	}
	s.read.Store(c.next)
	return nil
}

// hold stops recalling, or goes on with it.
func (p *recollection) hold(on bool) {
	p.paused.Store(on)
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// recall yields the records of a chunk of the past. A damaged one ends the run:
// what is behind it cannot be told from what is not.
func (c *Chunk) recall(yield func(*record.Record, int) bool) error {
	err := c.past.Records(func(rec *record.Record) bool {
		return rec.Offset < c.first || !c.spans[0].wants(rec) || yield(rec, 0)
	})
	if err != nil {
		return EndRun(err)
	}
	return nil
}

// Recalled reports whether the chunk is of the past: it has records, and no
// batches.
func (c *Chunk) Recalled() bool { return c.past != nil }
