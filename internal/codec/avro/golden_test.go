package avro

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// golden is one case of testdata/golden.json, which golden.py explains.
type golden struct {
	Name, Schema, Bytes, Plain string
	Tagged, Java               string
	Canonical, Fingerprint     string
	JavaFingerprint            string `json:"java_fingerprint"`
	JavaSingle                 string `json:"java_single"`
	References                 []codec.Reference
}

func goldenCases(t testing.TB) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 70 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// sameJSON compares texts by what they mean. Programs write floats in several
// ways, so numbers with a point or an exponent are compared as floats.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return reflect.DeepEqual(meaning(t, a), meaning(t, b))
}

func meaning(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return floats(v)
}

func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return v.String()
		}
		f, _ := v.Float64()
		if f == float64(int64(f)) {
			return strconv.FormatInt(int64(f), 10)
		}
		return f
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}

func TestWhatOthersEncodeIsShown(t *testing.T) {
	tagged, java := 0, 0
	for _, c := range goldenCases(t) {
		payload := unhex(t, c.Bytes)
		got, err := schemaOf(t, Options{SingleObject: true}, c.Schema, c.References...).AppendJSON(nil, payload)
		if err != nil || string(got) != c.Plain {
			t.Errorf("%s: %s, %v; want %s", c.Name, got, err, c.Plain)
		}
		got, err = schemaOf(t, Options{Tagged: true, SingleObject: true}, c.Schema, c.References...).AppendJSON(nil, payload)
		if err != nil {
			t.Errorf("%s, tagged: %v", c.Name, err)
			continue
		}
		// fastavro writes NaN and the infinities as words that are no JSON.
		if c.Tagged != "" && !strings.HasPrefix(c.Tagged, "NaN") && !strings.Contains(c.Tagged, "Infinity") {
			tagged++
			if !sameJSON(t, string(got), c.Tagged) {
				t.Errorf("%s, tagged: %s; fastavro has %s", c.Name, got, c.Tagged)
			}
		}
		if c.Java != "" {
			java++
			if !sameJSON(t, string(got), c.Java) {
				t.Errorf("%s, tagged: %s; Java has %s", c.Name, got, c.Java)
			}
		}
	}
	if tagged < 50 || java < 50 {
		t.Errorf("only %d values are compared with fastavro's JSON and %d with Java's", tagged, java)
	}
}

func TestCanonicalFormAndFingerprint(t *testing.T) {
	compared := 0
	for _, c := range goldenCases(t) {
		if c.Canonical == "" {
			continue
		}
		s := schemaOf(t, Options{}, c.Schema)
		if s.Canonical() != c.Canonical {
			t.Errorf("%s: %s; fastavro has %s", c.Name, s.Canonical(), c.Canonical)
		}
		got := hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, s.Fingerprint()))
		if got != c.Fingerprint {
			t.Errorf("%s: fingerprint %s; fastavro has %s", c.Name, got, c.Fingerprint)
		}
		if c.JavaFingerprint != "" {
			compared++
			if c.JavaFingerprint != got {
				t.Errorf("%s: fingerprint %s; Java has %s", c.Name, got, c.JavaFingerprint)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d fingerprints are compared with Java's", compared)
	}
}

// TestSingleObjects reads what Java's BinaryMessageEncoder wrote.
func TestSingleObjects(t *testing.T) {
	compared := 0
	for _, c := range goldenCases(t) {
		if c.JavaSingle == "" {
			continue
		}
		compared++
		s := schemaOf(t, Options{SingleObject: true}, c.Schema)
		for _, payload := range []string{c.JavaSingle, c.Bytes} {
			got, err := s.AppendJSON(nil, unhex(t, payload))
			if err != nil || string(got) != c.Plain {
				t.Errorf("%s of %s: %s, %v; want %s", c.Name, payload, got, err, c.Plain)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d values", compared)
	}

	s := schemaOf(t, Options{SingleObject: true}, `"string"`)
	other := unhex(t, "C3 01 8A 8F 25 CC E7 24 DD 63") // null's
	const want = "a single-object value of the schema with the fingerprint 63dd24e7cc258f8a, not 8f014872634503c7"
	if _, err := s.AppendJSON(nil, other); err == nil || err.Error() != want {
		t.Errorf("a value of another schema: %v; want %s", err, want)
	}
	// Ten bytes that are a fixed and look like a value of null.
	s = schemaOf(t, Options{SingleObject: true}, `{"type":"fixed","name":"F","size":10}`)
	if got, err := s.AppendJSON(nil, other); err != nil || string(got) != `"wwGKjyXM5yTdYw=="` {
		t.Errorf("a value that begins like the marker: %s, %v", got, err)
	}
	s = schemaOf(t, Options{}, `"null"`)
	if got, err := s.AppendJSON(nil, other); err == nil {
		t.Errorf("without the option: %s", got)
	}
}
