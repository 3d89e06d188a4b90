package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	shown    = 2   // failures that a message names; of the others it gives the number
	maxShown = 120 // bytes of what comes from a value or a schema
)

// failure is a leaf of the library's tree of errors: one thing that is wrong.
type failure struct {
	at   []string // where in the value, as a JSON pointer's parts
	name string   // of the property that it is about, when that name is what is wrong
	kind jsonschema.ErrorKind
}

// describe makes one line of a tree: the first failures by their place in the
// value, with where and what.
func describe(tree *jsonschema.ValidationError) string {
	all := failures(tree)
	slices.SortStableFunc(all, func(a, b failure) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, comparePart), strings.Compare(a.text(), b.text()))
	})
	all = slices.CompactFunc(all, func(a, b failure) bool {
		return slices.Equal(a.at, b.at) && a.text() == b.text()
	})
	var parts []string
	for _, f := range all[:min(shown, len(all))] {
		parts = append(parts, f.String())
	}
	if more := len(all) - shown; more > 0 {
		parts = append(parts, strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, "; ")
}

// comparePart orders the indexes of arrays as numbers.
func comparePart(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// failures lists the leaves of a tree. Of alternatives, of which one would have
// been enough, it takes the one that came nearest.
func failures(e *jsonschema.ValidationError) []failure {
	if len(e.Causes) == 0 || whole(e.ErrorKind) {
		return []failure{{at: e.InstanceLocation, kind: e.ErrorKind}}
	}
	var branches [][]failure
	for _, cause := range e.Causes {
		branches = append(branches, failures(cause))
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return nearest(len(e.InstanceLocation), branches)
	case *kind.PropertyNames:
		// The library gets the place of such an error wrong (v6.0.3: it keeps a slice
		// that it goes on to write to), so the name has to do.
		return []failure{{name: k.Property, kind: branches[0][0].kind}}
	default:
		return slices.Concat(branches...)
	}
}

// whole is true for errors that say more than what they come from.
func whole(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Contains, *kind.MinContains, *kind.MaxContains, *kind.Not:
		return true
	}
	return false
}

// nearest chooses among the failures of several alternatives for a value that
// lies depth levels deep: an alternative for another type of value is no
// candidate, then one that failed further inside is better, then one with fewer
// failures, then the first. When all are for other types, their types together
// are what was wanted.
func nearest(depth int, branches [][]failure) []failure {
	var best []failure
	bestDeep := -1
	var want []string
	var got string
	for _, b := range branches {
		if t, ok := b[0].kind.(*kind.Type); ok && len(b) == 1 && len(b[0].at) == depth {
			want, got = append(want, t.Want...), t.Got
			continue
		}
		deep := 0
		for _, f := range b {
			deep = max(deep, len(f.at))
		}
		if deep > bestDeep || deep == bestDeep && len(b) < len(best) {
			best, bestDeep = b, deep
		}
	}
	if best == nil {
		slices.Sort(want)
		return []failure{{at: branches[0][0].at, kind: &kind.Type{Got: got, Want: slices.Compact(want)}}}
	}
	return best
}

// String says where and what.
func (f failure) String() string {
	var b strings.Builder
	for _, part := range f.at {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	if b.Len() == 0 {
		return f.text()
	}
	return clip(oneLine(b.String())) + ": " + f.text()
}

// text says what is wrong.
func (f failure) text() string {
	if f.name != "" {
		return "the name " + clip(strconv.Quote(f.name)) + ": " + failure{kind: f.kind}.text()
	}
	switch k := f.kind.(type) {
	case *kind.Type:
		return "got " + k.Got + ", want " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return missing(k.Missing, "")
	case *kind.Dependency:
		return missing(k.Missing, k.Prop)
	case *kind.DependentRequired:
		return missing(k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		return "not allowed: " + names(k.Properties)
	case *kind.FalseSchema:
		return "not allowed"
	case *kind.Not:
		return "what not allows no value to be"
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return fmt.Sprintf("two alternatives of oneOf match, %d and %d", k.Subschemas[0], k.Subschemas[1])
		}
	}
	return value(f.kind)
}
