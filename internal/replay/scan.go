package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns how many bytes of s come before a control character, a quote or a
// backslash. Of the flags of a word the lowest is right; those above may be
// wrong, because subtraction borrows.
func plain(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		word := binary.LittleEndian.Uint64(s[i:])
		quote, slash := word^ones*'"', word^ones*'\\'
		if flags := ((word - ones*' ') | (quote - ones) | (slash - ones)) &^ word & highs; flags != 0 {
			return i + bits.TrailingZeros64(flags)>>3
		}
	}
	for ; i < len(s); i++ {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			return i
		}
	}
	return i
}

// errNoCharacter is what is wrong with half a pair of surrogates.
var errNoCharacter = errors.New("not a character")

// text reads the string that opens at i; i stays if that fails. Without escapes it is a part of the
// line.
func (c *cursor) text() ([]byte, error) {
	start := c.i + 1
	end := start + plain(c.b[start:])
	if end < len(c.b) && c.b[end] == '"' {
		c.i = end + 1
		return c.b[start:end:end], nil
	}
	p := c.p
	at := len(p.arena)
	for {
		p.arena = append(p.arena, c.b[start:end]...)
		switch {
		case end >= len(c.b):
			return nil, errShort
		case c.b[end] == '"':
			c.i = end + 1
			return p.arena[at:len(p.arena):len(p.arena)], nil
		case c.b[end] != '\\':
			return nil, fmt.Errorf("a control character in a string: %s", excerpt(c.b[end:]))
		}
		var size int
		var err error
		if p.arena, size, err = appendEscaped(p.arena, c.b[end:]); err != nil {
			return nil, err
		}
		start = end + size
		end = start + plain(c.b[start:])
	}
}

// escapes are what follows a backslash, and what it stands for.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendEscaped appends what the escape at the beginning of s stands for, and
// says how long it is.
func appendEscaped(dst, s []byte) ([]byte, int, error) {
	if len(s) < 2 {
		return dst, 0, errShort
	}
	if s[1] != 'u' {
		c, ok := escapes[s[1]]
		if !ok {
			return dst, 0, fmt.Errorf("an unknown escape: %s", excerpt(s))
		}
		return append(dst, c), 2, nil
	}
	r, ok := hex4(s[2:])
	size := 6
	if ok && utf16.IsSurrogate(r) {
		var low rune
		if ok = len(s) >= 12 && s[6] == '\\' && s[7] == 'u'; ok {
			low, ok = hex4(s[8:])
		}
		r, size = utf16.DecodeRune(r, low), 12
		ok = ok && r != utf8.RuneError
	}
	if !ok {
		return dst, 0, fmt.Errorf("%w: %s", errNoCharacter, excerpt(s))
	}
	return utf8.AppendRune(dst, r), size, nil
}

func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// leadingInt reads the integer at the beginning of s, as JSON writes it, and says
// how long it is: 0 if there is none, or one that int64 does not hold.
func leadingInt(s []byte) (n int64, size int) {
	i := 0
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		digit := int64(s[i] - '0')
		if n < (math.MinInt64+digit)/10 { // n is kept negative: that reaches further
			return 0, 0
		}
		n = n*10 - digit
	}
	switch {
	case i == first, s[first] == '0' && i > first+1, !negative && n == math.MinInt64,
		i < len(s) && (s[i] == '.' || s[i]|0x20 == 'e'):
		return 0, 0
	case negative:
		return n, i
	default:
		return -n, i
	}
}

// skip passes over a value of any kind. It checks no more than that the value
// ends; whoever uses the value checks the rest.
func (c *cursor) skip() error {
	depth, start := 0, c.i
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if err := c.skipText(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth == 0 {
					c.i++
				}
				return c.passed(start)
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.passed(start)
			}
		}
		c.i++
	}
	return errShort
}

// passed checks that something stood from start on.
func (c *cursor) passed(start int) error {
	if c.i == start {
		return c.unexpected("a value")
	}
	return nil
}

// skipText passes over the string that opens at i.
func (c *cursor) skipText() error {
	for i := c.i + 1; i < len(c.b); {
		if i += plain(c.b[i:]); i >= len(c.b) {
			break
		}
		switch c.b[i] {
		case '"':
			c.i = i + 1
			return nil
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return errShort
}
