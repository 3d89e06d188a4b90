package avro

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

const (
	boxSchema = `{"type":"record","name":"com.acme.Box","fields":[
		{"name":"id","type":"int"},
		{"name":"address","type":{"type":"record","name":"Address","fields":[{"name":"zip","type":["null","string"]}]}},
		{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"price","type":"double"}]}}},
		{"name":"tags","type":{"type":"map","values":"boolean"}}]}`
	loopSchema = `{"type":"record","name":"Loop","fields":[{"name":"next","type":["null","Loop"]}]}`
)

func TestDamageIsToldWithItsPlace(t *testing.T) {
	const where = "not a value of the Avro schema "
	for _, c := range []struct{ schema, payload, want string }{
		{`"int"`, "", "int: ends in the middle of a number"},
		{`"int"`, "80", "int: ends in the middle of a number"},
		{`"int"`, "02 02", "int: 1 bytes are left over behind the value"},
		{`"int"`, "80 80 80 80 80 00", "int: a number of more than 32 bits"},
		{`"int"`, "80 80 80 80 10", "int: a number of more than 32 bits"},
		{`"int"`, "FF FF FF FF 1F", "int: a number of more than 32 bits"},
		{`"long"`, "80 80 80 80 80 80 80 80 80 02", "long: a number of more than 64 bits"},
		{`"long"`, "80 80 80 80 80 80 80 80 80 80 00", "long: a number of more than 64 bits"},
		{`"boolean"`, "02", "boolean: a boolean is 0 or 1, not 2"},
		{`"boolean"`, "", "boolean: 1 bytes wanted, and 0 are left"},
		{`"float"`, "00 00 00", "float: 4 bytes wanted, and 3 are left"},
		{`"double"`, "00 00 00", "double: 8 bytes wanted, and 3 are left"},
		{`"string"`, "04 61", "string: a length of 2, and 1 bytes are left"},
		{`"string"`, "01", "string: a length of -1, and 0 bytes are left"},
		{`"string"`, "FE FF FF FF FF FF FF FF FF 01", "string: a length of 9223372036854775807, and 0 bytes are left"},
		{`"string"`, "02 FF", "string: a string that is not UTF-8"},
		{`"string"`, "06 ED A0 80", "string: a string that is not UTF-8"},
		{`["bytes"]`, "00 04 61", "union: a length of 2, and 1 bytes are left"},
		{`{"type":"fixed","name":"F","size":3}`, "61", "F: 3 bytes wanted, and 1 are left"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "02", "E: symbol 1 of an enum of 1"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "01", "E: symbol -1 of an enum of 1"},
		{`{"type":"enum","name":"E","symbols":[]}`, "00", "E: symbol 0 of an enum of 0"},
		{`["null","int"]`, "04", "union: branch 2 of a union of 2"},
		{`["null","int"]`, "01", "union: branch -1 of a union of 2"},
		{`["null","int","string"]`, "06", "union: branch 3 of a union of 3"},
		{`["null","int","string"]`, "01", "union: branch -1 of a union of 3"},
		{`[]`, "00", "union: branch 0 of a union of 0"},
		{`{"type":"array","items":"int"}`, "02 02", "array: ends in the middle of a number"},
		{`{"type":"array","items":"int"}`, "04 02 80", "array: [1]: ends in the middle of a number"},
		{`{"type":"array","items":"int"}`, "01 02 02", "array: ends in the middle of a number"},
		{`{"type":"array","items":"int"}`, "01 04 02", "array: a block of 2 bytes, and 1 are left"},
		{`{"type":"array","items":"int"}`, "01 01 02", "array: a block of -1 bytes, and 1 are left"},
		{`{"type":"array","items":"int"}`, "FF FF FF FF FF FF FF FF FF 01 00", "array: a block of -9223372036854775808 items"},
		{`{"type":"map","values":"int"}`, "02 02 61 80", `map: ["a"]: ends in the middle of a number`},
		{`{"type":"map","values":"int"}`, "02 04 61", "map: [key 0]: a length of 2, and 1 bytes are left"},
		{boxSchema, "02 04", "com.acme.Box: address.zip: branch 2 of a union of 2"},
		{boxSchema, "02 02 04 61", "com.acme.Box: address.zip: a length of 2, and 1 bytes are left"},
		{boxSchema, "02 00 02 00", "com.acme.Box: items[0].price: 8 bytes wanted, and 1 are left"},
		{boxSchema, "02 00 00 02 02 61 07", `com.acme.Box: tags["a"]: a boolean is 0 or 1, not 7`},
		{`{"type":"map","values":"boolean"}`, "02 60" + strings.Repeat("C3 A9", 24) + "07", `map: ["` + strings.Repeat("é", 19) + `…]: a boolean is 0 or 1, not 7`},
		{`{"type":"bytes","logicalType":"big-decimal"}`, "02 00", "bytes: ends in the middle of a number"},
		{`{"type":"bytes","logicalType":"big-decimal"}`, "08 02 05 00 00", "bytes: 1 bytes are left over in a big-decimal"},
		{`{"type":"bytes","logicalType":"decimal","precision":4}`, "82 40" + strings.Repeat("01", 4097), "bytes: a decimal of 4097 bytes; 4096 are the most"},
		{`{"type":"int","logicalType":"time-millis"}`, "80 80 80 80 80 00", "int: a number of more than 32 bits"},
	} {
		out, err := schemaOf(t, Options{}, c.schema).AppendJSON([]byte("x"), unhex(t, c.payload))
		if err == nil || err.Error() != where+c.want {
			t.Errorf("%s of %s: %s, %v; want %s", c.schema, c.payload, out, err, c.want)
		}
		if string(out) != "x" {
			t.Errorf("%s of %s: %q is returned with the error", c.schema, c.payload, out)
		}
	}
}

// Depth counts what stands within each other in the output, as for the other
// decoders; a union's tag is a level too.
func TestDepthIsBounded(t *testing.T) {
	nested := func(n int, tagged bool) error {
		payload := append(bytes.Repeat([]byte{2}, n-1), 0)
		_, err := schemaOf(t, Options{Tagged: tagged}, loopSchema).AppendJSON(nil, payload)
		return err
	}
	if err := nested(1000, false); err != nil {
		t.Errorf("1000 levels: %v", err)
	}
	const want = "not a value of the Avro schema Loop: …"
	if err := nested(1001, false); err == nil || err.Error() != want+strings.Repeat("next.", 40)+"next: nested deeper than 1000 levels" {
		t.Errorf("1001 levels: %v", err)
	}
	if err := nested(500, true); err != nil {
		t.Errorf("500 tagged levels: %v", err)
	}
	if err := nested(501, true); err == nil {
		t.Error("501 tagged levels, each with its tag, pass")
	}
	endless := schemaOf(t, Options{}, `{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}`)
	if _, err := endless.AppendJSON(nil, []byte{}); err == nil || !strings.HasSuffix(err.Error(), "nested deeper than 1000 levels") {
		t.Errorf("a record that holds itself: %v", err)
	}
}

// doubling is a schema whose value takes no bytes and doubles with each level.
func doubling(levels int) string {
	text := `{"type":"record","name":"R0","fields":[]}`
	for i := 1; i <= levels; i++ {
		text = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":"R%d"}]}`, i, text, i-1)
	}
	return text
}

func TestOutputOfFewBytesIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ schema, payload string }{
		"nulls":            {`{"type":"array","items":"null"}`, "FE FF FF FF FF FF FF FF FF 01"},
		"nulls in records": {`{"type":"array","items":{"type":"record","name":"R","fields":[{"name":"a","type":"null"}]}}`, "FE FF FF FF 7F"},
		"empty fixed":      {`{"type":"array","items":{"type":"fixed","name":"F","size":0}}`, "FE FF FF FF 7F"},
		"doubling":         {doubling(60), ""},
	} {
		out, err := schemaOf(t, Options{}, c.schema).AppendJSON(nil, unhex(t, c.payload))
		if err == nil || !strings.HasSuffix(err.Error(), "bytes make more than 16 MiB of JSON") {
			t.Errorf("%s: %v, %d bytes", name, err, len(out))
		}
	}
	s := schemaOf(t, Options{}, `{"type":"array","items":"null"}`)
	out, err := s.AppendJSON(nil, unhex(t, "80 89 7A 00")) // 1,000,000
	if err != nil || len(out) != 5_000_001 {
		t.Errorf("a million nulls: %d bytes, %v", len(out), err)
	}
}

// A small schema must not become a large program.
func TestProgramsStaySmall(t *testing.T) {
	_, err := Compile(codec.Definition{Text: doubling(200)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain := `{"type":"record","name":"R0","fields":[{"name":"a","type":"int"}]}`
	for i := 1; i < 3000; i++ {
		chain = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s}]}`, i, chain)
	}
	s, err := Compile(codec.Definition{Text: chain}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.AppendJSON(nil, []byte{2}); err == nil || !strings.HasSuffix(err.Error(), "nested deeper than 1000 levels") {
		t.Errorf("3000 records within each other: %v", err)
	}
}

// Bytes that are a whole value have no length when the registry's serializer for
// Java wrote them; a schema from a file holds to the specification.
func TestBytesWithoutALength(t *testing.T) {
	const money = `{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`
	for _, c := range []struct{ schema, payload, want string }{
		{`"bytes"`, "", `""`},
		{`"bytes"`, "00", `""`},
		{`"bytes"`, "04 61 62", `"YWI="`},
		{`"bytes"`, "61 62", `"YWI="`},
		{`"bytes"`, "04 61", `"BGE="`},
		{`"bytes"`, "FF FF FF", `"////"`},
		{money, "04 01 00", `"2.56"`},
		{money, "01 00", `"2.56"`},
	} {
		got, err := schemaOf(t, Options{}, c.schema).AppendJSON(nil, unhex(t, c.payload))
		if err != nil || string(got) != c.want {
			t.Errorf("%s of %s: %s, %v; want %s", c.schema, c.payload, got, err, c.want)
		}
	}
	const want = "not a value of the Avro schema bytes: a length of 2, and 1 bytes are left"
	if out, err := schemaOf(t, Options{SingleObject: true}, `"bytes"`).AppendJSON(nil, unhex(t, "04 61")); err == nil || err.Error() != want {
		t.Errorf("%s, %v", out, err)
	}
}
