package output

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	hexDigits = "0123456789abcdef"

	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// appendJSONString writes s, which is valid UTF-8, as a JSON string. Only what
// JSON demands is escaped: control characters, quotes and backslashes.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"')
		}
		dst = appendJSONEscape(dst, s[n])
		s = s[n+1:]
	}
}

// appendJSONText is appendJSONString for bytes that may be anything: what is
// not UTF-8 becomes U+FFFD.
func appendJSONText(dst, s []byte) []byte {
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	return appendJSONString(dst, s)
}

// plainPrefix returns how many bytes of s need no escape. It looks at eight at
// a time; flags above the lowest may be wrong because subtraction borrows.
func plainPrefix(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		word := binary.LittleEndian.Uint64(s[i:])
		quote := word ^ ones*'"'
		slash := word ^ ones*'\\'
		flags := ((word - ones*' ') | (quote - ones) | (slash - ones)) &^ word & highs
		if flags != 0 {
			return i + bits.TrailingZeros64(flags)>>3
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

func appendJSONEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}
