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
	begin, end := false, false
	// What may be empty at an open end changes nothing.
	for len(parts) > 0 && parts[0].Op == syntax.OpStar {
		parts = parts[1:]
	}
	for len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpStar {
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		begin, parts = true, parts[1:]
	}
	if len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
		end, parts = true, parts[:len(parts)-1]
	}
	text := ""
	switch {
	case len(parts) == 0, len(parts) == 1 && parts[0].Op == syntax.OpEmptyMatch:
	case len(parts) == 1 && literal(parts[0]) != "":
		text = literal(parts[0])
	default:
		return matcher{}, false
	}
	m := matcher{text: []byte(text)}
	switch {
	case begin && end:
		m.kind = matchEqual
	case begin:
		m.kind = matchPrefix
	case end:
		m.kind = matchSuffix
	}
	return m, true
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
