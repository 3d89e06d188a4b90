package offsets

import (
	"context"
	"maps"
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// Scope is what a command is about on one cluster. A nil Scope is whatever a group
// has to do with: what it has commits on and what its members are assigned.
type Scope []ScopedTopic

// ScopedTopic is a topic in a Scope.
type ScopedTopic struct {
	Stream     string // that it belongs to; empty if it was named by itself
	Topic      string
	Partitions []int32 // in order
}

// Partitions lists all of the scope, in order.
func (s Scope) Partitions() (list []Partition) {
	for _, t := range s {
		for _, p := range t.Partitions {
			list = append(list, Partition{Topic: t.Topic, Partition: p})
		}
	}
	return list
}

// Lag is how far a group has come in one partition. What is nil could not be found
// out, or does not exist.
type Lag struct {
	Stream string
	Partition
	Committed  *int64  // nil: never committed
	Start, End *int64  // of the log
	Lag        *int64  // from Committed to End; below zero when End was passed, as after a topic was made again
	Member     *Member // that it is assigned to; nil is none
	Err        error   // a *fault.Error: why something is nil that should be known
}

// GroupLag is a group with its partitions in a scope, in order.
type GroupLag struct {
	Group
	Lags []Lag
}

// Total is the sum of the lags that are known and above zero, how many they are,
// and how many are not known.
func (g GroupLag) Total() (sum int64, known, unknown int) {
	for i := range g.Lags {
		if l := g.Lags[i].Lag; l != nil {
			sum += max(*l, 0)
			known++
		} else {
			unknown++
		}
	}
	return sum, known, unknown
}

// Touched reports whether the group has to do with any of its partitions: it has a
// commit there or a member that reads it.
func (g GroupLag) Touched() bool {
	return slices.ContainsFunc(g.Lags, func(l Lag) bool { return l.Committed != nil || l.Member != nil || g.Commits[l.Partition].Err != nil })
}

// Narrow leaves out of groups the commits and assignments for which take does not
// hold.
func Narrow(groups []Group, take func(Partition) bool) {
	for i := range groups {
		maps.DeleteFunc(groups[i].Commits, func(at Partition, _ Commit) bool { return !take(at) })
		for j := range groups[i].Members {
			m := &groups[i].Members[j]
			m.Assigned = slices.DeleteFunc(m.Assigned, func(at Partition) bool { return !take(at) })
		}
	}
}

// Lags finds the lag of groups, which have been asked for with members and
// commits. The error is about the cluster as a whole; then only Committed and
// Member are known.
func Lags(ctx context.Context, c *cluster.Cluster, groups []Group, scope Scope) ([]GroupLag, error) {
	q := newLagQuery(scope)
	own := make([][]Partition, len(groups))
	for i := range groups {
		own[i] = q.partitionsOf(&groups[i])
	}
	err := q.look(ctx, c)
	out := make([]GroupLag, len(groups))
	for i, g := range groups {
		out[i] = GroupLag{Group: g, Lags: q.lagsOf(&groups[i], own[i])}
	}
	return out, err
}

// lagQuery is one run of Lags. Many groups share partitions: the bounds of each
// are looked up once.
type lagQuery struct {
	whole   bool
	scope   []Partition
	streams map[Partition]string // of the scope
	bounds  map[Partition]*bounds
}

// bounds are those of a log; nil is not known, for the reason of err.
type bounds struct {
	start, end *int64
	err        error
}

func newLagQuery(scope Scope) *lagQuery {
	q := &lagQuery{whole: scope == nil, scope: scope.Partitions(), streams: map[Partition]string{}, bounds: map[Partition]*bounds{}}
	for _, t := range scope {
		for _, p := range t.Partitions {
			at := Partition{Topic: t.Topic, Partition: p}
			q.streams[at], q.bounds[at] = t.Stream, &bounds{}
		}
	}
	return q
}

// partitionsOf are those that a group has to do with, in order.
func (q *lagQuery) partitionsOf(g *Group) []Partition {
	list := slices.Clone(q.scope)
	add := func(at Partition) {
		if _, in := q.streams[at]; q.whole && !in {
			list = append(list, at)
			if q.bounds[at] == nil {
				q.bounds[at] = &bounds{}
			}
		}
	}
	for at := range g.Commits {
		add(at)
	}
	for i := range g.Members {
		for _, at := range g.Members[i].Assigned {
			add(at)
		}
	}
	slices.SortFunc(list, ComparePartitions)
	return slices.Compact(list)
}

func (q *lagQuery) look(ctx context.Context, c *cluster.Cluster) error {
	if len(q.bounds) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(q.bounds), ComparePartitions)
	found, err := c.Offsets(ctx, list, cluster.Start(), cluster.End())
	for at, b := range q.bounds {
		points := found[at]
		if len(points) != 2 {
			b.err = err
			continue
		}
		for i, to := range []**int64{&b.start, &b.end} {
			if points[i].Err == nil {
				*to = new(points[i].Offset)
			} else if b.err == nil {
				b.err = points[i].Err
			}
		}
	}
	return err
}

func (q *lagQuery) lagsOf(g *Group, own []Partition) []Lag {
	owners := map[Partition]*Member{}
	for i := range g.Members {
		for _, at := range g.Members[i].Assigned {
			owners[at] = &g.Members[i]
		}
	}
	lags := make([]Lag, len(own))
	numbers := make([]int64, 0, 2*len(own)) // one piece of memory for them all
	number := func(n int64) *int64 {
		numbers = append(numbers, n)
		return &numbers[len(numbers)-1]
	}
	for i, at := range own {
		b := q.bounds[at]
		l := Lag{Stream: q.streams[at], Partition: at, Member: owners[at], Start: b.start, End: b.end, Err: b.err}
		switch commit, committed := g.Commits[at]; {
		case commit.Err != nil:
			l.Err = commit.Err
		case committed:
			l.Committed = number(commit.Offset)
		}
		if l.Committed != nil && l.End != nil {
			l.Lag = number(*l.End - *l.Committed)
		}
		lags[i] = l
	}
	return lags
}
