package output

import "github.com/kcm-cli/kcm/internal/record"

// rawFormat writes stored values and nothing else.
type rawFormat struct{ null, end string }

// Needs implements Format.
func (f rawFormat) Needs() Needs { return Needs{} }

// ForSplit implements Format.
func (f rawFormat) ForSplit(string, record.Split) SplitFormat { return &f }

// Append implements SplitFormat.
func (f *rawFormat) Append(dst []byte, rec *record.Record, _, _ *record.Value) []byte {
	if rec.Value == nil {
		dst = append(dst, f.null...)
	} else {
		dst = append(dst, rec.Value...)
	}
	return append(dst, f.end...)
}
