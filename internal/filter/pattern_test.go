package filter

import (
	"encoding/binary"
	"regexp"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// eager is a Decoded that decodes with a choice of decoders and counts.
type eager struct {
	pair         codec.Pair
	rec          *record.Record
	key, value   record.Value
	keys, values int // how often each was asked for
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func decodedBy(t fataler, rec *record.Record, c codec.Choice) *eager {
	t.Helper()
	pair, err := c.Pair(codec.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return &eager{pair: pair, rec: rec}
}

func (e *eager) Key() *record.Value {
	e.keys++
	e.pair.Key.Decode(&e.key, nil, e.rec.Key, e.rec)
	return &e.key
}

func (e *eager) Value() *record.Value {
	e.values++
	e.pair.Value.Decode(&e.value, nil, e.rec.Value, e.rec)
	return &e.value
}

// headers makes headers of names and values in turns; "<null>" is null.
func headers(texts ...string) record.Headers {
	var raw []byte
	for i, text := range texts {
		if i%2 == 1 && text == "<null>" {
			raw = binary.AppendVarint(raw, -1)
			continue
		}
		raw = append(binary.AppendVarint(raw, int64(len(text))), text...)
	}
	return record.Headers{Count: len(texts) / 2, Raw: raw}
}

var aSplit = record.Split{Cluster: "east", Topic: "orders.v2", Partition: 3}

func TestGrep(t *testing.T) {
	full := record.Record{
		Key: []byte("customer-17"), Value: []byte("{\"id\": 1,\n\"name\":\"Zoë\"}"),
		Headers: headers("trace", "ab:cd", "trace", "xy", "empty", "", "null", "<null>", "b\xffd", "\xfe"),
	}
	null := record.Record{}
	empty := record.Record{Key: []byte{}, Value: []byte{}}
	for _, tt := range []struct {
		grep              string // several are parted by blanks
		full, null, empty bool
	}{
		{"k:customer", true, false, false},
		{"key:^customer-[0-9]+$", true, false, false},
		{"k:^17", false, false, false},
		{"k:", true, false, true},
		{"!k:", false, true, false},
		{"not:k:", false, true, false},
		{"!k:17", false, true, true},
		{"k:^$", false, false, true},
		{"k:CUSTOMER", false, false, false},
		{"k:(?i)CUSTOMER", true, false, false},
		{"v:Zoë", true, false, false},
		{"v:Zo.\"", true, false, false},
		{`v:"id":\s1`, true, false, false}, // as stored, with its whitespace
		{`v:"id":1`, false, false, false},
		{"v:id.*name", false, false, false}, // a line break stands between
		{"v:(?s)id.*name", true, false, false},
		{"value:name", true, false, false},
		{"h:trace", true, false, false},
		{"h:ab:cd", false, false, false}, // the header ab
		{"h:(ab:cd)", true, false, false},
		{"h:trace:ab:cd", true, false, false},
		{"h:trace:^xy$", true, false, false},
		{"h:trace:trace", false, false, false},
		{"h:Trace:xy", false, false, false},
		{"header:empty:^$", true, false, false},
		{"h:null:", false, false, false},
		{"!h:null:", true, true, true},
		{"h:nothing:", false, false, false},
		{"!h:trace:", false, true, true},
		{"hk:^trace$", true, false, false},
		{"hk:ab", false, false, false},
		{"header-key:b.d", true, false, false},
		{"hv:ab", true, false, false},
		{"hv:trace", false, false, false},
		{`hv:\xfe`, false, false, false}, // a character, not a byte
		{"s:^shop$", true, true, true},
		{"stream:^sho$", false, false, false},
		{"c:east|west", true, true, true},
		{"!cluster:^e", false, false, false},
		{"t:orders\\.v2", true, true, true},
		{"topic:^orders$", false, false, false},
		{"k:customer v:Zoë", true, false, false},
		{"k:customer !v:Zoë", false, false, false},
		{"c:east !k:x", true, true, true},
	} {
		f, err := New(Options{Grep: strings.Fields(tt.grep)})
		if err != nil {
			t.Errorf("%s: %v", tt.grep, err)
			continue
		}
		j := f.Worker().Judge(Origin{Stream: "shop", Split: aSplit})
		for name, r := range map[string]struct {
			rec  *record.Record
			want bool
		}{"full": {&full, tt.full}, "null": {&null, tt.null}, "empty": {&empty, tt.empty}} {
			d := decodedBy(t, r.rec, codec.Choice{})
			got := !j.RejectsAll()
			if got {
				if got, err = j.Keeps(r.rec, d); err != nil {
					t.Errorf("%s: %v", tt.grep, err)
				}
			}
			if got != r.want {
				t.Errorf("-G %s keeps the %s record: %v", tt.grep, name, got)
			}
			if d.keys+d.values > 0 {
				t.Errorf("-G %s decodes the %s record", tt.grep, name)
			}
		}
	}
}

func TestGrepLooksAtDecodedTextWhereItDiffers(t *testing.T) {
	rec := record.Record{Key: []byte{0, 0, 0, 17}, Value: []byte("\x81\xa1a\x01")}
	typed := codec.Choice{Key: "int32", Value: "msgpack"}
	for _, tt := range []struct {
		grep         []string
		choice       codec.Choice
		keeps        bool
		keys, values int
	}{
		{[]string{"k:^17$"}, typed, true, 1, 0},
		{[]string{`v:"a":1`}, typed, true, 0, 1},
		{[]string{`v:"a":1`}, codec.Choice{}, false, 0, 0},
		{[]string{`v:"a":1`}, codec.Choice{Value: "raw"}, false, 0, 0},
		{[]string{"v:81a16101"}, codec.Choice{Value: "hex"}, true, 0, 1},
		// What needs no decoding is looked at first, and may settle it.
		{[]string{`v:"a":1`, "hk:x"}, typed, false, 0, 0},
		{[]string{"k:^18$", `v:"a":1`}, typed, false, 1, 0},
		// What cannot be decoded is looked at as it is.
		{[]string{"v:a"}, codec.Choice{Value: "int64"}, true, 0, 1},
	} {
		f, err := New(Options{Grep: tt.grep})
		if err != nil {
			t.Fatal(err)
		}
		d := decodedBy(t, &rec, tt.choice)
		got, err := f.Worker().Judge(Origin{Split: aSplit, Decoders: tt.choice}).Keeps(&rec, d)
		if got != tt.keeps || err != nil || d.keys != tt.keys || d.values != tt.values {
			t.Errorf("-G %v with %+v: %v, %v, decoded %d keys and %d values", tt.grep, tt.choice, got, err, d.keys, d.values)
		}
		key, value := f.Uses(tt.choice)
		if d.keys > 0 && !key || d.values > 0 && !value {
			t.Errorf("-G %v with %+v: Uses says %v, %v", tt.grep, tt.choice, key, value)
		}
	}
}

func TestGrepErrors(t *testing.T) {
	for _, tt := range []struct{ grep, message, hint string }{
		{"needle", "-G needle says not where to look", "-G v:needle looks in values, -G k:needle in keys; kcm help filters"},
		{"!needle", "-G !needle says not where to look", "-G v:needle looks in values, -G k:needle in keys; kcm help filters"},
		{"x:y", `-G x:y: there is no selector "x"; selectors are k, v, h, hk, hv, s, c, t`, "-G v:x:y looks for x:y in values; kcm help filters"},
		{"valeu:y", `-G valeu:y: there is no selector "valeu"; selectors are k, v, h, hk, hv, s, c, t`, "did you mean value:?"},
		{"!!k:y", `-G !!k:y: there is no selector "!k"; selectors are k, v, h, hk, hv, s, c, t`, "one ! or not: is enough"},
		{"!not:k:y", `-G !not:k:y: there is no selector "not"; selectors are k, v, h, hk, hv, s, c, t`, "one ! or not: is enough"},
		{"v:(", "-G v:(: missing closing ): (", "kcm help filters"},
		{`v:a\8`, `-G v:a\8: invalid escape sequence: \8`, "kcm help filters"},
		{"h:trace:[", "-G h:trace:[: missing closing ]: [", "kcm help filters"},
	} {
		_, err := New(Options{Grep: []string{tt.grep}})
		if err == nil || err.Error() != tt.message || fault.HintOf(err) != tt.hint || fault.Code(err) != 2 {
			t.Errorf("%s: %v (%s), code %d", tt.grep, err, fault.HintOf(err), fault.Code(err))
		}
	}
}

func TestNoFilterIsNil(t *testing.T) {
	if f, err := New(Options{}); f != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
}

func TestMatcherKinds(t *testing.T) {
	for expr, want := range map[string]matcher{
		"abc":           {kind: matchContains, text: []byte("abc")},
		".*abc.*":       {kind: matchContains, text: []byte("abc")},
		"^abc":          {kind: matchPrefix, text: []byte("abc")},
		`\Aabc\z`:       {kind: matchEqual, text: []byte("abc")},
		"abc$":          {kind: matchSuffix, text: []byte("abc")},
		"":              {kind: matchContains, text: nil},
		".*":            {kind: matchContains, text: nil},
		`a\.b`:          {kind: matchContains, text: []byte("a.b")},
		`"id":\d+`:      {kind: matchRegexp, text: []byte(`"id":`)},
		`\d+(needle)+x`: {kind: matchRegexp, text: []byte("needle")},
		"(?i)abc":       {kind: matchRegexp},
		"a|b":           {kind: matchRegexp},
		"(?m)^abc":      {kind: matchRegexp, text: []byte("abc")},
		"a\uFFFDb":      {kind: matchRegexp},
	} {
		m, err := newMatcher(expr)
		if err != nil || m.kind != want.kind || string(m.text) != string(want.text) || (m.re != nil) != (want.kind == matchRegexp) {
			t.Errorf("%s: kind %d, text %q, regexp %v, %v", expr, m.kind, m.text, m.re, err)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	for _, expr := range []string{"a", "^a", "a$", "^a$", ".*a.*", "a*b", "a+b", "(ab)+c", "", "^", "a|b", "(?i)k", "x{0}y", "é", "\uFFFD", `\x{fffd}a`, `\pL`, "(?m)^a$", "a{2,3}b", "^.*a", "[a]b"} {
		f.Add(expr, []byte("abc"))
		f.Add(expr, []byte("xx\xffy\nabK"))
	}
	f.Fuzz(func(t *testing.T, expr string, b []byte) {
		m, err := newMatcher(expr)
		re, want := regexp.Compile(expr)
		if (err == nil) != (want == nil) {
			t.Fatalf("%q: %v, regexp says %v", expr, err, want)
		}
		if err == nil && m.in(b) != re.Match(b) {
			t.Errorf("%q in %q: %v", expr, b, m.in(b))
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, text := range []string{"v:a", "!k:b", "not:h:n:c", "h:(?i:a)", "hk:", "x:y", "::", "!", "not:", "h::a"} {
		f.Add(text)
	}
	rec := record.Record{Key: []byte("key"), Headers: headers("a", "b", "", "<null>")}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := New(Options{Grep: []string{text}})
		if err != nil {
			if fault.Code(err) != 2 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		opposite, err := New(Options{Grep: []string{"!" + text}})
		if err != nil { // it is negated already
			opposite, err = New(Options{Grep: []string{strings.TrimPrefix(strings.TrimPrefix(text, "!"), "not:")}})
		}
		if err != nil {
			t.Fatalf("%q cannot be turned round: %v", text, err)
		}
		verdict := func(f *Filter) bool {
			j := f.Worker().Judge(Origin{Stream: "s", Split: aSplit})
			if j.RejectsAll() {
				return false
			}
			kept, err := j.Keeps(&rec, decodedBy(t, &rec, codec.Choice{}))
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			return kept
		}
		if verdict(filter) == verdict(opposite) {
			t.Errorf("%q and its opposite agree", text)
		}
	})
}
