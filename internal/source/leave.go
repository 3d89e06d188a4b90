package source

import (
	"context"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fetch"
)

// leaving are the partitions of a topic that one stream no longer wants, on
// their way out. It is told when the last of them has left.
type leaving struct {
	want   string
	stream string
	topic  string
	why    reason
	drains bool // it is to be read to the ends that the log has now
	drain  bool // and that has not been given up
	rest   map[*delivery]bool
	ends   map[int32]int64 // where they have left
	cut    map[string]int  // why some ended earlier, and how many
	due    time.Time       // when draining is given up, unless it gets on
	read   int64           // how far that was at the last look
	since  time.Time
	told   bool // that it takes its time
}

// reason is why something leaves.
type reason uint8

const (
	removed reason = iota // the plan no longer has it
	altered               // the plan wants it read in another way
	quiet                 // a draining source has been read out
	deleted               // its topic is gone
)

// adopt makes the newest plan the reader's own and reports whether there was a
// new one. What is no longer wanted begins to leave.
func (r *reader) adopt(ctx context.Context) bool {
	changed := r.changeOver()
	d, news := r.takeNews()
	if !news {
		return changed
	}
	if d.cluster != r.cluster || r.other != nil {
		r.consider(ctx, d.cluster)
	}
	before := r.wants
	r.rewant(d.wants)
	var back []*delivery
	for at, one := range r.live {
		w, was := r.want(at.want), keyed(before, at.want)
		switch {
		case w == nil || !w.takes(one.split.topic):
			r.dismiss(at, one, removed)
		case was != nil && !was.sameReading(w.Want):
			r.dismiss(at, one, altered)
		case one.leave != nil:
			if r.callBack(one) {
				back = append(back, one)
			}
		case one.state == rested && !r.drains(w):
			delete(r.live, at)
		}
	}
	r.tellAdded(back)
	r.tellDraining(before)
	r.forgetUnwanted()
	return true
}

func keyed(wants []*wanted, key string) *wanted {
	i := slices.IndexFunc(wants, func(w *wanted) bool { return w.key() == key })
	if i < 0 {
		return nil
	}
	return wants[i]
}

// forgetUnwanted drops what is known of topics that nobody wants, so that they
// begin anew if they come back.
func (r *reader) forgetUnwanted() {
	wanted := func(topic string) bool {
		return slices.ContainsFunc(r.wants, func(w *wanted) bool {
			_, entry := w.entries[topic]
			return entry || w.takes(cluster.Topic{Name: topic})
		})
	}
	for topic := range r.checked {
		if !wanted(topic) {
			delete(r.checked, topic)
		}
	}
	for topic := range r.absent {
		if !wanted(topic) {
			delete(r.absent, topic)
		}
	}
	for at := range r.origins {
		if !wanted(at.topic) {
			delete(r.origins, at)
		}
	}
}

// dismiss lets a delivery leave.
func (r *reader) dismiss(at place, d *delivery, why reason) {
	if d.leave != nil {
		return
	}
	l := r.leavingOf(at, d, why)
	switch {
	case d.state == failed:
		delete(r.live, at)
		return
	case d.state != reading:
		l.ends[at.partition] = d.split.left(d)
		r.keep(at, d)
		r.e.pipe.ledger.left(d)
		r.e.Monitor.left(d)
		delete(r.live, at)
		return
	}
	d.leave, d.aimed, d.target, d.cut = l, false, -1, ""
	l.rest[d] = true
	if !l.drain || slices.Contains(r.waiting, d.split) { // whose start has not been written yet
		r.stopAt(d, 0)
	}
}

func (r *reader) leavingOf(at place, d *delivery, why reason) *leaving {
	for _, l := range r.leaves {
		if l.want == at.want && l.topic == at.topic && l.why == why {
			return l
		}
	}
	l := &leaving{
		want: at.want, stream: d.stream, topic: at.topic, why: why, drain: why == removed && r.e.OnRemove != RemoveStop && !r.dead(),
		rest: map[*delivery]bool{}, ends: map[int32]int64{}, cut: map[string]int{}, due: time.Now().Add(r.drainTimeout(d)), since: time.Now(),
	}
	if why == removed && !l.drain && r.dead() {
		l.cut["the cluster gives no contact"] = 0
	}
	l.drains = l.drain
	r.leaves = append(r.leaves, l)
	return l
}

// drainTimeout is longer where an open transaction may hide the end.
// dead reports whether nothing can be asked of the cluster.
func (r *reader) dead() bool {
	return r.told || r.brokersLost()
}

// brokersLost reports whether no broker serves any records.
func (r *reader) brokersLost() bool {
	for _, f := range r.feeds {
		if _, all := f.losses[everyBroker]; all || r.brokers > 0 && len(f.losses) >= r.brokers {
			return true
		}
	}
	return false
}

// stopAt lets a delivery that leaves end at a position or where it has been read
// to, whichever is further.
func (r *reader) stopAt(d *delivery, position int64) {
	d.aimed = true
	d.split.finishAt(d, position)
}

// callBack keeps what was on its way out, and reports whether it was in time:
// otherwise it comes back when it has left.
func (r *reader) callBack(d *delivery) bool {
	l := d.leave
	if l.why != removed || !d.split.goOn(d) {
		return false
	}
	d.leave = nil
	delete(l.rest, d)
	d.how = "where it was: it had not left yet"
	if len(l.rest) == 0 && len(l.ends) == 0 {
		r.leaves = slices.DeleteFunc(r.leaves, func(o *leaving) bool { return o == l })
	}
	return true
}

// depart goes on with everything that is on its way out: it finds the ends to
// drain to, gives up in time and tells what has left. It reports whether
// something has.
func (r *reader) depart(ctx context.Context) (changed bool) {
	for _, l := range r.leaves {
		switch {
		case len(l.rest) == 0:
		case !l.drain:
		case r.dead():
			r.cutShort(l, func(*delivery) string { return "the cluster gives no contact" })
		case l.getsOn(r):
			r.tellDrain(l)
			r.aim(ctx, l)
		case time.Now().After(l.due):
			r.cutShort(l, func(d *delivery) string { return r.whatIsLeft(ctx, d) })
		default:
			r.tellDrain(l)
			r.aim(ctx, l)
		}
	}
	r.leaves = slices.DeleteFunc(r.leaves, func(l *leaving) bool {
		if len(l.rest) > 0 {
			return false
		}
		changed = true
		r.tellLeft(l)
		return true
	})
	return changed
}

// getsOn reports whether more has been read since the last look, and then gives
// the drain its time anew: a long backlog is no reason to leave some of it.
// cutShort ends a drain.
// aim looks up the ends that a drain goes to: the high watermarks, whatever the
// isolation level, because what an open transaction hides belongs to it.
// stopAiming ends a look-up of ends, which may wait for a broker that is gone.
// whatIsLeft says why a drain did not come to its end.
// openTransaction returns the producer whose transaction keeps a partition's
// stable end back.
// collect deals with the deliveries that have ended since the last call, and
// reports whether there were some.
func (r *reader) collect() bool {
	r.mu.Lock()
	list := r.overs
	r.overs = nil
	r.mu.Unlock()
	for _, o := range list {
		at := place{o.want, o.split.Topic, o.split.Partition}
		if r.live[at] != o.delivery {
			continue // its topic was made again meanwhile
		}
		if l := o.leave; l != nil {
			r.gone(at, o.delivery, l)
			continue
		}
		o.state = ended
		if o.err != nil {
			o.state = failed
		}
		r.keep(at, o.delivery)
	}
	return len(list) > 0
}

// gone notes that a delivery has left.
func (r *reader) gone(at place, d *delivery, l *leaving) {
	delete(l.rest, d)
	l.ends[at.partition] = d.split.left(d)
	if d.cut != "" && (d.target < 0 || l.ends[at.partition] < d.target) {
		l.cut[d.cut]++
	}
	d.leave = nil
	r.e.pipe.ledger.left(d)
	if l.why != quiet {
		r.e.Monitor.left(d)
	}
	if i := slices.Index(r.waiting, d.split); i < 0 {
		r.keep(at, d)
	} else if d.split.over() {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	if l.why == quiet {
		d.state = rested
		return
	}
	delete(r.live, at)
}

// keep remembers where a delivery stopped.
func (r *reader) keep(at place, d *delivery) {
	p := d.split.position()
	if end := d.split.left(d); end != p.Offset {
		p.Offset, p.Epoch = end, -1
	}
	r.e.kept.keep(r.leftover(at.want, at.topic, at.partition), p)
}

// abandon remembers where everything stands, because the cluster is given up.
func (r *reader) abandon() {
	for _, f := range r.feeds {
		f.end()
	}
	for at, d := range r.live {
		if d.state == reading {
			r.e.kept.keep(r.leftover(at.want, at.topic, at.partition), d.split.position())
		}
	}
}

// changeOver replaces the client if another one has made contact.
func (r *reader) changeOver() bool {
	if r.other == nil {
		return false
	}
	select {
	case info := <-r.other.met:
		r.replace(info)
		return true
	default:
		return false
	}
}

// remove takes everything out of the fetchers that has ended.
func (f *feed) remove(gone []fetch.Partition) {
	for _, p := range gone {
		if f.split(p) == nil { // otherwise it is read anew
			f.Remove(p)
		}
		delete(f.trouble, p)
	}
}
