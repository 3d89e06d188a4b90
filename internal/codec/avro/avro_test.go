package avro

import (
	"encoding/hex"
	"strings"
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// schemaOf compiles a schema that has to compile.
func schemaOf(t testing.TB, o Options, text string, refs ...codec.Reference) *Schema {
	t.Helper()
	s, err := Compile(codec.Definition{Type: codec.Avro, Text: text, Name: "test", References: refs}, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.(*Schema)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFaultClassDecimalsAndTimes(t *testing.T) {
	for _, c := range []struct{ schema, payload, want string }{
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "02 05", `"0.05"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "02 FF", `"-0.01"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "02 80", `"-1.28"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "04 FF 80", `"-1.28"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "06 00 80 00", `"327.68"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, "00", `"0.00"`},
		{`{"type":"fixed","size":4,"name":"F","logicalType":"decimal","precision":9}`, "80 00 00 00", `"-2147483648"`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, "80 89 81 82 83 89 85 06", `"2023-11-14T22:13:20.123456Z"`},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, "AA B4 AE D8 C7 BF CE 97 2F", `"2023-11-14T22:13:20.123456789Z"`},
		{`"long"`, "82 80 80 80 80 80 80 20", `9007199254740993`},
		{`"long"`, "FE FF FF FF FF FF FF FF FF 01", `9223372036854775807`},
		{`"long"`, "FF FF FF FF FF FF FF FF FF 01", `-9223372036854775808`},
		{`"double"`, "00 00 00 00 00 00 F8 7F", `"NaN"`},
		{`"double"`, "00 00 00 00 00 00 F0 7F", `"Infinity"`},
	} {
		for _, optional := range []bool{false, true} {
			schema, payload := c.schema, c.payload
			if optional {
				schema, payload = `["null",`+schema+`]`, "02"+payload
			}
			got, err := schemaOf(t, Options{}, schema).AppendJSON([]byte("x"), unhex(t, payload))
			if err != nil || string(got) != "x"+c.want {
				t.Errorf("%s of %s: %s, %v; want %s", schema, payload, got, err, c.want)
			}
		}
	}
}

func TestOneSchemaForManyGoroutines(t *testing.T) {
	s := schemaOf(t, Options{}, orderSchema)
	payload := order(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if out, err := s.AppendJSON(nil, payload); err != nil || string(out) != orderJSON {
					t.Errorf("%s, %v", out, err)
				}
			}
		})
	}
	all.Wait()
}
