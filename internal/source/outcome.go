package source

import (
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Stopped is the error of a follow that was ended from outside after a policy had
// stopped some of its splits; nil if none had.
func (s Stats) Stopped() error {
	for _, st := range s.Clusters {
		if st.Stopped {
			return outcome(s.Clusters)
		}
	}
	return nil
}

// outcome turns what became of each cluster into how the run ends: nil when all
// gave what they should, Partial when some did, and the common kind when none
// did. A single reason, which has been told by then, is not told again.
func outcome(clusters map[string]ClusterStats) error {
	var gives, takes []string // those that failed, and those that records could not be written to
	var first error
	var faults int
	kinds := map[fault.Kind]bool{}
	gave := false
	for _, name := range sortedKeys(clusters) {
		st := clusters[name]
		gave = gave || st.Err == nil || st.Splits > 0 || st.Records > 0
		if st.Err == nil {
			continue
		}
		if first == nil {
			first = st.Err
		}
		if st.Target != "" {
			takes = append(takes, st.Target)
		}
		if st.Target == "" || st.Own {
			gives = append(gives, name)
		}
		faults += st.Faults
		kinds[fault.KindOf(st.Err)] = true
	}
	slices.Sort(takes)
	takes = slices.Compact(takes)
	failed := slices.Concat(gives, takes)
	switch {
	case first == nil:
		return nil
	case gave:
		return fault.New(fault.Partial, "the result is partial: %s", blame(gives, takes))
	case faults == 1:
		return fault.Told{Err: whole(first, len(gives))}
	case len(kinds) == 1:
		return summary(gives, takes, first)
	default:
		return fault.New(fault.Failed, "no cluster gave a result: %s", strings.Join(failed, ", "))
	}
}

// whole is why nothing was written at all. A target that takes nothing of what is
// there to be written leaves no part of a result, though others might have gone on.
func whole(err error, gives int) error {
	if gives > 0 || fault.KindOf(err) != fault.Partial {
		return err
	}
	return fault.New(fault.Failed, "%w", err).WithHint("%s", fault.HintOf(err))
}

// summary ends a run in which every cluster failed in the same way. The details
// have been told already, one by one.
func summary(gives, takes []string, first error) error {
	names := strings.Join(slices.Concat(gives, takes), ", ")
	switch kind := fault.KindOf(first); kind {
	case fault.Auth:
		return fault.New(kind, "%s refused access", names)
	case fault.Unreachable:
		return fault.New(kind, "%s could not be reached", names)
	default:
		if len(gives) == 0 {
			return whole(fault.New(kind, "%s took nothing", names), 0)
		}
		return fault.New(kind, "%s gave no result", names)
	}
}

// blame says which clusters gave too little, and which took too little.
func blame(gives, takes []string) string {
	var parts []string
	if len(gives) > 0 {
		parts = append(parts, strings.Join(gives, ", ")+" gave none or only a part")
	}
	if len(takes) > 0 {
		parts = append(parts, strings.Join(takes, ", ")+" took none or only a part")
	}
	return strings.Join(parts, "; ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
