package jsonschema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

func compiled(t testing.TB, o Options, text string, refs ...codec.Reference) codec.Schema {
	t.Helper()
	s, err := Compile(codec.Definition{Type: codec.JSONSchema, Text: text, References: refs}, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Type() != codec.JSONSchema {
		t.Fatalf("the type is %s", s.Type())
	}
	return s
}

// check returns the reason for which a payload is refused; "" when it is not.
func check(t testing.TB, s codec.Schema, payload string) string {
	t.Helper()
	out, err := s.AppendJSON([]byte("before"), []byte(payload))
	if want := "before" + string(codec.CompactJSON(nil, []byte(payload))); string(out) != want {
		t.Errorf("%s: appended %s", payload, out)
	}
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*Invalid](err)
	if !ok {
		t.Fatalf("%s: %v is no Invalid", payload, err)
	}
	if want := "not valid by its schema: " + invalid.Reason; err.Error() != want || strings.ContainsAny(want, "\n\r") || len(want) > 1000 {
		t.Errorf("%s: the error is %q", payload, err)
	}
	return invalid.Reason
}

func TestValuesStayAsTheyAre(t *testing.T) {
	for _, o := range []Options{{}, {Validate: true}} {
		s := compiled(t, o, `{"type": "object"}`)
		for _, payload := range []string{
			`{"b":1.0,"a":9007199254740993,"c":327267367867168100000,"d":0.10,"e":1e400,"b":2}`,
			` { "a" : [ 1 , 2 ] ,` + "\n\t" + ` "é" : "\u00e9 <&> \/" } `,
			`{}`,
		} {
			if why := check(t, s, payload); why != "" {
				t.Errorf("%s: %s", payload, why)
			}
		}
		for _, payload := range []string{``, ` `, `{`, `{} {}`, `{"a":01}`, "{\"a\":\"\xff\"}", `nul`, "\x00{}"} {
			if _, err := s.AppendJSON(nil, []byte(payload)); !errors.Is(err, errNotJSON) {
				t.Errorf("%q: %v", payload, err)
			}
		}
	}
}

// Without Validate nothing is compiled.
func TestSchemasThatAreNoSchemas(t *testing.T) {
	for _, text := range []string{``, `{`, `{"type":"nothing"}`, `{"$ref":"missing.json"}`, `{"pattern":"(?=a)"}`} {
		if why := check(t, compiled(t, Options{}, text), `{"a":1}`); why != "" {
			t.Errorf("%s: %s", text, why)
		}
		if _, err := Compile(codec.Definition{Text: text}, Options{Validate: true}); err == nil {
			t.Errorf("%s: compiled", text)
		}
	}
}

func TestPlainValuesAllocateNothing(t *testing.T) {
	s := compiled(t, Options{}, `{"type":"string"}`)
	dst := make([]byte, 0, 1024)
	for _, payload := range []string{`{"id":1,"name":"x","list":[1,2,3]}`, `{"id": 1, "name": "x"}`} {
		p := []byte(payload)
		if n := testing.AllocsPerRun(100, func() { _, _ = s.AppendJSON(dst, p) }); n > 0 {
			t.Errorf("%s: %v allocations", payload, n)
		}
	}
}

func TestDrafts(t *testing.T) {
	for _, tt := range []struct{ name, schema, good, bad, why string }{
		{
			"draft 4, exclusiveMinimum is a bool", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":5,"exclusiveMinimum":true}`,
			`6`, `5`, `got 5, want more than 5`,
		},
		{
			"draft 4, id", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.example/s.json",` +
				`"definitions":{"n":{"id":"#n","type":"number"}},"properties":{"a":{"$ref":"#n"}}}`,
			`{"a":1}`, `{"a":"1"}`, `/a: got string, want number`,
		},
		{
			"draft 6, const", `{"$schema":"http://json-schema.org/draft-06/schema#","const":{"a":[1]}}`,
			`{"a":[1.0]}`, `{"a":[2]}`, `got {"a":[2]}, want {"a":[1]}`,
		},
		{
			"draft 7, if", `{"$schema":"http://json-schema.org/draft-07/schema#","if":{"required":["a"]},"then":{"required":["b"]}}`,
			`{"c":1}`, `{"a":1}`, `missing: "b"`,
		},
		{
			"no draft is 7: siblings of $ref do nothing", `{"definitions":{"a":{"type":"number"}},"$ref":"#/definitions/a","maximum":5}`,
			`6`, `"6"`, `got string, want number`,
		},
		{
			"2019-09, $recursiveRef and unevaluated properties",
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"next":{"$recursiveRef":"#"},"n":{"type":"integer"}},` +
				`"unevaluatedProperties":false}`,
			`{"n":1,"next":{"n":2}}`, `{"next":{"n":2,"m":1}}`, `/next/m: not allowed`,
		},
		{
			"2019-09, siblings of $ref count", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$defs":{"a":{"type":"number"}},"$ref":"#/$defs/a","maximum":5}`,
			`5`, `6`, `got 6, want at most 5`,
		},
		{
			"2020-12, prefixItems", `{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`,
			`["a",1]`, `["a",1,2]`, `/2: not allowed`,
		},
		{
			"2020-12, $anchor and $dynamicRef", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://x.example/tree","$dynamicAnchor":"node",` +
				`"properties":{"kids":{"type":"array","items":{"$dynamicRef":"#node"}},"v":{"$ref":"#v"}},"$defs":{"v":{"$anchor":"v","type":"integer"}}}`,
			`{"v":1,"kids":[{"v":2}]}`, `{"v":1,"kids":[{"v":2},{"kids":[{"v":"x"}]}]}`, `/kids/1/kids/0/v: got string, want integer`,
		},
		{"draft 4, format", `{"$schema":"http://json-schema.org/draft-04/schema#","format":"ipv4"}`, `"1.2.3.4"`, `"1.2.3"`, `"1.2.3" is no ipv4: expected four decimals`},
		{"2019-09, format is a note", `{"$schema":"https://json-schema.org/draft/2019-09/schema","format":"ipv4"}`, `"1.2.3"`, ``, ``},
		{"2020-12, format is a note", `{"$schema":"https://json-schema.org/draft/2020-12/schema","format":"ipv4"}`, `"1.2.3"`, ``, ``},
		{"draft 7, contents are not looked at", `{"contentMediaType":"application/json","contentEncoding":"base64"}`, `"{"`, ``, ``},
		{"true", `true`, `{"a":1}`, ``, ``},
		{"false", `false`, ``, `1`, `not allowed`},
	} {
		s := compiled(t, Options{Validate: true}, tt.schema)
		if tt.good != "" {
			if why := check(t, s, tt.good); why != "" {
				t.Errorf("%s: %s: %s", tt.name, tt.good, why)
			}
		}
		if tt.bad != "" {
			if why := check(t, s, tt.bad); why != tt.why {
				t.Errorf("%s: %s: %q, want %q", tt.name, tt.bad, why, tt.why)
			}
		}
	}
}

func TestNumbersAreExact(t *testing.T) {
	for _, tt := range []struct{ schema, good, bad, why string }{
		{`{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`, `got 9007199254740993, want at most 9007199254740992`},
		{`{"exclusiveMaximum":0.3}`, `0.29999999999999999999`, `0.30`, `got 0.3, want less than 0.3`},
		{`{"minimum":-327267367867168100000}`, `-327267367867168100000`, `-327267367867168100001`, `got -327267367867168100001, want at least -327267367867168100000`},
		{`{"exclusiveMinimum":1}`, `1.0000000000000000001`, `1.0`, `got 1, want more than 1`},
		{`{"multipleOf":0.01}`, `19.99`, `19.999`, `got 19.999, want a multiple of 0.01`},
		{`{"multipleOf":0.1}`, `123456789012345678901234567890.1`, `0.05`, `got 0.05, want a multiple of 0.1`},
		{`{"const":9007199254740993}`, `9007199254740993.0`, `9007199254740992`, `got 9007199254740992, want 9007199254740993`},
		{`{"enum":[0.1,1e2]}`, `100`, `0.10000000000000000001`, `got 0.10000000000000000001, want one of [0.1,1e2]`},
		{`{"type":"integer"}`, `1.0`, `1.5`, `got number, want integer`},
		{`{"type":"integer"}`, `1e400`, `1e-1`, `got number, want integer`},
		{`{"uniqueItems":true}`, `[9007199254740992,9007199254740993]`, `[1,2,1.0]`, `items at 0 and 2 are equal`},
	} {
		s := compiled(t, Options{Validate: true}, tt.schema)
		if why := check(t, s, tt.good); why != "" {
			t.Errorf("%s: %s: %s", tt.schema, tt.good, why)
		}
		if why := check(t, s, tt.bad); why != tt.why {
			t.Errorf("%s: %s: %q, want %q", tt.schema, tt.bad, why, tt.why)
		}
	}
}

func TestReasons(t *testing.T) {
	const order = `{"type":"object","required":["id","lines"],"additionalProperties":false,"properties":{
		"id":{"type":"integer","minimum":1},
		"state":{"enum":["new","paid"]},
		"mail":{"type":"string","format":"email"},
		"code":{"type":"string","pattern":"^[A-Z]{2}$","maxLength":2},
		"lines":{"type":"array","minItems":1,"items":{"type":"object","required":["sku"],"properties":{"price":{"type":["number","null"]}}}},
		"pay":{"oneOf":[
			{"type":"null"},
			{"type":"object","required":["iban"],"properties":{"iban":{"type":"string"}}},
			{"type":"object","required":["card"],"properties":{"card":{"type":"object","required":["number","until"]}}}]},
		"any":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"both":{"oneOf":[{"minimum":1},{"minimum":2}]},
		"not":{"not":{"type":"string"}},
		"tags":{"contains":{"const":"x"}},
		"names":{"propertyNames":{"maxLength":2}},
		"a/b~":{"type":"string"}}}`
	s := compiled(t, Options{Validate: true}, order)
	for _, tt := range []struct{ payload, want string }{
		{`{"id":1,"lines":[{"sku":"x"}]}`, ``},
		{`[]`, `got array, want object`},
		{`{"id":1}`, `missing: "lines"`},
		{`{}`, `missing: "id", "lines"`},
		{`{"id":0,"lines":[{"sku":1}]}`, `/id: got 0, want at least 1`},
		{`{"id":1,"lines":[]}`, `/lines: minItems: got 0, want 1`},
		{`{"id":"x","lines":[{"sku":1}],"more":1,"evenmore":2}`, `not allowed: "evenmore", "more"; /id: got string, want integer`},
		{`{"id":1,"lines":[{"sku":1},{}]}`, `/lines/1: missing: "sku"`},
		{`{"id":1,"lines":[{"sku":1,"price":"9"}]}`, `/lines/0/price: got string, want null or number`},
		{`{"id":1,"lines":[{},{},{},{},{},{},{},{},{},{},{}]}`, `/lines/0: missing: "sku"; /lines/1: missing: "sku"; 9 more`},
		{`{"id":1,"lines":[{"sku":1}],"state":"gone"}`, `/state: got "gone", want one of ["new","paid"]`},
		{`{"id":1,"lines":[{"sku":1}],"mail":"nobody"}`, `/mail: "nobody" is no email: missing @`},
		{`{"id":1,"lines":[{"sku":1}],"code":"ab"}`, `/code: "ab" does not match the pattern "^[A-Z]{2}$"`},
		{`{"id":1,"lines":[{"sku":1}],"pay":7}`, `/pay: got number, want null or object`},
		{`{"id":1,"lines":[{"sku":1}],"pay":{"iban":1}}`, `/pay/iban: got number, want string`},
		{`{"id":1,"lines":[{"sku":1}],"pay":{"card":{"number":1}}}`, `/pay/card: missing: "until"`},
		{`{"id":1,"lines":[{"sku":1}],"any":7}`, `/any: got number, want null or string`},
		{`{"id":1,"lines":[{"sku":1}],"both":3}`, `/both: two alternatives of oneOf match, 0 and 1`},
		{`{"id":1,"lines":[{"sku":1}],"not":"x"}`, `/not: what not allows no value to be`},
		{`{"id":1,"lines":[{"sku":1}],"tags":["y","z"]}`, `/tags: no items match contains schema`},
		{`{"id":1,"lines":[{"sku":1}],"names":{"abc":1}}`, `the name "abc": maxLength: got 3, want 2`},
		{`{"id":1,"lines":[{"sku":1}],"a/b~":1}`, `/a~1b~0: got number, want string`},
		{
			`{"id":1,"lines":[{"sku":1}],"state":"` + strings.Repeat("é", 500) + `\n"}`,
			`/state: got "` + strings.Repeat("é", 59) + `…, want one of ["new","paid"]`,
		},
		{`{"id":1,"lines":[{"sku":1}],"` + "line\\nbreak" + `":1}`, `not allowed: "line\nbreak"`},
	} {
		for range 3 { // maps must not shine through
			if why := check(t, s, tt.payload); why != tt.want {
				t.Errorf("%s:\n got %s\nwant %s", tt.payload, why, tt.want)
				break
			}
		}
	}
}

func TestBounds(t *testing.T) {
	s := compiled(t, Options{Validate: true}, `{"items":{"$ref":"#"},"maximum":1}`)
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct{ payload, want string }{
		{nest(maxDepth), ``},
		{nest(maxDepth + 1), `not checked: nested deeper than 500 levels`},
		{`1e1001`, `not checked: a number with more than 1000 digits, or an exponent beyond that`},
		{`1E+999999999999999999999`, `not checked: a number with more than 1000 digits, or an exponent beyond that`},
		{`[0.5,-1e-1001]`, `not checked: a number with more than 1000 digits, or an exponent beyond that`},
		{`-` + strings.Repeat("9", 1000), `not checked: a number with more than 1000 digits, or an exponent beyond that`},
		{`-` + strings.Repeat("9", 999), ``},
		{`-1e1000`, ``},
		{`["1e99999","[[[\"[",{"1e99999":"\\"}]`, ``},
	} {
		if why := check(t, s, tt.payload); why != tt.want {
			t.Errorf("%.40s: %s, want %s", tt.payload, why, tt.want)
		}
	}
	for _, schema := range []string{`{"maximum":1e99999}`, strings.Repeat(`{"not":`, 600) + `{}` + strings.Repeat(`}`, 600)} {
		if _, err := Compile(codec.Definition{Text: schema}, Options{Validate: true}); err == nil {
			t.Errorf("%.40s: compiled", schema)
		}
	}
}

// A schema that refers to itself in a circle ends.
func TestCircles(t *testing.T) {
	s := compiled(t, Options{Validate: true}, `{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"allOf":[{"$ref":"#/definitions/a"}]}}}`)
	if why := check(t, s, `{}`); !strings.Contains(why, "cycle") {
		t.Errorf("%q", why)
	}
}

// Whatever the payload, what is not refused is JSON, and every reason is a line.
func FuzzValidate(f *testing.F) {
	s := compiled(f, Options{Validate: true}, `{"type":["object","array","string","number"],"minProperties":1,"maximum":10,"multipleOf":0.01,
		"pattern":"^a","format":"date-time","uniqueItems":true,"items":{"$ref":"#"},"propertyNames":{"maxLength":5},
		"properties":{"a":{"oneOf":[{"$ref":"#"},{"type":"null"}]},"b":{"anyOf":[{"const":1},{"enum":[[],{}]}]},"c":{"format":"uri"},"d":{"format":"idn-email"}},
		"patternProperties":{"^x":{"not":{}}},"additionalProperties":{"contains":{"minimum":3}}}`)
	for _, seed := range []string{`{"a":null}`, `{"b":2,"x":1}`, `[1,1.0,1e1]`, `"a\u0000"`, `1e400`, `{"c":":","d":[4]}`, `[[[[]]]]`, `{"toolong":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		out, err := s.AppendJSON(nil, payload)
		invalid, isInvalid := errors.AsType[*Invalid](err)
		if (err == nil || isInvalid) != json.Valid(payload) && codecValid(payload) {
			t.Errorf("%q: %v", payload, err)
		}
		if (err == nil || isInvalid) && !json.Valid(out) {
			t.Errorf("%q gives %q", payload, out)
		}
		if isInvalid && (strings.ContainsAny(invalid.Reason, "\n\r") || len(invalid.Reason) > 1000 || invalid.Reason == "") {
			t.Errorf("%q: %q", payload, invalid.Reason)
		}
	})
}

func codecValid(payload []byte) bool {
	ok, _ := codec.ValidJSON(payload)
	return ok
}
