package output

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/record"
)

// numberForm appends a number in some form.
type numberForm func(dst []byte, n int64) []byte

func formASCII(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func formByte(dst []byte, n int64) []byte { return append(dst, byte(n)) }

func formHex(width int) numberForm {
	return func(dst []byte, n int64) []byte {
		for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
			dst = append(dst, hexDigits[n>>shift&15])
		}
		return dst
	}
}

// numberForms are the modifiers of numbers. Numbers are cut to the size asked for.
var numberForms = map[string]numberForm{
	"ascii":    formASCII,
	"number":   formASCII,
	"hex64":    formHex(16),
	"hex32":    formHex(8),
	"hex16":    formHex(4),
	"hex8":     formHex(2),
	"hex4":     formHex(1),
	"hex":      func(dst []byte, n int64) []byte { return strconv.AppendUint(dst, uint64(n), 16) },
	"big64":    func(dst []byte, n int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(n)) },
	"big32":    func(dst []byte, n int64) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) },
	"big16":    func(dst []byte, n int64) []byte { return binary.BigEndian.AppendUint16(dst, uint16(n)) },
	"big8":     formByte,
	"little64": func(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(n)) },
	"little32": func(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(n)) },
	"little16": func(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint16(dst, uint16(n)) },
	"little8":  formByte,
	"byte":     formByte,
	"bool":     func(dst []byte, n int64) []byte { return strconv.AppendBool(dst, n != 0) },
}

// numberVerbs are the verbs that print a number. kcm reads no share groups:
// their delivery count is 0.
var numberVerbs = map[byte]func(*cursor) int64{
	'T': func(c *cursor) int64 { return int64(len(c.split.topic)) },
	'K': func(c *cursor) int64 { return int64(len(c.key)) },
	'V': func(c *cursor) int64 { return int64(len(c.value)) },
	'H': func(c *cursor) int64 { return int64(c.rec.Headers.Count) },
	'p': func(c *cursor) int64 { return int64(c.split.partition) },
	'o': func(c *cursor) int64 { return c.rec.Offset },
	'e': func(c *cursor) int64 { return int64(c.rec.LeaderEpoch) },
	'i': func(c *cursor) int64 { return c.call },
	'x': func(c *cursor) int64 { return c.rec.ProducerID },
	'y': func(c *cursor) int64 { return int64(c.rec.ProducerEpoch) },
	'D': func(*cursor) int64 { return 0 },
}

// size prints the length of a text verb's output instead of its input's, once
// the parser has met that verb.
type size struct{ encoded func(src []byte) int }

func (p *parser) numberVerb(verb byte, number func(*cursor) int64, open bool) error {
	switch verb {
	case 'K':
		p.needs.Key = p.needs.Key || !p.header
	case 'V':
		p.needs.Value = p.needs.Value || !p.header
	case 'i':
		p.needs.Sequence = true
	}
	form := formASCII
	if open {
		at := p.at
		name, err := p.modifier()
		if err != nil {
			return err
		}
		if strings.IndexByte("TKV", verb) >= 0 {
			var encoded bool
			if name, encoded = sizeMode(name); encoded {
				number = p.encodedSize(verb)
			}
		}
		if form, err = p.numberForm(at, name); err != nil {
			return err
		}
	}
	p.add(func(dst []byte, c *cursor) []byte { return form(dst, number(c)) })
	return nil
}

func (p *parser) numberForm(at int, name string) (numberForm, error) {
	if form, ok := numberForms[name]; ok {
		return form, nil
	}
	var names []string
	for n := range numberForms {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, p.fault(at, "unknown number format %q; there are %s", name, strings.Join(names, ", "))
}

// sizeMode cuts ;encoded or ;decoded, the default, from the format of a size.
func sizeMode(name string) (form string, encoded bool) {
	for _, mode := range []string{"encoded", "decoded"} {
		if name == mode {
			return "ascii", mode == "encoded"
		}
		if form, found := strings.CutSuffix(name, ";"+mode); found {
			return form, mode == "encoded"
		}
	}
	return name, false
}

// encodedSize returns the length of what the next text verb of that kind prints.
func (p *parser) encodedSize(verb byte) func(*cursor) int64 {
	text := verb | 0x20 // %V is about %v
	if p.sizes == nil {
		p.sizes = make(map[byte]*size)
	}
	s := p.sizes[text]
	if s == nil {
		s = new(size)
		p.sizes[text] = s
	}
	source := textSources[text]
	return func(c *cursor) int64 { return int64(s.encoded(source(c))) }
}

// attributeVerb reads %a{NAME} or %a{NAME;number format}.
func (p *parser) attributeVerb(start int, open bool) error {
	if !open {
		return p.fault(start, "%%a needs braces with an attribute: %s", attributeNames)
	}
	at := p.at
	m, err := p.modifier()
	if err != nil {
		return err
	}
	name, formName, found := strings.Cut(m, ";")
	number := attribute(name)
	if number == nil {
		return p.fault(at, "unknown attribute %q; there are %s", name, attributeNames)
	}
	if !found && name == "compression" {
		p.add(func(dst []byte, c *cursor) []byte { return append(dst, codecName(number(c.rec))...) })
		return nil
	}
	form := formASCII
	if found {
		if form, err = p.numberForm(at+len(name)+1, formName); err != nil {
			return err
		}
	}
	p.add(func(dst []byte, c *cursor) []byte { return form(dst, number(c.rec)) })
	return nil
}

const attributeNames = "compression, timestamp-type, transactional-bit, control-bit"

// attribute returns how a batch's attribute is read (KIP-98), nil for none of
// that name.
func attribute(name string) func(*record.Record) int64 {
	switch name {
	case "compression":
		return func(r *record.Record) int64 { return int64(r.Attributes & 7) }
	case "timestamp-type":
		return func(r *record.Record) int64 { return int64(r.TimestampType) }
	case "transactional-bit":
		return func(r *record.Record) int64 { return int64(r.Attributes >> 4 & 1) }
	case "control-bit":
		return func(r *record.Record) int64 { return int64(r.Attributes >> 5 & 1) }
	default:
		return nil
	}
}

func codecName(n int64) string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if n < int64(len(names)) {
		return names[n]
	}
	return "unknown"
}
