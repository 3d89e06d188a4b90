package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns up to n of the candidates that resemble name, the nearest
// first: those that contain it or lie within a third of its length.
func nearest(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		dist int
	}
	var near []scored
	low := strings.ToLower(name)
	limit := max(1, min(len(name)/3, 6))
	for _, c := range candidates {
		l := strings.ToLower(c)
		d := distance(low, l, limit)
		if d > limit && len(low) >= 3 && (strings.Contains(l, low) || len(l) >= 3 && strings.Contains(low, l)) {
			d = limit + max(len(l), len(low)) - min(len(l), len(low))
			d = min(d, limit+64)
		} else if d > limit {
			continue
		}
		near = append(near, scored{c, d})
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.dist, b.dist), strings.Compare(a.name, b.name))
	})
	out := make([]string, 0, n)
	for _, s := range near[:min(n, len(near))] {
		out = append(out, s.name)
	}
	return out
}

// distance is the edit distance of a and b with swapped neighbors counted as
// one; anything above limit may come back as any number above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		best := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			best = min(best, cur[j])
		}
		if best > limit {
			return limit + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
