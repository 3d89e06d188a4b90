package jsonschema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The section on JSON Schema has a table of schemas, values and what kcm says.
func TestDocs(t *testing.T) {
	rows := 0
	for line := range strings.Lines(section(t, "## JSON Schema\n")) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		schema, value := code(cells[0]), code(cells[1])
		if why := check(t, compiled(t, Options{Validate: true}, schema), value); why != code(cells[2]) {
			t.Errorf("%s by %s: %q, the page has %q", value, schema, why, code(cells[2]))
		}
	}
	if rows < 20 {
		t.Errorf("%d rows found", rows)
	}
}

// section is what stands below a heading in the pages about decoding.
func section(t *testing.T, heading string) string {
	t.Helper()
	pages, err := filepath.Glob("../../../docs/decoding*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if _, below, ok := strings.Cut("\n"+string(text), "\n"+heading); ok {
			below, _, _ = strings.Cut(below, "\n## ")
			return below
		}
	}
	t.Fatalf("no page has %q", heading)
	return ""
}

// code is what stands between a cell's backquotes.
func code(cell string) string {
	_, rest, _ := strings.Cut(cell, "`")
	text, _, _ := strings.Cut(rest, "`")
	return text
}
