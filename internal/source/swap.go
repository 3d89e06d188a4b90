package source

import (
	"context"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// candidate is a cluster with changed addresses or credentials. It takes the
// place of the one that is being read as soon as it has made contact: what works
// is not given up for what may not.
type candidate struct {
	cluster *cluster.Cluster
	met     chan cluster.Info // capacity 1
	stop    context.CancelFunc
}

// consider begins to make contact with a cluster that is to be read in place of
// the present one, or calls that off.
func (r *reader) consider(ctx context.Context, c *cluster.Cluster) {
	if r.other != nil && r.other.cluster == c {
		return
	}
	r.dropCandidate()
	if c == r.cluster {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	n := &candidate{c, make(chan cluster.Info, 1), stop}
	r.other = n
	r.running.Go(func() { r.try(ctx, n) })
}

func (r *reader) dropCandidate() {
	if r.other != nil {
		r.other.stop()
		go r.other.cluster.Close()
		r.other = nil
	}
}

// try makes contact, however long that takes.
func (r *reader) try(ctx context.Context, n *candidate) {
	told := false
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, longestPause) {
		info, err := n.cluster.Connect(ctx)
		if err == nil {
			n.met <- info
			r.poke()
			return
		}
		if ctx.Err() != nil {
			return
		}
		if !told {
			told = true
			r.event(Event{
				Kind: Failed, Text: err.Error() + "; this comes of the changed metadata, so reading goes on as before; trying again",
				Hint: fault.HintOf(err),
			})
		}
		if fault.KindOf(err) != fault.Unreachable { // a login that is refused often locks the account
			wait = refusedPause
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// refusedPause is how long to wait before a login that was refused is tried again.
const refusedPause = 30 * time.Second

// replace goes over to the candidate. Positions stay if it is the same physical
// cluster; of another one everything is found anew.
func (r *reader) replace(info cluster.Info) {
	old, before := r.cluster, r.id
	r.cluster = r.other.cluster
	r.other = nil
	r.told = false
	feeds := r.feeds
	if same := before == info.ClusterID; !same {
		r.event(Event{Kind: Note, Text: r.name + ": the addresses lead to another cluster now, id " + orNone(info.ClusterID) +
			" in place of " + orNone(before)})
		r.restart(feeds)
	} else {
		r.carryOver(feeds)
		r.event(Event{Kind: Note, Text: r.name + ": connected anew with the changed settings"})
	}
	go old.Close()
	r.met(info)
	for at, d := range r.live { // what was refused may be allowed now
		if d.state == failed && d.leave == nil {
			delete(r.live, at)
			if _, known := r.origins[at]; !known {
				r.origins[at] = joined
			}
		}
	}
	clear(r.checked)
}

func orNone(id string) string {
	if id == "" {
		return "(none)"
	}
	return id
}

// leaving reports whether something is on its way out.
func (r *reader) leaving() bool {
	for _, d := range r.live {
		if d.leave != nil {
			return true
		}
	}
	return false
}

// carryOver reads on with the new client where the old one stopped.
func (r *reader) carryOver(feeds map[feedKey]*feed) {
	r.feeds = map[feedKey]*feed{}
	for key, f := range feeds {
		n := r.newFeed(r.ctx, key.committed)
		r.feeds[key] = n
		for _, s := range f.end() {
			if slices.Contains(r.waiting, s) {
				n.reserve(s)
				continue
			}
			n.add(s, s.position())
			if s.over() { // which the old feed was told
				n.forget(s)
			}
		}
	}
}

// restart gives up everything that was read of another physical cluster.
func (r *reader) restart(feeds map[feedKey]*feed) {
	for _, f := range feeds {
		f.end()
	}
	for at, d := range r.live {
		if d.leave != nil {
			d.cut = "the addresses lead to another cluster"
			r.stopAt(d, 0)
			continue
		}
		r.dismiss(at, d, elsewhere)
	}
	// They are kept under the id of the cluster that they were read of.
	for r.leaving() && r.ctx.Err() == nil {
		if !r.collect() {
			select {
			case <-r.wake:
			case <-r.ctx.Done():
			}
		}
	}
	r.depart(r.ctx)
	clear(r.live)
	r.feeds = map[feedKey]*feed{}
	for _, w := range r.wants {
		w.looked, w.late = false, true
		for entry := range w.entries {
			w.entries[entry] = false
		}
	}
	clear(r.absent)
	clear(r.origins)
}
