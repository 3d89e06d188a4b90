package fetch

import (
	"context"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// state belongs to the loop.
type state struct {
	ctx      func() context.Context // of requests: it outlives that of Run
	chores   sync.WaitGroup         // look-ups and the like that are under way
	topics   map[string]map[int32]*part
	brokers  map[int32]*broker
	addrs    map[int32]string // as advertised
	homeless int              // parts that are wanted and have no broker

	stale     map[string]struct{} // topics to be looked up
	looking   bool
	lookups   int // in a row that left something to look up
	lookAt    time.Time
	refreshAt time.Time
	lost      bool // no broker answers look-ups
	lanes     int  // as told to the budget
	sent      int  // requests, ever
}

// Run fetches until ctx ends and returns nil then, within a second even if a
// call of Fetched hangs. Clients are closed in the background. It may be called
// once.
func (f *Fetcher) Run(ctx context.Context) error {
	outlives, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.ctx = func() context.Context { return outlives }
	f.refreshAt = time.Now().Add(f.cfg.timing.refresh)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-timer.C:
		}
		for _, do := range f.mail() {
			do()
		}
		if due := f.work(time.Now()); !due.IsZero() {
			timer.Reset(time.Until(due))
		}
	}
	f.end(cancel)
	return nil
}

// work starts whatever is due and says when to come back if nothing happens.
func (f *Fetcher) work(now time.Time) time.Time {
	due := earliest(f.lookup(now), f.clients.closeIdle(cluster.Bulk, f.cfg.timing.idle))
	lanes := 0
	for _, b := range f.brokers {
		due = earliest(due, f.dispatch(b, now))
		lanes += b.lanes(f.cfg.BulkLanes)
	}
	f.cfg.Budget.addLanes(lanes - f.lanes)
	f.lanes = lanes
	return due
}

// end stops handing on, waits a moment for calls of Fetched and leaves the rest
// to the background: what is in flight lands or is canceled, sessions and
// clients are closed.
func (f *Fetcher) end(cancel func()) {
	f.mu.Lock()
	f.over = true
	for _, p := range f.index {
		p.gone.Store(true)
	}
	f.mu.Unlock()
	f.cfg.Budget.addLanes(-f.lanes)
	calls := make(chan struct{})
	go func() {
		f.handing.Wait()
		close(calls)
	}()
	go f.farewell(cancel, calls)
	select {
	case <-calls:
	case <-time.After(900 * time.Millisecond):
	}
}

func (f *Fetcher) farewell(cancel func(), calls <-chan struct{}) {
	defer close(f.finished)
	patience := time.NewTimer(f.cfg.timing.farewell)
	defer patience.Stop()
	for _, b := range f.brokers {
		for fl := range b.flights {
			select {
			case <-fl.down:
			case <-patience.C:
				patience.Reset(0)
				fl.cancel()
				<-fl.down
			}
		}
	}
	f.closeSessions()
	cancel()
	f.chores.Wait()
	f.clients.close()
	<-calls
}

// admit takes a new part in.
func (f *Fetcher) admit(p *part) {
	if p.gone.Load() {
		return
	}
	if p.until >= 0 && p.at.Offset >= p.until {
		f.stop(p, Done{p.key, p.at.Offset})
		return
	}
	if f.topics[p.key.Topic] == nil {
		f.topics[p.key.Topic] = map[int32]*part{}
	}
	f.topics[p.key.Topic][p.key.ID] = p
	f.homeless++
	f.lookUp(p)
}

// drop forgets a part that is gone.
func (f *Fetcher) drop(p *part) {
	f.unplace(p)
	if ps := f.topics[p.key.Topic]; ps[p.key.ID] == p {
		if !p.stopped {
			f.homeless--
		}
		delete(ps, p.key.ID)
		if len(ps) == 0 {
			delete(f.topics, p.key.Topic)
			delete(f.stale, p.key.Topic)
		}
	}
}

func (f *Fetcher) pause(p *part, paused bool) {
	if p.gone.Load() || p.paused == paused {
		return
	}
	p.paused = paused
	if p.on != nil {
		f.leaveSession(p)
		p.on.dirty = true
	}
	p.reached = false
}

// stop tells an event after which p is not fetched until it is added again.
func (f *Fetcher) stop(p *part, e Event) {
	if p.gone.Load() || p.stopped {
		return
	}
	f.unplace(p)
	if f.topics[p.key.Topic][p.key.ID] == p {
		f.homeless--
	}
	p.stopped = true
	f.cfg.Handler.Event(e)
}

// place has p fetched from a broker: the preferred replica or the leader.
func (f *Fetcher) place(p *part) {
	id := p.leader
	if p.replica >= 0 {
		id = p.replica
	}
	if p.on != nil && p.on.id == id || p.stopped || p.gone.Load() {
		return
	}
	f.unplace(p)
	b := f.broker(id)
	p.on, p.last = b, b
	b.bulk[p] = struct{}{}
	b.dirty = true
	f.homeless--
	if p.busy() && p.flight != nil {
		p.flight.next = append(p.flight.next, b)
	}
}

// unplace takes p from its broker, if it has one.
func (f *Fetcher) unplace(p *part) {
	b := p.on
	if b == nil {
		return
	}
	f.leaveSession(p)
	delete(b.bulk, p)
	b.dirty = true
	p.on = nil
	f.homeless++
}

// leaveSession makes p one of those that are asked for in bulk; the next
// request of the session forgets it.
func (f *Fetcher) leaveSession(p *part) {
	if !p.joined {
		return
	}
	p.joined = false
	delete(p.on.joined, p)
	p.on.bulk[p] = struct{}{}
}

// toLeader turns p away from a preferred replica, and has its leader not name
// one for a while.
func (f *Fetcher) toLeader(p *part, now time.Time) {
	p.replica = -1
	if p.leader < 0 {
		f.unplace(p)
		f.lookUp(p)
		return
	}
	f.broker(p.leader).plainUntil = now.Add(f.cfg.timing.plain)
	f.place(p)
}

// troubled notes that p can't be read, and tells it once that has lasted. While
// its broker is lost, and told to be, it goes without saying.
func (f *Fetcher) troubled(p *part, now time.Time, err error) {
	if p.since.IsZero() || p.last != nil && p.last.lost {
		p.since = now
	}
	if p.told != "" || now.Sub(p.since) < f.cfg.timing.trouble {
		return
	}
	p.told = leaderless
	f.cfg.Handler.Event(NoLeader{p.key, err})
}

// readable notes that p can be read.
func (f *Fetcher) readable(p *part) {
	p.fails, p.misses, p.since = 0, 0, time.Time{}
	if p.told != "" {
		p.told = ""
		f.cfg.Handler.Event(Recovered{p.key})
	}
}
