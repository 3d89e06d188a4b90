package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocsListEveryProperty holds the tables of docs/clusters.md against the
// code's; the failure prints the table to put there.
func TestDocsListEveryProperty(t *testing.T) {
	data, err := os.ReadFile("../../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	var taken strings.Builder
	for _, k := range takenKeys {
		fmt.Fprintf(&taken, "| `%s` | %s |\n", strings.Join(k.names, "`, `"), k.does)
	}
	var refused strings.Builder
	names := make([]string, 0, len(refusedKeys))
	for n := range refusedKeys {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(&refused, "| `%s` | %s |\n", n, refusedKeys[n])
	}
	for name, table := range map[string]string{"taken": taken.String(), "refused": refused.String()} {
		if !strings.Contains(string(data), "|---|---|\n"+table+"\n") {
			t.Errorf("docs/clusters.md does not have the table of %s properties:\n%s", name, table)
		}
	}
}
