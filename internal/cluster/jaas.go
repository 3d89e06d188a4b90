package cluster

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// jaasEntry is what sasl.jaas.config says: a login module and its options.
type jaasEntry struct {
	module  string
	options map[string]string
	from    Property
}

// parseJAAS reads the value of sasl.jaas.config:
//
//	MODULE FLAG key="value" ... ;
//
// in the syntax of Kafka's JaasConfig: words, strings in double or single
// quotes with backslash escapes, // and /* */ comments. Exactly one entry is
// allowed. Its errors never quote the text, which holds passwords.
func parseJAAS(text string) (jaasEntry, error) {
	s := jaasScanner{rest: text}
	e := jaasEntry{options: map[string]string{}}
	var err error
	if e.module, err = s.word("a login module"); err != nil {
		return jaasEntry{}, err
	}
	flag, err := s.word("required, requisite, sufficient or optional behind the login module")
	if err != nil {
		return jaasEntry{}, err
	}
	switch strings.ToLower(flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return jaasEntry{}, errors.New("behind the login module comes required, requisite, sufficient or optional")
	}
	for {
		done, err := s.option(e.options)
		if err != nil {
			return jaasEntry{}, err
		}
		if done {
			break
		}
	}
	kind, _, err := s.next()
	if err != nil {
		return jaasEntry{}, err
	}
	if kind != jaasEnd {
		return jaasEntry{}, errors.New("one login module is allowed, there is more behind the semicolon")
	}
	return e, nil
}

type jaasToken uint8

const (
	jaasEnd jaasToken = iota
	jaasWord
	jaasString
	jaasSign
)

type jaasScanner struct{ rest string }

func (s *jaasScanner) word(what string) (string, error) {
	kind, text, err := s.next()
	if err != nil {
		return "", err
	}
	if kind != jaasWord {
		return "", errors.New("expected " + what)
	}
	return text, nil
}

// option reads key=value into m, or the semicolon, which is the end.
func (s *jaasScanner) option(m map[string]string) (done bool, err error) {
	kind, key, err := s.next()
	switch {
	case err != nil:
		return false, err
	case kind == jaasSign && key == ";":
		return true, nil
	case kind == jaasEnd:
		return false, errors.New("the semicolon at the end is missing")
	case kind == jaasSign:
		return false, errors.New("expected an option or a semicolon, found " + key)
	}
	if kind, text, err := s.next(); err != nil || kind != jaasSign || text != "=" {
		return false, errors.Join(err, errors.New("an option has no = and value (a value with other than letters and digits is quoted)"))
	}
	kind, value, err := s.next()
	if err != nil {
		return false, err
	}
	if kind != jaasWord && kind != jaasString {
		return false, errors.New("an option has no value")
	}
	m[key] = value
	return false, nil
}

// next reads one token.
func (s *jaasScanner) next() (jaasToken, string, error) {
	if err := s.skip(); err != nil {
		return jaasEnd, "", err
	}
	if s.rest == "" {
		return jaasEnd, "", nil
	}
	if q := s.rest[0]; q == '"' || q == '\'' {
		text, err := s.quoted(q)
		return jaasString, text, err
	}
	n := strings.IndexFunc(s.rest, func(r rune) bool { return !jaasWordRune(r) })
	if n < 0 {
		n = len(s.rest)
	}
	if n > 0 {
		text := s.rest[:n]
		s.rest = s.rest[n:]
		return jaasWord, text, nil
	}
	_, size := utf8.DecodeRuneInString(s.rest)
	sign := s.rest[:size]
	s.rest = s.rest[size:]
	return jaasSign, sign, nil
}

func jaasWordRune(r rune) bool {
	return r == '.' || r == '-' || r == '_' || r == '$' || r >= 0xA0 ||
		'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// skip drops blanks and comments.
func (s *jaasScanner) skip() error {
	for {
		s.rest = strings.TrimLeftFunc(s.rest, func(r rune) bool { return r < 0xA0 && (unicode.IsSpace(r) || unicode.IsControl(r)) })
		switch {
		case strings.HasPrefix(s.rest, "//"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		case strings.HasPrefix(s.rest, "/*"):
			_, after, ok := strings.Cut(s.rest[2:], "*/")
			if !ok {
				return errors.New("a comment has no end")
			}
			s.rest = after
		default:
			return nil
		}
	}
}

// quoted reads a string whose quote q is the next byte. A backslash takes the
// escapes of java.io.StreamTokenizer, octal ones included.
func (s *jaasScanner) quoted(q byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == q:
			s.rest = s.rest[i+1:]
			return b.String(), nil
		case c == '\n' || c == '\r':
			return "", errors.New("a string goes over the end of the line")
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(s.rest):
			return "", errors.New("a string has no end")
		default:
			i++
			if n := octalLen(s.rest[i:]); n > 0 {
				b.WriteRune(octal(s.rest[i : i+n]))
				i += n - 1
			} else {
				b.WriteByte(jaasEscape(s.rest[i]))
			}
		}
	}
	return "", errors.New("a string has no end")
}

func jaasEscape(c byte) byte {
	if i := strings.IndexByte("abfnrtv", c); i >= 0 {
		return "\a\b\f\n\r\t\v"[i]
	}
	return c
}

// octalLen is the length of an octal escape's digits: three only up to \377.
func octalLen(s string) int {
	limit := 2
	if s[0] >= '0' && s[0] <= '3' {
		limit = 3
	}
	n := 0
	for n < limit && n < len(s) && s[n] >= '0' && s[n] <= '7' {
		n++
	}
	return n
}

func octal(digits string) rune {
	r := rune(0)
	for _, d := range digits {
		r = r*8 + (d - '0')
	}
	return r
}
