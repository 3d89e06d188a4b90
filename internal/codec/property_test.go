package codec

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/record"
)

// tree draws a value of what JSON, MessagePack and CBOR have in common.
func tree(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth > 0 {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.Uint64().Draw(t, "uint")
		case 4:
			return rapid.Float64().Draw(t, "float")
		case 5:
			return rapid.String().Draw(t, "string")
		case 6:
			return rapid.SliceOfN(tree(depth-1), 0, 4).Draw(t, "array")
		default:
			return rapid.MapOfN(rapid.String(), tree(depth-1), 0, 4).Draw(t, "map")
		}
	})
}

// TestEncodersRoundTrip decodes what the libraries encode and compares it with
// the JSON of the same tree.
func TestEncodersRoundTrip(t *testing.T) {
	encoders := map[string]func(any) ([]byte, error){"msgpack": msgpack.Marshal, "cbor": cbor.Marshal}
	names := slices.Sorted(maps.Keys(encoders))
	rapid.Check(t, func(t *rapid.T) {
		v := tree(3).Draw(t, "tree")
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := encoders[name](v)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Env{}.decoder(name, false)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := decoded(d, nil, raw)
			if got.Err != nil || got.Kind != record.JSON || !bytes.Equal(canonical(t, got.Bytes), canonical(t, want)) {
				t.Fatalf("%s: %s, error %v, want %s", name, got.Bytes, got.Err, want)
			}
			for n := range raw {
				if cut, _ := decoded(d, nil, raw[:n]); cut.Err == nil {
					t.Fatalf("%s: %x is cut but decodes to %s", name, raw[:n], cut.Bytes)
				}
			}
			if more, _ := decoded(d, nil, append(slices.Clip(raw), 0)); more.Err == nil {
				t.Fatalf("%s: a byte is left over but it decodes to %s", name, more.Bytes)
			}
		}
	})
}

// canonical sorts keys and keeps integers apart from floats.
func canonical(t *rapid.T, text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(exact(v))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exact(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v
		}
		if bytes.ContainsAny([]byte(v), ".eE") {
			f, err := v.Float64()
			if err == nil {
				return f
			}
		}
		return v
	}
	return v
}

func FuzzParseChoice(f *testing.F) {
	f.Add("key=string,value=json")
	f.Add("hex")
	f.Add("=,=")
	f.Fuzz(func(t *testing.T, arg string) {
		c, err := ParseChoice([]string{arg})
		if err != nil {
			if c != (Choice{}) {
				t.Fatalf("%q: %+v with error %v", arg, c, err)
			}
			return
		}
		schemas := Env{Registry: &registry{}}
		if _, err := c.Pair(schemas); err != nil || c == (Choice{}) {
			t.Fatalf("%q: %+v: %v", arg, c, err)
		}
	})
}
