package registry

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	keepError   = 30 * time.Second // an answer that is an error: then the registry is asked again
	keepCompile = 10 * time.Minute // a schema that does not compile
	probeEvery  = 3 * time.Second  // between attempts to reach a registry that is down
	maxErrors   = 10_000           // ids remembered with their errors
	maxFailing  = 100              // ids that a registry that is back is asked for at once
)

// looks are the look-ups of ids that are not known as good.
type looks struct {
	mu   sync.Mutex
	byID map[codec.ID]*look
	open int // look-ups that callers wait for
	// since is when the wait for the registry began that all of those share: it
	// begins anew with each answer. Zero while open is 0.
	since   time.Time
	settled time.Time // when the registry last answered for an id
	down    error     // why it counts as down; nil while it does not
	// failing are ids to ask for again, in turn, until there is an answer.
	failing   []codec.ID
	probing   bool
	notBefore time.Time // the registry wants no question before that
	closed    bool
}

// look is one id's look-up, and then the error that it ended with.
type look struct {
	done   chan struct{} // closed at its end; what follows is set before that
	schema codec.Schema
	err    error
	// Of an error: how long it holds, or that it holds until an attempt in the
	// background brings an answer.
	until   time.Time
	passing bool
	untried bool // nobody asked for it yet, because the registry was down
}

// Schema returns the schema of an id. The registry is asked once for each id
// whatever the number of callers; good answers are kept for ever, errors for a
// while. No caller waits longer than Config.Wait for a registry that gives no answer
// at all, nor longer than six times that for one that is slow.
func (c *Client) Schema(id codec.ID) (codec.Schema, error) {
	if s, ok := (*c.known.Load())[id]; ok {
		return s, nil
	}
	if id == (codec.ID{}) || id.Number < 0 {
		return nil, fault.New(fault.Failed, "%s is no schema id", id)
	}
	l := c.begin(id)
	<-l.done
	return l.schema, l.err
}

// begin returns the look-up of an id: one that is over and still holds, one
// under way, or a new one.
func (c *Client) begin(id codec.ID) *look {
	s := &c.looks
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if l := s.byID[id]; l != nil {
		select {
		case <-l.done:
			if l.passing || now.Before(l.until) {
				return l
			}
		default:
			return l
		}
	}
	if known, ok := (*c.known.Load())[id]; ok { // since the caller looked
		return &look{done: ended(), schema: known}
	}
	switch {
	case s.closed || c.ctx.Err() != nil:
		return &look{done: ended(), err: c.closedError()}
	case s.down != nil:
		l := &look{done: ended(), err: s.down, passing: true, untried: true}
		if len(s.failing) < maxFailing {
			s.keep(id, l)
			s.failing = append(s.failing, id)
		}
		return l
	}
	l := &look{done: make(chan struct{})}
	s.keep(id, l)
	if s.open++; s.since.IsZero() {
		s.since = now
	}
	c.work.Add(1)
	go c.look(id, l, s.since.Add(c.wait))
	return l
}

// keep remembers l, and forgets old errors when there are too many: of bytes
// that only look framed comes an id each.
func (s *looks) keep(id codec.ID, l *look) {
	if s.byID == nil {
		s.byID = map[codec.ID]*look{}
	}
	if len(s.byID) >= maxErrors {
		for old, l := range s.byID {
			if !l.passing && !l.until.IsZero() {
				delete(s.byID, old)
			}
		}
	}
	s.byID[id] = l
}

// look asks for the schema of an id on behalf of callers that wait.
func (c *Client) look(id codec.ID, l *look, end time.Time) {
	defer c.work.Done()
	began := time.Now()
	schema, err := c.patiently(id, began, end)
	s := &c.looks
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(l.done)
	s.open--
	if c.settle(id, l, schema, err) {
		s.since = time.Now()
	} else if c.ctx.Err() == nil {
		s.failing = append(s.failing, id)
		if s.settled.Before(began) {
			c.goDown(err)
		}
		c.probe()
	}
	if s.open == 0 {
		s.since = time.Time{}
	}
}

// mostWaits is how many times Config.Wait a look-up may take of a registry that
// answers, but slowly: a schema and its references are a question each.
const mostWaits = 6

// patiently looks until end, and on as long as the registry answers something.
func (c *Client) patiently(id codec.ID, began, end time.Time) (codec.Schema, error) {
	last := end.Add((mostWaits - 1) * c.wait)
	for {
		ctx, cancel := context.WithDeadline(c.ctx, end)
		schema, err := c.compiled(ctx, id, false)
		cancel()
		heard := time.Unix(0, c.heard.Load())
		if _, open := errors.AsType[*passing](err); !open || !heard.After(began) || time.Now().After(last) {
			return schema, err
		}
		began = time.Now()
		end = began.Add(c.wait)
	}
}

// goDown has the registry count as down. looks.mu is held.
func (c *Client) goDown(err error) {
	if c.looks.down == nil && c.told != nil {
		c.told(err)
	}
	c.looks.down = err
}

// settle takes the outcome of a look-up; false if the registry gave no answer.
// looks.mu is held.
func (c *Client) settle(id codec.ID, l *look, schema codec.Schema, err error) bool {
	s := &c.looks
	l.schema, l.err, l.passing, l.untried = schema, err, false, false
	if err == nil {
		c.publish(id, schema)
		delete(s.byID, id)
		s.settled = time.Now()
		return true
	}
	if c.ctx.Err() != nil {
		l.schema, l.err = nil, c.closedError()
		return false
	}
	if p, ok := errors.AsType[*passing](err); ok {
		l.passing = true
		s.notBefore = time.Now().Add(p.after)
		return false
	}
	hold := keepError
	if errors.Is(err, errCompile) {
		hold = keepCompile
	}
	s.settled = time.Now()
	l.until = s.settled.Add(hold)
	return true
}

// publish makes a schema known. looks.mu is held.
func (c *Client) publish(id codec.ID, schema codec.Schema) {
	old := *c.known.Load()
	all := make(map[codec.ID]codec.Schema, len(old)+1)
	for k, v := range old {
		all[k] = v
	}
	all[id] = schema
	c.known.Store(&all)
}

// probe sees to it that failing ids are asked for in the background. looks.mu is
// held.
func (c *Client) probe() {
	if c.looks.probing || c.looks.closed {
		return
	}
	c.looks.probing = true
	c.work.Add(1)
	go c.probeUntilAnswered()
}

// probeUntilAnswered makes one attempt every few seconds until no id is failing.
func (c *Client) probeUntilAnswered() {
	defer c.work.Done()
	for {
		c.looks.mu.Lock()
		pause := max(time.Until(c.looks.notBefore), probeEvery*3/4+rand.N(probeEvery/2)) //nolint:gosec // spreading, not secrecy
		c.looks.mu.Unlock()
		if !sleep(c.ctx, pause) {
			return
		}
		for {
			id, ok := c.nextFailing()
			if !ok {
				return
			}
			if !c.lookAgain(id) {
				break
			}
		}
	}
}

// nextFailing takes the next id to ask for; without one the probing is over.
func (c *Client) nextFailing() (id codec.ID, ok bool) {
	s := &c.looks
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failing) == 0 {
		s.probing = false
		return id, false
	}
	id = s.failing[0]
	s.failing = slices.Delete(s.failing, 0, 1)
	return id, true
}

// lookAgain makes one attempt for an id whose look-up failed, and reports
// whether there was an answer. One answer, whatever it is, ends the time of
// being down.
func (c *Client) lookAgain(id codec.ID) bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.wait)
	defer cancel()
	l := &look{done: ended()}
	schema, err := c.compiled(ctx, id, true)
	s := &c.looks
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.settle(id, l, schema, err) {
		if err != nil {
			s.keep(id, l)
		}
		if s.down != nil && c.told != nil {
			c.told(nil)
		}
		s.up()
		return true
	}
	if c.ctx.Err() == nil {
		s.keep(id, l)
		s.failing = append(s.failing, id)
		if s.down != nil {
			s.down = err
		}
	}
	return false
}

// up ends the time of being down: ids that nobody asked for in that time are new
// ones again.
func (s *looks) up() {
	s.down = nil
	s.failing = slices.DeleteFunc(s.failing, func(id codec.ID) bool {
		if l := s.byID[id]; l != nil && !l.untried {
			return false
		}
		delete(s.byID, id)
		return true
	})
}

func (s *looks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (c *Client) closedError() error {
	return fault.New(fault.Failed, "%s is no longer asked: the run ends", c.name)
}

// ended is a channel of a look-up that is over.
func ended() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
