package codec

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShape(t *testing.T) {
	var s shape
	for _, tt := range []struct {
		text string
		fits bool // the shape of the one before
		ok   bool
	}{
		{`{"a":1,"b":"x","c":[true,{"d":null}]}`, false, true},
		{`{"a":-0.5e3,"b":"\\u00e9","c":[false,{"d":7}]}`, true, true},
		{`{"a":"1","b":2,"c":[null,{"d":"{"}]}`, true, true},
		{`{"a":01,"b":2,"c":[null,{"d":""}]}`, false, false},
		{`{"a":1,"b":"x","c":[true,{"d":null}]`, false, false},
		{`{"a":1,"b":"x","c":[true,{"d":null}]}}`, false, false},
		{`{"a":1,"b":"\x","c":[true,{"d":null}]}`, false, false},
		{"{\"a\":1,\"b\":\"\xff\",\"c\":[true,{\"d\":null}]}", false, false},
		{`{"a":1,"b":,"c":[true,{"d":null}]}`, false, false},
		{`{"a":{},"b":"x","c":[true,{"d":null}]}`, false, true},
		{`{"a":{},"b":"y","c":[1,{"d":2}]}`, true, true},
		{`{}`, false, true},
		{`[]`, false, true},
		{`[]`, true, true},
		{`[[],1]`, false, true},
		{`[[],{}]`, false, true},
		{`[[],{}] `, false, true}, // with a blank: valid, not learned
		{`[[],{}]`, true, true},
	} {
		if fits := s.fits([]byte(tt.text)); fits != tt.fits {
			t.Errorf("%s: fits %v, want %v", tt.text, fits, tt.fits)
		}
		if ok, _ := s.valid([]byte(tt.text)); ok != tt.ok {
			t.Errorf("%s: valid %v, want %v", tt.text, ok, tt.ok)
		}
	}
}

func TestShapesThatDifferAreNotLearnedForEver(t *testing.T) {
	var s shape
	for i := range manyMisses + 1 {
		s.valid([]byte(`{"` + strings.Repeat("k", i+1) + `":1}`))
	}
	if s.rest != shapeRest {
		t.Errorf("%d values are passed over, want %d", s.rest, shapeRest)
	}
}

// Whatever was seen before, a shape's verdict is that of the standard library,
// apart from text that is not UTF-8.
func FuzzShape(f *testing.F) {
	f.Add(`{"a":1,"b":"x"}`, `{"a":2,"b":"y"}`)
	f.Add(`[1,[2,"3"],{"k":null}]`, `[1,[2,"3"],{"k":nul}]`)
	f.Add(`{"a":"b"}`, `{"a":"b\"}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var s shape
		for _, text := range []string{first, second, first} {
			got, _ := s.valid([]byte(text))
			if want := json.Valid([]byte(text)) && utf8.ValidString(text); got != want && len(text) < maxDepth {
				t.Errorf("%q after %q: %v, want %v", text, first, got, want)
			}
		}
	})
}
