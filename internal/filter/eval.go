package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/itchyny/gojq"

	"github.com/kcm-cli/kcm/internal/record"
)

// verdict is what a node says about a record.
type verdict uint8

const (
	no verdict = iota
	yes
	unsure // gojq has to be asked
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// node is a part of an expression. It evaluates what gojq would evaluate, in the
// same order, and is unsure as soon as something is.
type node interface{ eval(v *view) verdict }

// view is what a node may look at. Without a record only the names are known,
// and a node that asks for more is unsure.
type view struct {
	stream, cluster, topic []byte
	partition              int32
	rec                    *record.Record
	d                      Decoded
	texts                  []byte // strings without their escapes
}

type (
	both       struct{ left, right node }
	either     struct{ left, right node }
	negation   struct{ of node }
	truth      struct{ path path }
	comparison struct {
		left, right operand
		op          gojq.Operator
	}
)

func (n both) eval(v *view) verdict {
	if left := n.left.eval(v); left != yes {
		return left
	}
	return n.right.eval(v)
}

func (n either) eval(v *view) verdict {
	if left := n.left.eval(v); left != no {
		return left
	}
	return n.right.eval(v)
}

func (n negation) eval(v *view) verdict {
	switch n.of.eval(v) {
	case yes:
		return no
	case no:
		return yes
	default:
		return unsure
	}
}

func (n truth) eval(v *view) verdict {
	var d datum
	if !n.path.eval(v, &d) {
		return unsure
	}
	return verdictOf(d.kind > kindFalse)
}

// operand is one side of a comparison.
type operand struct {
	path     *path // nil is a constant
	constant datum
}

func (n comparison) eval(v *view) verdict {
	var left, right datum
	a, b := &n.left.constant, &n.right.constant
	if n.left.path != nil {
		if a = &left; !n.left.path.eval(v, a) {
			return unsure
		}
	}
	if n.right.path != nil {
		if b = &right; !n.right.path.eval(v, b) {
			return unsure
		}
	}
	order, ok := v.compare(a, b)
	if !ok {
		return unsure
	}
	switch n.op {
	case gojq.OpEq:
		return verdictOf(order == 0)
	case gojq.OpNe:
		return verdictOf(order != 0)
	case gojq.OpGt:
		return verdictOf(order > 0)
	case gojq.OpLt:
		return verdictOf(order < 0)
	case gojq.OpGe:
		return verdictOf(order >= 0)
	default:
		return verdictOf(order <= 0)
	}
}

type testKind uint8

const (
	testPrefix testKind = iota
	testSuffix
	testContains
	testRegexp
	testHas
)

// test is a function of a string, or has.
type test struct {
	path  path
	kind  testKind
	text  []byte
	match matcher // of testRegexp
}

func (n test) eval(v *view) verdict {
	var d datum
	if !n.path.eval(v, &d) {
		return unsure
	}
	if n.kind == testHas {
		switch d.kind {
		case kindNull:
			return no
		case kindObject:
			return verdictOf(member(d.text, 0, string(n.text)) >= 0)
		default:
			return unsure
		}
	}
	if d.kind != kindString {
		return unsure
	}
	text := v.plain(&d)
	switch n.kind {
	case testPrefix:
		return verdictOf(bytes.HasPrefix(text, n.text))
	case testSuffix:
		return verdictOf(bytes.HasSuffix(text, n.text))
	case testContains:
		return verdictOf(bytes.Contains(text, n.text))
	default:
		return verdictOf(n.match.in(text))
	}
}

// kind is a JSON type, in jq's order.
type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// datum is a JSON value, or what is left of one that has not been looked into.
type datum struct {
	kind    kind
	number  numberKind
	escaped bool   // text holds escapes
	text    []byte // a string without its quotes; JSON of an object or array
	whole   int
	float   float64
	other   any
}

// numberKind says where a number stands: gojq compares integers as such, and as
// floats with floats.
type numberKind uint8

const (
	numberInt   numberKind = iota // whole
	numberFloat                   // float
	numberOther                   // other, as gojq takes it
)

// compare orders as gojq does. It gives up on two objects and two arrays.
func (v *view) compare(a, b *datum) (order int, ok bool) {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind), true
	}
	switch a.kind {
	case kindNumber:
		return compareNumbers(a, b), true
	case kindString:
		return bytes.Compare(v.plain(a), v.plain(b)), true
	case kindArray, kindObject:
		return 0, false
	default:
		return 0, true
	}
}

func compareNumbers(a, b *datum) int {
	switch {
	case a.number == numberInt && b.number == numberInt:
		return cmp.Compare(a.whole, b.whole)
	case a.number != numberOther && b.number != numberOther:
		return cmp.Compare(a.asFloat(), b.asFloat())
	default:
		return gojq.Compare(a.asAny(), b.asAny())
	}
}

func (d *datum) asFloat() float64 {
	if d.number == numberInt {
		return float64(d.whole)
	}
	return d.float
}

func (d *datum) asAny() any {
	switch d.number {
	case numberInt:
		return d.whole
	case numberFloat:
		return d.float
	default:
		return d.other
	}
}

// plain returns a string's text without escapes.
func (v *view) plain(d *datum) []byte {
	if !d.escaped {
		return d.text
	}
	start := len(v.texts)
	v.texts = unescape(v.texts, d.text)
	return v.texts[start:]
}

// setInt makes d an integer.
func (d *datum) setInt(n int64) bool {
	d.kind, d.number, d.whole = kindNumber, numberInt, int(n)
	return int64(d.whole) == n
}

func (d *datum) setText(b []byte) bool {
	d.kind, d.text, d.escaped = kindString, b, false
	return true
}

// setJSON makes d what begins at b[i] in a valid, compact JSON text.
func (d *datum) setJSON(b []byte, i int) {
	switch c := b[i]; c {
	case 'n':
		d.kind = kindNull
	case 'f':
		d.kind = kindFalse
	case 't':
		d.kind = kindTrue
	case '"':
		end, escaped := stringEnd(b, i)
		d.kind, d.text, d.escaped = kindString, b[i+1:end-1], escaped
	case '{', '[':
		d.kind = kindObject
		if c == '[' {
			d.kind = kindArray
		}
		d.text = b[i:skip(b, i)]
	default:
		d.kind = kindNumber
		d.setNumber(b[i:scalarEnd(b, i)])
	}
}

// setNumber reads a number as gojq does: an integer, else a float if it is
// written like one, else an integer of any size.
func (d *datum) setNumber(b []byte) {
	if n, ok := smallInt(b); ok {
		d.number, d.whole = numberInt, n
		return
	}
	if bytes.ContainsAny(b, ".eE") {
		if f, err := strconv.ParseFloat(string(b), 64); err == nil {
			d.number, d.float = numberFloat, f
			return
		}
	}
	d.number, d.other = numberOther, json.Number(b)
}

// smallInt reads an integer of up to 18 digits.
func smallInt(b []byte) (n int, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var sum int64
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		sum = sum*10 + int64(c)
	}
	if len(digits) < len(b) {
		sum = -sum
	}
	return int(sum), int64(int(sum)) == sum
}
