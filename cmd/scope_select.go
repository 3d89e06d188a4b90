package cmd

import (
	"cmp"
	"slices"

	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// selects reports whether a partition is in the scope, and which stream brings it
// in: of a scope that names none that of the metadata, which may be empty. Whether
// there is such a partition does not matter.
func (cs clusterScope) selects(at offsets.Partition) (stream string, ok bool) {
	if !cs.takes(at) {
		return "", false
	}
	if len(cs.wants) == 0 {
		return cs.streamOf(at.Topic), true
	}
	for _, w := range cs.wants {
		if slices.ContainsFunc(w.source.Topics, func(t metadata.Topic) bool { return t.Matches(at.Topic) }) {
			return cmp.Or(w.stream, at.Topic), true
		}
	}
	return "", false
}
