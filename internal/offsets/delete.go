package offsets

import (
	"context"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// Removal plans that commits of groups are removed: those for which take holds,
// which also names the stream that they belong to. The groups are named; one that
// does not exist has no changes and the Kind NoGroup among the groups.
func Removal(ctx context.Context, c *cluster.Cluster, names []string, take func(Partition) (stream string, ok bool)) ([]Change, map[string]Group, error) {
	groups, err := settledGroups(ctx, c, names, Detail{Commits: true, Members: true, Stable: true})
	if err != nil {
		return nil, nil, err
	}
	var changes []Change
	for _, g := range groups {
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
	return changes, groups, nil
}
