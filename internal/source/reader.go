package source

import (
	"context"
	"errors"
	"strings"
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
		live: map[place]*delivery{}, origins: map[place]origin{}, checked: map[string]bool{}, absent: map[string]bool{},
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

// contact tries to reach the cluster until it answers. A bounded run gives up
// after GiveUp; a refusal that trying again cannot change ends it at once.
func (r *reader) contact(ctx context.Context) error {
	since, refusals := time.Now(), 0
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, longestPause) {
		if err := r.reconsider(); err != nil {
			return err
		}
		info, err := r.connect(ctx, since)
		switch {
		case err == nil:
			r.e.heard()
			r.back()
			r.met(info)
			return nil
		case errors.Is(err, context.Canceled) && ctx.Err() == nil: // a plan came
			wait, since = 125*time.Millisecond, time.Now()
			continue
		}
		r.e.entered.arrive(r)
		r.e.begun.arrive(r)
		if r.missed = !r.e.Bounded; r.missed {
			r.e.tail.giveUp(r)
		}
		if ctx.Err() != nil || r.final(err, since) {
			return r.givenUp(err)
		}
		if r.lost(err); fault.KindOf(err) != fault.Unreachable {
			refusals++
			wait = afterRefusal(refusals)
		}
		select {
		case <-time.After(r.within(wait, since)):
		case <-r.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reconsider takes a new plan before there is any contact.
func (r *reader) reconsider() error {
	d, news := r.takeNews()
	if !news {
		return nil
	}
	before := r.wants
	r.rewant(d.wants)
	if len(r.wants) == 0 {
		r.tellUnread(before)
		return errGone
	}
	if d.cluster != r.cluster {
		go r.cluster.Close()
		r.cluster = d.cluster
	}
	return nil
}

// met notes who the cluster is.
func (r *reader) met(info cluster.Info) {
	r.id, r.brokers = info.ClusterID, len(info.Brokers)
	r.detail(1, "%s: %s", r.name, Connected(info))
}

// connect tries once. The first try takes as long as finding the cause takes,
// others no longer than there is before the cluster is given up.
func (r *reader) connect(ctx context.Context, since time.Time) (cluster.Info, error) {
	ctx, done := r.calling(ctx)
	defer done()
	if r.told && r.mortal() {
		left := max(r.e.GiveUp-time.Since(since), leastAttempt)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return r.cluster.Connect(ctx)
}

// mortal reports whether the cluster is given up when it stays silent.
func (r *reader) mortal() bool { return r.e.Bounded || !r.late && r.e.silent() }

// longestPause is how long to wait at most before contact is tried again.
const longestPause = 5 * time.Second

// patient reports whether even a refusal is waited out: the metadata or the
// brokers may be corrected while the run goes on.
func (r *reader) patient() bool {
	return r.e.Updates != nil && !r.e.Bounded && !r.e.FailFast && (r.late || r.id != "")
}

// leastAttempt is how long an attempt to reach a cluster may take at least.
const leastAttempt = 500 * time.Millisecond

// givenUp is the error with which a cluster is given up; why there was no
// contact has been told when the contact was lost, unless the first try took so long.
func (r *reader) givenUp(err error) error {
	switch {
	case fault.KindOf(err) != fault.Unreachable, r.e.FailFast:
		return err
	case !r.told:
		why := strings.TrimPrefix(err.Error(), r.name+": ")
		return fault.New(fault.Unreachable, "%s: given up after %s without contact: %s", r.name, r.e.GiveUp, why).On(r.name).WithHint("%s", fault.HintOf(err))
	}
	return fault.New(fault.Unreachable, "%s: given up after %s without contact", r.name, r.e.GiveUp).On(r.name)
}

// within shortens a wait so that a cluster is given up when it is time to.
func (r *reader) within(wait time.Duration, since time.Time) time.Duration {
	if r.mortal() {
		return min(wait, max(0, r.e.GiveUp-time.Since(since)))
	}
	return wait
}

// final reports whether the cluster is given up.
func (r *reader) final(err error, since time.Time) bool {
	if r.e.FailFast || fault.KindOf(err) != fault.Unreachable && !r.patient() {
		return true
	}
	return r.mortal() && time.Since(since) >= r.e.GiveUp
}

// lost tells, once per change, that there is no contact, unless that has been
// told of the brokers or nothing is wanted of the cluster any more.
func (r *reader) lost(err error) {
	if r.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return // it is the end of the run, or a new plan, that has ended the call
	}
	r.hasten()
	if r.told || r.brokersLost() {
		return
	}
	r.told = true
	r.lives()
	if len(r.wants) == 0 {
		return
	}
	text := err.Error()
	if r.id != "" {
		text = r.name + ": lost: " + strings.TrimPrefix(text, r.name+": ")
	}
	r.event(Event{Kind: Lost, Text: text + "; trying again", Hint: fault.HintOf(err)})
}

func (r *reader) back() {
	if r.told {
		r.told = false
		r.lives()
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
		st.Stopped = st.Stopped || fault.KindOf(err) == fault.Partial
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
		r.e.account(r.name, func(st *ClusterStats) { st.Splits -= without })
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
