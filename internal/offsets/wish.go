package offsets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// TargetKind says what a Target is measured from.
type TargetKind uint8

// The kinds of target.
const (
	ToOffset  TargetKind = iota // the offset N
	ToStart                     // N offsets after the log's start
	ToEnd                       // N offsets from the log's end; N is zero or negative
	ToTime                      // the first record whose timestamp is N ms since 1970 or later; after the last one the end
	ToCurrent                   // the group's own commit; the end where it has none
	ToShifted                   // N offsets from the group's own commit, which it has to have
	ToGroup                     // the commit of the group called Name; where that has none nothing is changed
)

// Target is where a group is to be put.
type Target struct {
	Kind TargetKind
	N    int64
	Name string // of ToGroup
	// Metadata of the commit. Nil: that of the commit of another group that is copied;
	// else it stays as it is where the offset stays, and is empty where the offset
	// moves, for it says something about an offset.
	Metadata *string
}

// Wish is that a group be put somewhere in a partition.
type Wish struct {
	Group  string
	Stream string // that brought the partition in; may be empty
	Partition
	Target
	// IfThere leaves the commit alone if the topic does not exist, which is refused
	// otherwise.
	IfThere bool
}

// Planner makes plans of wishes.
type Planner struct {
	// Strict refuses offsets outside the log, which are otherwise moved to its start
	// or end.
	Strict bool
	// From is the group whose commits ToCurrent and ToShifted mean; where it has none
	// nothing is changed. Empty: each wish means its own group.
	From string
}

// Plan finds out what wishes amount to on a cluster: a change for each, in order.
// What cannot be is the error of its change; the returned error is about the cluster
// as a whole. It does not look whether the groups may be changed: Check does.
func (p Planner) Plan(ctx context.Context, c *cluster.Cluster, wishes []Wish) ([]Change, error) {
	groups, err := settledGroups(ctx, c, Selection{Names: p.groups(wishes)}, Detail{Commits: true, Stable: true})
	if err != nil {
		return nil, err
	}
	logs, err := lookAtLogs(ctx, c, wishes)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(wishes))
	for i, w := range wishes {
		changes[i] = p.change(c, w, groups, logs)
	}
	SortChanges(changes)
	return changes, nil
}

// groups are those whose commits have to be known.
func (p Planner) groups(wishes []Wish) []string {
	names := map[string]bool{}
	for _, w := range wishes {
		names[w.Group] = true
		if w.Kind == ToGroup {
			names[w.Name] = true
		}
	}
	if p.From != "" {
		names[p.From] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// logs are what is known of the partitions of wishes.
type logs struct {
	times []int64 // that were looked up, in order
	found map[Partition][]cluster.Offset
}

func lookAtLogs(ctx context.Context, c *cluster.Cluster, wishes []Wish) (l logs, err error) {
	var parts []Partition
	for _, w := range wishes {
		parts = append(parts, w.Partition)
		if w.Kind == ToTime && w.N >= 0 {
			l.times = append(l.times, w.N)
		}
	}
	slices.SortFunc(parts, ComparePartitions)
	slices.Sort(l.times)
	l.times = slices.Compact(l.times)
	points := []cluster.Point{cluster.Start(), cluster.End()}
	for _, ms := range l.times {
		points = append(points, cluster.AtTime(ms))
	}
	l.found, err = c.Offsets(ctx, slices.Compact(parts), points...)
	return l, err
}

// bounds are the start and the end of a log.
func (l logs) bounds(at Partition) (start, end int64, err error) {
	got := l.found[at]
	for i := range got {
		if got[i].Err != nil && (i < 2 || !cluster.IsMissing(got[i].Err)) {
			return 0, 0, got[i].Err
		}
	}
	return got[0].Offset, got[1].Offset, nil
}

// at is the first offset of a time or later; false after the last record.
func (l logs) at(part Partition, ms int64) (int64, bool) {
	i, _ := slices.BinarySearch(l.times, ms)
	n := l.found[part][2+i].Offset
	return n, n >= 0
}

func (p Planner) change(c *cluster.Cluster, w Wish, groups map[string]Group, logs logs) Change {
	g := groups[w.Group]
	out := Change{Cluster: c.Name(), Group: w.Group, Stream: w.Stream, Partition: w.Partition, Prior: g.commitAt(w.Partition)}
	switch {
	case g.Err != nil:
		out.Err = g.Err
	case out.Prior != nil && out.Prior.Err != nil:
		out.Prior, out.Err = nil, out.Prior.Err
	}
	if out.Err != nil {
		return out
	}
	start, end, err := logs.bounds(w.Partition)
	switch {
	case err == nil:
	case w.IfThere && cluster.IsMissing(err):
		out.Keep, out.New, out.Note = true, out.Prior, "there is no such topic: left as it is"
		return out
	default:
		out.Err = err
		return out
	}
	if g.Kind == cluster.NoGroup {
		out.Note = "the group is new"
	}
	s := &seat{c: c, w: w, p: p, groups: groups, logs: logs, start: start, end: end, change: &out}
	n, ok := s.place()
	if !ok {
		return out
	}
	s.commit(n)
	return out
}

// seat is where one wish is fulfilled.
type seat struct {
	c          *cluster.Cluster
	w          Wish
	p          Planner
	groups     map[string]Group
	logs       logs
	start, end int64
	change     *Change
	metadata   *string // of a commit that is copied
}

// place finds the offset that is wished for, which may lie outside the log; false
// when nothing is to be committed, which the change then tells.
func (s *seat) place() (n int64, ok bool) {
	switch w := s.w; w.Kind {
	case ToStart:
		return plus(s.start, w.N), true
	case ToEnd:
		return plus(s.end, w.N), true
	case ToTime:
		return s.atTime(w.N), true
	case ToCurrent, ToShifted:
		return s.fromCommit()
	case ToGroup:
		other := s.groups[w.Name]
		if other.Err != nil {
			s.change.Err = other.Err
			return 0, false
		}
		at := other.commitAt(w.Partition)
		switch {
		case at == nil:
			s.leave(w.Name)
			return 0, false
		case at.Err != nil:
			s.change.Err = at.Err
			return 0, false
		}
		s.metadata = &at.Metadata
		return at.Offset, true
	default:
		return w.N, true
	}
}

func (s *seat) atTime(ms int64) int64 {
	if ms < 0 {
		return s.start
	}
	if n, ok := s.logs.at(s.w.Partition, ms); ok {
		return n
	}
	when := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	if s.start == s.end {
		s.note("the partition is empty: its end")
	} else {
		s.note("no record is of %s or later: the end", when)
	}
	return s.end
}

// fromCommit is a place measured from what the group, or the one of Planner.From,
// has committed.
func (s *seat) fromCommit() (n int64, ok bool) {
	name := s.w.Group
	if s.p.From != "" {
		name = s.p.From
	}
	g := s.groups[name]
	at := g.commitAt(s.w.Partition)
	switch {
	case g.Err != nil:
		s.change.Err = g.Err
	case at != nil && at.Err != nil:
		s.change.Err = at.Err
	case at != nil:
		if s.p.From != "" && s.w.N == 0 {
			s.metadata = &at.Metadata
		}
		return plus(at.Offset, s.w.N), true
	case s.p.From != "":
		s.leave(name)
	case s.w.Kind == ToCurrent:
		s.note("group %s has no commit: the end", name)
		return s.end, true
	default:
		s.refuse("group %s has no commit that could be shifted", name)
	}
	return 0, false
}

// leave leaves a commit alone because the group that says where to go has none.
func (s *seat) leave(name string) {
	s.change.Keep, s.change.New = true, s.change.Prior
	s.change.Note = fmt.Sprintf("group %s has no commit: left as it is", name)
}

// commit puts the offset into the change, within the log.
func (s *seat) commit(n int64) {
	in := min(max(n, s.start), s.end)
	if n != in {
		where := fmt.Sprintf("the log starts at %d", s.start)
		if n > s.end {
			where = fmt.Sprintf("the log ends at %d", s.end)
		}
		if s.p.Strict {
			s.refuse("asked for %d, %s", n, where)
			return
		}
		s.note("asked for %d, %s", n, where)
	}
	to := &Commit{Offset: in, Epoch: -1}
	prior := s.change.Prior
	switch {
	case s.w.Metadata != nil:
		to.Metadata = *s.w.Metadata
	case s.metadata != nil && n == in:
		to.Metadata = *s.metadata
	case prior != nil && prior.Offset == in:
		to.Metadata = prior.Metadata
	}
	s.change.New = to
}

func (s *seat) note(format string, args ...any) {
	if s.change.Note != "" {
		s.change.Note += "; "
	}
	s.change.Note += fmt.Sprintf(format, args...)
}

func (s *seat) refuse(format string, args ...any) {
	s.change.Err = fault.New(fault.Refused, "%s/%s: partition %d: %s", s.c.Name(), s.w.Topic, s.w.Partition.Partition, fmt.Sprintf(format, args...)).On(s.c.Name())
}

// plus adds without overflow.
func plus(a, n int64) int64 {
	sum := a + n
	switch {
	case n > 0 && sum < a:
		return int64(^uint64(0) >> 1)
	case n < 0 && sum > a:
		return -int64(^uint64(0)>>1) - 1
	default:
		return sum
	}
}

// mostSettles is how often groups are asked about whose coordinators are not there
// yet: a cluster that has had no group takes a moment for its first one.
const mostSettles = 4

// settledGroups asks about groups, with patience for coordinators. They are by name.
func settledGroups(ctx context.Context, c *cluster.Cluster, s Selection, d Detail) (map[string]Group, error) {
	for round := 1; ; round++ {
		list, err := Groups(ctx, c, s, d)
		if err != nil {
			return nil, err
		}
		settled := true
		by := make(map[string]Group, len(list))
		for _, g := range list {
			by[g.Name] = g
			settled = settled && fault.KindOf(g.Err) != fault.Unreachable
		}
		if settled || round == mostSettles || ctx.Err() != nil {
			return by, ctx.Err()
		}
	}
}
