package avro

import (
	"errors"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

func TestSchemasThatAreTaken(t *testing.T) {
	for _, c := range []struct{ name, schema, payload, want, tagged string }{
		{"comments", "// a\n{/* b */\"type\": \"string\", \"doc\": \"/* // \\\" */\"} // c", "02 61", `"a"`, `"a"`},
		{"byte order mark", "\ufeff\"int\"", "02", `1`, `1`},
		{"type within type", `{"type":{"type":{"type":"int"}}}`, "02", `1`, `1`},
		{"union as a type", `{"type":["null","int"]}`, "02 02", `1`, `{"int":1}`},
		{"error", `{"type":"error","name":"E","fields":[{"name":"m","type":"string"}]}`, "02 61", `{"m":"a"}`, `{"m":"a"}`},
		{
			"default that does not fit", `{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"},{"name":"b","type":["null","int"],"default":5}]}`,
			"02 00", `{"a":1,"b":null}`, `{"a":1,"b":null}`,
		},
		{
			"odd names", `{"type":"record","name":"my-record","namespace":"a-b.c d","fields":[{"name":"é \"q\"","type":["null",{"type":"enum","name":"E","symbols":["a b","ü"]}]}]}`,
			"02 02", `{"é \"q\"":"ü"}`, `{"é \"q\"":{"a-b.c d.E":"ü"}}`,
		},
		{
			"used before it is defined", `{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":["null","S"]},{"name":"b","type":{"type":"fixed","name":"S","size":1}}]}`,
			"02 61 62", `{"a":"YQ==","b":"Yg=="}`, `{"a":{"n.S":"a"},"b":"b"}`,
		},
		{
			"reference in an object", `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"n.S","size":1}},{"name":"b","type":{"type":"n.S","logicalType":"x"}}]}`,
			"61 62", `{"a":"YQ==","b":"Yg=="}`, `{"a":"a","b":"b"}`,
		},
		{
			"empty namespace", `{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":{"type":"record","name":"S","namespace":"","fields":[{"name":"x","type":["int",{"type":"fixed","name":"T","size":1}]}]}},` +
				`{"name":"b","type":["null","S"]},{"name":"c","type":["null","T"]}]}`,
			"02 61 02 00 02 02 62", `{"a":{"x":"YQ=="},"b":{"x":1},"c":"Yg=="}`, `{"a":{"x":{"T":"a"}},"b":{"S":{"x":{"int":1}}},"c":{"T":"b"}}`,
		},
		{"full name beats namespace", `{"type":"record","name":"o.R","namespace":"n","fields":[{"name":"a","type":["null","R"]}]}`, "02 00", `{"a":{"a":null}}`, `{"a":{"o.R":{"a":null}}}`},
		{
			"alias as a name", `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"n.S","aliases":["Old"],"size":1}},{"name":"b","type":"n.Old"}]}`,
			"61 62", `{"a":"YQ==","b":"Yg=="}`, `{"a":"a","b":"b"}`,
		},
		{"the same definition twice", `[{"type":"fixed","name":"F","size":1},{"type":"array","items":{"type":"fixed","name":"F","size":1}}]`, "02 02 61 00", `["YQ=="]`, `{"array":["a"]}`},
		{"null alone", `["null"]`, "00", `null`, `null`},
		{"null twice", `["null","null"]`, "02", `null`, `null`},
		{
			"union of records with optional fields", `["null",{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]},{"name":"b","type":["int","null"]}]}]`,
			"02 02 06 02", `{"a":3,"b":null}`, `{"R":{"a":{"int":3},"b":null}}`,
		},
		{
			"optional empty record", `{"type":"record","name":"R","fields":[{"name":"a","type":["null",{"type":"record","name":"E","fields":[]}]},{"name":"b","type":["null","E"]}]}`,
			"02 00", `{"a":{},"b":null}`, `{"a":{"E":{}},"b":null}`,
		},
		{"decimal without precision", `{"type":"bytes","logicalType":"decimal"}`, "02 05", `"BQ=="`, `"\u0005"`},
		{"decimal of bad precision", `{"type":"bytes","logicalType":"decimal","precision":0}`, "02 05", `"BQ=="`, `"\u0005"`},
		{"decimal of bad scale", `{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}`, "02 05", `"BQ=="`, `"\u0005"`},
		{"decimal of a text", `{"type":"bytes","logicalType":"decimal","precision":"4","scale":2}`, "02 05", `"BQ=="`, `"\u0005"`},
		{"decimal of a negative scale", `{"type":"bytes","logicalType":"decimal","precision":4,"scale":-2}`, "02 05", `"BQ=="`, `"\u0005"`},
		{"decimal too wide for its fixed", `{"type":"fixed","size":2,"name":"F","logicalType":"decimal","precision":5}`, "00 05", `"AAU="`, `"\u0000\u0005"`},
		{"decimal as wide as its fixed", `{"type":"fixed","size":2,"name":"F","logicalType":"decimal","precision":4}`, "00 05", `"5"`, `"\u0000\u0005"`},
		{"uuid on another fixed", `{"type":"fixed","size":2,"name":"F","logicalType":"uuid"}`, "00 05", `"AAU="`, `"\u0000\u0005"`},
		{"duration on another fixed", `{"type":"fixed","size":2,"name":"F","logicalType":"duration"}`, "00 05", `"AAU="`, `"\u0000\u0005"`},
		{"timestamp-millis on int", `{"type":"int","logicalType":"timestamp-millis"}`, "02", `1`, `1`},
		{"big-decimal", `{"type":"bytes","logicalType":"big-decimal"}`, "06 02 05 04", `"0.05"`, `"\u0002\u0005\u0004"`},
		{"big-decimal that Java wrote", `{"type":"bytes","logicalType":"big-decimal"}`, "20 1c f9 e9 c1 99 a4 14 83 59 5d 1e 59 bd bb 35 06", `"-123456789012345678901234567890.123"`, `"\u001cùéÁ\u0099¤\u0014\u0083Y]\u001eY½»5\u0006"`},
		{"big-decimal of a negative scale", `{"type":"bytes","logicalType":"big-decimal"}`, "06 02 FB 03", `"-500"`, `"\u0002û\u0003"`},
		{"big-decimal zero", `{"type":"bytes","logicalType":"big-decimal"}`, "06 02 00 03", `"0"`, `"\u0002\u0000\u0003"`},
		{"big-decimal of a large scale", `{"type":"bytes","logicalType":"big-decimal"}`, "0A 02 05 80 C0 0C", `"5E-102400"`, `"\u0002\u0005\u0080À\u000c"`},
	} {
		for _, tagged := range []bool{false, true} {
			want := c.want
			if tagged {
				want = c.tagged
			}
			got, err := schemaOf(t, Options{Tagged: tagged}, c.schema).AppendJSON(nil, unhex(t, c.payload))
			if err != nil || string(got) != want {
				t.Errorf("%s, tagged %v: %s, %v; want %s", c.name, tagged, got, err, want)
			}
		}
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, "test: the Avro schema is empty"},
		{`string`, "test: the Avro schema is not JSON: invalid character 's' looking for beginning of value"},
		{`"int" "int"`, "test: more than one JSON value in the Avro schema"},
		{`5`, "test: a schema is a name, an array or an object, not 5"},
		{`null`, "test: a schema is a name, an array or an object, not null"},
		{`""`, "test: the name of a type is empty"},
		{`{}`, "test: no type in {}"},
		{`"Foo"`, "test: the type Foo is not defined"},
		{`{"type":"array"}`, "test: array without items"},
		{`{"type":"map"}`, "test: map without values"},
		{`{"type":"map","values":"X"}`, "test: the type X is not defined"},
		{`{"type":"array","items":{}}`, "test: items of the array: no type in {}"},
		{`["int",{}]`, "test: branch 1 of a union: no type in {}"},
		{`{"type":"record"}`, "test: record without a name"},
		{`{"type":"record","name":"R"}`, "test: record R: no fields"},
		{`{"type":"record","name":"R","fields":[1]}`, "test: record R: field 0 is no object"},
		{`{"type":"record","name":"R","fields":[{}]}`, "test: record R: field 0 has no name"},
		{`{"type":"record","name":"R","fields":[{"name":"a"}]}`, "test: record R: field a has no type"},
		{`{"type":"error","name":"R","namespace":"n","fields":[{"name":"a","type":"S"}]}`, "test: the type n.S is not defined"},
		{`{"type":"enum","name":"E"}`, "test: enum E: no symbols"},
		{`{"type":"enum","name":"E","symbols":[1]}`, "test: enum E: symbol 0 is no string"},
		{`{"type":"fixed","name":"F"}`, "test: fixed F: its size is null, not a number of bytes"},
		{`{"type":"fixed","name":"F","size":-1}`, "test: fixed F: its size is -1, not a number of bytes"},
		{`{"type":"fixed","name":"F","size":1.5}`, "test: fixed F: its size is 1.5, not a number of bytes"},
		{`{"type":"fixed","name":"F","size":4294967296}`, "test: fixed F: its size is 4294967296, not a number of bytes"},
		{`[{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F","size":2}]`, "test: branch 1 of a union: F is defined twice"},
	} {
		_, err := Compile(codec.Definition{Text: c.schema, Name: "test"}, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v; want %s", c.schema, err, c.want)
		}
		if _, err := Fingerprint(codec.Definition{Text: c.schema, Name: "test"}); err == nil || err.Error() != c.want {
			t.Errorf("fingerprint of %s: %v; want %s", c.schema, err, c.want)
		}
	}
}

const (
	leafOne = `{"type":"record","name":"Leaf","namespace":"com.acme","fields":[{"name":"a","type":"int"}]}`
	leafTwo = `{"type":"record","name":"Leaf","namespace":"com.acme","fields":[{"name":"b","type":"int"}]}`
)

func TestReferences(t *testing.T) {
	leaf := codec.Reference{Name: "com.acme.Leaf", Subject: "leaf-value", Version: 1, Text: leafOne}
	left := codec.Reference{Name: "com.acme.Left", Subject: "left-value", Version: 1, Text: `{"type":"record","name":"com.acme.Left","fields":[{"name":"l","type":"Leaf"}]}`}
	leafAgain := codec.Reference{Name: "com.acme.Leaf", Subject: "leaf-value", Version: 2, Text: leafTwo}
	right := codec.Reference{Name: "com.acme.Right", Subject: "right-value", Version: 1, Text: `{"type":"record","name":"Right","namespace":"com.acme","fields":[{"name":"r","type":"com.acme.Leaf"}]}`}
	union := codec.Reference{Name: "com.acme.Any", Subject: "any-value", Version: 1, Text: `["null",` + leafOne + `]`}
	for name, c := range map[string]struct {
		text, payload, want string
		refs                []codec.Reference
	}{
		"a type of another text":         {`{"type":"array","items":"com.acme.Leaf"}`, "02 02 00", `[{"a":1}]`, []codec.Reference{leaf}},
		"two versions, each for another": {`{"type":"record","name":"T","fields":[{"name":"x","type":"com.acme.Left"},{"name":"y","type":"com.acme.Right"}]}`, "02 04", `{"x":{"l":{"a":1}},"y":{"r":{"b":2}}}`, []codec.Reference{leaf, left, leafAgain, right}},
		"its own definition comes first": {`{"type":"record","name":"com.acme.T","fields":[{"name":"x","type":` + leafTwo + `},{"name":"y","type":"Leaf"}]}`, "02 04", `{"x":{"b":1},"y":{"b":2}}`, []codec.Reference{leaf}},
		"a text that is no named type":   {`{"type":"map","values":"com.acme.Any"}`, "02 02 61 02 02 00", `{"a":{"a":1}}`, []codec.Reference{union}},
		"references in any order":        {`"com.acme.Left"`, "02", `{"l":{"a":1}}`, []codec.Reference{left, leaf}},
	} {
		got, err := schemaOf(t, Options{}, c.text, c.refs...).AppendJSON(nil, unhex(t, c.payload))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}

	one, err := Fingerprint(codec.Definition{Text: `"com.acme.Left"`, References: []codec.Reference{leaf, left}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Fingerprint(codec.Definition{Text: `{"type":"record","name":"com.acme.Left","fields":[{"name":"l","type":` + leafOne + `}]}`})
	if err != nil || one != whole {
		t.Errorf("the fingerprint with references is %x, without %x, %v", one, whole, err)
	}

	for _, c := range []struct {
		refs []codec.Reference
		want string
	}{
		{[]codec.Reference{left}, "left-value version 1: the type com.acme.Leaf is not defined"},
		{[]codec.Reference{{Name: "x", Subject: "x-value", Version: 7, Text: "{"}}, "x-value version 7: the Avro schema is not JSON: unexpected EOF"},
		{[]codec.Reference{{Name: "com.acme.Left", Subject: "x-value", Version: 7, Text: `"com.acme.Left"`}}, "x-value version 7: the type com.acme.Left is not defined"},
	} {
		if _, err := Compile(codec.Definition{Text: `"com.acme.Left"`, Name: "test", References: c.refs}, Options{}); err == nil || err.Error() != c.want {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

func TestSchemaFiles(t *testing.T) {
	def, err := ParseFile("a.avsc", []byte("\ufeff[\"null\", \"int\"]"))
	if err != nil || def.Type != codec.Avro || def.Name != "a.avsc" || def.Text != `["null", "int"]` {
		t.Errorf("%+v, %v", def, err)
	}
	for _, c := range []struct{ text, want, hint string }{
		{"Obj\x01\x04", "a.avsc is a file of Avro records, not a schema", "avro-tools getschema FILE prints the schema that it holds"},
		{"\"\xff\"", "a.avsc: not UTF-8", ""},
		{`"x.Y"`, "a.avsc: the type x.Y is not defined", "an Avro schema file (.avsc) is one schema in JSON"},
	} {
		_, err := ParseFile("a.avsc", []byte(c.text))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Usage || err.Error() != c.want || f.Hint != c.hint {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
