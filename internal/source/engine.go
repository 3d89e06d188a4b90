package source

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
)

const (
	defaultMemory    = 12 << 20
	memoryPerCluster = 1 << 20 // so that the long polls of many do not starve each other
	defaultMaxBatch  = 512 << 20
	defaultRetain    = 24 * time.Hour
)

// engine is one run.
type engine struct {
	Options
	budget  *fetch.Budget
	pipe    *pipeline
	ids     identities
	kept    positions
	quotas  quotas
	tail    *tail // nil: it does not begin at the last records
	pasts   pasts
	groups  *groups         // nil without a group
	entered *gathering      // readers that have said who their cluster is
	begun   *gathering      // readers that know where to begin
	ctx     context.Context //nolint:containedctx // of Run; readers begin others with it
	stop    context.CancelCauseFunc
	reading sync.WaitGroup // readers and what looks after them

	mu      sync.Mutex
	readers map[string]*reader // the last one of each cluster
	planned int                // wants of the newest plan
	splits  []record.Split     // found at the first look
	first   int                // readers that began with the run
	looked  int                // readers of these whose first look went well
	stats   Stats
	active  int  // readers that may still deliver
	heardOf bool // some cluster has answered

	gapHint atomic.Bool // has been given
}

// errFinished is the cause with which a run ends when every split has.
var errFinished = errors.New("every split is finished")

// Run reads until every split is finished, the limit is reached, something
// fails that ends the run, or ctx ends. It returns what was read and written in
// any case. The error is nil when everything that was asked for was delivered,
// ctx's cause when ctx ended first, the sink's error as it is, and otherwise a
// *fault.Error: Partial when some clusters or splits gave less than they should.
func Run(ctx context.Context, o Options) (Stats, error) {
	e := newEngine(o)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.ctx, e.stop = ctx, stop

	var workers sync.WaitGroup
	for _, r := range e.readers {
		e.reading.Go(func() { r.run(ctx) })
	}
	e.reading.Go(func() {
		select {
		case <-e.begun.all:
			e.checkOffsets()
			e.Event(Event{Kind: Begun, Text: "reading from here on", Depth: 1})
		case <-ctx.Done():
		}
	})
	e.reading.Go(func() { e.follow(ctx) })
	if e.Past != nil {
		e.reading.Go(func() { e.remember(ctx) })
	}
	for range e.Workers {
		workers.Go(func() { e.pipe.prepare(ctx) })
	}
	err := e.write(ctx)
	close(e.pipe.over)
	stop(err)
	e.reading.Wait()
	uncommitted := e.groups.leave()
	within(workersGrace, workers.Wait)
	stats, err := e.end(err)
	stats.Uncommitted = uncommitted
	return stats, err
}

// workersGrace is how long a worker may take to see that the run has ended. One
// that does not, in a single step of a filter for example, is left behind: what
// it makes is written nowhere.
const workersGrace = 500 * time.Millisecond

// within calls f and waits for it, for d at most.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// write runs the writer. When ctx ends, a write that has begun may still end,
// but one that hangs is left behind: what it writes counts as not written.
func (e *engine) write(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- e.pipe.write(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(writeGrace):
			e.Monitor.hangs()
			e.pipe.leaveBehind()
			return context.Cause(ctx)
		}
	}
	if failed := e.pipe.finish(ctx); failed != nil && (err == nil || endedWell(err)) {
		return failed
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// endedWell reports whether a run has ended with err as it was to end.
func endedWell(err error) bool {
	return errors.Is(err, errLimit) || errors.Is(err, errIdle) || errors.Is(err, context.Canceled)
}

// writeGrace is how long the write that is under way may take once a run is to
// end.
const writeGrace = 1500 * time.Millisecond

func newEngine(o Options) *engine {
	o.fill()
	var gs *groups
	if o.Group != "" {
		gs = &groups{}
		o.Keeper = gs
	}
	e := &engine{Options: o, budget: fetch.NewBudget(o.Memory), kept: positions{retain: o.Retain}, quotas: quotas{each: o.PerSplit}, pasts: pasts{news: make(chan struct{}, 1)}, groups: gs, readers: map[string]*reader{}}
	e.stats.Clusters = map[string]ClusterStats{}
	e.pipe = newPipeline(o, e.written)
	e.tail = newTail(o)
	e.pipe.merge.begin(e.tail, o)
	names, wants := byCluster(o.Wants)
	var readers []*reader
	for _, name := range names {
		r := newReader(e, name, o.Clusters[name], wants[name])
		e.readers[name] = r
		e.stats.Clusters[name] = ClusterStats{}
		readers = append(readers, r)
		e.pipe.merge.await(r, true)
		e.tail.expect(r)
		e.pipe.merge.expect(r)
	}
	e.active, e.first, e.planned = len(readers), len(readers), len(o.Wants)
	e.entered, e.begun = newGathering(readers), newGathering(readers)
	e.pipe.idle = newIdle(o.Timeout, e.begun)
	return e
}

func (o *Options) fill() {
	if o.Memory == 0 {
		o.Memory = defaultMemory + memoryPerCluster*int64(len(o.Clusters))
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = defaultMaxBatch
	}
	if o.Pool == nil {
		o.Pool = new(batch.Pool)
	}
	if o.Workers == 0 {
		o.Workers = max(2, runtime.GOMAXPROCS(0))
	}
	if o.Retain == 0 {
		o.Retain = defaultRetain
	}
}

// end says how the run ended, given why the writer did.
func (e *engine) end(err error) (Stats, error) {
	if errors.Is(err, errIdle) {
		e.cutOff()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Late, e.stats.Back = e.pipe.merge.counts()
	switch {
	case errors.Is(err, errLimit) && !e.pipe.short:
		return e.stats, nil
	case errors.Is(err, errFinished), errors.Is(err, errIdle), errors.Is(err, errLimit):
		return e.stats, outcome(e.stats.Clusters)
	default:
		return e.stats, err
	}
}

// written is called by the writer for each chunk that is through.
func (e *engine) written(c *Chunk, b Block, err error) {
	s := c.split
	e.Monitor.wrote(c, b)
	e.mu.Lock()
	e.stats.Records += int64(b.Written)
	e.stats.Bytes += int64(len(b.Data) + b.Size)
	e.stats.Dropped += int64(b.Dropped)
	if e.stats.Undone == 0 {
		e.stats.Flaw = b.Flaw
	}
	e.stats.Undone += int64(b.Undone)
	if e.stats.Failed == 0 {
		e.stats.Failure = b.Failure
	}
	e.stats.Failed += int64(b.Failed)
	st := e.stats.Clusters[s.Cluster]
	st.Records += int64(b.Written)
	e.stats.Clusters[s.Cluster] = st
	e.mu.Unlock()
	if err == nil {
		err = c.err
	}
	over, all := s.advance(c, b.Next, err)
	if len(over) == 0 {
		return
	}
	s.stopped = all
	if end, ok := errors.AsType[endRun](err); ok {
		e.stop(placed(s, end.error))
		return
	}
	if err != nil {
		err = placed(s, err)
	}
	s.r.finished(s, over, all, err)
}

// endRun is an error that ends the run and not only its split.
type endRun struct{ error }

// EndRun marks an error of Prepare as one that ends the whole run.
func EndRun(err error) error { return endRun{err} }

// placed says which split an error is about, unless it does so itself.
func placed(s *split, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.New(fault.Failed, "%s: %w", s, err).On(s.Cluster)
}

// account changes a cluster's part of the stats.
func (e *engine) account(cluster string, f func(*ClusterStats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := e.stats.Clusters[cluster]
	f(&st)
	e.stats.Clusters[cluster] = st
}

// retired is called once by each reader that has nothing more to deliver. The
// last one ends the run, unless a later plan may bring something to read.
func (e *engine) retired(err error) {
	e.mu.Lock()
	e.active--
	last := e.active == 0 && (e.planned > 0 || e.Updates == nil)
	waits := last && err != nil && e.Updates != nil && !e.Bounded && !e.FailFast && e.heardOf
	e.mu.Unlock()
	if waits {
		e.Event(Event{Kind: Failed, Text: "nothing is left that can be read; waiting for the metadata to change"})
		return
	}
	if last || (err != nil && e.FailFast) {
		e.stop(errFinished)
	}
}

// found notes splits that a reader has found at its first look, and that it had
// no trouble in looking.
func (e *engine) found(splits []record.Split) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.splits = append(e.splits, splits...)
	e.looked++
}

// checkOffsets tells which of the command's offsets are for nothing that is
// read: a name that is spelt wrong would have it begin elsewhere in silence.
func (e *engine) checkOffsets() {
	e.mu.Lock()
	splits, all := e.splits, e.looked == e.first
	e.mu.Unlock()
	if !all {
		return
	}
	for _, text := range e.Offsets.Unused(splits) {
		e.Event(Event{Kind: Note, Text: "-o " + text + " is for no partition that is read"})
	}
}

// heard notes that a cluster has answered.
func (e *engine) heard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heardOf = true
}

// silent reports whether no cluster has answered yet.
func (e *engine) silent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.heardOf
}

// identityGrace is how long a cluster waits, once, for the others to say who they
// are, so that two names for one cluster are found before anything is printed.
const identityGrace = 400 * time.Millisecond
