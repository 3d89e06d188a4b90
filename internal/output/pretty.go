package output

import "github.com/kcm-cli/kcm/internal/record"

// prettyJSON spreads the JSON of a record over several lines; digits, escapes
// and the order of keys stay.
type prettyJSON struct{ line jsonSplit }

// Append implements SplitFormat.
func (f *prettyJSON) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	start := len(dst)
	dst = f.line.Append(dst, rec, key, value)
	end := len(dst)
	// The line is behind what takes its place until that is complete.
	dst = appendIndented(dst, dst[start:end-1], jsonLook{prefix: "\n"})
	dst = append(dst, '\n')
	return dst[:start+copy(dst[start:], dst[end:])]
}
