package jsonschema

import (
	"os"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// Another validator (testdata/verdicts.py) finds the same values valid.
func TestVerdictsOfAnotherValidator(t *testing.T) {
	file, err := os.ReadFile("testdata/verdicts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	var schema string
	var refs []codec.Reference
	verdicts := 0
	for line := range strings.Lines(string(file)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "value":
			values = append(values, f[1])
		case "schema":
			schema, refs = f[1], nil
		case "reference":
			refs = append(refs, codec.Reference{Name: f[1], Text: f[2]})
		case "verdicts":
			s := compiled(t, Options{Validate: true}, schema, refs...)
			for i, value := range values {
				verdicts++
				why := check(t, s, value)
				if valid := why == ""; valid != (f[1][i] == '1') {
					t.Errorf("%s by %s: %v (%s)", value, schema, valid, why)
				}
			}
		}
	}
	if verdicts < 5000 {
		t.Errorf("%d verdicts: the file is not whole", verdicts)
	}
}
