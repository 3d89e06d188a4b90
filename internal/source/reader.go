package source

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// reader reads one cluster. No call that it makes waits for another cluster.
// Everything but its events and counters belongs to the goroutine of run.
type reader struct {
	e       *engine
	name    string
	late    bool            // it was not there when the run began
	missed  bool            // it was, but gave no contact until the others went on
	ctx     context.Context //nolint:containedctx // of run; for what the pipeline is given outside of a call
	cluster *cluster.Cluster
	id      string // of the physical cluster
	brokers int    // that it has
	other   *candidate

	wants   []*wanted
	told    bool // that there is no contact
	feeds   map[feedKey]*feed
	running sync.WaitGroup // of the feeds and of attempts to connect anew
	wake    chan struct{}  // capacity 1: something has changed

	ids       map[string][][16]byte // of topics, in the order in which they were met
	remade    map[string]*remade
	restarted map[string]bool // topics whose old partitions have told that they were made again

	group    *grouping           // nil without a group
	live     map[place]*delivery // what is under way, finished or failed
	origins  map[place]origin    // of what could not be started at once
	leaves   []*leaving
	checked  map[string]bool      // topics and patterns whose trouble is final, or that have been checked
	heard    map[string]time.Time // when texts about whole topics were told
	absent   map[string]bool      // topics and splits that have been told missing
	away     map[string]bool      // topics whose absence has been told, until they are found again
	untold   []absentTopic        // found missing at this look
	noted    map[string]bool      // places whose trouble has been told while looking again
	notes    int                  // on bounds that are not quite as asked
	waiting  []*split             // whose start lies ahead of the log
	recalls  []*split             // whose past is being read
	familiar map[place]bool       // topics of which an earlier run has read partitions
	lates    bool                 // contact came too late for "end" to be the log's end
	again    bool                 // this is not the first look at the cluster's topics
	looks    *looks               // at them; nil before there was contact

	mu        sync.Mutex
	desired   desire
	news      bool // desired has not been looked at
	ended     bool
	heir      *reader            // that has the name now, for another physical cluster; may be nil
	interrupt context.CancelFunc // of calls under way; may be nil
	aiming    context.CancelFunc // of a look-up of ends; may be nil
	overs     []over             // deliveries that have ended and have not been looked at
	open      int                // splits that are not finished
	reasons   map[string]bool    // for which something failed
	unread    map[string]int     // splits that had nothing to read, by topic
}

// splitKey tells splits of one cluster apart: one partition is read twice if two
// streams want it at different isolation levels.
type splitKey struct {
	topic     string
	partition int32
	committed bool
}

// place is one partition as one stream wants it.
type place struct {
	want      string
	topic     string
	partition int32
}

func newReader(e *engine, name string, c *cluster.Cluster, wants []Want) *reader {
	r := &reader{
		e: e, name: name, cluster: c, desired: desire{wants, c}, feeds: map[feedKey]*feed{}, wake: make(chan struct{}, 1),
		live: map[place]*delivery{}, origins: map[place]origin{}, checked: map[string]bool{}, absent: map[string]bool{}, away: map[string]bool{},
		noted: map[string]bool{}, heard: map[string]time.Time{}, familiar: map[place]bool{}, reasons: map[string]bool{}, unread: map[string]int{},
		ids: map[string][][16]byte{}, remade: map[string]*remade{}, restarted: map[string]bool{},
	}
	e.Monitor.state(name, ClusterReading)
	for _, w := range wants {
		r.wants = append(r.wants, newWanted(w))
	}
	return r
}

// errGone ends a reader whose cluster is no longer wanted.
var errGone = errors.New("no longer wanted")

// run reads the cluster until ctx ends or there is nothing more to read.
func (r *reader) run(ctx context.Context) {
	all := ctx
	ctx, stop := context.WithCancel(ctx)
	r.ctx = ctx
	defer r.running.Wait()
	defer stop()
	defer r.e.entered.arrive(r)
	defer r.e.begun.arrive(r)
	defer r.unawaited()
	err := r.contact(ctx)
	if err == nil {
		err = r.read(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	r.group.retire(all)
	if errors.Is(err, errGone) {
		err = nil
	}
	if err != nil {
		r.abandon()
		r.unawaited()
		r.e.pipe.merge.leave(ctx, r)
		r.fail(err)
		r.withoutLog(ctx)
	}
	if err != nil && r.e.FailFast {
		r.e.entered.arrive(r)
		r.e.entered.wait(ctx, identityGrace) // others that are dead as well decide the exit code
	}
	r.e.Monitor.over(r.name, err)
	r.release()
	if d, late := r.close(); late {
		r.e.begin(all, r.name, d.cluster, d.wants)
	}
	if err != nil && r.group.refused() && !r.e.FailFast {
		err = nil // no change of the metadata would help
	}
	r.e.retired(err)
}

// unawaited lets the order and the choice of the last records go on without the
// reader.
func (r *reader) unawaited() {
	r.e.tail.giveUp(r)
	r.e.pipe.merge.await(r, false)
}

// release gives up the cluster's name and its connections.
func (r *reader) release() {
	r.dropCandidate()
	r.e.ids.left(r)
	if r.e.Updates != nil {
		r.e.wakeAll()
		go r.cluster.Close() // a dead one may take its time
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
	if !r.isNew(err.Error()) {
		return
	}
	r.e.Monitor.failed(r.name)
	at := r.name
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Cluster != "" {
		at = f.Cluster // that records go to, maybe
	}
	r.e.Event(Event{Kind: Failed, Split: record.Split{Cluster: at}, Text: err.Error(), Hint: fault.HintOf(err)})
	r.e.account(r.name, func(st *ClusterStats) {
		st.Faults++
		if at != r.name {
			st.Target = at
		}
		st.Own = st.Own || at == r.name
		st.Stopped = st.Stopped || fault.KindOf(err) == fault.Partial // such as a split that was left at once
		if st.Err == nil {
			st.Err = err
		}
	})
}

// isNew reports whether a reason is a new one.
func (r *reader) isNew(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons[reason] {
		return false
	}
	r.reasons[reason] = true
	return true
}

// over is a delivery that has ended, or was stopped by err.
type over struct {
	*delivery
	err error
}

// finished is called by the writer when deliveries of a split have been written
// to their ends, or up to where err stopped them; all says that none is left.
func (r *reader) finished(s *split, list []*delivery, all bool, err error) {
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	if all && f != nil {
		f.forget(s)
	}
	if err != nil {
		without := 1 + r.refused(s.Topic, err)
		r.e.account(r.name, func(st *ClusterStats) {
			st.Splits -= without
			st.Stopped = st.Stopped || fault.KindOf(err) != fault.Auth // which is asked for again
		})
		r.fail(err)
	}
	r.mu.Lock()
	if all {
		r.open--
	}
	for _, d := range list {
		r.overs = append(r.overs, over{d, err})
	}
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

// poke lets the reader look whether it still has something to do.
func (r *reader) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
