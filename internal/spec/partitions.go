package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Partitions is a set of partition numbers, kept as spans because a user may
// write a span that is longer than any topic. The empty set is "all of them".
type Partitions []Span

// Span is the partitions From to To, both included.
type Span struct{ From, To int32 }

// ParsePartitions reads values such as "0,2-4", each a list of numbers and
// spans.
func ParsePartitions(values []string) (Partitions, error) {
	var set Partitions
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			s, ok := parseSpan(strings.TrimSpace(part))
			if !ok {
				return nil, fault.New(fault.Usage, "%q is no list of partitions", value).
					WithHint("numbers and spans, such as 0,2-4")
			}
			set = append(set, s)
		}
	}
	slices.SortFunc(set, func(a, b Span) int { return int(int64(a.From) - int64(b.From)) })
	return set, nil
}

func parseSpan(text string) (Span, bool) {
	left, right, ok := strings.Cut(text, "-")
	if !ok {
		right = left
	}
	from, ok1 := parsePartition(left)
	to, ok2 := parsePartition(right)
	return Span{from, to}, ok1 && ok2 && from <= to
}

func parsePartition(digits string) (int32, bool) {
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil && allDigits(digits)
}

// Has reports whether partition p is in the set.
func (ps Partitions) Has(p int32) bool {
	if len(ps) == 0 {
		return true
	}
	return slices.ContainsFunc(ps, func(s Span) bool { return s.From <= p && p <= s.To })
}

// Unmatched returns the spans in which none of the known partitions lies.
func (ps Partitions) Unmatched(known []int32) (left Partitions) {
	for _, s := range ps {
		if !slices.ContainsFunc(known, func(p int32) bool { return s.From <= p && p <= s.To }) {
			left = append(left, s)
		}
	}
	return left
}

// String gives the form that ParsePartitions reads.
func (ps Partitions) String() string {
	parts := make([]string, len(ps))
	for i, s := range ps {
		parts[i] = strconv.Itoa(int(s.From))
		if s.To != s.From {
			parts[i] += "-" + strconv.Itoa(int(s.To))
		}
	}
	return strings.Join(parts, ",")
}
