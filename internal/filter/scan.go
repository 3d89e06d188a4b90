package filter

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here walk over JSON texts that are known to be valid and
// compact, as decoders make them: nothing is checked twice.

// member returns where the value of the last member of that name begins, in the
// object that opens at b[i]; -1 if there is none. Of equal names jq takes the
// last, so the whole object is walked.
func member(b []byte, i int, name string) int {
	at := -1
	if i++; b[i] == '}' {
		return at
	}
	for {
		end, escaped := stringEnd(b, i)
		key := b[i+1 : end-1]
		i = end + 1 // the colon
		if string(key) == name && !escaped || escaped && string(unescape(nil, key)) == name {
			at = i
		}
		if i = skip(b, i); b[i] == '}' {
			return at
		}
		i++ // the comma
	}
}

// element returns where that element begins, in the array that opens at b[i];
// -1 if there is none.
func element(b []byte, i, index int) int {
	if i++; b[i] == ']' {
		return -1
	}
	for ; index > 0; index-- {
		if i = skip(b, i); b[i] == ']' {
			return -1
		}
		i++ // the comma
	}
	return i
}

// skip returns the index behind the value that begins at b[i].
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		i, _ = stringEnd(b, i)
		return i
	case '{', '[':
		return containerEnd(b, i)
	default:
		return scalarEnd(b, i)
	}
}

// scalarEnd returns the index behind the number or word at b[i].
func scalarEnd(b []byte, i int) int {
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// containerEnd returns the index behind the object or array that opens at b[i].
func containerEnd(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i, _ = stringEnd(b, i)
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// stringEnd returns the index behind the string that opens at b[i], and whether
// it holds escapes.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	i++
	for {
		for i+8 <= len(b) {
			word := binary.LittleEndian.Uint64(b[i:])
			quote, slash := word^ones*'"', word^ones*'\\'
			// The lowest flag is right; those above may be wrong: subtraction borrows.
			if flags := ((quote-ones)&^quote | (slash-ones)&^slash) & highs; flags != 0 {
				i += bits.TrailingZeros64(flags) >> 3
				break
			}
			i += 8
		}
		for b[i] != '"' && b[i] != '\\' { // within the last eight bytes
			i++
		}
		if b[i] == '"' {
			return i + 1, escaped
		}
		escaped = true
		i += 2
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// unescape appends the text that a string's content stands for. Halves of
// surrogate pairs become U+FFFD, as in encoding/json.
func unescape(dst, s []byte) []byte {
	for {
		slash := bytes.IndexByte(s, '\\')
		if slash < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:slash]...)
		c := s[slash+1]
		s = s[slash+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
					pair = utf16.DecodeRune(r, hex4(s[2:]))
				}
				if r = pair; pair != utf8.RuneError {
					s = s[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // a quote, a slash or a backslash
			dst = append(dst, c)
		}
	}
}

func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c&^0x20 - 'A' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
