package source

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
)

// broker is the key of trouble with a broker; trouble with one partition has
// the partition as its key.
type broker int32

// trouble is why splits are not read, and since when.
type trouble struct {
	since time.Time
	why   string
}

// settle handles what the feeds have reported and what has ended, goes on with
// what is on its way out, and in a bounded run gives up what has been in trouble
// for too long. It reports whether the topics have to be looked at again.
func (r *reader) settle(ctx context.Context) bool {
	for _, f := range r.feeds {
		events, gone := f.take()
		f.remove(gone)
		for _, ev := range events {
			f.handle(ev)
		}
		f.tellHidden(time.Now())
		if r.e.Bounded {
			f.giveUp(ctx)
		}
	}
	r.collect()
	return r.depart(ctx)
}

// troubled reports whether the reader has to look at the clock: to give up in a
// bounded run, or to tell what was hidden.
func (r *reader) troubled() bool {
	for _, f := range r.feeds {
		if r.e.Bounded && len(f.trouble) > 0 {
			return true
		}
		for _, l := range f.losses {
			if l.pending() {
				return true
			}
		}
	}
	return false
}

func (f *feed) handle(ev fetch.Event) {
	switch ev := ev.(type) {
	case fetch.Lost:
		f.lost(ev)
	case fetch.Back:
		f.back(ev)
	default:
		f.handlePartition(ev)
	}
}

// everyBroker is the broker of events about the cluster as a whole.
const everyBroker broker = -1

// lost tells that a broker gives no contact, once: as long as no broker at all
// answers, single ones are not worth a line.
func (f *feed) lost(ev fetch.Lost) {
	if f.ctx.Err() != nil {
		return // what the end of the run breaks off is not lost
	}
	f.r.hasten()
	err := f.r.cluster.Explain(ev.Err, "")
	if f.r.e.FailFast {
		f.r.fail(err)
		f.r.e.stop(errFinished)
		return
	}
	id := broker(ev.Broker)
	what := fmt.Sprintf("broker %d (%s)", ev.Broker, ev.Addr)
	if id == everyBroker {
		what = "every broker"
	}
	text := fmt.Sprintf("%s: lost %s: %s; trying again", f.r.name, what, strings.TrimPrefix(err.Error(), f.r.name+": "))
	l := Event{Kind: Lost, Text: text, Hint: fault.HintOf(err)}
	f.trouble[id] = trouble{time.Now(), "no contact"}
	_, hidden := f.losses[everyBroker]
	hidden = hidden || f.r.told
	if id == everyBroker {
		hidden = f.hide() || f.r.told
	}
	f.losses[id] = loss{event: l, told: !hidden}
	if !hidden {
		f.r.event(l)
	}
}

// hide keeps the losses that have not been told from being told while every
// broker is lost. It reports whether one has been: then that is enough.
func (f *feed) hide() (told bool) {
	for id, l := range f.losses {
		told = told || l.told
		f.losses[id] = loss{event: l.event, told: l.told}
	}
	return told
}

// loss is a broker without contact, and whether that has been told.
type loss struct {
	event Event
	told  bool
	due   time.Time // when to be told, if it lasts that long; zero is not
}

// hiddenGrace is how long a broker's loss that was hidden by that of every
// broker stays so: it often is back with the others.
const hiddenGrace = 3 * time.Second

func (l loss) pending() bool { return !l.told && !l.due.IsZero() }

// tellHidden tells the losses that have outlasted that of every broker.
func (f *feed) tellHidden(now time.Time) {
	for id, l := range f.losses {
		if l.pending() && now.After(l.due) {
			f.losses[id] = loss{event: l.event, told: true}
			f.r.event(l.event)
		}
	}
}

// back tells that a broker answers again, if its loss was told. Any broker that
// answers ends the loss of every broker; those that stay lost are told a little
// later.
func (f *feed) back(ev fetch.Back) {
	id := broker(ev.Broker)
	was, all := f.losses[id], f.losses[everyBroker]
	for _, gone := range []broker{id, everyBroker} {
		delete(f.losses, gone)
		delete(f.trouble, gone)
	}
	if was.told || all.told {
		f.tell(Back, record.Split{}, "%s: %s", f.r.name, backText(ev))
	}
	for other, l := range f.losses {
		if !l.told && l.due.IsZero() {
			f.losses[other] = loss{event: l.event, due: time.Now().Add(hiddenGrace)}
		}
	}
}

func backText(ev fetch.Back) string {
	switch {
	case ev.Broker < 0:
		return "back"
	case ev.Moved:
		return fmt.Sprintf("broker %d is not needed any more, others lead its partitions", ev.Broker)
	default:
		return fmt.Sprintf("back: broker %d (%s)", ev.Broker, ev.Addr)
	}
}

// handlePartition handles what happened to one split.
func (f *feed) handlePartition(ev fetch.Event) {
	switch ev := ev.(type) {
	case fetch.Gap:
		f.with(ev.Partition, func(s *split) { f.gap(s, ev) })
	case fetch.Truncated:
		f.with(ev.Partition, func(s *split) {
			if f.r.group != nil {
				f.truncated(s, ev)
				return
			}
			f.tell(Gap, s.Split, "%s: truncated from %d to %d by an unclean leader election: records that were read are no longer in the log; going on at %d", s, ev.From, ev.To, ev.To)
			_ = f.r.e.pipe.put(f.ctx, &Chunk{Split: s.Split, split: s, next: ev.To, rewinds: true})
			f.moved(s, ev.To)
		})
	case fetch.Recreated:
		f.with(ev.Partition, func(s *split) {
			f.restart(s)
		})
	case fetch.Beyond:
		f.failAt(ev.Partition, "position %d is beyond the end of the log, %d", ev.At, ev.End)
	case fetch.Damaged:
		f.failAt(ev.Partition, "offset %d cannot be read: %w", ev.Offset, ev.Err)
	case fetch.TooLarge:
		f.failAt(ev.Partition, "the batch at offset %d cannot be fetched: %w", ev.Offset, tooLarge(ev))
	case fetch.Denied:
		f.with(ev.Partition, func(s *split) { f.abandon(s, f.r.cluster.Explain(ev.Err, s.Topic)) })
	case fetch.Missing:
		f.with(ev.Partition, func(s *split) { f.missing(s, ev.Topic) })
	case fetch.NoLeader:
		f.with(ev.Partition, func(s *split) {
			f.trouble[s.id] = trouble{time.Now(), "no leader"}
			f.tell(Lost, s.Split, "%s: no leader: %v; trying again", s, f.r.cluster.Explain(ev.Err, ""))
		})
	case fetch.Recovered:
		delete(f.trouble, ev.Partition)
		f.with(ev.Partition, f.recovered)
	}
}

func tooLarge(ev fetch.TooLarge) error {
	switch {
	case ev.Err != nil && ev.Size == 0:
		return ev.Err
	case ev.Size == 0:
		return fmt.Errorf("it is larger than %d bytes", ev.Limit)
	default:
		return fmt.Errorf("it takes %d bytes, the limit is %d", ev.Size, ev.Limit)
	}
}

// with calls do for a split that is still under way.
func (f *feed) with(p fetch.Partition, do func(*split)) {
	if s := f.split(p); s != nil {
		do(s)
	}
}

func (f *feed) tell(kind EventKind, s record.Split, format string, args ...any) {
	f.r.event(Event{Kind: kind, Split: s, Text: fmt.Sprintf(format, args...)})
}

// failAt stops a split, behind what has been fetched of it.
func (f *feed) failAt(p fetch.Partition, format string, args ...any) {
	f.with(p, func(s *split) {
		err := fmt.Errorf(format, args...)
		f.abandon(s, fault.New(fault.Failed, "%s: %w", s, err).On(f.r.name))
	})
}

// abandon sends err through the pipeline, so that everything that was fetched
// before is written first.
func (f *feed) abandon(s *split, err error) {
	_ = f.r.e.pipe.put(f.ctx, &Chunk{Split: s.Split, split: s, err: err, next: s.read.Load()})
}

func (f *feed) gap(s *split, ev fetch.Gap) {
	text := fmt.Sprintf("%s: offsets %d to %d are gone from the log (retention or deleted records)", s, ev.From, ev.To-1)
	switch f.r.e.OnGap {
	case GapStop:
		err := fault.New(fault.Partial, "%s", text).On(f.r.name)
		if !f.r.e.gapHint.Swap(true) {
			err = err.WithHint("--on-gap skip goes on at the log's start")
		}
		f.abandon(s, err)
		return
	case GapFail:
		f.abandon(s, EndRun(fault.New(fault.Failed, "%s", text).On(f.r.name)))
		return
	}
	f.tell(Gap, s.Split, "%s; going on at %d", text, ev.To)
	f.moveTo(s, ev.To)
}

// moveTo lets a split go on at a later offset, which may be behind its end.
func (f *feed) moveTo(s *split, to int64) {
	s.read.Store(to)
	if to >= s.end() {
		_ = f.r.e.pipe.put(f.ctx, &Chunk{Split: s.Split, split: s, next: to})
		return
	}
	f.moved(s, to)
}

// restart reads a topic that was made again from its beginning, or does what is
// to be done then. Bounds that were resolved for the old one mean nothing for it.
// recreated tells that a topic is another one than the one that was read. Its
// error stops the split, or the run.
// missing tells that a split does not exist any more. One that only patterns
// take has left; others are waited for.
// recovered tells that a split is read again.
// hear reports whether a text about a whole topic is news: it comes from each of
// its partitions, at about the same time.
// hearAgain is after how long the same text is news again.
// giveUp ends the splits that have been in trouble for longer than GiveUp.
// Trouble with a broker is that of the splits which only it can serve.
func (f *feed) giveUp(ctx context.Context) {
	for key, t := range f.trouble {
		if time.Since(t.since) < f.r.e.GiveUp {
			continue
		}
		delete(f.trouble, key)
		for _, splits := range byTopic(f.affected(ctx, key)) {
			f.abandonAll(splits, t.why)
		}
	}
}

// abandonAll gives up splits of one topic, which is told of each or, if they are
// many, of all together.
func (f *feed) abandonAll(splits []*split, why string) {
	var err error
	for _, s := range splits {
		switch {
		case len(splits) <= mostNamed:
			err = fault.New(fault.Unreachable, "%s: given up at offset %d after %s: %s", s, s.read.Load(), f.r.e.GiveUp, why).On(f.r.name)
		case err == nil:
			err = fault.New(fault.Unreachable, "%s: given up after %s: %s", placeOf(splits), f.r.e.GiveUp, why).On(f.r.name)
		}
		f.abandon(s, err)
	}
}

func (f *feed) affected(ctx context.Context, key any) (list []*split) {
	id, isBroker := key.(broker)
	leads := func(*split) bool { return true }
	if isBroker && id >= 0 {
		leads = f.ledBy(ctx, int32(id))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, s := range f.splits {
		if (isBroker && leads(s)) || key == p {
			list = append(list, s)
		}
	}
	return list
}

// ledBy returns which splits a broker leads now, or nobody does; all, when the
// cluster does not even say that.
func (f *feed) ledBy(ctx context.Context, id int32) func(*split) bool {
	topics, err := f.r.cluster.Topics(ctx, f.r.names()...)
	if err != nil {
		return func(*split) bool { return true }
	}
	leaders := map[fetch.Partition]int32{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			leaders[fetch.Partition{Topic: t.Name, ID: p.ID}] = p.Leader
		}
	}
	return func(s *split) bool {
		leader, known := leaders[s.id]
		return !known || leader < 0 || leader == id
	}
}
