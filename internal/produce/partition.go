package produce

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

type partitionKey struct {
	topic string
	id    int32
}

// partition is one partition that is written to. Everything in it is guarded by
// the Writer's mu.
type partition struct {
	key    partitionKey
	topic  *Topic
	queue  []*Batch // to be sent, in order
	flight []*Batch // sent, in order; the first has not arrived
	leader *broker  // nil: not known
	listed bool     // among the leader's ready ones

	producer *producer
	next     int32 // sequence of what has none yet
	proven   bool  // something of this producer has arrived
	turning  bool  // something came back: nothing is sent until all have

	tries   int
	retryAt time.Time
	since   time.Time // nothing has arrived since then, in spite of trying
	// failedOn is the broker that gave no answer at the last try.
	failedOn *broker
	trouble  trouble
}

// producer is a producer id. A partition takes one of its own when it has lost
// the broker's trust in the one that it had.
type producer struct {
	id     int64
	epoch  int16
	ready  bool
	asked  bool
	asking bool
	at     time.Time // when to ask again
	tries  int
	err    error
}

// partition returns the state of a partition, made when first needed.
func (w *Writer) partition(t *Topic, id int32) *partition {
	key := partitionKey{t.Name, id}
	p := w.partitions[key]
	if p == nil {
		p = &partition{key: key, topic: t, producer: w.producer}
		p.trouble.init(w, key)
		w.partitions[key] = p
		if leader, known := t.leaders[id]; known && leader >= 0 {
			p.leader = w.broker(leader)
		} else {
			w.homeless[p] = struct{}{}
		}
		w.want(p.producer)
	}
	return p
}

// list puts a partition among those that its leader can be sent something of.
func (w *Writer) list(p *partition) {
	switch {
	case p.listed || len(p.queue) == 0 || p.turning:
	case p.leader == nil:
		w.homeless[p] = struct{}{}
	case !p.retryAt.IsZero():
		w.waiting[p] = struct{}{}
	default:
		p.listed = true
		p.leader.ready = append(p.leader.ready, p)
	}
}

// rouse lists the partitions whose wait is over.
func (w *Writer) rouse(now time.Time, due *deadline) {
	for p := range w.waiting {
		if now.Before(p.retryAt) {
			due.by(p.retryAt)
			continue
		}
		p.retryAt = time.Time{}
		delete(w.waiting, p)
		w.list(p)
	}
}

// window is how many batches may be on their way. Until a producer is known to
// the broker it is one: a broker takes whatever sequence comes first.
func (p *partition) window() int {
	if p.proven {
		return mostFlying
	}
	return 1
}

// take returns the next batch to be sent, stamped; nil if none may be now.
func (w *Writer) take(p *partition, done *answers) *Batch {
	if p.turning || !p.producer.ready || len(p.flight) >= p.window() {
		return nil
	}
	for len(p.queue) > 0 {
		b := p.queue[0]
		if err := b.Lane.failure(); err != nil && !b.stamped {
			p.queue[0] = nil
			p.queue = p.queue[1:]
			*done = append(*done, b.answer(err))
			continue
		}
		p.queue[0] = nil
		p.queue = p.queue[1:]
		w.stamp(p, b)
		p.flight = append(p.flight, b)
		return b
	}
	return nil
}

// settle deals with a partition of which something came back, once nothing of it
// is on its way any more.
func (w *Writer) settle(p *partition, now time.Time) (done answers) {
	if slices.ContainsFunc(p.flight, func(b *Batch) bool { return b.flying }) {
		return nil
	}
	back := slices.DeleteFunc(p.flight, func(b *Batch) bool { return b.arrived })
	p.flight, p.turning = nil, false
	if len(back) == 0 {
		w.list(p)
		return nil
	}
	if p.topic.identity.err != nil {
		return w.failBack(p, back)
	}
	if w.closed {
		for _, b := range back {
			done = append(done, b.answer(context.Canceled))
		}
		return done
	}
	first := back[0]
	switch w.verdictOn(p, first) {
	case again:
		w.requeue(p, back)
		w.postpone(p, now, first.err)
	case renew:
		w.renew(p)
		w.requeue(p, unstamped(back))
		w.postpone(p, now, nil)
	case halve:
		// Nothing from it on has been taken, so its sequence is free again.
		p.next = first.seq
		one, two, err := halves(first)
		if err != nil {
			first.err = err
			done = append(done, w.refuse(p, first))
			back = back[1:]
		} else {
			back = append([]*Batch{one, two}, back[1:]...)
		}
		w.requeue(p, unstamped(back))
		w.list(p)
	case refuse:
		p.next = first.seq
		done = append(done, w.refuse(p, first))
		w.requeue(p, unstamped(back[1:]))
		w.list(p)
	}
	return done
}

func unstamped(list []*Batch) []*Batch {
	for _, b := range list {
		b.stamped = false
	}
	return list
}

// requeue puts batches back in front of the queue.
func (w *Writer) requeue(p *partition, list []*Batch) {
	for _, b := range list {
		b.err = nil
	}
	p.queue = append(slices.Clip(list), p.queue...)
}

// postpone has a partition wait before it is tried again.
func (w *Writer) postpone(p *partition, now time.Time, err error) {
	p.tries++
	w.stuck(p, now)
	if _, answered := errors.AsType[*kerr.Error](err); answered { // else it is the broker's trouble
		p.trouble.note(now, err)
	}
	p.retryAt = now.Add(growing(p.tries, w.cfg.timing.backoff, w.cfg.timing.longest))
	w.list(p)
}

// renew gives a partition a producer id of its own.
func (w *Writer) renew(p *partition) {
	w.counts.Renewed++
	p.producer, p.next, p.proven = &producer{}, 0, false
	w.want(p.producer)
}

// refuse fails the lane of a batch that can never be taken.
func (w *Writer) refuse(p *partition, b *Batch) func() {
	err := w.explain(b, p)
	b.Lane.fail(err)
	return b.answer(err)
}

// progress notes that something has arrived.
func (w *Writer) progress(p *partition) {
	p.proven, p.tries = true, 0
	if p.since.IsZero() && p.trouble.since.IsZero() {
		return
	}
	p.since, p.failedOn = time.Time{}, nil
	p.trouble.clear()
	delete(w.troubled, p)
}
