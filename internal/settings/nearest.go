package settings

import "strings"

// nearest returns the key at path's depth that is most like its last word, or
// the full name of a flag that has this name elsewhere; "" if nothing is near.
func (w walker) nearest(path []string) string {
	word := path[len(path)-1]
	best, bestDistance := "", len(word)/3+2
	for _, fl := range w.flags {
		if CommandLineOnly(fl.Name) {
			continue
		}
		p := fl.path()
		if p[len(p)-1] == word {
			return fl.Label()
		}
		if len(p) < len(path) || strings.Join(p[:len(path)-1], ".") != strings.Join(path[:len(path)-1], ".") {
			continue
		}
		if d := Distance(word, p[len(path)-1]); d < bestDistance {
			best, bestDistance = p[len(path)-1], d
		}
	}
	return best
}

// Distance counts the letters to add, drop or change to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
