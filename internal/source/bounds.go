package source

import (
	"context"
	"errors"
	"slices"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// start resolves the bounds of splits and starts those that have something to
// read. It returns why some could not be started yet.
func (r *reader) start(ctx context.Context, fresh []*split) (missing []error, err error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	f, err := r.ask(ctx, fresh)
	if err == nil {
		err = ctx.Err() // what was asked then says nothing
	}
	if err != nil {
		return nil, err
	}
	if err := r.findTail(fresh, f); err != nil {
		return nil, err
	}
	var lacks []lacking
	var begun []*delivery
	for _, s := range fresh {
		switch err := f.trouble(s); {
		case err == nil:
			r.begin(s, f)
			begun = append(begun, s.deliveries...)
		case fault.KindOf(err) == fault.Auth:
			r.refuse(s)
			r.fail(err)
		default:
			lacks = lack(lacks, s, err)
		}
	}
	r.tellAdded(begun)
	return r.waitsFor(lacks), nil
}

// refuse notes that a split may not be read, so that it is not tried again.
func (r *reader) refuse(s *split) {
	for _, w := range s.wants {
		r.live[place{w.key(), s.Topic, s.Partition}] = &delivery{want: w.key(), split: s, state: failed}
	}
}

// ranges are the two that bind a delivery: the command's with the source's
// start where the command has none, and the source's own for its stop.
type ranges struct {
	command, source spec.Range
	early           bool // it starts where the log ended when the run began
	chosen          bool // the run chose to start by time: nobody asked for records of some time
}

func (r *reader) ranges(s *split, w *wanted) ranges {
	var rg ranges
	rg.command, _ = r.e.Offsets.For(s.Split)
	if w.Source.Stop != nil {
		rg.source.Stop = w.Source.Stop.Bound
	}
	if !rg.command.Start.Given() && w.Source.Start != nil && !r.e.Offsets.Starts() {
		rg.command.Start = w.Source.Start.Bound
	}
	if rg.command.Start.Kind == spec.Stored { // what has no position begins as usual
		rg.command.Start = spec.Bound{}
	}
	o := r.originOf(w, s.place(w))
	if o == named && !rg.command.Start.Given() { // a topic takes the place of another: all of it
		rg.command.Start = spec.Bound{Kind: spec.Start}
	}
	rg.command = rg.command.OrElse(spec.Range{Start: r.e.Start})
	r.fromNow(&rg, s, w, o)
	return rg
}

// fromNow puts "end" where it is meant: what has been written since the run began,
// or since a partition is there, is never left out.
func (r *reader) fromNow(rg *ranges, s *split, w *wanted, o origin) {
	end, early := r.group.endOf(s, o)
	switch start := rg.command.Start; {
	case start.Kind == spec.Stored && r.knowsOthers(w, s):
		rg.command.Start = spec.Bound{Kind: spec.Start}
	case start.Kind != spec.End || start.N != 0:
	case o == appeared || r.knowsOthers(w, s):
		rg.command.Start = spec.Bound{Kind: spec.Start}
	case early:
		rg.command.Start, rg.early = spec.Bound{Kind: spec.Offset, N: end}, true
	case (r.lates || r.again || o != initial) && !r.e.Exit:
		rg.command.Start, rg.chosen = spec.Bound{Kind: spec.Time, N: r.e.Started.UnixMilli()}, true
	}
}

func (s *split) place(w *wanted) place { return place{w.key(), s.Topic, s.Partition} }

// begin resolves a split's bounds, tells what is not quite as asked, and starts
// reading, waiting or nothing.
func (r *reader) begin(s *split, now facts) {
	if !r.group.enter(s) {
		return
	}
	waits := false
	for _, w := range s.wants {
		d, ahead := r.delivery(s, w, now)
		s.deliveries = append(s.deliveries, d)
		waits = waits || ahead
		r.live[s.place(w)] = d
		delete(r.origins, s.place(w))
	}
	from, until := s.bound(), s.end()
	entry := r.entry(s, from)
	r.e.pipe.ledger.open(s, entry.Epoch)
	r.e.Monitor.begin(s)
	if s.quota = r.e.quotas.of(r.leftover(s.wants[0].key(), s.Topic, s.Partition)); s.quota.spent() {
		until = from // it has given all it may before it left
	}
	r.detail(2, "%s: from %d %s", s, from, s.wayText(until))
	r.e.account(r.name, func(st *ClusterStats) { st.Splits++ })
	r.mu.Lock()
	if from < until {
		r.open++
	} else {
		r.unread[s.Topic]++
	}
	r.mu.Unlock()
	if from >= until {
		for _, d := range s.deliveries {
			d.state, d.done = ended, true
		}
		return
	}
	f := r.feed(r.ctx, s.committed, s.id)
	if s.past != nil {
		f.reserve(s)
		r.e.pasts.admit(s)
		return
	}
	if waits {
		f.reserve(s)
		r.waiting = append(r.waiting, s)
		return
	}
	f.add(s, entry)
}

// entry is where to begin to fetch: if all of a split's deliveries were read
// before, with what is known of that place.
func (r *reader) entry(s *split, from int64) fetch.Position {
	// What was resolved for one topic of a name means nothing for another.
	at := fetch.Position{Offset: from, Epoch: -1, TopicID: s.topic.ID}
	for _, w := range s.wants {
		l := r.leftover(w.key(), s.Topic, s.Partition)
		if kept, ok, _ := r.lastPosition(w, s.Split); ok && kept.Offset == from && kept.TopicID == s.topic.ID {
			at = kept
		}
		r.e.kept.drop(l)
	}
	return at
}

func (r *reader) leftover(want, topic string, partition int32) leftover {
	id := r.id
	if id == "" {
		id = "/" + r.name
	}
	return leftover{id, topic, partition, want}
}

// delivery resolves what one stream wants of a split; ahead says that its start
// lies beyond the end of the log.
func (r *reader) delivery(s *split, w *wanted, f facts) (d *delivery, ahead bool) {
	sf := r.facts(s, f)
	s.backlog, s.logStart, s.logEnd = sf.End, sf.Start, f.offsets[s.at()][pointEnd].Offset
	rg := r.ranges(s, w)
	b := rg.command.Resolve(sf)
	stop := spec.Range{Start: spec.Bound{Kind: spec.Start}, Stop: rg.source.Stop}.Resolve(sf)
	d = &delivery{
		want: w.key(), stream: w.Stream.NameFor(s.Topic), split: s, from: b.From, window: window(rg), ends: -1,
		origin: r.originOf(w, s.place(w)), stop: rg.source.Stop,
	}
	d.endAt(b, stop)
	if r.e.Exit {
		d.until = min(d.until, sf.End)
	}
	d.wish = d.until
	if d.how = startText(rg.command.Start, r.e.Started); rg.early {
		d.how = "its end when this run began"
	}
	if r.afresh(s, d, s.logEnd) {
		return d, false
	}
	if back, err := r.comeback(s, w); back != nil || err != nil {
		switch {
		case r.group != nil && back != nil:
			r.atCommit(s, d, *back, sf.End)
		default:
			r.comeBack(s, d, back, err)
			if err == nil && *back >= 0 {
				r.recall(s, d, true, rg)
			}
		}
		return d, false
	}
	if s.tailed {
		d.from, d.how = min(s.tailFrom, d.until), "its last records"
		d.window = window(ranges{source: rg.source}) // contact may have come too late for "end"
		return d, false
	}
	if r.recall(s, d, false, rg) {
		return d, false
	}
	r.tellBounds(s, d, b)
	return d, b.Waits && d.from < d.until
}

// tellBounds tells what is not quite as asked. What was asked for and is gone is
// met like any other gap, if the policy holds for it.
func (r *reader) tellBounds(s *split, d *delivery, b spec.Bounds) {
	if r.e.GapAtStart && r.e.OnGap != GapSkip && b.Lost > 0 {
		d.from -= b.Lost
		return
	}
	for _, n := range b.Notes {
		r.event(Event{Kind: Note, Split: s.Split, Text: s.String() + ": " + n.Text, Depth: r.depthOf(n)})
	}
}

// comeBack begins a delivery where it was left, sf being the facts of now.
func (r *reader) comeBack(s *split, d *delivery, back *int64, err error) {
	switch {
	case err != nil:
		d.until, d.how = d.from, notRead
		r.fail(err)
	case *back < 0:
		d.from, d.how = s.logStart, "its start"
		r.madeAnew(s, d)
	default:
		d.from, d.how = *back, "where it was left"
	}
}

// madeAnew deals with a topic that is another one than when it left.
func (r *reader) madeAnew(s *split, d *delivery) {
	err := r.recreated(s, false)
	if end, ok := errors.AsType[endRun](err); ok {
		d.until, d.how = d.from, notRead
		r.e.stop(end.error) // which tells it
		return
	}
	if err != nil {
		d.until, d.how = d.from, notRead
		r.fail(err)
	}
}

// always is the window that holds every record.
var always, _ = spec.Range{}.Window()

// window is the span of timestamps that both ranges allow. A start by time that
// the run chose itself binds offsets only.
func window(rg ranges) spec.Window {
	w, _ := rg.command.Window()
	if rg.chosen {
		w.Since = always.Since
	}
	if s, ok := rg.source.Window(); ok {
		w.Until = min(w.Until, s.Until)
	}
	return w
}

// comeback returns where a split that was read before is read on: nil if it was
// not, and a negative number if its topic has been made anew since.
func (r *reader) comeback(s *split, w *wanted) (*int64, error) {
	kept, ok, err := r.lastPosition(w, s.Split)
	switch {
	case !ok || err != nil:
		return nil, err
	case kept.TopicID != [16]byte{} && s.topic.ID != [16]byte{} && kept.TopicID != s.topic.ID:
		return new(int64(-1)), nil
	default:
		return &kept.Offset, nil
	}
}

// lastPosition is where a split was left, in this run or an earlier one.
func (r *reader) lastPosition(w *wanted, s record.Split) (fetch.Position, bool, error) {
	if kept, ok := r.e.kept.find(r.leftover(w.key(), s.Topic, s.Partition)); ok && r.group == nil {
		return kept, true, nil
	}
	m, ok, err := r.known(w, s)
	return fetch.Position{Offset: m.Offset, Epoch: m.Epoch, TopicID: m.TopicID}, ok, err
}

// admit starts the splits whose logs have grown up to their start.
func (r *reader) admit(ctx context.Context) {
	if len(r.waiting) == 0 {
		return
	}
	ctx, done := r.calling(ctx)
	defer done()
	f, err := r.ask(ctx, r.waiting)
	if err != nil {
		return
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(s *split) bool {
		from := s.read.Load()
		if f.trouble(s) != nil || f.offsets[s.at()][pointEnd].Offset < from {
			return false
		}
		s.feed.add(s, fetch.Position{Offset: from, Epoch: -1, TopicID: s.topic.ID})
		return true
	})
}

// manyNotes is after how many notes on a cluster's splits the rest is told to
// those only who asked for details: a topic may have thousands of partitions.
const manyNotes = 10

// depthOf is how often details must be asked for to be told a note.
func (r *reader) depthOf(n spec.Note) int {
	if n.Minor {
		return 1
	}
	switch r.notes++; {
	case r.notes <= manyNotes:
		return 0
	case r.notes == manyNotes+1:
		r.event(Event{Kind: Note, Text: r.name + ": the same of more partitions; -v tells which"})
	}
	return 1
}
