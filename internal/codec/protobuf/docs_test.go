package protobuf

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// page is where the table is.
const page = "../../../docs/decoding-protobuf.md"

var docRow = regexp.MustCompile("(?m)^\\| `(.+)` \\| `(-|[0-9a-f]+)` \\| `(.+)` \\|$")

// Each row of the table of the documentation is true: the field is declared like
// that, Python wrote those bytes, and kcm prints that.
func TestTheTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## Protobuf\n")
	if !ok {
		t.Fatalf("%s has no section Protobuf", page)
	}
	rows := docRow.FindAllStringSubmatch(section, -1)
	if want := strings.Count(section, "\n| `"); len(rows) != want || want < 40 {
		t.Fatalf("%d of %d rows can be read", len(rows), want)
	}
	written := map[string]golden{}
	for _, g := range readGolden(t) {
		bytes := hex.EncodeToString(g.payload)
		if bytes == "" {
			bytes = "-"
		}
		if _, ok := written[bytes]; !ok {
			written[bytes] = g
		}
	}
	declared := ""
	for _, r := range goldenDef(t).References {
		declared += strings.Join(strings.Fields(r.Text), " ")
	}
	schemas := map[string]codec.Schema{}
	for _, row := range rows {
		g, ok := written[row[2]]
		if !ok {
			t.Errorf("%s: Python has not written %s", row[1], row[2])
			continue
		}
		if !strings.Contains(declared, row[1]+";") && !strings.Contains(declared, row[1]+" {") {
			t.Errorf("%s is not declared", row[1])
		}
		if schemas[g.message] == nil {
			if schemas[g.message], err = FromFiles(Files{Sets: []string{"testdata/golden/with.binpb"}, Message: g.message}, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := schemas[g.message].AppendJSON(nil, g.payload)
		if err != nil || string(got) != row[3] {
			t.Errorf("%s: %s, %v, want %s", row[1], got, err, row[3])
		}
	}
}
