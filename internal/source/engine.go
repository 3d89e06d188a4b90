package source

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
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
)

// engine is one run.
type engine struct {
	Options
	budget  *fetch.Budget
	pipe    *pipeline
	readers []*reader
	ids     identities
	entered *gathering // readers that have said who their cluster is
	begun   *gathering // readers that know where to begin
	stop    context.CancelCauseFunc

	mu      sync.Mutex
	splits  []record.Split // found at the first look
	looked  int            // readers whose first look went well
	stats   Stats
	active  int  // readers that may still deliver
	heardOf bool // some cluster has answered
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
	e.stop = stop

	var readers, workers sync.WaitGroup
	for _, r := range e.readers {
		readers.Go(func() { r.run(ctx) })
	}
	readers.Go(func() {
		select {
		case <-e.begun.all:
			e.checkOffsets()
			e.Event(Event{Kind: Begun, Text: "reading from here on", Depth: 1})
		case <-ctx.Done():
		}
	})
	for range e.Workers {
		workers.Go(func() { e.pipe.prepare(ctx) })
	}
	err := e.write(ctx)
	stop(err)
	readers.Wait()
	workers.Wait()
	return e.end(err)
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
			return context.Cause(ctx)
		}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// writeGrace is how long the write that is under way may take once a run is to
// end.
const writeGrace = 1500 * time.Millisecond

func newEngine(o Options) *engine {
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
	e := &engine{Options: o, budget: fetch.NewBudget(o.Memory)}
	e.stats.Clusters = map[string]ClusterStats{}
	e.pipe = newPipeline(o, e.written)
	for _, w := range o.Wants {
		r := e.reader(w.Source.Cluster)
		r.wants = append(r.wants, w)
	}
	e.active = len(e.readers)
	for _, r := range e.readers {
		e.stats.Clusters[r.name] = ClusterStats{}
	}
	e.entered, e.begun = newGathering(e.readers), newGathering(e.readers)
	return e
}

// reader returns the reader of a cluster and makes it when it is the first.
func (e *engine) reader(name string) *reader {
	for _, r := range e.readers {
		if r.name == name {
			return r
		}
	}
	r := newReader(e, name, e.Clusters[name])
	e.readers = append(e.readers, r)
	return r
}

// end says how the run ended, given why the writer did.
func (e *engine) end(err error) (Stats, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(err, errLimit):
		return e.stats, nil
	case errors.Is(err, errFinished):
		return e.stats, outcome(e.stats.Clusters)
	default:
		return e.stats, err
	}
}

// written is called by the writer for each chunk that is through.
func (e *engine) written(c *Chunk, b Block, err error) {
	s := c.split
	e.mu.Lock()
	e.stats.Records += int64(b.Written)
	e.stats.Bytes += int64(len(b.Data))
	e.stats.Dropped += int64(b.Dropped)
	e.stats.Undone += int64(b.Undone)
	st := e.stats.Clusters[s.Cluster]
	st.Records += int64(b.Written)
	e.stats.Clusters[s.Cluster] = st
	e.mu.Unlock()
	if b.Next > s.next {
		s.next = b.Next
	}
	if err == nil {
		err = c.err
	}
	if s.done {
		return
	}
	switch {
	case err != nil:
		s.stopped, s.done = true, true
		if end, ok := errors.AsType[endRun](err); ok {
			e.stop(placed(s, end.error))
			return
		}
		s.feed.r.finished(s, placed(s, err))
	case s.next >= s.until && !s.stopped:
		s.stopped, s.done = true, true
		s.feed.r.finished(s, nil)
	}
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
// last one ends the run.
func (e *engine) retired(err error) {
	e.mu.Lock()
	e.active--
	last := e.active == 0
	e.mu.Unlock()
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
	splits, all := e.splits, e.looked == len(e.readers)
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

// identities knows which physical cluster stands behind which name.
type identities struct {
	mu    sync.Mutex
	known []identity
}

type identity struct {
	id, name string
	topics   map[string]bool
}

// enter tells who a cluster is. Two names for one cluster whose topics overlap
// would give every record twice, and are refused.
func (ids *identities) enter(id, name string, topics map[string]bool) error {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for _, k := range ids.known {
		if id == "" || k.id != id || k.name == name {
			continue
		}
		for t := range topics {
			if k.topics[t] {
				return fault.New(fault.Refused, "%s and %s are the same cluster (id %s), and %s would be read from both", k.name, name, id, t).
					WithHint("keep one of the two names in the metadata, or narrow with -c").On(name)
			}
		}
	}
	ids.known = slices.DeleteFunc(ids.known, func(k identity) bool { return k.name == name })
	ids.known = append(ids.known, identity{id, name, topics})
	return nil
}

// identityGrace is how long a cluster waits, once, for the others to say who they
// are, so that two names for one cluster are found before anything is printed.
const identityGrace = 400 * time.Millisecond
