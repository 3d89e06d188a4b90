package output

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// textForm appends bytes in some form.
type textForm func(dst, src []byte) []byte

// textForms are the modifiers of text besides unpack.
var textForms = map[string]textForm{
	"":          func(dst, src []byte) []byte { return append(dst, src...) },
	"base64":    base64.StdEncoding.AppendEncode,
	"base64raw": base64.RawStdEncoding.AppendEncode,
	"hex":       hex.AppendEncode,
}

// textSources are the verbs that print bytes.
var textSources = map[byte]func(*cursor) []byte{
	't': func(c *cursor) []byte { return c.split.topic },
	'c': func(c *cursor) []byte { return c.split.cluster },
	'n': func(c *cursor) []byte { return c.split.stream },
	'k': func(c *cursor) []byte { return c.key },
	'v': func(c *cursor) []byte { return c.value },
}

func (p *parser) textVerb(verb byte, open bool) error {
	switch verb {
	case 'k':
		p.needs.Key = p.needs.Key || !p.header
	case 'v':
		p.needs.Value = p.needs.Value || !p.header
	}
	form := textForms[""]
	if open {
		var err error
		if form, err = p.textForm(); err != nil {
			return err
		}
	}
	if s := p.sizes[verb]; s != nil {
		s.encoded = func(src []byte) int { return len(form(nil, src)) }
		delete(p.sizes, verb)
	}
	source := textSources[verb]
	p.add(func(dst []byte, c *cursor) []byte { return form(dst, source(c)) })
	return nil
}

func (p *parser) textForm() (textForm, error) {
	at := p.at
	if strings.HasPrefix(p.text[at:], "unpack") {
		p.at += len("unpack")
		layout, err := p.delimited("unpack")
		if err != nil {
			return nil, err
		}
		return p.unpack(at, layout)
	}
	name, err := p.modifier()
	if err != nil {
		return nil, err
	}
	if form, ok := textForms[name]; ok {
		return form, nil
	}
	return nil, p.fault(at, "unknown text format %q; there are base64, base64raw, hex, unpack", name)
}
