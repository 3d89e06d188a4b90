package archtest

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readTable reads the import table of docs/architecture.md, so that the page
// and the test cannot disagree.
func readTable(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "## Who may import whom\n\n```\n")
	if !ok {
		t.Fatalf("%s has no import table", tableFile)
	}
	block, _, _ := strings.Cut(rest, "\n```")
	return parseTable(block)
}

var (
	gap  = regexp.MustCompile(`\n| {3,}`)
	word = regexp.MustCompile(`\w+`)
)

// parseTable turns "a → b → {c, d}   e → f" into a:[b] b:[c d] e:[f]; what
// stands after "everything →" is allowed to every room, and those rooms import
// nothing.
func parseTable(block string) map[string][]string {
	table := map[string][]string{}
	var everyone []string
	for _, chain := range gap.Split(block, -1) {
		links := strings.Split(chain, "→")
		for i := range len(links) - 1 {
			from, to := strings.TrimSpace(links[i]), word.FindAllString(links[i+1], -1)
			if from == "everything" {
				everyone = append(everyone, to...)
				continue
			}
			table[from] = append(table[from], to...)
			for _, r := range to {
				if _, ok := table[r]; !ok {
					table[r] = nil
				}
			}
		}
	}
	for r := range table {
		if !slices.Contains(everyone, r) {
			table[r] = append(table[r], everyone...)
		}
	}
	for _, r := range everyone {
		table[r] = nil
	}
	return table
}

func TestParseTable(t *testing.T) {
	got := parseTable("a → b → {c, d}\nd → c, e   everything → w")
	want := map[string][]string{
		"a": {"b", "w"}, "b": {"c", "d", "w"}, "c": {"w"}, "d": {"c", "e", "w"}, "e": {"w"}, "w": nil,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parseTable = %v, want %v", got, want)
	}
}
