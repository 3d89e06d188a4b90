package source

import (
	"errors"
	"strconv"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// errIdle ends a run to which nothing has come for long enough.
var errIdle = errors.New("nothing came")

// idle is the writer's clock of how long nothing has come. It runs only while
// the writer waits for something to write: a sink that is slow is no end.
type idle struct {
	limit time.Duration   // 0 is for ever
	begun <-chan struct{} // closed when the clock is to start; nil when it runs, or never will
	since time.Time
}

func newIdle(limit time.Duration, begun *gathering) idle {
	switch {
	case limit == 0:
		return idle{}
	case len(begun.missing) == 0: // there is nothing to look at
		return idle{limit: limit, since: time.Now()}
	default:
		return idle{limit: limit, begun: begun.all}
	}
}

func (i *idle) begin() { i.begun, i.since = nil, time.Now() }

// over fires when nothing has come for too long; nil is never.
func (i *idle) over() <-chan time.Time {
	if i.limit == 0 || i.begun != nil {
		return nil
	}
	return time.After(time.Until(i.since.Add(i.limit)))
}

// idled reports whether nothing has come, now that the time is over. While the
// past is read the clock begins anew: it may be far to go to its first record.
func (p *pipeline) idled() bool {
	if p.recalling.Load() {
		p.idle.begin()
		return false
	}
	return len(p.queue) == 0
}

// saw looks at what has been written, before the splits have moved on. Records
// that a filter leaves out count as long as they are of what was there at the
// start: a run through a long backlog is not idle.
func (i *idle) saw(jobs []*job) {
	if i.limit == 0 {
		return
	}
	for _, j := range jobs {
		if s := j.chunk.split; j.block.Written > 0 || s.next < s.backlog {
			i.since = time.Now()
			return
		}
	}
}

// touch notes that something has come.
func (i *idle) touch() {
	if i.limit > 0 {
		i.since = time.Now()
	}
}

// cutOff tells what could give nothing, or not all, when the run ended because
// nothing came. The readers have stopped by then.
func (e *engine) cutOff() {
	e.mu.Lock()
	var list []*reader
	for _, name := range sortedKeys(e.readers) {
		list = append(list, e.readers[name])
	}
	e.mu.Unlock()
	for _, r := range list {
		r.cutOff()
	}
}

func (r *reader) cutOff() {
	r.mu.Lock()
	ended, open := r.ended, r.open
	r.mu.Unlock()
	switch {
	case ended:
	case r.dead():
		r.fail(fault.New(fault.Unreachable, "%s: no contact when the run ended", r.name).On(r.name))
	case r.e.Bounded && r.looks != nil && r.looks.searching():
		r.cutOffSearch()
	case r.e.Exit && open > 0:
		r.fail(fault.New(fault.Partial, "%s: nothing came for %s, and %s not read to the end", r.name, r.e.Timeout, partitionsAre(open)).On(r.name))
	}
}

// cutOffSearch tells what had not been found.
func (r *reader) cutOffSearch() {
	if r.looks.err != nil {
		r.fail(r.looks.err)
	}
	for _, err := range r.looks.missing {
		r.fail(err)
	}
}

func partitionsAre(n int) string {
	if n == 1 {
		return "1 partition is"
	}
	return strconv.Itoa(n) + " partitions are"
}
