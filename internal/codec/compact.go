package codec

import "bytes"

// CompactJSON appends b, which ValidJSON has found valid, to dst without the
// whitespace outside its strings. Nothing else is changed: digits, escapes and
// the order of keys stay.
func CompactJSON(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			end := stringEnd(b, i)
			dst = append(dst, b[i:end]...)
			i = end
		case c <= ' ':
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd returns the index behind the string that opens at i.
func stringEnd(b []byte, i int) int {
	i++
	for {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return len(b)
		}
		slash := bytes.IndexByte(b[i:i+quote], '\\')
		if slash < 0 {
			return i + quote + 1
		}
		i = min(i+slash+2, len(b))
	}
}
