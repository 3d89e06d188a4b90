package offsets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Check looks whether changes of one cluster may be made, and sets the Err of those
// that may not: of groups that have members, of kinds that keep no commits or have
// tools of their own, on topics that do not exist, and where the commit is not what
// the plan knows any more. It notes the topics' ids and whether a group is made. The
// error is about the cluster as a whole. A change that has an Err keeps it.
func Check(ctx context.Context, c *cluster.Cluster, changes []Change) (map[string]Group, error) {
	groups, err := settledGroups(ctx, c, Selection{Names: groupsOf(changes)}, Detail{Members: true, Commits: true, Stable: true})
	if err != nil {
		return nil, err
	}
	topics, err := topicsOf(ctx, c, changes)
	if err != nil {
		return nil, err
	}
	for i := range changes {
		ch := &changes[i]
		t := topics[ch.Topic]
		if t.Err == nil {
			ch.TopicID = t.ID
		}
		if ch.Err == nil {
			ch.Err = ch.forbidden(c, groups[ch.Group], t)
		}
	}
	return groups, nil
}

// forbidden is why a change may not be made; nil if it may.
func (ch *Change) forbidden(c *cluster.Cluster, g Group, t cluster.Topic) error {
	if err := inUse(c, g); err != nil {
		return err
	}
	now := g.commitAt(ch.Partition)
	switch {
	case now != nil && now.Err != nil:
		return now.Err
	case !sameCommit(now, ch.Prior):
		return fault.New(fault.Refused, "%s/%s: partition %d: group %s has committed something else since the plan was made",
			c.Name(), ch.Topic, ch.Partition.Partition, g.Name).On(c.Name())
	case ch.New == nil || ch.Keep:
		return nil
	case t.Err != nil:
		return t.Err
	}
	if _, there := slices.BinarySearchFunc(t.Partitions, ch.Partition.Partition, func(p cluster.Partition, id int32) int { return cmp.Compare(p.ID, id) }); !there {
		return fault.New(fault.Refused, "%s/%s: there is no partition %d", c.Name(), ch.Topic, ch.Partition.Partition).On(c.Name())
	}
	return nil
}

// InUse is why the commits of groups may not be changed, by their names; those that
// may be are not there. The error is about the cluster as a whole.
func InUse(ctx context.Context, c *cluster.Cluster, names []string) (map[string]error, error) {
	why := map[string]error{}
	if len(names) == 0 {
		return why, nil
	}
	groups, err := settledGroups(ctx, c, Selection{Names: names}, Detail{Members: true})
	for _, g := range groups {
		if err := inUse(c, g); err != nil {
			why[g.Name] = err
		}
	}
	return why, err
}

// inUse is why the commits of a group may not be changed; nil if they may.
func inUse(c *cluster.Cluster, g Group) error {
	switch {
	case g.Err != nil:
		return g.Err
	case g.Kind == cluster.ShareGroup:
		return fault.New(fault.Refused, "%s: group %s is a share group, which has no commits", c.Name(), g.Name).On(c.Name()).
			WithHint("kafka-share-groups changes where it reads")
	case g.Kind == cluster.StreamsGroup:
		return fault.New(fault.Refused, "%s: group %s is a streams group: its commits belong to the state of its application", c.Name(), g.Name).On(c.Name()).
			WithHint("kafka-streams-groups resets both together")
	case g.Quiet():
		return nil
	}
	return fault.New(fault.Refused, "%s: group %s is in use (%s): %s", c.Name(), g.Name, g.State, members(g.Members)).On(c.Name()).
		WithHint("stop its members first")
}

// mostNamed is how many members a message names.
const mostNamed = 5

// members names the members of a group.
func members(list []Member) string {
	if len(list) == 0 {
		return "its members are not known"
	}
	var names []string
	for _, m := range list[:min(len(list), mostNamed)] {
		names = append(names, fmt.Sprintf("%s on %s", m.Client, m.Host))
	}
	if more := len(list) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// topicsOf looks up the topics of changes.
func topicsOf(ctx context.Context, c *cluster.Cluster, changes []Change) (map[string]cluster.Topic, error) {
	var names []string
	for i := range changes {
		names = append(names, changes[i].Topic)
	}
	slices.Sort(names)
	by := map[string]cluster.Topic{}
	if len(names) == 0 {
		return by, nil
	}
	list, err := c.Topics(ctx, slices.Compact(names)...)
	for _, t := range list {
		by[t.Name] = t
	}
	return by, err
}
