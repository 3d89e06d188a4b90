package internals

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The section on Kafka's own topics has a table of topics, keys, values and what
// kcm prints, and names every record type.
func TestDocs(t *testing.T) {
	text := section(t, "## Kafka's own topics\n")
	rows := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		topic, key, value := For(codes(cells[0])[0]), cellBytes(t, cells[1]), cellBytes(t, cells[2])
		k, err := topic.AppendKey(nil, key)
		if want := codes(cells[3])[0]; err != nil || string(k) != want {
			t.Errorf("%s, %v\nthe page has %s", k, err, want)
		}
		v, err := topic.AppendValue(nil, key, value)
		if want := codes(cells[3])[1]; err != nil || string(v) != want {
			t.Errorf("%s, %v\nthe page has %s", v, err, want)
		}
	}
	if rows < 8 {
		t.Errorf("%d rows found", rows)
	}
	for _, c := range []*coordinator{&consumerOffsets, &transactionState, &shareGroupState} {
		for _, r := range c.types {
			name, ok := strings.CutPrefix(r.name, "share_group_")
			if !ok {
				name, ok = strings.CutPrefix(r.name, "streams_group_")
			}
			if ok && strings.Contains(text, "`consumer_group_"+name+"`") {
				continue // the page says that they are the same
			}
			if !strings.Contains(text, "`"+r.name+"`") {
				t.Errorf("the page does not name %s", r.name)
			}
		}
	}
}

func cellBytes(t *testing.T, cell string) []byte {
	t.Helper()
	if cell == "null" {
		return nil
	}
	b, err := hex.DecodeString(strings.ReplaceAll(codes(cell)[0], " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
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

// codes are the texts between a cell's backquotes.
func codes(cell string) []string {
	var all []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}
