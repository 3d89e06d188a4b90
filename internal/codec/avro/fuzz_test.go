package avro

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
)

// FuzzDecode holds that any schema and any payload give one JSON value or an
// error, and no more output than is allowed.
func FuzzDecode(f *testing.F) {
	for _, c := range goldenCases(f) {
		if len(c.References) == 0 {
			f.Add(c.Schema, unhex(f, c.Bytes))
		}
	}
	f.Add(boxSchema, unhex(f, "02 02 02 61 02 00 00 00 00 00 00 F0 3F 00 02 02 61 01 00"))
	f.Add(loopSchema, unhex(f, "02 02 02 00"))
	f.Add(orderSchema, order(f))
	f.Add(`{"type":"array","items":"null"}`, unhex(f, "FE FF FF FF FF FF FF FF FF 01"))
	f.Add(doubling(40), []byte{})
	f.Fuzz(func(t *testing.T, schema string, payload []byte) {
		decode(t, schema, payload)
	})
}

// FuzzPayload does the same for schemas that are good, so that the time goes to
// the payloads.
func FuzzPayload(f *testing.F) {
	schemas := []string{boxSchema, loopSchema, orderSchema, `{"type":"map","values":["long",{"type":"array","items":["null","string","float"]}]}`}
	for _, c := range goldenCases(f) {
		if len(c.References) == 0 {
			f.Add(uint(len(schemas)), unhex(f, c.Bytes))
			schemas = append(schemas, c.Schema)
		}
	}
	f.Add(uint(0), unhex(f, "02 02 02 61 02 00 00 00 00 00 00 F0 3F 00 02 02 61 01 00"))
	f.Add(uint(1), unhex(f, "02 02 02 00"))
	f.Add(uint(2), order(f))
	f.Add(uint(3), unhex(f, "03 1A 02 61 00 01 02 62 02 06 00 02 02 63 00 00"))
	f.Fuzz(func(t *testing.T, which uint, payload []byte) {
		decode(t, schemas[which%uint(len(schemas))], payload)
	})
}

func decode(t *testing.T, schema string, payload []byte) {
	t.Helper()
	for _, o := range []Options{{}, {Tagged: true}, {SingleObject: true}} {
		s, err := Compile(codec.Definition{Text: schema}, o)
		if err != nil {
			return
		}
		out, err := s.AppendJSON([]byte("x"), payload)
		if err != nil {
			if string(out) != "x" || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q with the error %q", out, err)
			}
			continue
		}
		if ok, spaced := codec.ValidJSON(out[1:]); !ok || spaced {
			t.Fatalf("%s of %x, %+v: %s", schema, payload, o, out)
		}
		if most := freeOutput + (s.(*Schema).ratio+1)*(len(payload)+1) + 4*len(schema)*maxInlineText; len(out) > most {
			t.Fatalf("%d bytes of JSON from %d", len(out), len(payload))
		}
	}
}

// FuzzCompile holds that any texts compile or are refused, and that a canonical
// form is its own.
func FuzzCompile(f *testing.F) {
	for _, c := range goldenCases(f) {
		reference := ""
		if len(c.References) > 0 {
			reference = c.References[0].Text
		}
		f.Add(c.Schema, reference)
	}
	f.Add("// a\n{/* b */\"type\": \"string\"}", `"int"`)
	f.Add(`"R"`, `{"type":"record","name":"R","aliases":["S"],"fields":[{"name":"a","type":["S","n.T",{"type":"R"}]}]}`)
	f.Add(doubling(6), leafOne)
	f.Fuzz(func(t *testing.T, text, reference string) {
		def := codec.Definition{Text: text, Name: "x"}
		if reference != "" {
			def.References = []codec.Reference{{Name: "R", Subject: "s", Version: 1, Text: reference}}
		}
		compiled, err := Compile(def, Options{})
		if err != nil {
			return
		}
		s := compiled.(*Schema)
		if fp, err := Fingerprint(def); err != nil || fp != s.Fingerprint() {
			t.Fatalf("%x and %x, %v", fp, s.Fingerprint(), err)
		}
		if !json.Valid([]byte(s.canonical)) {
			return // names that JSON has to escape
		}
		again, err := Compile(codec.Definition{Text: s.canonical}, Options{})
		if err != nil {
			return // two types of one name, of two texts
		}
		if got := again.(*Schema).canonical; got != s.canonical {
			t.Fatalf("%s: canonical form %s, and of that %s", text, s.canonical, got)
		}
	})
}
