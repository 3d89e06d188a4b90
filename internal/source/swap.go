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
	hurry   chan struct{}     // capacity 1: the present one is lost
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
	n := &candidate{c, make(chan cluster.Info, 1), make(chan struct{}, 1), stop}
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

// cutCalls ends calls to a cluster that another one is ready to take the place of.
func (r *reader) cutCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupt != nil {
		r.interrupt()
	}
}

// hasten has the candidate tried at once, because the present one is lost.
func (r *reader) hasten() {
	if r.other == nil {
		return
	}
	select {
	case r.other.hurry <- struct{}{}:
	default:
	}
}

// try makes contact, however long that takes.
func (r *reader) try(ctx context.Context, n *candidate) {
	told := false
	refusals := 0
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, longestPause) {
		info, err := n.cluster.Connect(ctx)
		if err == nil {
			n.met <- info
			r.cutCalls()
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
		if fault.KindOf(err) != fault.Unreachable {
			refusals++
			wait = afterRefusal(refusals)
		}
		select {
		case <-time.After(wait):
		case <-n.hurry:
		case <-ctx.Done():
			return
		}
	}
}

// afterRefusal is how long to wait before what was refused is tried again: a
// password is often changed here first and on the brokers a little later, and a
// login that is refused too often locks the account.
func afterRefusal(n int) time.Duration {
	return min(2*time.Second<<min(n-1, 4), refusedPause)
}

const refusedPause = 30 * time.Second

// replace goes over to the candidate. Positions stay if it is the same physical
// cluster. Another one gets a reader of its own, and this one drains what it has.
func (r *reader) replace(info cluster.Info) {
	old, before := r.cluster, r.id
	if before != info.ClusterID {
		r.event(Event{Kind: Note, Text: r.name + ": the addresses lead to another cluster now, id " + orNone(info.ClusterID) +
			" in place of " + orNone(before)})
		r.handOver()
		return
	}
	r.cluster = r.other.cluster
	r.other = nil
	r.told = false
	feeds := r.feeds
	r.carryOver(feeds)
	r.event(Event{Kind: Note, Text: r.name + ": connected anew with the changed settings"})
	r.group.rejoin()
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

// handOver leaves the cluster's name to a reader of the candidate.
func (r *reader) handOver() {
	c := r.other.cluster
	r.other = nil
	r.e.ids.leaves(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heir = r.e.begin(r.e.ctx, r.name, c, r.desired.wants)
	r.desired, r.news = desire{nil, r.cluster}, true
}

func orNone(id string) string {
	if id == "" {
		return "(none)"
	}
	return id
}

// carryOver reads on with the new client where the old one stopped.
func (r *reader) carryOver(feeds map[feedKey]*feed) {
	r.feeds = map[feedKey]*feed{}
	for key, f := range feeds {
		n := r.newFeed(r.ctx, key.committed)
		r.feeds[key] = n
		for _, s := range f.end() {
			if slices.Contains(r.waiting, s) || slices.Contains(r.recalls, s) {
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
