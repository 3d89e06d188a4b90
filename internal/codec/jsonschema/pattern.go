package jsonschema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var errPattern = errors.New("RE2 does not take it, which has no look-around, no back-references and no counts above 1000")

// compilePattern compiles a regular expression of a schema (ECMA-262's, by the
// specification) with Go's engine, whose time is linear in the text. What that
// engine lacks is an error: look-around, back-references, counts above 1000. A
// schema with such a pattern is refused rather than checked without it.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(translate(pattern))
	if err != nil {
		return nil, errPattern
	}
	return named{re, pattern}, nil
}

// named is shown as it stands in the schema.
type named struct {
	*regexp.Regexp
	pattern string
}

// String returns the pattern as it was written.
func (n named) String() string { return n.pattern }

// translate rewrites the escapes that ECMA-262 has and Go does not: \u with four
// digits or more in braces, \c with a letter; [^] is any character and [] none.
// What both have, such as \d, stays.
func translate(pattern string) string {
	var b strings.Builder
	class := false // within the brackets of a class
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			i += escape(&b, rest)
			continue
		case !class && strings.HasPrefix(rest, "[^]"):
			b.WriteString(`[\s\S]`)
			i += 3
			continue
		case !class && strings.HasPrefix(rest, "[]"):
			b.WriteString(`[^\s\S]`)
			i += 2
			continue
		case class && rest[0] == '[':
			b.WriteByte('\\')
		default:
			class = rest[0] == '[' || class && rest[0] != ']'
		}
		b.WriteByte(rest[0])
		i++
	}
	return b.String()
}

// escape writes what a backslash begins in Go's form and returns its length.
func escape(b *strings.Builder, s string) int {
	switch {
	case s[1] == 'u':
		return unicodeEscape(b, s)
	case s[1] == 'c' && len(s) > 2 && isLetter(s[2]):
		fmt.Fprintf(b, `\x%02x`, s[2]&0x1f)
		return 3
	default:
		b.WriteString(s[:2])
		return 2
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// unicodeEscape writes what begins with \u in Go's form and returns its length.
// Two escapes of surrogates are one character.
func unicodeEscape(b *strings.Builder, s string) int {
	if digits, _, ok := strings.Cut(s[2:], "}"); ok && strings.HasPrefix(digits, "{") {
		b.WriteString(`\x` + digits + "}")
		return 2 + len(digits) + 1
	}
	unit, ok := hex4(s)
	if !ok {
		b.WriteString(s[:2])
		return 2
	}
	if low, ok := hex4(s[6:]); ok && utf16.IsSurrogate(unit) {
		if r := utf16.DecodeRune(unit, low); r != '\uFFFD' {
			fmt.Fprintf(b, `\x{%x}`, r)
			return 12
		}
	}
	fmt.Fprintf(b, `\x{%x}`, unit)
	return 6
}

// hex4 reads \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
