package source

import (
	"context"
	"errors"
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// facts is what a cluster said about its splits at one moment.
type facts struct {
	times   []int64
	offsets map[cluster.TopicPartition][]cluster.Offset // by firstPoints, then times
	commits map[string]kadm.OffsetResponses             // by group
}

// The points that are looked up for every split; times come behind them.
const (
	pointStart = iota
	pointEnd
	pointStable
	firstPoints
)

// start resolves the bounds of splits and starts those that have something to
// read. It returns why some could not be started yet.
func (r *reader) start(ctx context.Context, fresh []*split) (missing []error, err error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	f, err := r.ask(ctx, fresh)
	if err != nil {
		return nil, err
	}
	var lacks []lacking
	for _, s := range fresh {
		err := f.trouble(s)
		if err != nil && fault.KindOf(err) != fault.Auth {
			lacks = lack(lacks, s, err)
			continue
		}
		r.settled[s.key()] = true
		if err != nil {
			r.fail(err)
			continue
		}
		r.begin(ctx, s, f)
	}
	return r.waitsFor(lacks), nil
}

// ask looks up everything that the ranges of splits need, in as few requests as
// that takes.
func (r *reader) ask(ctx context.Context, splits []*split) (facts, error) {
	f := facts{commits: map[string]kadm.OffsetResponses{}}
	var of []cluster.TopicPartition
	var groups []string
	for _, s := range splits {
		of = append(of, s.at())
		for _, w := range s.wants {
			rg := r.ranges(s, w)
			f.times = append(f.times, append(rg.command.Times(), rg.source.Times()...)...)
			groups = append(groups, append(rg.command.Groups(), rg.source.Groups()...)...)
		}
	}
	if r.lates || r.again {
		f.times = append(f.times, r.e.Started.UnixMilli())
	}
	slices.Sort(f.times)
	f.times = slices.Compact(f.times)
	points := []cluster.Point{cluster.Start(), cluster.End(), cluster.Stable()}
	for _, t := range f.times {
		points = append(points, cluster.AtTime(t))
	}
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		commits, err := r.commits(ctx, g)
		if err != nil {
			return f, err
		}
		f.commits[g] = commits
	}
	var err error
	f.offsets, err = r.cluster.Offsets(ctx, of, points...)
	return f, err
}

func (r *reader) commits(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	cl, err := r.cluster.Control()
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	adm.SetTimeoutMillis(5000)
	commits, err := adm.FetchOffsets(ctx, group)
	switch {
	case err == nil || errors.Is(err, kerr.GroupIDNotFound):
		return commits, nil
	case kerr.IsRetriable(err): // such as a coordinator that is being made
		return nil, fault.New(fault.Unreachable, "%s: the commits of group %s cannot be read yet: %w", r.name, group, err).On(r.name)
	default:
		return nil, fault.New(fault.KindOf(r.cluster.Explain(err, "")), "%s: the commits of group %s cannot be read: %w", r.name, group, err).On(r.name)
	}
}

// trouble is why a split's offsets are not known.
func (f facts) trouble(s *split) error {
	for _, o := range f.offsets[s.at()] {
		if o.Err != nil {
			return o.Err
		}
	}
	if len(f.offsets[s.at()]) < firstPoints {
		return fault.New(fault.Failed, "%s: the cluster says nothing about its offsets", s)
	}
	return nil
}

// ranges are the two that bind a delivery: the command's with the source's
// start where the command has none, and the source's own for its stop.
type ranges struct{ command, source spec.Range }

func (r *reader) ranges(s *split, w Want) ranges {
	var rg ranges
	rg.command, _ = r.e.Offsets.For(s.Split)
	if w.Source.Stop != nil {
		rg.source.Stop = w.Source.Stop.Bound
	}
	if !rg.command.Start.Given() && w.Source.Start != nil && !r.e.Offsets.Given() {
		rg.command.Start = w.Source.Start.Bound
	}
	rg.command = rg.command.OrElse(spec.Range{Start: r.e.Start})
	switch {
	case !s.fromEnd(rg.command.Start):
	case s.appeared:
		rg.command.Start = spec.Bound{Kind: spec.Start}
	case (r.lates || r.again) && !r.e.Exit:
		rg.command.Start = spec.Bound{Kind: spec.Time, N: r.e.Started.UnixMilli()}
	}
	return rg
}

func (s *split) fromEnd(b spec.Bound) bool { return b.Kind == spec.End && b.N == 0 }

// begin resolves a split's bounds, tells what is not quite as asked, and starts
// reading, waiting or nothing.
func (r *reader) begin(ctx context.Context, s *split, f facts) {
	waits := false
	for _, w := range s.wants {
		d, ahead := r.delivery(s, w, f)
		s.deliveries = append(s.deliveries, d)
		waits = waits || ahead
	}
	from := s.bound()
	r.detail(2, "%s: from %d %s", s, from, s.untilText())
	r.e.account(r.name, func(st *ClusterStats) { st.Splits++ })
	if from >= s.until {
		r.mu.Lock()
		r.unread[s.Topic]++
		r.mu.Unlock()
		return
	}
	r.mu.Lock()
	r.open++
	r.mu.Unlock()
	s.feed = r.feed(ctx, s.committed)
	if waits {
		r.waiting = append(r.waiting, s)
		return
	}
	s.feed.add(s, from)
}

// delivery resolves what one stream wants of a split; ahead says that its start
// lies beyond the end of the log.
func (r *reader) delivery(s *split, w Want, f facts) (d delivery, ahead bool) {
	offsets := f.offsets[s.at()]
	sf := spec.Facts{
		Start: offsets[pointStart].Offset, End: offsets[pointEnd].Offset,
		Follow: !r.e.Exit,
		At: func(ms int64) (int64, bool) {
			i, _ := slices.BinarySearch(f.times, ms)
			o := offsets[firstPoints+i].Offset
			return o, o >= 0
		},
		Committed: func(group string) (int64, bool) {
			c, ok := f.commits[group].Lookup(s.Topic, s.Partition)
			return c.At, ok && c.At >= 0
		},
	}
	if s.committed {
		sf.End = offsets[pointStable].Offset
	}
	rg := r.ranges(s, w)
	b := rg.command.Resolve(sf)
	stop := spec.Range{Start: spec.Bound{Kind: spec.Start}, Stop: rg.source.Stop}.Resolve(sf)
	d = delivery{from: b.From, until: min(b.Until, stop.Until), window: window(rg)}
	if r.e.Exit {
		d.until = min(d.until, sf.End)
	}
	for _, n := range b.Notes {
		r.event(Event{Kind: Note, Split: s.Split, Text: s.String() + ": " + n.Text, Depth: r.depthOf(n)})
	}
	return d, b.Waits && d.from < d.until
}

// always is the window that holds every record.
var always, _ = spec.Range{}.Window()

// window is the span of timestamps that both ranges allow. A start by time that
// the run chose itself binds offsets only.
func window(rg ranges) spec.Window {
	w, _ := rg.command.Window()
	if s, ok := rg.source.Window(); ok {
		w.Until = min(w.Until, s.Until)
	}
	return w
}

// admit starts the splits whose logs have grown up to their start.
func (r *reader) admit(ctx context.Context) {
	if len(r.waiting) == 0 {
		return
	}
	f, err := r.ask(ctx, r.waiting)
	if err != nil {
		return
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(s *split) bool {
		if f.trouble(s) != nil || f.offsets[s.at()][pointEnd].Offset < s.next {
			return false
		}
		s.feed.add(s, s.next)
		return true
	})
}

func (s *split) at() cluster.TopicPartition {
	return cluster.TopicPartition{Topic: s.Topic, Partition: s.Partition}
}

func newSplit(clusterName string, key splitKey, wants []Want) *split {
	s := &split{
		Split: record.Split{Cluster: clusterName, Topic: key.topic, Partition: key.partition},
		id:    fetch.Partition{Topic: key.topic, ID: key.partition}, committed: key.committed, wants: wants,
	}
	for _, w := range wants {
		s.streams = append(s.streams, w.Stream.NameFor(key.topic))
	}
	return s
}

func (s *split) key() splitKey { return splitKey{s.Topic, s.Partition, s.committed} }

// manyNotes is after how many notes on a cluster's splits the rest is told to
// those only who asked for details: a topic may have thousands of partitions.
const manyNotes = 10

// depthOf is how often details must be asked for to be told a note.
func (r *reader) depthOf(n spec.Note) int {
	if n.Minor {
		return 1
	}
	switch r.notes++; {
	case r.notes <= manyNotes:
		return 0
	case r.notes == manyNotes+1:
		r.event(Event{Kind: Note, Text: r.name + ": the same of more partitions; -v tells which"})
	}
	return 1
}
