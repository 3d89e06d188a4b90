package internals

import (
	"encoding/base64"
	"strconv"
)

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendBase64 writes bytes as a JSON string.
func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// appendUUID writes an id of 16 bytes as Kafka shows those of topics: in base64
// for addresses, without padding.
func appendUUID(dst, b []byte) []byte {
	return append(base64.RawURLEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// appendString writes s, which is valid UTF-8, as a JSON string.
func appendString(dst, s []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[done:i]...), '\\')
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}
