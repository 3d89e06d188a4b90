package source

import (
	"context"
	"errors"
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
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

// ask looks up everything that the ranges of splits need, in as few requests as
// that takes.
func (r *reader) ask(ctx context.Context, splits []*split) (facts, error) {
	f := facts{commits: map[string]kadm.OffsetResponses{}}
	if err := r.group.standing(ctx); err != nil {
		return f, err
	}
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
	slices.Sort(f.times)
	f.times = slices.Compact(f.times)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		commits, err := r.commits(ctx, g)
		if err != nil {
			return f, err
		}
		f.commits[g] = commits
	}
	var err error
	if f.offsets, err = r.cluster.Offsets(ctx, of, cluster.Start(), cluster.End(), cluster.Stable()); err != nil {
		return f, err
	}
	return f, r.askTimes(ctx, of, f)
}

// askTimes adds the offsets for times. They are asked for after the ends: a
// record that is written in between lies behind such an end, and is read where no
// record was found for a time.
func (r *reader) askTimes(ctx context.Context, of []cluster.TopicPartition, f facts) error {
	if len(f.times) == 0 {
		return nil
	}
	points := make([]cluster.Point, len(f.times))
	for i, t := range f.times {
		points[i] = cluster.AtTime(t)
	}
	offsets, err := r.cluster.Offsets(ctx, of, points...)
	for at := range f.offsets {
		f.offsets[at] = append(f.offsets[at], offsets[at]...)
	}
	return err
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

// facts are what is known of one split, for resolving bounds.
func (r *reader) facts(s *split, f facts) spec.Facts {
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
	return sf
}
