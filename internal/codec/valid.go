package codec

import (
	"encoding/binary"
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
	s := scanner{b: b}
	if !s.run() {
		return false, false
	}
	return true, s.spaced
}

// scanner walks over a JSON text without recursion. Its methods return whether
// the text is still valid; i is then behind what they read.
type scanner struct {
	b      []byte
	i      int
	depth  int
	inside uint64   // a bit for each of the innermost 64 levels: 1 is an object
	outer  []uint64 // the levels further out, 64 a word
	spaced bool
}

func (s *scanner) run() bool {
	for {
		opened, ok := s.value()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		more, ok := s.afterValue()
		if !ok {
			return false
		}
		if !more {
			return s.i == len(s.b)
		}
	}
}

// value reads a value, or opens an object or array up to where its first value
// begins.
func (s *scanner) value() (opened, ok bool) {
	switch c := s.next(); c {
	case '{':
		s.i++
		if s.next() == '}' {
			s.i++
			return false, true
		}
		return true, s.push(1) && s.key()
	case '[':
		s.i++
		if s.next() == ']' {
			s.i++
			return false, true
		}
		return true, s.push(0)
	case '"':
		return false, s.text()
	case 't':
		return false, s.word("true")
	case 'f':
		return false, s.word("false")
	case 'n':
		return false, s.word("null")
	default:
		return false, s.number(c)
	}
}

// afterValue closes what ends here and stops at the next value of what goes on.
func (s *scanner) afterValue() (more, ok bool) {
	for {
		c := s.next()
		if s.depth == 0 {
			return false, true
		}
		s.i++
		if s.inside&1 == 1 {
			if c == ',' {
				s.next()
				return true, s.key()
			}
			if c != '}' {
				return false, false
			}
		} else {
			if c == ',' {
				return true, true
			}
			if c != ']' {
				return false, false
			}
		}
		s.pop()
	}
}

// next skips whitespace and returns the byte there, 0 at the end.
func (s *scanner) next() byte {
	if s.i < len(s.b) {
		if c := s.b[s.i]; c > ' ' {
			return c
		}
	}
	return s.skipSpace()
}

func (s *scanner) skipSpace() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\r', '\t':
			s.spaced = true
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) push(object uint64) bool {
	if s.depth >= maxDepth {
		return false
	}
	if s.depth&63 == 0 && s.depth > 0 {
		s.outer = append(s.outer, s.inside)
	}
	s.inside = s.inside<<1 | object
	s.depth++
	return true
}

func (s *scanner) pop() {
	s.depth--
	s.inside >>= 1
	if s.depth&63 == 0 && s.depth > 0 {
		last := len(s.outer) - 1
		s.inside, s.outer = s.outer[last], s.outer[:last]
	}
}

// key reads an object's key and the colon behind it.
func (s *scanner) key() bool {
	if s.i >= len(s.b) || s.b[s.i] != '"' || !s.text() || s.next() != ':' {
		return false
	}
	s.i++
	return true
}

func (s *scanner) word(word string) bool {
	end := s.i + len(word)
	if end > len(s.b) || string(s.b[s.i:end]) != word {
		return false
	}
	s.i = end
	return true
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

// text reads a string; s.b[s.i] is its opening quote.
func (s *scanner) text() bool {
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			if flags := special(binary.LittleEndian.Uint64(b[i:])); flags != 0 {
				i += bits.TrailingZeros64(flags) >> 3
				break
			}
			i += 8
		}
		if i >= len(b) {
			return false
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			n := escape(b[i+1:])
			if n == 0 {
				return false
			}
			i += 1 + n
		case c < ' ':
			return false
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return false
			}
			i += n
		}
	}
}

// escape returns the length of the escape behind a backslash, 0 if it is none.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) >= 5 && isHex(b[1]) && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) {
			return 5
		}
	}
	return 0
}

// number reads a number; c is its first byte.
func (s *scanner) number(c byte) bool {
	b, i := s.b, s.i
	if c == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return false
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		if i = digits(b, first); i == first {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		if i = digits(b, first); i == first {
			return false
		}
	}
	s.i = i
	return true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
