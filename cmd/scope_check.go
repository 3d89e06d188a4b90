package cmd

import (
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// selected are the partitions of one cluster that a verb found for its scope.
type selected struct {
	cluster, id string // the cluster's name, and its cluster id
	parts       []offsets.Partition
}

// unmatched is about words of -t and -p that select none of what was found: a slip
// would look like an answer.
func (n narrow) unmatched(what string, all []selected) error {
	var topics []string
	var ids []int32
	for _, s := range all {
		for _, at := range s.parts {
			ids = append(ids, at.Partition)
			topics = append(topics, at.Topic)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, t := range n.topics {
		if !slices.Contains(topics, t) {
			return fault.New(fault.Usage, "-t %s selects nothing: %s", t, what)
		}
	}
	if left := n.partitions.Unmatched(ids); len(left) > 0 {
		return fault.New(fault.Usage, "-p %s selects nothing: %s", left, what)
	}
	return nil
}

// twins refuses what would be counted twice because two of the clusters are one.
func twins(all []selected) error {
	type place struct {
		id string
		at offsets.Partition
	}
	seen := map[place]string{}
	for _, s := range all {
		for _, at := range s.parts {
			p := place{s.id, at}
			if other, ok := seen[p]; ok && other != s.cluster && s.id != "" {
				return fault.New(fault.Refused, "%s and %s are the same cluster (%s): %s would be counted twice", other, s.cluster, s.id, at.Topic).
					On(s.cluster).WithHint("-c %s chooses one of them", other)
			}
			seen[p] = s.cluster
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
