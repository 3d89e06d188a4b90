package output

import (
	"strings"
	"time"
)

// goLayouts are the layouts that %d{go#...#} takes by name.
var goLayouts = map[string]string{
	"ANSIC":       time.ANSIC,
	"RFC1123":     time.RFC1123,
	"RFC1123Z":    time.RFC1123Z,
	"RFC3339":     time.RFC3339,
	"RFC3339Nano": time.RFC3339Nano,
	"DateTime":    time.DateTime,
	"DateOnly":    time.DateOnly,
}

// timeVerb reads %d, the record's timestamp, and %A, a share group's
// acquisition deadline, which is 0 here because kcm reads no share groups.
// Milliseconds never become nanoseconds on the way: those reach from 1678 to
// 2262 only.
func (p *parser) timeVerb(verb byte, open bool) error {
	ms := func(c *cursor) int64 { return c.rec.Timestamp }
	if verb == 'A' {
		ms = func(*cursor) int64 { return 0 }
	}
	rest := p.text[p.at:]
	switch {
	case !open:
		p.add(func(dst []byte, c *cursor) []byte { return formASCII(dst, ms(c)) })
	case strings.HasPrefix(rest, "strftime"):
		p.at += len("strftime")
		layout, err := p.delimited("strftime")
		if err != nil {
			return err
		}
		p.add(func(dst []byte, c *cursor) []byte { return appendStrftime(dst, layout, time.UnixMilli(ms(c)).UTC()) })
	case strings.HasPrefix(rest, "go"):
		p.at += len("go")
		layout, err := p.delimited("go")
		if err != nil {
			return err
		}
		if named, ok := goLayouts[layout]; ok {
			layout = named
		}
		p.add(func(dst []byte, c *cursor) []byte { return time.UnixMilli(ms(c)).UTC().AppendFormat(dst, layout) })
	default:
		at := p.at
		name, err := p.modifier()
		if err != nil {
			return err
		}
		form, ok := numberForms[name]
		if !ok {
			return p.fault(at, "unknown time format %q; there are go[...], strftime[...] and the number formats", name)
		}
		p.add(func(dst []byte, c *cursor) []byte { return form(dst, ms(c)) })
	}
	return nil
}
