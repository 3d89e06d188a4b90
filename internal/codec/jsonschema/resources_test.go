package jsonschema

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// References are found by name, by address and relative to an address, however
// they are nested; a diamond is no trouble.
func TestReferences(t *testing.T) {
	const number = `{"type":"number"}`
	for _, tt := range []struct {
		name, schema string
		refs         []codec.Reference
		good, bad    string
		why          string
	}{
		{
			"by name", `{"properties":{"a":{"$ref":"number.json"}}}`,
			[]codec.Reference{{Name: "number.json", Text: number}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"by a name that is no address", `{"properties":{"a":{"$ref":"com.acme: A number!"}}}`,
			[]codec.Reference{{Name: "com.acme: A number!", Text: number}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"by name with a fragment", `{"properties":{"a":{"$ref":"defs.json#/definitions/n"},"b":{"$ref":"defs.json#t"}}}`,
			[]codec.Reference{{Name: "defs.json", Text: `{"definitions":{"n":{"type":"number"},"t":{"$id":"#t","type":"string"}}}`}},
			`{"a":1,"b":""}`, `{"a":"x","b":1}`, `/a: got string, want number; /b: got number, want string`,
		},
		{
			"by name below an address", `{"$id":"https://acme.example/schemas/order.json","properties":{"a":{"$ref":"number.json"}}}`,
			[]codec.Reference{{Name: "number.json", Text: number}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"by name below a URN", `{"$id":"urn:acme:order","properties":{"a":{"$ref":"number.json"}}}`,
			[]codec.Reference{{Name: "number.json", Text: number}},
			`{"a":1}`, `{"a":{}}`, `/a: got object, want number`,
		},
		{
			"by the whole address, named in part", `{"$id":"https://acme.example/schemas/order.json","properties":{"a":{"$ref":"https://acme.example/schemas/number.json"}}}`,
			[]codec.Reference{{Name: "number.json", Text: number}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"by address, named otherwise", `{"properties":{"a":{"$ref":"https://acme.example/number"}}}`,
			[]codec.Reference{{Name: "Number", Text: `{"$id":"https://acme.example/number","type":"number"}`}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"relative to an address, named by another", `{"$id":"https://acme.example/v1/order","properties":{"a":{"$ref":"../v2/number"}}}`,
			[]codec.Reference{{Name: "https://acme.example/v2/number", Text: number}},
			`{"a":1}`, `{"a":"x"}`, `/a: got string, want number`,
		},
		{
			"of draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://acme.example/order","properties":{"a":{"$ref":"number"}}}`,
			[]codec.Reference{{Name: "n", Text: `{"id":"http://acme.example/number","minimum":1,"exclusiveMinimum":true}`}},
			`{"a":2}`, `{"a":1}`, `/a: got 1, want more than 1`,
		},
		{
			"a diamond with a way back", `{"$id":"https://acme.example/top","properties":{"l":{"$ref":"left"},"r":{"$ref":"right"}}}`,
			[]codec.Reference{
				{Name: "leaf", Text: number},
				{Name: "left", Text: `{"properties":{"v":{"$ref":"leaf"},"up":{"$ref":"https://acme.example/top"}}}`},
				{Name: "right", Text: `{"$id":"https://elsewhere.example/right","properties":{"v":{"$ref":"leaf"}}}`},
			},
			`{"l":{"v":1,"up":{"r":{"v":1}}}}`, `{"l":{"v":1,"up":{"r":{"v":""}}},"r":{"v":""}}`,
			`/l/up/r/v: got string, want number; /r/v: got string, want number`,
		},
		{
			"a reference to nothing that is not followed", `{"properties":{"$ref":{"type":"string"},"const":{"$ref":"n"}},"default":{"$ref":"gone"}}`,
			[]codec.Reference{{Name: "n", Text: number}},
			`{"$ref":"n","const":1}`, `{"$ref":1,"const":""}`, `/$ref: got number, want string; /const: got string, want number`,
		},
		{
			"drafts mixed", `{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"$ref":"old"}],"items":false}`,
			[]codec.Reference{{Name: "old", Text: `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`}},
			`[["a"]]`, `[["a","b"]]`, `/0: last 1 additionalItem(s) not allowed`,
		},
		{
			"the same address twice", `{"$id":"https://acme.example/a","allOf":[{"$ref":"one"},{"$ref":"two"}]}`,
			[]codec.Reference{
				{Name: "one", Text: `{"$id":"https://acme.example/x","type":"string"}`},
				{Name: "two", Text: `{"$id":"https://acme.example/x","minLength":2}`},
			},
			`"ab"`, `"a"`, `minLength: got 1, want 2`,
		},
	} {
		s := compiled(t, Options{Validate: true}, tt.schema, tt.refs...)
		if why := check(t, s, tt.good); why != "" {
			t.Errorf("%s: %s: %s", tt.name, tt.good, why)
		}
		if why := check(t, s, tt.bad); why != tt.why {
			t.Errorf("%s: %s: %q, want %q", tt.name, tt.bad, why, tt.why)
		}
	}
}

func TestSchemasThatDoNotCompile(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		refs         []codec.Reference
		want         string
	}{
		{"no JSON", `{"a"`, nil, `the schema: not valid JSON`},
		{"a reference that is no JSON", `{}`, []codec.Reference{{Name: "r", Text: `]`}}, `the schema's reference "r": not valid JSON`},
		{"a reference that is missing", `{"$ref":"https://acme.example/gone#/a"}`, nil, `values cannot be checked by this schema: https://acme.example/gone is not among the schema's references`},
		{"a name that is missing", `{"$ref":"gone.json"}`, nil, `values cannot be checked by this schema: gone.json is not among the schema's references`},
		{"a pointer to nothing", `{"$ref":"#/definitions/gone"}`, nil, `values cannot be checked by this schema: json-pointer in "0.json#/definitions/gone" not found`},
		{"no schema", `{"properties":{"a":{"type":"nothing"}}}`, nil, `values cannot be checked by this schema: ` +
			`/properties/a/type: got "nothing", want one of ["array","boolean","integer","null","number","object","string"]`},
		{"an unknown draft", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, nil, `values cannot be checked by this schema: http://json-schema.org/draft-03/schema is not among the schema's references`},
		{"look-ahead", `{"properties":{"a":{"pattern":"^(?=.*[A-Z]).{8,}$"}}}`, nil, `values cannot be checked by this schema: ` +
			`/properties/a/pattern: "^(?=.*[A-Z]).{8,}$" is no regex: RE2 does not take it, which has no look-around, no back-references and no counts above 1000`},
		{"a back-reference", `{"$schema":"https://json-schema.org/draft/2020-12/schema","patternProperties":{"(a)\\1":{}}}`, nil, `values cannot be checked by this schema: ` +
			`the name "(a)\\1": "(a)\\1" is no regex: RE2 does not take it, which has no look-around, no back-references and no counts above 1000`},
	} {
		_, err := Compile(codec.Definition{Text: tt.schema, References: tt.refs}, Options{Validate: true})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// A schema cannot make kcm read files or call addresses.
func TestNothingIsLoaded(t *testing.T) {
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called = true
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	for _, ref := range []string{server.URL + "/s.json", "file://" + file, file, "secret.json", "./secret.json"} {
		for _, schema := range []string{`{"$ref":"` + ref + `"}`, `{"$schema":"` + ref + `"}`, `{"$id":"file://` + filepath.Dir(file) + `/","$ref":"` + ref + `"}`} {
			if _, err := Compile(codec.Definition{Text: schema}, Options{Validate: true}); err == nil || !strings.Contains(err.Error(), "not among the schema's references") {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
	if called {
		t.Error("an address was called")
	}
}

func TestManyGoroutines(t *testing.T) {
	s := compiled(t, Options{Validate: true}, `{"properties":{"a":{"$ref":"n"},"b":{"pattern":"^x","format":"regex"}}}`, codec.Reference{Name: "n", Text: `{"type":"number"}`})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.AppendJSON(nil, []byte(`{"a":1,"b":"x"}`)); err != nil {
					t.Error(err)
				}
				if _, err := s.AppendJSON(nil, []byte(`{"a":"","b":"("}`)); err == nil {
					t.Error("accepted")
				}
			}
		})
	}
	wg.Wait()
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct{ pattern, good, bad string }{
		{`^\d+\-\w$`, `12-a`, `-a`},
		{`^\u0041[\u00e0-\u00ff]$`, `Aé`, `Bé`},
		{`^\ud83d\ude00$`, "😀", "x"},
		{`^\u{1F600}$`, "😀", "x"},
		{`^\cJ$`, "\n", "J"},
		{`^[^]$`, "\n", ""},
		{`^a[]?$`, "a", "ab"},
		{`^[a[]$`, "[", "b"},
		{`^(?<year>\d{4})$`, "2024", "24"},
		{`^\/[^/]+\/$`, "/a/", "/a"},
		{`^\p{Lu}$`, "Ä", "ä"},
		{`a|b`, "xbx", "c"},
		{`^$`, "", "\n"},
		{`^\\u0041$`, `\u0041`, `A`},
	} {
		re, err := compilePattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if !re.MatchString(tt.good) || re.MatchString(tt.bad) {
			t.Errorf("%s: %q %v, %q %v", tt.pattern, tt.good, re.MatchString(tt.good), tt.bad, re.MatchString(tt.bad))
		}
		if re.String() != tt.pattern {
			t.Errorf("%s is shown as %s", tt.pattern, re)
		}
	}
	for _, pattern := range []string{`(?=a)`, `(?!a)`, `(?<=a)b`, `(a)\1`, `\k<n>`, `a{1,1001}`, `[b-a]`, `(`, `\u00`} {
		if _, err := compilePattern(pattern); err == nil {
			t.Errorf("%s: accepted", pattern)
		}
	}
}

// No text of a schema is more than an error.
func FuzzCompile(f *testing.F) {
	f.Add(`{"$id":"http://x/","$ref":"r#/a","properties":{"a":{"pattern":"\\ud83d[^]\\cA"}}}`, `{"a":{"$ref":"#"},"$anchor":"b"}`, `{"a":[1]}`)
	f.Add(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"#a","$dynamicAnchor":"a","unevaluatedItems":{"$ref":"r"}}`, `true`, `[[]]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema","id":"urn:a","items":[{"$ref":"urn:a"}],"not":{"multipleOf":2}}`, `{}`, `[[3]]`)
	f.Fuzz(func(t *testing.T, schema, ref, payload string) {
		if len(schema)+len(ref) > 2000 { // a few references to each other take exponential time by themselves
			return
		}
		s, err := Compile(codec.Definition{Text: schema, References: []codec.Reference{{Name: "r", Text: ref}}}, Options{Validate: true})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q", err)
			}
			return
		}
		if ok, _ := codec.ValidJSON([]byte(payload)); ok {
			check(t, s, payload)
		}
	})
}
