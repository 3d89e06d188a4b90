package output

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/record"
)

// jsonFormat writes one JSON object a record; docs/formats.md describes it.
type jsonFormat struct{ pretty bool }

// Needs implements Format.
func (f jsonFormat) Needs() Needs { return Needs{Key: true, Value: true} }

// ForSplit implements Format.
func (f jsonFormat) ForSplit(stream string, split record.Split) SplitFormat {
	p := appendJSONString([]byte(`{"stream":`), []byte(stream))
	p = appendJSONString(append(p, `,"cluster":`...), []byte(split.Cluster))
	p = appendJSONString(append(p, `,"topic":`...), []byte(split.Topic))
	p = strconv.AppendInt(append(p, `,"partition":`...), int64(split.Partition), 10)
	p = append(p, `,"offset":`...)
	if f.pretty {
		return &prettyJSON{jsonSplit{prefix: p}}
	}
	return &jsonSplit{prefix: p}
}

type jsonSplit struct{ prefix []byte } // up to the offset

// Append implements SplitFormat.
func (f *jsonSplit) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	dst = append(dst, f.prefix...)
	dst = appendDecimal(dst, rec.Offset)
	dst = append(dst, `,"timestamp":`...)
	dst = appendDecimal(dst, rec.Timestamp)
	if rec.TimestampType == record.LogAppendTime {
		dst = append(dst, `,"timestamp_type":"append","key":`...)
	} else {
		dst = append(dst, `,"timestamp_type":"create","key":`...)
	}
	dst = appendJSONValue(dst, key)
	if key.Kind == record.Binary || key.SchemaID != "" || key.Err != nil {
		dst = appendMarks(dst, "key", key)
	}
	dst = append(dst, `,"value":`...)
	dst = appendJSONValue(dst, value)
	if value.Kind == record.Binary || value.SchemaID != "" || value.Err != nil {
		dst = appendMarks(dst, "value", value)
	}
	if rec.Headers.Count == 0 {
		return append(dst, ",\"headers\":[]}\n"...)
	}
	dst = append(dst, `,"headers":`...)
	dst = appendJSONHeaders(dst, rec.Headers)
	return append(dst, "}\n"...)
}

func appendJSONValue(dst []byte, v *record.Value) []byte {
	switch v.Kind {
	case record.Null:
		return append(dst, "null"...)
	case record.JSON:
		return append(dst, v.Bytes...)
	case record.Text:
		return appendJSONString(dst, v.Bytes)
	default:
		return appendJSONBase64(dst, v.Bytes)
	}
}

// appendMarks writes the keys that only some values have, right behind the
// value that they are about.
func appendMarks(dst []byte, of string, v *record.Value) []byte {
	mark := func(name string) {
		dst = append(append(append(append(dst, `,"`...), of...), name...), `":`...)
	}
	if v.Kind == record.Binary {
		mark("_encoding")
		dst = append(dst, `"base64"`...)
	}
	if v.SchemaID != "" {
		mark("_schema_id")
		if isNumber(v.SchemaID) {
			dst = append(dst, v.SchemaID...)
		} else {
			dst = appendJSONText(dst, []byte(v.SchemaID))
		}
	}
	if v.Err != nil {
		mark("_error")
		dst = appendJSONText(dst, []byte(v.Err.Error()))
	}
	return dst
}

// isNumber reports whether id can stand in JSON as an integer that any reader
// keeps exact.
func isNumber(id string) bool {
	if id == "" || len(id) > 15 || id[0] == '0' && len(id) > 1 {
		return false
	}
	for _, c := range []byte(id) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func appendJSONHeaders(dst []byte, headers record.Headers) []byte {
	sep := byte('[')
	for h := range headers.All() {
		dst = append(dst, sep)
		sep = ','
		keyUTF8 := utf8.Valid(h.Key)
		dst = append(dst, `{"key":`...)
		if keyUTF8 {
			dst = appendJSONString(dst, h.Key)
		} else {
			dst = appendJSONBase64(dst, h.Key)
			dst = append(dst, `,"key_encoding":"base64"`...)
		}
		dst = append(dst, `,"value":`...)
		switch {
		case h.Value == nil:
			dst = append(dst, "null"...)
		case utf8.Valid(h.Value):
			dst = appendJSONString(dst, h.Value)
		default:
			dst = appendJSONBase64(dst, h.Value)
			dst = append(dst, `,"encoding":"base64"`...)
		}
		dst = append(dst, '}')
	}
	if sep == '[' {
		dst = append(dst, '[')
	}
	return append(dst, ']')
}

func appendJSONBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}
