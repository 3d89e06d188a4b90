package filter

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matcher looks for a regular expression (RE2) anywhere in bytes. Most are
// plain text, or hold some that must be there, and looking for text is many
// times quicker than running an expression.
type matcher struct {
	kind matchKind
	text []byte         // what is looked for first; of matchRegexp it may be empty
	re   *regexp.Regexp // of matchRegexp only
}

type matchKind uint8

const (
	matchContains matchKind = iota
	matchPrefix
	matchSuffix
	matchEqual
	matchRegexp
)

func newMatcher(expr string) (matcher, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return matcher{}, errors.New(e.Code.String() + ": " + e.Expr)
		}
		return matcher{}, err
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil { // it has just been compiled
		return matcher{}, err
	}
	if m, ok := plainMatcher(parsed.Simplify()); ok {
		return m, nil
	}
	return matcher{kind: matchRegexp, text: []byte(required(parsed)), re: re}, nil
}

// plainMatcher makes a matcher of an expression that is a text, perhaps with
// ^ or \A before it and $ or \z behind it.
func plainMatcher(re *syntax.Regexp) (matcher, bool) {
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	// What may be empty at an open end changes nothing.
	for len(parts) > 0 && parts[0].Op == syntax.OpStar {
		parts = parts[1:]
	}
	for len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpStar {
		parts = parts[:len(parts)-1]
	}
	var begin, end bool
	if begin = len(parts) > 0 && parts[0].Op == syntax.OpBeginText; begin {
		parts = parts[1:]
	}
	if end = len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText; end {
		parts = parts[:len(parts)-1]
	}
	m := matcher{kind: kindOf(begin, end)}
	switch {
	case len(parts) == 0:
		return m, true
	case len(parts) > 1:
		return matcher{}, false
	default:
		m.text = []byte(literal(parts[0]))
		return m, len(m.text) > 0 || parts[0].Op == syntax.OpEmptyMatch
	}
}

// kindOf is the kind of a text with these ends.
func kindOf(begin, end bool) matchKind {
	switch {
	case begin && end:
		return matchEqual
	case begin:
		return matchPrefix
	case end:
		return matchSuffix
	default:
		return matchContains
	}
}

// literal returns the text that re is; "" if it is none, or not for sure: bytes
// that are no UTF-8 match U+FFFD.
func literal(re *syntax.Regexp) string {
	if re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		return ""
	}
	text := string(re.Rune)
	if strings.ContainsRune(text, utf8.RuneError) {
		return ""
	}
	return text
}

// required returns the longest text that is found to be in every match.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	default:
		return ""
	}
}

func (m *matcher) in(b []byte) bool {
	switch m.kind {
	case matchContains:
		return bytes.Contains(b, m.text)
	case matchPrefix:
		return bytes.HasPrefix(b, m.text)
	case matchSuffix:
		return bytes.HasSuffix(b, m.text)
	case matchEqual:
		return bytes.Equal(b, m.text)
	default:
		return (len(m.text) == 0 || bytes.Contains(b, m.text)) && m.re.Match(b)
	}
}
