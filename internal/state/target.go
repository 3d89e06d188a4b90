package state

import (
	"slices"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Target is where records were copied to: the positions in the file are those of
// what is there.
type Target struct {
	ClusterID string   // of the physical cluster; empty if it tells none
	Cluster   string   // the name that it had
	Topic     string   // as it was given, with placeholders
	Written   []string // topics that have got records, sorted
}

func (t *Target) String() string { return t.Cluster + "/" + t.Topic }

// is reports whether both are the same place.
func (t *Target) is(other *Target) bool {
	if t.ClusterID == "" || other.ClusterID == "" {
		return t.Cluster == other.Cluster && t.Topic == other.Topic
	}
	return t.ClusterID == other.ClusterID && t.Topic == other.Topic
}

// Bind says where this run copies records to; nil is nowhere. A file whose
// positions are those of another target is refused (fault.Refused): what that has
// would never come to this one. One that has no target gets this one with the next
// Keep.
func (f *File) Bind(t *Target) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.to == nil && t == nil:
		return nil
	case f.to == nil:
		own := *t
		f.to = &own
		return nil
	case t == nil:
		return fault.New(fault.Refused, "%s holds the positions of a copy to %s, and this run copies nothing", f.path, f.to).
			WithHint("what this run read would never be copied; give it a --state FILE of its own")
	case !f.to.is(t):
		return fault.New(fault.Refused, "%s holds the positions of a copy to %s, not of one to %s", f.path, f.named(t), t).
			WithHint("give each target a --state FILE of its own")
	}
	f.to.Cluster = t.Cluster
	return nil
}

// named is the target of the file as it is told beside t, which may have its name.
func (f *File) named(t *Target) string {
	if f.to.String() == t.String() {
		return f.to.String() + " of the cluster " + f.to.ClusterID
	}
	return f.to.String()
}

// Wrote adds topics that have got records; the next Keep stores them.
func (f *File) Wrote(topics []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to == nil {
		return
	}
	list := slices.Concat(f.to.Written, topics)
	slices.Sort(list)
	f.to.Written = slices.Compact(list)
}

// HasWritten reports whether a topic of the target has got records by runs with
// this file.
func (f *File) HasWritten(topic string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to == nil {
		return false
	}
	_, found := slices.BinarySearch(f.to.Written, topic)
	return found
}
