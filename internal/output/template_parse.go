package output

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
)

// kcatVerbs is what people with kcat in their fingers need to hear.
const kcatVerbs = "kcat's %s is %v, its %T is %d"

// parser turns a template into parts.
type parser struct {
	text    string
	at      int // the next byte of text
	base    int // where text begins in the whole template
	header  bool
	parts   []part
	literal []byte
	needs   Needs
	sizes   map[byte]*size // sizes with ;encoded that wait for their text verb
}

// parse reads the whole text.
func (p *parser) parse() error {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '\\':
			c, n, err := cutEscape(p.text[p.at+1:])
			if err != nil {
				return p.fault(p.at, "%w", err)
			}
			p.literal = append(p.literal, c)
			p.at += 1 + n
		case '%':
			if err := p.verb(); err != nil {
				return err
			}
		default:
			p.literal = append(p.literal, c)
			p.at++
		}
	}
	p.flush()
	for verb := range p.sizes {
		return p.fault(p.at, "the size with ;encoded must stand before the %%%c that it is about", verb)
	}
	return nil
}

// fault makes a usage error about the byte at that place of text.
func (p *parser) fault(at int, format string, args ...any) *fault.Error {
	err := fmt.Errorf(format, args...)
	return fault.New(fault.Usage, "format, column %d: %w", p.base+at+1, err)
}

// flush makes the literal text so far a part.
func (p *parser) flush() {
	if len(p.literal) == 0 {
		return
	}
	literal := p.literal
	p.literal = nil
	p.parts = append(p.parts, func(dst []byte, _ *cursor) []byte { return append(dst, literal...) })
}

func (p *parser) add(f part) { p.parts = append(p.parts, f) }

// verb reads one verb; p.at is at its percent sign.
func (p *parser) verb() error {
	start := p.at
	if start+1 >= len(p.text) {
		return p.fault(start, "a lone %% at the end; %%%% is a percent sign")
	}
	c := p.text[start+1]
	p.at += 2
	if c == '%' || c == '{' || c == '}' {
		p.literal = append(p.literal, c)
		return nil
	}
	p.flush()
	if p.header && strings.IndexByte("kvKVi", c) < 0 {
		return p.fault(start, "inside %%h{} only %%k, %%v, %%K, %%V and %%i can be used")
	}
	open := p.at < len(p.text) && p.text[p.at] == '{'
	if open {
		p.at++
	}
	switch c {
	case 't', 'k', 'v', 'c', 'n':
		return p.textVerb(c, open)
	case 'h':
		return p.headerVerb(start, open)
	case 'd', 'A':
		return p.timeVerb(c, open)
	case 'a':
		return p.attributeVerb(start, open)
	}
	if number, ok := numberVerbs[c]; ok {
		return p.numberVerb(c, number, open)
	}
	return p.unknownVerb(start)
}

func (p *parser) unknownVerb(start int) error {
	r, _ := utf8.DecodeRuneInString(p.text[start+1:])
	switch r {
	case 's', 'S', 'R':
		return p.fault(start, "unknown verb %%%c; %s", r, kcatVerbs)
	case '[', '|', ']':
		return p.fault(start, "%%%c is about a partition, not a record", r).
			WithHint("kcm offsets list shows the start, stable and end offsets")
	default:
		return p.fault(start, "unknown verb %%%c", r).WithHint("kcm help formats lists the verbs; %%%% is a percent sign")
	}
}

// headerVerb reads %h{...}: a template for each header.
func (p *parser) headerVerb(start int, open bool) error {
	if !open {
		return p.fault(start, "%%h needs braces with a template for each header, as in %%h{%%k=%%v,}")
	}
	end := closingBrace(p.text[p.at:])
	if end < 0 {
		return p.fault(start, "%%h{ has no closing brace")
	}
	inner := &parser{text: p.text[p.at : p.at+end], base: p.base + p.at, header: true}
	if err := inner.parse(); err != nil {
		return err
	}
	p.at += end + 1
	p.needs.Sequence = p.needs.Sequence || inner.needs.Sequence
	parts := inner.parts
	p.add(func(dst []byte, c *cursor) []byte {
		key, value := c.key, c.value
		for h := range c.rec.Headers.All() {
			c.key, c.value = h.Key, h.Value
			if h.Value == nil {
				c.value = []byte(c.split.f.null)
			}
			for _, f := range parts {
				dst = f(dst, c)
			}
		}
		c.key, c.value = key, value
		return dst
	})
	return nil
}

// closingBrace finds the brace that closes what begins at s[0]; braces nest,
// and those behind a percent sign do not count.
func closingBrace(s string) int {
	depth := 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '%':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// delimited reads what stands between a run of one delimiter and as many of
// its counterpart, such as ##...## or [...].
func (p *parser) delimited(what string) (string, error) {
	rest := p.text[p.at:]
	if rest == "" {
		return "", p.fault(p.at, "%s needs its format between delimiters, as in %s[...]", what, what)
	}
	open := rest[0]
	n := 1
	for n < len(rest) && rest[n] == open {
		n++
	}
	shut := open
	if i := strings.IndexByte("{[(", open); i >= 0 {
		shut = "}])"[i]
	}
	end := strings.Repeat(string(rune(shut)), n)
	if shut >= utf8.RuneSelf {
		end = strings.Repeat(string([]byte{shut}), n)
	}
	inside, _, found := strings.Cut(rest[n:], end)
	if !found {
		return "", p.fault(p.at, "%s: no %q ends its format", what, end)
	}
	p.at += n + len(inside) + len(end)
	if p.at >= len(p.text) || p.text[p.at] != '}' {
		return "", p.fault(p.at, "%s: a closing brace is missing", what)
	}
	p.at++
	return inside, nil
}

// modifier cuts the text up to the closing brace.
func (p *parser) modifier() (string, error) {
	end := strings.IndexByte(p.text[p.at:], '}')
	if end < 0 {
		return "", p.fault(p.at, "a closing brace is missing")
	}
	m := p.text[p.at : p.at+end]
	p.at += end + 1
	return m, nil
}
