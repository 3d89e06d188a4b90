package offsets

import (
	"context"
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

// stream names the stream of a topic; ok is false if the scope does not have it.
func (s Scope) stream(at Partition) (stream string, ok bool) {
	for _, t := range s {
		if t.Topic == at.Topic && slices.Contains(t.Partitions, at.Partition) {
			return t.Stream, true
		}
	}
	return "", s == nil
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

// Total is the sum of the lags that are known and above zero, and how many are not
// known although the group has a commit or something failed.
func (g GroupLag) Total() (sum int64, unknown int) {
	for _, l := range g.Lags {
		switch {
		case l.Lag != nil:
			sum += max(*l.Lag, 0)
		case l.Committed != nil || l.Err != nil:
			unknown++
		}
	}
	return sum, unknown
}

// Lags finds the lag of groups, which have been asked for with members and
// commits. The error is about the cluster as a whole.
func Lags(ctx context.Context, c *cluster.Cluster, groups []Group, scope Scope) ([]GroupLag, error) {
	wanted := map[Partition]bool{}
	for _, at := range scope.Partitions() {
		wanted[at] = true
	}
	for _, g := range groups {
		for at := range g.Commits {
			if _, ok := scope.stream(at); ok {
				wanted[at] = true
			}
		}
		for _, m := range g.Members {
			for _, at := range m.Assigned {
				if _, ok := scope.stream(at); ok {
					wanted[at] = true
				}
			}
		}
	}
	list := make([]Partition, 0, len(wanted))
	for at := range wanted {
		list = append(list, at)
	}
	slices.SortFunc(list, ComparePartitions)
	var bounds map[Partition][]cluster.Offset
	var err error
	if len(list) > 0 {
		bounds, err = c.Offsets(ctx, list, cluster.Start(), cluster.End())
	}
	out := make([]GroupLag, len(groups))
	for i, g := range groups {
		out[i] = GroupLag{Group: g, Lags: lagsOf(g, scope, bounds)}
	}
	return out, err
}

func lagsOf(g Group, scope Scope, bounds map[Partition][]cluster.Offset) []Lag {
	owners := map[Partition]*Member{}
	mine := map[Partition]bool{}
	for i := range g.Members {
		for _, at := range g.Members[i].Assigned {
			owners[at] = &g.Members[i]
			mine[at] = true
		}
	}
	for at := range g.Commits {
		mine[at] = true
	}
	for _, at := range scope.Partitions() {
		mine[at] = true
	}
	var lags []Lag
	for at := range mine {
		if stream, ok := scope.stream(at); ok {
			lags = append(lags, lagOf(g, at, stream, owners[at], bounds[at]))
		}
	}
	slices.SortFunc(lags, func(a, b Lag) int { return ComparePartitions(a.Partition, b.Partition) })
	return lags
}

func lagOf(g Group, at Partition, stream string, owner *Member, bounds []cluster.Offset) Lag {
	l := Lag{Stream: stream, Partition: at, Member: owner}
	commit, committed := g.Commits[at]
	switch {
	case commit.Err != nil:
		l.Err = commit.Err
	case committed:
		l.Committed = &commit.Offset
	}
	if len(bounds) == 2 {
		for i, to := range []**int64{&l.Start, &l.End} {
			if bounds[i].Err == nil {
				*to = &bounds[i].Offset
			} else if l.Err == nil {
				l.Err = bounds[i].Err
			}
		}
	}
	if l.Committed != nil && l.End != nil {
		l.Lag = new(*l.End - *l.Committed)
	}
	return l
}
