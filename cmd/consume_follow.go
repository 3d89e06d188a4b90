package cmd

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
)

// changeOptions say how a run follows what changes around it.
type changeOptions struct {
	refresh    time.Duration // of the metadata
	topics     time.Duration // of topics and ends; 0: as the cluster's properties say
	failures   int
	drain      time.Duration
	retain     time.Duration
	onRemove   source.RemovePolicy
	onRecreate source.RecreatePolicy
}

func (o *consumeOptions) setChanges(cmd *cobra.Command, f consumeFlags) error {
	at := func(name string) string { return placeOf(o.env, cmd, name) }
	for _, err := range []error{
		oneOf(at("on-recreate"), f.onRecreate, "start", "stop", "fail"),
		oneOf(at("on-remove"), f.onRemove, "drain", "stop"),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case f.refresh < leastRefresh:
		return fault.New(fault.Usage, "%s %s is not allowed: %s or more", at("refresh"), f.refresh, leastRefresh)
	case f.drain < 0:
		return fault.New(fault.Usage, "%s %s is not allowed: a time is not negative", at("drain-timeout"), f.drain)
	case f.retain < 0:
		return fault.New(fault.Usage, "%s %s is not allowed: a time is not negative", at("retain"), f.retain)
	case f.failures < 0:
		return fault.New(fault.Usage, "%s %d is not allowed: 0 or more", at("max-refresh-failures"), f.failures)
	}
	o.changes = changeOptions{
		refresh: f.refresh, failures: f.failures, drain: f.drain, retain: f.retain,
		onRemove: source.RemovePolicy(f.onRemove), onRecreate: source.RecreatePolicy(f.onRecreate),
	}
	if f.retain == 0 {
		o.changes.retain = -1 // forget at once
	}
	if given(o.env, cmd, "refresh") != settings.Default {
		o.changes.topics = f.refresh
	}
	return nil
}

// leastRefresh keeps a mistyped --refresh from asking servers all the time.
const leastRefresh = 100 * time.Millisecond

// planner turns views of the metadata into plans of the engine. Clusters whose
// description has not changed stay the same in all of them.
type planner struct {
	o     *consumeOptions
	waits bool // for what is not in the metadata yet
	sink  *consumeSink

	newest atomic.Pointer[[]source.Want] // of the newest plan

	described map[string]*metadata.Cluster
	clusters  map[string]*cluster.Cluster
	absent    []string // words that select nothing, as they have been told
	empty     bool     // nothing is wanted, which has been told
}

// options makes the first plan and everything that goes with it.
func (p *planner) options(view *metadata.View) (source.Options, error) {
	o := p.o
	plan, err := p.plan(view, true)
	if err != nil {
		return source.Options{}, err
	}
	opts := source.Options{
		Wants: plan.Wants, Clusters: plan.Clusters,
		Partitions: o.narrow.partitions, Offsets: o.offsets, Start: o.start, Exit: o.exit, Bounded: o.bounded, Limit: o.limit, Timeout: o.bounds.timeout,
		WaitTopics: o.wait || (!o.bounded && !view.AdHoc), FailFast: o.failFast, OnGap: o.onGap, GapAtStart: o.gapSaid, GiveUp: o.env.run.globals.giveUp,
		OnRecreate: o.changes.onRecreate, OnRemove: o.changes.onRemove, DrainTimeout: o.changes.drain, Retain: o.changes.retain, Refresh: o.changes.topics,
		MaxBatch: o.maxBatch, Started: o.started, Sink: p.sink, Event: o.event,
	}
	opts.Order, opts.OrderWait, opts.Tail = o.order.by, o.order.wait, max(o.order.tail, 0)
	if o.replay.past != nil {
		opts.Past = o.replay.past
	}
	o.group.options(&opts)
	if o.bounds.perPartition > 0 {
		opts.PerSplit = o.bounds.perPartition
	}
	if o.format.Needs().Sequence {
		opts.Workers = 1
	}
	if len(o.narrow.topics) > 0 {
		opts.Topic = func(t string) bool { return slices.Contains(o.narrow.topics, t) }
	}
	return opts, nil
}

// changes reports whether the metadata can change while it is followed.
func (w *watching) changes() bool { return w.watcher != nil && w.watcher.Watchable() }

// follow lets the engine follow the metadata; stop ends that. Where what is read
// is fixed at the start, a change is only told, at the end.
func (p *planner) follow(ctx context.Context, w *watching, opts *source.Options, fail context.CancelCauseFunc) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	updates := make(chan source.Plan)
	var changed atomic.Bool
	apply := func(view *metadata.View) error {
		if p.o.exit {
			changed.Store(true)
			return nil
		}
		plan, err := p.plan(view, false)
		if err != nil {
			return err
		}
		select {
		case updates <- plan:
		case <-ctx.Done():
		}
		return nil
	}
	if !p.o.exit {
		opts.Updates = updates
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.run(ctx, apply); err != nil && !p.o.exit {
			fail(err)
		}
	}()
	return func() {
		end()
		<-done
		if changed.Load() {
			p.o.env.run.notices.Warnf("the metadata changed meanwhile: what was read is what it said at the start")
		}
	}
}

// plan makes a plan. What is wrong with the first one is wrong with the command
// line; later ones may lack what comes back.
func (p *planner) plan(view *metadata.View, first bool) (source.Plan, error) {
	wants, err := p.wants(view, first)
	if err != nil {
		return source.Plan{}, err
	}
	clusters, err := p.connect(view, wants)
	if err != nil {
		return source.Plan{}, err
	}
	for i, w := range wants {
		if p.o.isolation == isolationUnsaid && w.Source.Isolation == "" {
			wants[i].Committed = clusters[w.Source.Cluster].Tuning().Isolation == string(metadata.ReadCommitted)
		}
	}
	if p.sink == nil {
		p.sink = newConsumeSink(p.o)
	}
	if err := p.o.schemas.setClusters(view, wants); err != nil {
		p.discard(clusters)
		return source.Plan{}, err
	}
	if err := p.sink.setStreams(wants); err != nil {
		p.discard(clusters)
		return source.Plan{}, err
	}
	p.newest.Store(&wants)
	p.adopt(view, clusters)
	p.tellEmpty(len(wants) == 0)
	return source.Plan{Wants: wants, Clusters: clusters}, nil
}

// connect returns the clusters of wants: those of the last plan as far as they
// are described as they were, and new ones.
func (p *planner) connect(view *metadata.View, wants []source.Want) (map[string]*cluster.Cluster, error) {
	clusters := map[string]*cluster.Cluster{}
	for _, w := range wants {
		name := w.Source.Cluster
		if clusters[name] != nil {
			continue
		}
		described := view.Cluster(name)
		if old := p.clusters[name]; old != nil && described.SameAs(p.described[name]) {
			clusters[name] = old
			continue
		}
		c, err := connect(p.o.env, described)
		if err != nil {
			p.discard(clusters)
			return nil, err
		}
		clusters[name] = c
	}
	return clusters, nil
}

// discard closes the clusters of a plan that does not come about.
func (p *planner) discard(clusters map[string]*cluster.Cluster) {
	for name, c := range clusters {
		if c != p.clusters[name] {
			c.Close()
		}
	}
}

// adopt makes the clusters of a plan those of the planner. The engine closes the
// ones that are left out.
func (p *planner) adopt(view *metadata.View, clusters map[string]*cluster.Cluster) {
	p.clusters, p.described = clusters, map[string]*metadata.Cluster{}
	for name := range clusters {
		p.described[name] = view.Cluster(name)
	}
}

func (p *planner) close() {
	for _, c := range p.clusters {
		c.Close()
	}
}

// wants are what the selected streams take from the selected clusters.
func (p *planner) wants(view *metadata.View, first bool) ([]source.Want, error) {
	o := p.o
	if first {
		for _, c := range slices.Concat(o.narrow.clusters, o.offsets.Clusters()) {
			if view.Cluster(c) == nil {
				return nil, unknownCluster(view, c)
			}
		}
	}
	sel, err := view.Select(o.words, o.regex, o.all)
	if err != nil {
		return nil, err
	}
	wants := o.wantsOf(view, sel.Streams)
	if first {
		if err := p.checkFirst(sel, wants); err != nil {
			return nil, err
		}
	}
	p.tellMissing(sel.Missing)
	if err := checkCutovers(wants); err != nil {
		return nil, err
	}
	return wants, o.checkSpecs(wants)
}

// checkCutovers refuses what would be read from both sides of a cut.
func checkCutovers(wants []source.Want) error {
	for _, w := range wants {
		if c := w.Source.Cutover; c != nil {
			return fault.New(fault.Usage, "%s: a cutover is not obeyed in this version: %s would be read from both of its clusters", c.Origin, w.Stream.Name).
				WithHint("CLUSTER/TOPIC reads one side")
		}
	}
	return nil
}

func (o *consumeOptions) wantsOf(view *metadata.View, streams []*metadata.Stream) (wants []source.Want) {
	for _, s := range streams {
		id := s.Name
		if view.Stream(id) != s { // a CLUSTER/TOPIC, which may share a stream's name
			id = "/" + id
		}
		for i := range s.Sources {
			if src := &s.Sources[i]; o.reads(src) && o.narrow.takes(src) {
				wants = append(wants, source.Want{ID: id, Stream: s, Source: src, Committed: o.commits(src)})
			}
		}
	}
	return wants
}

// checkFirst refuses what selects nothing, unless it is waited for.
func (p *planner) checkFirst(sel metadata.Selection, wants []source.Want) error {
	if err := sel.Err(); err != nil {
		if p.waits {
			return nil
		}
		return err
	}
	if err := p.o.narrow.check(sel.Streams); err != nil {
		return err
	}
	if len(wants) == 0 && !p.waits {
		return fault.New(fault.Usage, "nothing to read: no selected stream has an active source on %s", p.o.narrow.where()).
			WithHint("kcm describe shows what the streams are made of")
	}
	return nil
}

// tellMissing tells, once per change, which words select nothing yet.
func (p *planner) tellMissing(list []metadata.Missing) {
	var absent []string
	for _, m := range list {
		text := m.String()
		absent = append(absent, text)
		if !slices.Contains(p.absent, text) {
			p.o.env.run.notices.Warnf("%s; waiting for it", text)
		}
	}
	p.absent = absent
}

// tellEmpty tells, once per change, that nothing is left to be read.
func (p *planner) tellEmpty(empty bool) {
	if empty && !p.empty && len(p.absent) == 0 {
		p.o.env.run.notices.Warnf("the metadata lists nothing to read for %s; waiting until it does", p.o.selection())
	}
	p.empty = empty
}

// selection names what the command line selects.
func (o *consumeOptions) selection() string {
	if o.all {
		return "any stream"
	}
	return joinWords(o.words)
}
