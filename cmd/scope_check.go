package cmd

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// selected are the partitions of one cluster that a verb found for its scope.
type selected struct {
	cluster, id string // the cluster's name, and its cluster id
	each        iter.Seq[offsets.Partition]
}

// unmatched is about words of -t and -p that select none of what was found: a slip
// would look like an answer.
func (n narrow) unmatched(what string, all []selected) error {
	if len(n.topics)+len(n.partitions) == 0 {
		return nil
	}
	topics, ids := map[string]bool{}, map[int32]bool{}
	for _, s := range all {
		for at := range s.each {
			topics[at.Topic], ids[at.Partition] = true, true
		}
	}
	for _, t := range n.topics {
		if !topics[t] {
			return fault.New(fault.Usage, "-t %s selects nothing: %s", t, what)
		}
	}
	if left := n.partitions.Unmatched(slices.Collect(maps.Keys(ids))); len(left) > 0 {
		return fault.New(fault.Usage, "-p %s selects nothing: %s", left, what)
	}
	return nil
}

// twins refuses what would be counted twice because two of the clusters are one.
func twins(all []selected) error {
	for i, s := range all {
		for _, other := range all[:i] {
			if s.id == "" || s.id != other.id {
				continue
			}
			seen := map[offsets.Partition]bool{}
			for at := range other.each {
				seen[at] = true
			}
			for at := range s.each {
				if seen[at] {
					return fault.New(fault.Refused, "%s and %s are the same cluster (%s): %s would be counted twice", other.cluster, s.cluster, s.id, at.Topic).
						On(s.cluster).WithHint("-c %s chooses one of them", other.cluster)
				}
			}
		}
	}
	return nil
}

// sought says for what a verb has looked, for messages.
func (s scope) sought() string {
	if s.whole() {
		return "these groups have nothing there"
	}
	return "no topic of " + strings.Join(s.words, ", ") + " has it"
}
