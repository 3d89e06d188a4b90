package protobuf

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// FuzzDecode holds what kcm makes of any bytes against Go's Protobuf library.
func FuzzDecode(f *testing.F) {
	type pair struct {
		s *schema
		l *library
	}
	pairs := map[bool][]pair{}
	for _, defaults := range []bool{false, true} {
		for _, name := range goldenMessages {
			s, l := both(f, name, Options{Defaults: defaults})
			pairs[defaults] = append(pairs[defaults], pair{s, l})
		}
	}
	for i, g := range readGolden(f) {
		for which, name := range goldenMessages {
			if name == g.message {
				f.Add(byte(which), i%2 == 0, g.payload)
			}
		}
	}
	f.Add(byte(3), false, nested(maxDepth))
	f.Fuzz(func(t *testing.T, which byte, defaults bool, payload []byte) {
		p := pairs[defaults][int(which)%len(goldenMessages)]
		compare(t, p.s, p.l, payload)
		for _, keep := range []bool{false, true} {
			straightAgrees(t, p.s, payload, keep)
		}
	})
}

// straightAgrees holds a record that can be written while it is read against the
// same one read twice.
func straightAgrees(t *testing.T, s *schema, payload []byte, keep bool) {
	t.Helper()
	along := &walker{types: s.types, keep: keep, absent: s.types.builder.defaults, straight: true}
	got, err := along.message(nil, payload, s.message, maxDepth+1)
	if err != nil {
		return
	}
	if len(along.found)+len(along.entries)+len(along.unknown) > 0 {
		t.Fatalf("%x leaves %+v behind", payload, along)
	}
	twice := &walker{types: s.types, keep: keep, absent: s.types.builder.defaults}
	want, err := twice.message(nil, payload, s.message, maxDepth+1)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%x: straight %s, read twice %s, %v", payload, got, want, err)
	}
}

// FuzzCompile compiles any text, and decodes with what comes of it.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{twoMessages, order, imported["order.proto"], "", "e30="} {
		f.Add(text, "")
	}
	f.Add(goldenDef(f).References[0].Text, "")
	f.Add(goldenDef(f).References[1].Text, "")
	f.Add(goldenDef(f).References[2].Text, "")
	f.Add(`syntax = "proto3"; import "ref.proto"; message A { B b = 1; }`, `syntax = "proto3"; message B { map<string, B> m = 1; }`)
	f.Add(`syntax = "proto3"; message A { repeated MEntry m = 1; message MEntry { option map_entry = true; string key = 1; int32 value = 2; } }`, "")
	payload := []byte{0, 0x0a, 4, 0x0a, 2, 8, 1, 0x10, 1, 0x1a, 1, 'x', 0x25, 0, 0, 0, 0}
	f.Fuzz(func(t *testing.T, text, reference string) {
		s, err := Compile(codec.Definition{Name: "fuzzed", Text: text, References: []codec.Reference{{Name: "ref.proto", Text: reference}}}, Options{Defaults: true, Unknown: true})
		if err != nil {
			return
		}
		if got, err := s.AppendJSON(nil, payload); err == nil && !json.Valid(got) {
			t.Fatalf("no JSON: %s", got)
		}
	})
}

// FuzzIndexes reads any bytes as a registry's payload.
func FuzzIndexes(f *testing.F) {
	s := compile(f, codec.Definition{Text: twoMessages}, Options{}).(*schema)
	for _, seed := range []string{"00", "02 00", "02 02 0a 01 78", "04 00 02 0a 01 78", "ff ff ff ff ff ff ff ff ff 01 00"} {
		f.Add(unhex(f, seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		table, rest, err := s.choose.choose(payload)
		if err == nil && (table == nil || len(rest) >= len(payload)) {
			t.Fatalf("%x: %v, %x", payload, table, rest)
		}
		if got, err := s.AppendJSON(nil, payload); err == nil && !json.Valid(got) {
			t.Fatalf("%x: no JSON: %s", payload, got)
		}
	})
}
