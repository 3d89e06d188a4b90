package offsets

import (
	"context"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// Removal plans that commits of groups are removed: those for which take holds,
// which also names the stream that they belong to.
func Removal(c *cluster.Cluster, groups []Group, take func(Partition) (stream string, ok bool)) []Change {
	var changes []Change
	for i := range groups {
		g := &groups[i]
		if g.Err != nil {
			continue
		}
		for at, commit := range g.Commits {
			stream, ok := take(at)
			if !ok {
				continue
			}
			ch := Change{Cluster: c.Name(), Group: g.Name, Stream: stream, Partition: at, Err: commit.Err}
			if commit.Err == nil {
				ch.Prior = &commit
			}
			changes = append(changes, ch)
		}
	}
	SortChanges(changes)
	return changes
}

// Involved asks a cluster about groups whose commits are to be changed. Of those that
// were not named it returns the ones that have commits for which take holds.
func Involved(ctx context.Context, c *cluster.Cluster, s Selection, take func(Partition) bool) ([]Group, error) {
	by, err := settledGroups(ctx, c, s, Detail{Commits: true, Stable: true})
	if err != nil {
		return nil, err
	}
	var list []Group
	for _, g := range by {
		some := slices.Contains(s.Names, g.Name) || g.Err != nil
		for at := range g.Commits {
			some = some || take(at)
		}
		if some {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
