package output

import (
	"bytes"

	"github.com/kcm-cli/kcm/internal/record"
)

// What begins the lines of a record with --pretty.
const (
	prettyIndent = "\n  "
	prettyDeeper = "\n    "
)

// appendBlock writes the key, value and headers of a record with --pretty, each on
// lines of its own below what identifies the record:
//
//	orders@east orders[0]@42 2024-09-10T20:21:44.063Z
//	  key: k1
//	  value:
//	    {
//	      "id": 1
//	    }
//	  headers:
//	    trace: ab
//
// Where nothing identifies it, a dash shows where it begins.
func (s *textSplit) appendBlock(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	for i, which := range s.block {
		if which == fieldHeaders && rec.Headers.Count == 0 && len(s.f.columns) == 0 {
			continue
		}
		if i == 0 && len(s.cells) == 0 {
			dst = append(dst, "- "...)
		} else {
			dst = append(dst, prettyIndent...)
		}
		switch which {
		case fieldKey:
			dst = s.f.appendPart(dst, "key", key)
		case fieldValue:
			dst = s.f.appendPart(dst, "value", value)
		default:
			dst = s.f.appendHeaderLines(dst, rec.Headers)
		}
	}
	dst = s.f.appendErrorLine(dst, "key", key)
	return s.f.appendErrorLine(dst, "value", value)
}

func (f *textFormat) appendLabel(dst []byte, label string) []byte {
	return append(f.palette.faint.append(dst, label), ':')
}

// appendPart writes a key or a value: JSON with members and text of several lines
// below the label, anything else behind it.
func (f *textFormat) appendPart(dst []byte, label string, v *record.Value) []byte {
	dst = f.appendLabel(dst, label)
	switch {
	case v.Kind == record.JSON:
		lines := len(v.Bytes) > 2 && (v.Bytes[0] == '{' || v.Bytes[0] == '[')
		if lines {
			dst = append(dst, prettyDeeper...)
		} else {
			dst = append(dst, ' ')
		}
		return appendIndented(dst, v.Bytes, jsonLook{prefix: prettyDeeper, colors: &f.palette.json, safe: true})
	case v.Kind == record.Text && bytes.IndexByte(v.Bytes, '\n') >= 0:
		for line := range bytes.SplitSeq(bytes.TrimSuffix(v.Bytes, []byte("\n")), []byte("\n")) {
			dst = appendSafe(append(dst, prettyDeeper...), bytes.TrimSuffix(line, []byte("\r")))
		}
		return dst
	case label == "key":
		return f.appendKey(append(dst, ' '), v)
	default:
		return f.appendValue(append(dst, ' '), v)
	}
}

func (f *textFormat) appendHeaderLines(dst []byte, headers record.Headers) []byte {
	dst = f.appendLabel(dst, "headers")
	for h := range headers.All() {
		dst = appendSafe(append(dst, prettyDeeper...), h.Key)
		dst = f.appendHeaderValue(append(dst, ": "...), h)
	}
	return dst
}

func (f *textFormat) appendErrorLine(dst []byte, of string, v *record.Value) []byte {
	if v == nil || v.Err == nil {
		return dst
	}
	dst = append(append(dst, prettyIndent...), f.palette.bad.on...)
	dst = append(append(dst, of...), " error: "...)
	dst = appendSafe(dst, []byte(v.Err.Error()))
	return append(dst, f.palette.bad.off...)
}
