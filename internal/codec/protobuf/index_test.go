package protobuf

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// unhex reads bytes that are written as "00 0a 78".
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compile(t testing.TB, def codec.Definition, o Options) codec.Schema {
	t.Helper()
	s, err := Compile(def, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const twoMessages = `
syntax = "proto3";
enum E { ZERO = 0; }
message A {
  int64 id = 1;
  message N0 { string n0 = 1; }
  message N1 { string n1 = 1; }
}
message B { string b = 1; }
`

func TestMessageIndexes(t *testing.T) {
	s := compile(t, codec.Definition{Text: twoMessages, Name: "test"}, Options{})
	for _, c := range []struct{ payload, want string }{
		{"00 08 01", `{"id":"1"}`},
		{"02 00 08 01", `{"id":"1"}`},
		{"02 02 0a 01 78", `{"b":"x"}`},
		{"04 00 00 0a 01 78", `{"n0":"x"}`},
		{"04 00 02 0a 01 78", `{"n1":"x"}`},
		{"00", `{}`},
		{"80 00 08 01", `{"id":"1"}`}, // a longer zero than needed
		{"02 82 00 0a 01 78", `{"b":"x"}`},
		{"", "the message indexes are missing"},
		{"01", "more message indexes than bytes"},                 // -1 of them
		{"06 00 00", "more message indexes than bytes"},           // 3 of them
		{"fe ff ff ff 0f 00", "more message indexes than bytes"},  // 2^31 of them
		{"02 04", "the schema has no message at the indexes [2]"}, // E is none
		{"04 00 04 0a 01 78", "the schema has no message at the indexes [0 2]"},
		{"02 01", "the schema has no message at the indexes [-1]"},
		{"06 00 00 00", "the schema has no message at the indexes [0 0 0]"},
		{"02 80", "message indexes: cut short"},
		{"80", "message indexes: cut short"},
		{"ff ff ff ff ff ff ff ff ff ff 01", "message indexes: a number longer than 64 bits"},
	} {
		got, err := s.AppendJSON(nil, unhex(t, c.payload))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.payload, got, c.want)
		}
	}
}

// The entry types of maps are counted as the text has them: a map field stands
// for none, but a text of Confluent's Java serializer may spell them out. Go and
// Python count those of map fields too: they are understood where nothing else
// can be meant.
func TestMessageIndexesAndMaps(t *testing.T) {
	const maps = `syntax = "proto3"; message A { map<string, int32> m = 1; message N0 { string n0 = 1; } message N1 { string n1 = 1; } }`
	const spelled = `syntax = "proto3"; message A { repeated MEntry m = 1;
	  message MEntry { option map_entry = true; string key = 1; int32 value = 2; }
	  message N0 { string n0 = 1; } }`
	for _, c := range []struct{ text, payload, want string }{
		{maps, "04 00 00 0a 01 78", `{"n0":"x"}`},
		{maps, "04 00 02 0a 01 78", `{"n1":"x"}`},
		{maps, "04 00 04 0a 01 78", `{"n1":"x"}`}, // as Go and Python count
		{maps, "00 0a 05 0a 01 6b 10 07", `{"m":{"k":7}}`},
		{spelled, "04 00 02 0a 01 78", `{"n0":"x"}`},
		{spelled, "00 0a 05 0a 01 6b 10 07", `{"m":{"k":7}}`},
		{spelled, "04 00 00 0a 01 78", "the schema has no message at the indexes [0 0]"},
	} {
		s := compile(t, codec.Definition{Text: c.text, Name: "test"}, Options{})
		got, err := s.AppendJSON(nil, unhex(t, c.payload))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.payload, got, c.want)
		}
	}
}
