package output

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// appendSafe writes s so that it stays on one line and no terminal acts on it:
// control characters, bytes that are not UTF-8, line separators and the
// characters that turn the direction of text are shown as escapes.
func appendSafe(dst, s []byte) []byte {
	for len(s) > 0 {
		n := printablePrefix(s)
		dst = append(dst, s[:n]...)
		s = s[n:]
		if len(s) == 0 {
			return dst
		}
		if c := s[0]; c < utf8.RuneSelf {
			dst = appendControl(dst, c)
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, '\\', 'x', hexDigits[s[0]>>4], hexDigits[s[0]&15])
		case isUnsafe(r):
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = append(dst, s[:size]...)
		}
		s = s[size:]
	}
	return dst
}

// safe is appendSafe for names and cells.
func safe(s string) string { return string(appendSafe(nil, []byte(s))) }

// printablePrefix returns how many bytes of s are printable ASCII. It looks at
// eight at a time; flags above the lowest may be wrong.
func printablePrefix(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		word := binary.LittleEndian.Uint64(s[i:])
		del := word ^ ones*0x7f
		if flags := (word | (word - ones*' ') | (del - ones)) & highs; flags != 0 {
			return i + bits.TrailingZeros64(flags)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	return i
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
	}
}

// isUnsafe knows, beyond ASCII, the C1 controls, the separators that end lines
// and the characters that embed, override or isolate a direction of text.
func isUnsafe(r rune) bool {
	switch {
	case r < 0xa0:
		return true
	case r < 0x200e:
		return r == 0x061c
	default:
		return r <= 0x200f || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 || r == 0xfeff
	}
}
