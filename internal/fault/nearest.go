package fault

// Nearest returns the word of words that a typing slip most likely turned into
// word: at most a third of its letters wrong, missing, doubled or swapped. It
// returns "" when none is that near; the first of equally near ones wins.
func Nearest(word string, words []string) string {
	best, bestAt := "", max(1, len(word)/3)+1
	for _, w := range words {
		if d := distance(word, w); d < bestAt {
			best, bestAt = w, d
		}
	}
	return best
}

// distance counts the edits from a to b, a swap of neighbours being one
// (optimal string alignment).
func distance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
