package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/record"
)

// asAuto is what the decoder auto makes of b.
func asAuto(b []byte) *record.Value {
	var compact bytes.Buffer
	if v := asRaw(b); v.Kind != record.Text || json.Compact(&compact, b) != nil || compact.Bytes()[0] != '{' && compact.Bytes()[0] != '[' {
		return v
	}
	return jsonValue(compact.String())
}

// FuzzIndent holds the indenter against encoding/json's, up to the depth where it
// stops.
func FuzzIndent(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `[[],{}]`, `{"a":{"b":[1,2.0,"x\"y\\"],"c":null},"d":true}`, `"s"`, `12`, `{"":""}`, `["\\",":"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, b) != nil || json.Indent(&want, compact.Bytes(), "", "  ") != nil {
			t.Skip("not JSON")
		}
		got := appendIndented(nil, compact.Bytes(), jsonLook{prefix: "\n"})
		if depthOf(compact.Bytes()) <= deepestIndent {
			if !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("got\n%s\nwant\n%s", got, want.Bytes())
			}
			return
		}
		var again bytes.Buffer
		if err := json.Compact(&again, got); err != nil || !bytes.Equal(again.Bytes(), compact.Bytes()) {
			t.Fatalf("%s became %s", compact.Bytes(), got)
		}
	})
}

// depthOf is not told by strings that hold brackets: it may only be too much.
func depthOf(b []byte) int { return bytes.Count(b, []byte("[")) + bytes.Count(b, []byte("{")) }

func TestIndentStopsWhereItWouldExplode(t *testing.T) {
	const levels = 5000
	src := strings.Repeat("[", levels) + "1,2" + strings.Repeat("]", levels)
	got := appendIndented(nil, []byte(src), jsonLook{prefix: "\n"})
	if len(got) > 4*len(src) {
		t.Errorf("%d bytes became %d", len(src), len(got))
	}
	if lines := bytes.Count(got, []byte("\n")); lines != 2*deepestIndent {
		t.Errorf("%d lines", lines)
	}
	var again bytes.Buffer
	if err := json.Compact(&again, got); err != nil || again.String() != src {
		t.Errorf("other JSON, %v", err)
	}
}
