package codec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// maxDepth bounds nesting so that a line of output, one level deeper, stays
// within the 10000 levels of encoding/json.
const maxDepth = 9999

// ValidJSON reports whether b is one JSON value (RFC 8259) in valid UTF-8, no
// deeper than 9999 levels, and whether there is whitespace outside its strings.
// It allocates only below 64 levels.
func ValidJSON(b []byte) (ok, spaced bool) {
	var s scanner
	for i := s.skip(b, 0); i < len(b); {
		var open bool
		if i, open = s.value(b, i); open {
			continue
		}
		if i, open = s.afterValue(b, i); !open {
			ok = i == len(b)
			return ok, ok && s.spaced
		}
	}
	return false, false
}

// bad is the index behind what is not JSON: at or beyond the end of any text,
// but equal to none.
const bad = math.MaxInt

// scanner walks over a JSON text without recursion. Its methods read what is
// at index i and return the index behind it, or bad. The index is handed
// around instead of kept: it stays in a register, which is worth a quarter of
// the time.
type scanner struct {
	depth  int
	inside uint64   // a bit for each of the innermost 64 levels: 1 is an object
	outer  []uint64 // the levels further out, 64 a word
	spaced bool
}

// value reads a value, or opens an object or array up to where its first value
// begins; i is within b.
func (s *scanner) value(b []byte, i int) (_ int, opened bool) {
	switch b[i] {
	case '{':
		if i = s.skip(b, i+1); i < len(b) && b[i] == '}' {
			return i + 1, false
		}
		s.push(1)
		return s.key(b, i), true
	case '[':
		if i = s.skip(b, i+1); i < len(b) && b[i] == ']' {
			return i + 1, false
		}
		s.push(0)
		return i, true
	case '"':
		return text(b, i+1), false
	case 't':
		return word(b, i, "true"), false
	case 'f':
		return word(b, i, "false"), false
	case 'n':
		return word(b, i, "null"), false
	default:
		return number(b, i), false
	}
}

// afterValue closes what ends here and stops at the next value of what goes on.
func (s *scanner) afterValue(b []byte, i int) (_ int, more bool) {
	for {
		i = s.skip(b, i)
		if s.depth == 0 {
			return i, false
		}
		if i >= len(b) || s.depth > maxDepth {
			return bad, false
		}
		object := s.inside & 1
		if b[i] == ',' {
			i = s.skip(b, i+1)
			if object == 1 {
				i = s.key(b, i)
			}
			return i, true
		}
		if b[i] != ']'+byte(object)*('}'-']') {
			return bad, false
		}
		i++
		s.pop()
	}
}

// skip passes over whitespace.
func (s *scanner) skip(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		return s.skipSpace(b, i)
	}
	return i
}

func (s *scanner) skipSpace(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\n', '\r', '\t':
			s.spaced = true
		default:
			return i
		}
	}
	return i
}

func (s *scanner) push(object uint64) {
	if s.depth&63 == 0 && s.depth > 0 {
		s.outer = append(s.outer, s.inside)
	}
	s.inside = s.inside<<1 | object
	s.depth++
}

func (s *scanner) pop() {
	s.depth--
	s.inside >>= 1
	if s.depth&63 == 0 && s.depth > 0 {
		last := len(s.outer) - 1
		s.inside, s.outer = s.outer[last], s.outer[:last]
	}
}

// plainKeyByte marks what stands for itself in a string.
var plainKeyByte = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// key reads an object's key and the colon behind it, up to the value. Keys are
// short and the same in record after record: a loop over bytes, whose turns the
// processor foresees, is faster here than words.
func (s *scanner) key(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return bad
	}
	i++
	for i < len(b) && plainKeyByte[b[i]] {
		i++
	}
	if i < len(b) && b[i] == '"' {
		i++
	} else {
		i = text(b, i)
	}
	if i = s.skip(b, i); i >= len(b) || b[i] != ':' {
		return bad
	}
	return s.skip(b, i+1)
}

func word(b []byte, i int, word string) int {
	end := i + len(word)
	if end > len(b) || string(b[i:end]) != word {
		return bad
	}
	return end
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special flags, in the high bit of each of eight bytes, the first one that is
// a control character, a quote, a backslash or not ASCII. Flags above the
// lowest may be wrong: subtraction borrows.
func special(word uint64) uint64 {
	quote := word ^ ones*'"'
	slash := word ^ ones*'\\'
	return (word | (word - ones*' ') | (quote - ones) | (slash - ones)) & highs
}

// text reads a string from behind its opening quote.
func text(b []byte, i int) int {
	for {
		for i+8 <= len(b) {
			if flags := special(binary.LittleEndian.Uint64(b[i:])); flags != 0 {
				i += bits.TrailingZeros64(flags) >> 3
				break
			}
			i += 8
		}
		if i >= len(b) {
			return bad
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i = escape(b, i+1)
		case c < ' ':
			return bad
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return bad
			}
			i += n
		}
		if i >= len(b) {
			return bad
		}
	}
}

// escape reads what follows a backslash.
func escape(b []byte, i int) int {
	if i >= len(b) {
		return bad
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 <= len(b) && isHex(b[i+1]) && isHex(b[i+2]) && isHex(b[i+3]) && isHex(b[i+4]) {
			return i + 5
		}
	}
	return bad
}

// number reads a number; i is within b.
func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return bad
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		if i = digits(b, first); i == first {
			return bad
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		if i = digits(b, first); i == first {
			return bad
		}
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
