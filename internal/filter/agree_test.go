package filter

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/record"
)

// The generators know few names and values, so that paths lead somewhere and
// comparisons come out equal.
var (
	someNames   = []string{"a", "b", "c", "é"}
	someScalars = []string{
		"null", "true", "false", "0", "-0", "1", "1.0", "10e-1", "-1.5", "9007199254740993", "9007199254740992.0",
		"99999999999999999999", "1e400", "-1e400", `""`, `"a"`, `"ab"`, `"\u0061b"`, `"b\nc"`, `"é"`, `"\ud83d\ude00"`,
	}
)

func someJSON(t *rapid.T, depth int) string {
	switch n := rapid.IntRange(0, 5).Draw(t, "shape"); {
	case n < 2 && depth > 0:
		var list []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			name := rapid.SampledFrom(append([]string{`\u0061`}, someNames...)).Draw(t, "name")
			list = append(list, `"`+name+`":`+someJSON(t, depth-1))
		}
		return "{" + strings.Join(list, ",") + "}"
	case n == 2 && depth > 0:
		var list []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, someJSON(t, depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	default:
		return rapid.SampledFrom(someScalars).Draw(t, "scalar")
	}
}

func somePath(t *rapid.T, roots ...string) string {
	p := rapid.SampledFrom(roots).Draw(t, "root")
	for range rapid.IntRange(0, 2).Draw(t, "steps") {
		if rapid.IntRange(0, 3).Draw(t, "index") == 0 {
			p += fmt.Sprintf("[%d]", rapid.IntRange(0, 2).Draw(t, "at"))
		} else {
			p += fmt.Sprintf("[%q]", rapid.SampledFrom(someNames).Draw(t, "name"))
		}
	}
	return p
}

func someExpr(t *rapid.T, depth int, roots ...string) string {
	word := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
	kind := rapid.IntRange(0, 8).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return somePath(t, roots...)
	case 1, 2:
		scalar := strings.ReplaceAll(rapid.SampledFrom(someScalars).Draw(t, "constant"), `\ud83d\ude00`, "😀")
		sides := []string{somePath(t, roots...), scalar}
		if rapid.Bool().Draw(t, "turned") {
			sides[0], sides[1] = sides[1], sides[0]
		}
		return sides[0] + word("==", "!=", "<", "<=", ">", ">=") + sides[1]
	case 3:
		return somePath(t, roots...) + word("==", "!=", "<", ">=") + somePath(t, roots...)
	case 4:
		return "(" + somePath(t, roots...) + "|" + word(`startswith("a")`, `endswith("b")`, `contains("b")`, `has("a")`, `test("^a.?$")`, `test("B"; "i")`, "not") + ")"
	case 5:
		return "(" + somePath(t, roots...) + "|" + someExpr(t, depth-1, ".") + ")"
	case 6:
		return "(" + someExpr(t, depth-1, roots...) + "|not)"
	default:
		return "(" + someExpr(t, depth-1, roots...) + word(" and ", " or ") + someExpr(t, depth-1, roots...) + ")"
	}
}

// TestFastAgreesWithGojq holds the tree over raw bytes against gojq on
// expressions that it takes, and demands that it settles most of what does not
// fail.
func TestFastAgreesWithGojq(t *testing.T) {
	settled, failed, all := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		expr := someExpr(rt, 3, ".value", ".value", ".value", ".key", ".topic", ".offset", ".timestamp_type")
		if rapid.IntRange(0, 3).Draw(rt, "select") == 0 {
			expr = "select(" + expr + ")|" + someExpr(rt, 1, ".value")
		}
		rec := &record.Record{Key: []byte("ab"), Value: []byte(someJSON(rt, 3)), Offset: 1}
		j := judgeOf(rt, expr)
		if j.w.f.where.fast == nil {
			rt.Fatalf("%s is left to gojq", expr)
		}
		d := decodedBy(rt, rec, codec.Choice{Key: codec.Auto, Value: "json"})
		j.view.rec, j.view.d = rec, d
		verdict := j.w.f.where.fast.eval(&j.view)
		kept, err := j.slow(rec, d)
		if verdict != unsure && (err != nil || kept != (verdict == yes)) {
			rt.Fatalf("%s on %s: the tree says %d, gojq %v, %v", expr, rec.Value, verdict, kept, err)
		}
		all++
		switch {
		case verdict != unsure:
			settled++
		case err != nil:
			failed++
		}
	})
	if settled < 20 || settled+failed < all*9/10 {
		t.Errorf("of %d cases %d were settled and %d failed", all, settled, failed)
	}
}
