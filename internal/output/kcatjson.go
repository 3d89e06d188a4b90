package output

import (
	"strconv"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/record"
)

// kcatFormat writes what kcat -J writes; docs/formats.md lists the differences.
type kcatFormat struct{}

// Needs implements Format.
func (kcatFormat) Needs() Needs { return Needs{Key: true, Value: true, StoredBytes: true} }

// ForSplit implements Format.
func (kcatFormat) ForSplit(_ string, split record.Split) SplitFormat {
	p := appendJSONString([]byte(`{"topic":`), []byte(split.Topic))
	p = strconv.AppendInt(append(p, `,"partition":`...), int64(split.Partition), 10)
	return &kcatSplit{prefix: append(p, `,"offset":`...)}
}

type kcatSplit struct{ prefix []byte }

// Append implements SplitFormat.
func (f *kcatSplit) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	dst = append(dst, f.prefix...)
	dst = appendDecimal(dst, rec.Offset)
	if rec.TimestampType == record.LogAppendTime {
		dst = append(dst, `,"tstype":"logappend","ts":`...)
	} else {
		dst = append(dst, `,"tstype":"create","ts":`...)
	}
	dst = appendDecimal(dst, rec.Timestamp)
	if rec.Headers.Count > 0 {
		dst = appendKcatHeaders(dst, rec.Headers)
	}
	dst = append(dst, `,"key":`...)
	dst = appendJSONValue(dst, key)
	dst = appendMarks(dst, "key", key)
	dst = append(dst, `,"payload":`...)
	dst = appendJSONValue(dst, value)
	dst = appendKcatMarks(dst, value)
	return append(dst, "}\n"...)
}

// appendKcatMarks names the marks of a value as kcat does: by payload, but for
// the schema id.
func appendKcatMarks(dst []byte, v *record.Value) []byte {
	marked := *v
	marked.SchemaID = ""
	dst = appendMarks(dst, "payload", &marked)
	marked = record.Value{SchemaID: v.SchemaID}
	return appendMarks(dst, "value", &marked)
}

// appendKcatHeaders writes names and values in turn, in one array.
func appendKcatHeaders(dst []byte, headers record.Headers) []byte {
	dst = append(dst, `,"headers":`...)
	sep := byte('[')
	for h := range headers.All() {
		dst = append(dst, sep)
		sep = ','
		dst = appendKcatBytes(dst, h.Key)
		dst = append(dst, ',')
		if h.Value == nil {
			dst = append(dst, "null"...)
		} else {
			dst = appendKcatBytes(dst, h.Value)
		}
	}
	return append(dst, ']')
}

// appendKcatBytes writes a header's bytes: the array has no room for a mark, so
// what is not UTF-8 is base64 without one.
func appendKcatBytes(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return appendJSONString(dst, b)
	}
	return appendJSONBase64(dst, b)
}
