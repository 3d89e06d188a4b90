package filter

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/record"
)

// FuzzFastAgreesWithGojq: what the tree over raw bytes is sure about, gojq says
// too. Expressions and values are both free; most expressions of the seeds are
// ones that the tree takes.
func FuzzFastAgreesWithGojq(f *testing.F) {
	exprs := []string{
		`.value.a == 1`, `.value.a.b > "x"`, `.value.a.b != null and .key == "k"`, `.value[0] < -1.5e3`, `.value | has("a")`,
		`.value.a | startswith("x") or endswith("y")`, `.value.a | test("x+"; "i") | not`, `select(.value.a) | .value.b == .key`,
		`.value.a or .value.b and .offset > 0`, `.value["a"][1].b >= 9007199254740993`, `.value.a <= .value.b`, `.partition == 0 | not`,
		`(.value | .a | .b) == null`, `.value.a | contains("\u00e9")`, `(.value.a == null) | not | not`, `.value.a | (.b or .c) and (has("d") | not)`,
	}
	values := []string{
		`{"a":1}`, `{"a":{"b":"x"}}`, `[1,[2],{"a":null}]`, `{"a":"\u00e9\ud83d\ude00\"","b":-0.0}`, `{"a":1e400,"b":99999999999999999999}`,
		`{"a":true,"a":false,"\u0061":[]}`, ` { "a" : [ { "b" : 2 } , 3 ] } `, `text`, ``, "\xff", `{"a":"\ud800"}`, `{"a":1.0,"b":1}`, `{"a":{"b":{},"c":[]},"d":0}`,
	}
	for i, expr := range exprs {
		for k, value := range values {
			if (i+k)%3 == 0 {
				f.Add(expr, []byte(value), []byte("k"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, expr string, value, key []byte) {
		filter, err := New(Options{Where: expr})
		if err != nil || filter == nil || filter.where.fast == nil { // what has a tree ends soon
			return
		}
		rec := &record.Record{Offset: 7, Key: key, Value: value}
		j := judgeOf(t, expr)
		d := decodedBy(t, rec, codec.Choice{Value: "json"}.Or(codec.Choice{Key: codec.Auto}))
		j.view.rec, j.view.d = rec, d
		verdict := j.w.f.where.fast.eval(&j.view)
		kept, failed := j.slow(rec, d)
		if verdict != unsure && (failed != nil || kept != (verdict == yes)) {
			t.Errorf("%s on %q, %q: the tree says %d, gojq %v, %v", expr, key, value, verdict, kept, failed)
		}
		if j.RejectsAll() && kept {
			t.Errorf("%s rejects all, gojq keeps %q", expr, value)
		}
	})
}

// FuzzParser: the values are those of encoding/json, up to how a number is held.
func FuzzParser(f *testing.F) {
	for _, text := range []string{`{}`, `[1,-0,1.50,1e9,123456789012345678901]`, `{"a":{"a":"\u0000\ud83d\ude00\ud83d"},"a":null}`, `["\ud800\u0041","\/\b\f\n\r\t\\\""]`, `true`, `[false,[],{"":""}]`, `-12`} {
		f.Add([]byte(text))
	}
	var p parser
	f.Fuzz(func(t *testing.T, b []byte) {
		ok, spaced := codec.ValidJSON(b)
		if !ok {
			return
		}
		if spaced {
			b = codec.CompactJSON(nil, b)
		}
		dec := json.NewDecoder(strings.NewReader(string(b)))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		got := p.parse(b)
		if !reflect.DeepEqual(numbersAsText(got), numbersAsText(want)) || gojq.Compare(got, want) != 0 {
			t.Errorf("%q: %#v, want %#v", b, got, want)
		}
	})
}

// numbersAsText writes out integers, which stand for the number of those digits.
func numbersAsText(v any) any {
	switch v := v.(type) {
	case int:
		text, _ := gojq.Marshal(v)
		return json.Number(text)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = numbersAsText(v[i])
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key := range v {
			m[key] = numbersAsText(v[key])
		}
		return m
	default:
		return v
	}
}
