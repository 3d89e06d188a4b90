package source

import (
	"context"
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// Plan is what a run reads at one time.
type Plan struct {
	Wants []Want
	// Clusters holds every cluster of Wants by name. One that is not the one of
	// the plan before is connected to anew; positions stay if it is the same
	// physical cluster. The engine closes what a later plan leaves out or replaces,
	// which must not come back.
	Clusters map[string]*cluster.Cluster
}

// Want is what one stream takes from one cluster.
type Want struct {
	ID        string // tells the wants of one cluster apart, in all plans; empty: the stream's name
	Stream    *metadata.Stream
	Source    *metadata.Source
	Committed bool // read_committed
}

func (w Want) key() string {
	if w.ID != "" {
		return w.ID
	}
	return w.Stream.Name
}

// byCluster sorts wants by their cluster.
func byCluster(list []Want) (names []string, wants map[string][]Want) {
	wants = map[string][]Want{}
	for _, w := range list {
		name := w.Source.Cluster
		if wants[name] == nil {
			names = append(names, name)
		}
		wants[name] = append(wants[name], w)
	}
	return names, wants
}

// sameWants reports whether two plans want the same of a cluster.
func sameWants(a, b []Want) bool {
	return slices.EqualFunc(a, b, func(a, b Want) bool {
		return a.key() == b.key() && a.sameReading(b) && a.Source.Role == b.Source.Role && specOf(a.Source.Start) == specOf(b.Source.Start) &&
			slices.EqualFunc(a.Source.Topics, b.Source.Topics, func(a, b metadata.Topic) bool { return a.String() == b.String() })
	})
}

// sameReading reports whether what is read for one want may go on being read
// for the other.
func (w Want) sameReading(o Want) bool {
	return w.Committed == o.Committed && specOf(w.Source.Stop) == specOf(o.Source.Stop)
}

func specOf(s *metadata.Spec) string {
	if s == nil {
		return ""
	}
	return s.Text
}

// follow takes later plans until ctx ends or there are no more.
func (e *engine) follow(ctx context.Context) {
	for e.Updates != nil {
		select {
		case p, ok := <-e.Updates:
			if !ok {
				return
			}
			e.apply(ctx, p)
		case <-ctx.Done():
			return
		}
	}
}

// apply gives every reader its part of a plan. It waits for none of them.
func (e *engine) apply(ctx context.Context, p Plan) {
	names, wants := byCluster(p.Wants)
	e.mu.Lock()
	e.planned = len(p.Wants)
	readers := map[string]*reader{}
	for name, r := range e.readers {
		readers[name] = r
	}
	e.mu.Unlock()
	for _, name := range names { // what comes before what goes: the last reader that ends would end the run
		if r := readers[name]; r == nil || !r.update(wants[name], p.Clusters[name]) {
			e.begin(ctx, name, p.Clusters[name], wants[name])
		}
	}
	for name, r := range readers {
		if wants[name] == nil {
			e.ids.leaves(r)
			r.update(nil, nil)
		}
	}
}

// begin starts the reader of a cluster that came while the run went on.
func (e *engine) begin(ctx context.Context, name string, c *cluster.Cluster, wants []Want) *reader {
	r := newReader(e, name, c, wants)
	r.late = true
	for _, w := range r.wants {
		w.late = true
	}
	e.mu.Lock()
	e.readers[name] = r
	e.active++
	if _, known := e.stats.Clusters[name]; !known {
		e.stats.Clusters[name] = ClusterStats{}
		e.budget.Grow(memoryPerCluster)
	}
	e.mu.Unlock()
	e.pipe.merge.await(r, true)
	e.reading.Go(func() { r.run(ctx) })
	return r
}

// wakeAll has every reader look around: what it waits for may have left.
func (e *engine) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.readers {
		r.poke()
	}
}

// desire is what the newest plan wants of a cluster.
type desire struct {
	wants   []Want
	cluster *cluster.Cluster
}

// update tells the reader what is wanted of it from now on. It returns false if
// the reader has ended and another one is needed.
func (r *reader) update(wants []Want, c *cluster.Cluster) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heir != nil {
		return r.heir.update(wants, c)
	}
	if c == nil {
		c = r.desired.cluster
	}
	same, moved := sameWants(r.desired.wants, wants), c != r.desired.cluster
	if r.ended {
		return len(wants) == 0 || same && !moved
	}
	if same && !moved {
		return true
	}
	r.desired, r.news = desire{wants, c}, true
	if r.interrupt != nil && (moved || len(wants) == 0) {
		r.interrupt()
	}
	r.poke()
	return true
}

// takeNews returns what the newest plan wants, if that has not been looked at.
func (r *reader) takeNews() (desire, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := r.news
	r.news = false
	return r.desired, news
}

// calling returns a context for calls to the cluster. It ends early when a plan
// takes the cluster away or makes it another: no dead one may hold that up.
func (r *reader) calling(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = cancel
	if r.news && (len(r.desired.wants) == 0 || r.desired.cluster != r.cluster) {
		cancel()
	}
	return ctx, cancel
}

// close marks the reader as ended and returns what came too late for it.
func (r *reader) close() (late desire, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.desired, r.news && len(r.desired.wants) > 0
}
