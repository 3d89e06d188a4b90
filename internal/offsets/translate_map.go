package offsets

import (
	"cmp"
	"slices"
	"strconv"
)

// Map is a map of positions that kcm itself has kept while it copied. It knows of
// every record where it went.
type Map interface {
	// Position translates a position of a partition of the source: it is where the
	// first record at or after it was copied to or, if there is none yet, the place
	// behind the last one that was copied. Copied is the position up to which the
	// source has been copied. Topic is the partition's topic on the target; ok is
	// false if the map says nothing about the partition.
	Position(at Partition, position int64) (topic string, offset, copied int64, ok bool)
}

// Run says that Length records from an offset of the source on went, without a
// hole on either side, to an offset of the target and those behind it.
type Run struct{ Source, Target, Length int64 }

// Runs are how a partition was copied, ascending in both offsets.
type Runs []Run

// Position is the place on the target of the first record at or after a position
// of the source, or the one behind the last record if there is none. An empty
// Runs has no such place; ok is false.
func (r Runs) Position(p int64) (offset int64, ok bool) {
	if len(r) == 0 {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(r, p, func(one Run, p int64) int { return cmp.Compare(one.Source, p) })
	switch {
	case found:
		return r[i].Target, true
	case i > 0 && p < r[i-1].Source+r[i-1].Length:
		return r[i-1].Target + p - r[i-1].Source, true
	case i < len(r):
		return r[i].Target, true
	default:
		last := r[len(r)-1]
		return last.Target + last.Length, true
	}
}

// inMap translates by kcm's own map.
func inMap(m Map, at Partition, position int64) (topic string, f finding) {
	if m == nil {
		return "", finding{status: Unmapped, note: "there is no map of kcm's own: the partition was not copied by kcm migrate"}
	}
	topic, offset, copied, ok := m.Position(at, position)
	switch {
	case !ok:
		return "", finding{status: Unmapped, note: "kcm's map says nothing about the partition"}
	case position > copied:
		return topic, finding{status: Pending, offset: offset, most: offset, note: "the copy has come to " + number(copied) + " only"}
	default:
		return topic, finding{status: Exact, offset: offset, most: offset}
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func compareInt(a, b int64) int { return cmp.Compare(a, b) }
