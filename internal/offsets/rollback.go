package offsets

import (
	"context"
	"errors"
	"fmt"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// ErrOtherTopic is in the chain of errors about commits that cannot come back because
// their topic was deleted, or made again.
var ErrOtherTopic = errors.New("the topic is not the one of the snapshot")

// Rollback plans that commits become what they were before a snapshot's changes.
type Rollback struct {
	// Since lets commits go that are neither what was before nor what the change made.
	Since bool
	// Strict refuses offsets that lie outside the log by now. Otherwise they come back
	// as they were.
	Strict bool
}

// Plan plans it for one cluster, whose changes of the snapshot it is given. A topic
// that was made again is refused: its offsets are those of other records.
func (r Rollback) Plan(ctx context.Context, c *cluster.Cluster, list []SnapshotChange) ([]Change, error) {
	var names []string
	changes := make([]Change, len(list))
	for i, was := range list {
		changes[i] = Change{Cluster: c.Name(), Group: was.Group, Partition: was.Partition}
		names = append(names, was.Group)
	}
	groups, err := settledGroups(ctx, c, Selection{Names: names}, Detail{Commits: true, Stable: true})
	if err != nil {
		return nil, err
	}
	topics, err := topicsOf(ctx, c, changes)
	if err != nil {
		return nil, err
	}
	for i := range changes {
		r.plan(c, &changes[i], list[i], groups[list[i].Group], topics[list[i].Topic])
	}
	if err := r.place(ctx, c, changes); err != nil {
		return nil, err
	}
	SortChanges(changes)
	return changes, nil
}

// plan makes one change.
func (r Rollback) plan(c *cluster.Cluster, ch *Change, was SnapshotChange, g Group, t cluster.Topic) {
	refuse := func(format string, args ...any) {
		ch.Err = fault.New(fault.Refused, "%s/%s: partition %d: %s", c.Name(), was.Topic, was.Partition.Partition, fmt.Sprintf(format, args...)).On(c.Name())
	}
	now := g.commitAt(was.Partition)
	switch {
	case g.Err != nil:
		ch.Err = g.Err
		return
	case now != nil && now.Err != nil:
		ch.Err = now.Err
		return
	}
	ch.Prior = now
	none := [16]byte{}
	switch again := was.TopicID != none && t.Err == nil && t.ID != was.TopicID; {
	case sameCommit(now, was.Prior):
		ch.Keep, ch.New, ch.Note = true, now, "it is as it was before"
		return
	case was.Prior != nil && (again || cluster.IsMissing(t.Err)):
		ch.Err = otherTopic(c, was, again)
		return
	case !sameCommit(now, was.New) && !r.Since:
		refuse("group %s has %s now: it was changed since", was.Group, offsetOf(now))
		ch.Err.(*fault.Error).Hint = "--allow-changed takes it back all the same" //nolint:errorlint,forcetypeassert // it was made above
		return
	case !sameCommit(now, was.New):
		ch.Note = "it was changed since"
	}
	if was.Prior != nil {
		back := *was.Prior
		if was.TopicID == none {
			back.Epoch = -1 // nobody knows whether it is the same topic
		}
		ch.New = &back
	}
}

// otherTopic is why a commit cannot come back whose topic was made again, or deleted.
func otherTopic(c *cluster.Cluster, was SnapshotChange, again bool) error {
	format := "%s/%s: no such topic: the commit %d of partition %d cannot come back"
	if again {
		format = "%[1]s/%[2]s: partition %[4]d: the topic was made again since, so the offset %[3]d is that of another record"
	}
	err := fault.New(fault.Refused, format, c.Name(), was.Topic, was.Prior.Offset, was.Partition.Partition).On(c.Name())
	err.Err = ErrOtherTopic
	return err
}

func offsetOf(c *Commit) string {
	if c == nil {
		return "no commit"
	}
	return fmt.Sprintf("committed %d", c.Offset)
}

// place looks whether offsets that come back lie in their logs.
func (r Rollback) place(ctx context.Context, c *cluster.Cluster, changes []Change) error {
	var parts []Partition
	for i := range changes {
		if ch := &changes[i]; ch.New != nil && !ch.Keep && ch.Err == nil {
			parts = append(parts, ch.Partition)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	l := logs{}
	var err error
	if l.found, err = c.Offsets(ctx, parts, cluster.Start(), cluster.End()); err != nil {
		return err
	}
	for i := range changes {
		ch := &changes[i]
		if ch.New == nil || ch.Keep || ch.Err != nil {
			continue
		}
		start, end, err := l.bounds(ch.Partition)
		switch n := ch.New.Offset; {
		case err != nil:
			ch.Err = err
		case n < start:
			ch.outside(c, r.Strict, fmt.Sprintf("the log starts at %d by now", start))
		case n > end:
			ch.outside(c, r.Strict, fmt.Sprintf("the log ends at %d", end))
		}
	}
	return nil
}

func (ch *Change) outside(c *cluster.Cluster, refused bool, where string) {
	if refused {
		ch.Err = fault.New(fault.Refused, "%s/%s: partition %d: it was at %d, and %s",
			c.Name(), ch.Topic, ch.Partition.Partition, ch.New.Offset, where).On(c.Name())
		return
	}
	if ch.Note != "" {
		ch.Note += "; "
	}
	ch.Note += where
}
