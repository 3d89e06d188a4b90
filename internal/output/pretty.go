package output

import (
	"bytes"
	"encoding/json"

	"github.com/kcm-cli/kcm/internal/record"
)

// prettyJSON spreads the JSON of a record over several lines; digits, escapes
// and the order of keys stay.
type prettyJSON struct{ line jsonSplit }

// Append implements SplitFormat.
func (f *prettyJSON) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	start := len(dst)
	dst = f.line.Append(dst, rec, key, value)
	return indentJSON(dst, start, "")
}

// indentJSON indents the JSON text at dst[start:]; what cannot be indented, as
// it is nested too deep, stays as it is.
func indentJSON(dst []byte, start int, prefix string) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, dst[start:], prefix, "  "); err != nil {
		return dst
	}
	return append(dst[:start], out.Bytes()...)
}
