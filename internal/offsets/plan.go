package offsets

import (
	"cmp"
	"slices"
	"strings"
)

// Change is one commit of a group that a plan is about.
type Change struct {
	Cluster, Group string
	Stream         string // that brought the partition in; may be empty
	Partition
	TopicID [16]byte // filled in by Check; zero when the topic does not exist, or the brokers have no ids
	Prior   *Commit  // nil: none
	New     *Commit  // nil: it is to be removed
	// Keep says that there is nothing to do: New is Prior, and Note says why.
	Keep bool
	Note string // what is worth knowing: clamped, already there …
	// Err is why the change is not made, or failed: a *fault.Error. A plan with one
	// refused change is not carried out at all.
	Err     error
	Outcome Outcome // of Apply
}

// Outcome is what became of a change.
type Outcome uint8

// The outcomes, as reading back tells them.
const (
	Planned   Outcome = iota // it was not tried
	Changed                  // it is as the plan has it
	Unchanged                // it is as it was; Err says why
	Unknown                  // nobody can say; Err says why
)

// String is the outcome in one word; empty for Planned.
func (o Outcome) String() string {
	return [...]string{"", "changed", "unchanged", "unknown"}[o]
}

// Delta is how far the change moves the group; ok is false without two offsets.
func (c Change) Delta() (n int64, ok bool) {
	if c.Prior == nil || c.New == nil {
		return 0, false
	}
	return c.New.Offset - c.Prior.Offset, true
}

// SortChanges orders changes by cluster, group, topic and partition.
func SortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Group, b.Group), ComparePartitions(a.Partition, b.Partition))
	})
}

// sameCommit reports whether two commits are the same to the byte; nil is none.
func sameCommit(a, b *Commit) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Offset == b.Offset && a.Epoch == b.Epoch && a.Metadata == b.Metadata
}

// commitAt is the commit of a group in a partition; nil if it has none.
func (g Group) commitAt(at Partition) *Commit {
	if c, ok := g.Commits[at]; ok {
		return &c
	}
	return nil
}

// groupsOf names the groups of changes, in order, each once.
func groupsOf(changes []Change) []string {
	var names []string
	for i := range changes {
		names = append(names, changes[i].Group)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
