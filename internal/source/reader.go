package source

import (
	"context"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// reader reads one cluster. No call that it makes waits for another cluster.
// Everything but its events and counters belongs to the goroutine of run.
type reader struct {
	e       *engine
	name    string
	cluster *cluster.Cluster
	wants   []Want

	told    bool           // that there is no contact
	feeds   map[bool]*feed // by Want.Committed
	running sync.WaitGroup // of the feeds
	wake    chan struct{}  // capacity 1: something has changed

	settled map[splitKey]bool // splits that are under way, finished or failed
	absent  map[string]bool   // topics and splits that have been told missing
	noted   map[string]bool   // places whose trouble has been told while looking again
	notes   int               // on bounds that are not quite as asked
	waiting []*split          // whose start lies ahead of the log
	lates   bool              // contact came too late for "end" to be the log's end
	again   bool              // this is not the first look at the cluster's topics

	mu      sync.Mutex
	open    int             // splits that are not finished
	reasons map[string]bool // for which something failed
	unread  map[string]int  // splits that had nothing to read, by topic
}

// splitKey tells splits of one cluster apart: one partition is read twice if two
// streams want it at different isolation levels.
type splitKey struct {
	topic     string
	partition int32
	committed bool
}

func newReader(e *engine, name string, c *cluster.Cluster) *reader {
	return &reader{
		e: e, name: name, cluster: c, feeds: map[bool]*feed{}, wake: make(chan struct{}, 1),
		settled: map[splitKey]bool{}, absent: map[string]bool{}, noted: map[string]bool{}, reasons: map[string]bool{}, unread: map[string]int{},
	}
}

// run reads the cluster until ctx ends or there is nothing more to read.
func (r *reader) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer r.running.Wait()
	defer stop()
	defer r.e.entered.arrive(r)
	defer r.e.begun.arrive(r)
	info, err := r.contact(ctx)
	if err == nil {
		err = r.read(ctx, info)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.fail(err)
	}
	if err != nil && r.e.FailFast {
		r.e.entered.arrive(r)
		r.e.entered.wait(ctx, identityGrace) // others that are dead as well decide the exit code
	}
	r.e.retired(err)
}

// contact tries to reach the cluster until it answers. A bounded run gives up
// after GiveUp; a refusal that trying again cannot change ends it at once.
func (r *reader) contact(ctx context.Context) (cluster.Info, error) {
	since := time.Now()
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		info, err := r.connect(ctx, since)
		if err == nil {
			r.e.heard()
			r.back()
			r.detail(1, "%s: %s", r.name, Connected(info))
			return info, nil
		}
		r.e.entered.arrive(r)
		r.e.begun.arrive(r)
		if ctx.Err() != nil || r.final(err, since) {
			return info, r.givenUp(err)
		}
		r.lost(err)
		select {
		case <-time.After(r.within(wait, since)):
		case <-ctx.Done():
			return info, ctx.Err()
		}
	}
}

// connect tries once. The first try takes as long as finding the cause takes,
// others no longer than there is before the cluster is given up.
func (r *reader) connect(ctx context.Context, since time.Time) (cluster.Info, error) {
	if r.told && (r.e.Bounded || r.e.silent()) {
		left := max(r.e.GiveUp-time.Since(since), leastAttempt)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return r.cluster.Connect(ctx)
}

// leastAttempt is how long an attempt to reach a cluster may take at least.
const leastAttempt = 500 * time.Millisecond

// givenUp is the error with which a cluster is given up; why there was no
// contact has been told when the contact was lost.
func (r *reader) givenUp(err error) error {
	if !r.told || fault.KindOf(err) != fault.Unreachable {
		return err
	}
	return fault.New(fault.Unreachable, "%s: given up after %s without contact", r.name, r.e.GiveUp).On(r.name)
}

// within shortens a wait so that a cluster is given up when it is time to.
func (r *reader) within(wait time.Duration, since time.Time) time.Duration {
	if r.e.Bounded || r.e.silent() {
		return min(wait, max(0, r.e.GiveUp-time.Since(since)))
	}
	return wait
}

// final reports whether the cluster is given up.
func (r *reader) final(err error, since time.Time) bool {
	if r.e.FailFast || fault.KindOf(err) != fault.Unreachable {
		return true
	}
	return (r.e.Bounded || r.e.silent()) && time.Since(since) >= r.e.GiveUp
}

// lost tells, once per change, that there is no contact.
func (r *reader) lost(err error) {
	if r.told {
		return
	}
	r.told = true
	r.event(Event{Kind: Lost, Text: err.Error() + "; trying again", Hint: fault.HintOf(err)})
}

func (r *reader) back() {
	if r.told {
		r.told = false
		r.event(Event{Kind: Back, Text: r.name + ": back"})
	}
}

func (r *reader) event(ev Event) {
	ev.Split.Cluster = r.name
	r.e.Event(ev)
}

// fail tells why the cluster, or a part of it, gives no full result and keeps
// the first such reason for the end of the run. A reason that has been told is
// not told again: it often is that of many splits.
func (r *reader) fail(err error) {
	if !r.first(err.Error()) {
		return
	}
	r.event(Event{Kind: Failed, Text: err.Error(), Hint: fault.HintOf(err)})
	r.e.account(r.name, func(st *ClusterStats) {
		st.Faults++
		if st.Err == nil {
			st.Err = err
		}
	})
}

// first reports whether a reason is a new one.
func (r *reader) first(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons[reason] {
		return false
	}
	r.reasons[reason] = true
	return true
}

// finished is called by the writer when a split has been written to its end, or
// up to where err stopped it.
func (r *reader) finished(s *split, err error) {
	s.feed.forget(s)
	if err != nil {
		without := 1 + r.refused(s.Topic, err)
		r.e.account(r.name, func(st *ClusterStats) { st.Splits -= without })
		r.fail(err)
	}
	r.mu.Lock()
	r.open--
	r.mu.Unlock()
	r.poke()
}

// refused returns how many splits of a topic gave no result after all: whether
// a topic may be read shows on those splits only that hold something to read.
func (r *reader) refused(topic string, err error) int {
	if fault.KindOf(err) != fault.Auth {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.unread[topic]
	delete(r.unread, topic)
	return n
}

// unfinished is how many splits are under way.
func (r *reader) unfinished() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// poke lets the reader look whether it still has something to do.
func (r *reader) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
