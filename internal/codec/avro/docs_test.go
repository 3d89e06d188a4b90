package avro

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

const page = "../../../docs/decoding.md"

// docRow is a row of the table in the docs: four cells of code.
var docRow = regexp.MustCompile("(?m)^\\| `(.*)` \\| `([0-9a-f]*|-)` \\| `(.*)` \\| `(.*)` \\|$")

// TestDocsTable holds the table of the docs against kcm, its bytes against those
// that fastavro writes, and its last column against Java.
func TestDocsTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Avro\n")
	if !ok {
		t.Fatal("no section about Avro")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	encoded := map[string]golden{}
	for _, c := range goldenCases(t) {
		encoded[compact(t, c.Schema)+" "+c.Bytes] = c
	}
	rows := docRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n| `"); lines != len(rows) || lines < 38 {
		t.Errorf("%d rows of %d are read", len(rows), lines)
	}
	covered := map[string]bool{}
	for _, row := range rows {
		schema, bytes, plain, tagged := row[1], strings.Trim(row[2], "-"), row[3], row[4]
		c, ok := encoded[compact(t, schema)+" "+bytes]
		if !ok {
			t.Errorf("%s: golden.json has no %s of it", schema, bytes)
			continue
		}
		if !sameJSON(t, tagged, c.Java) {
			t.Errorf("%s: the page has %s, Java %s", schema, tagged, c.Java)
		}
		for _, form := range []struct {
			tagged bool
			want   string
		}{{false, plain}, {true, tagged}} {
			got, err := schemaOf(t, Options{Tagged: form.tagged, SingleObject: true}, schema).AppendJSON(nil, unhex(t, bytes))
			if err != nil || string(got) != form.want {
				t.Errorf("%s of %s, tagged %v: %s, %v; the page has %s", schema, bytes, form.tagged, got, err, form.want)
			}
		}
		words(schema, covered)
	}
	for word := range kinds {
		if word != "error" && !covered[word] {
			t.Errorf("the table has no row about %s", word)
		}
	}
	for word := range logicalTypes {
		if word != "big-decimal" && !covered[word] { // fastavro does not know it
			t.Errorf("the table has no row about %s", word)
		}
	}
}

// words enters all strings of a schema.
func words(schema string, into map[string]bool) {
	for _, word := range regexp.MustCompile(`[a-z-]+`).FindAllString(schema, -1) {
		into[word] = true
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
