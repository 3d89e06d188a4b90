package avro

import (
	"strconv"
	"strings"
)

// canonical gives the parsing canonical form of the specification: full names,
// no attribute that reading does not need, no blanks.
func canonical(root *typ) string {
	var out strings.Builder
	w := canon{&out, map[*typ]bool{}}
	w.schema(root)
	return out.String()
}

type canon struct {
	*strings.Builder
	seen map[*typ]bool // named types that were written: they stand by their name from then on
}

func (w canon) schema(t *typ) {
	t = t.real()
	switch {
	case t.kind.primitive():
		w.quote(kindNames[t.kind])
	case t.kind == kindUnion:
		w.WriteByte('[')
		for i, b := range t.branches {
			w.comma(i)
			w.schema(b)
		}
		w.WriteByte(']')
	case t.kind == kindArray:
		w.WriteString(`{"type":"array","items":`)
		w.schema(t.items)
		w.WriteByte('}')
	case t.kind == kindMap:
		w.WriteString(`{"type":"map","values":`)
		w.schema(t.items)
		w.WriteByte('}')
	case w.seen[t]:
		w.quote(t.name)
	default:
		w.seen[t] = true
		w.definition(t)
	}
}

func (w canon) definition(t *typ) {
	w.WriteString(`{"name":`)
	w.quote(t.name)
	w.WriteString(`,"type":`)
	w.quote(kindNames[t.kind])
	switch t.kind {
	case kindRecord:
		w.WriteString(`,"fields":[`)
		for i, f := range t.fields {
			w.comma(i)
			w.WriteString(`{"name":`)
			w.quote(f.name)
			w.WriteString(`,"type":`)
			w.schema(f.typ)
			w.WriteByte('}')
		}
		w.WriteByte(']')
	case kindEnum:
		w.WriteString(`,"symbols":[`)
		for i, symbol := range t.symbols {
			w.comma(i)
			w.quote(symbol)
		}
		w.WriteByte(']')
	default:
		w.WriteString(`,"size":` + strconv.Itoa(t.size))
	}
	w.WriteByte('}')
}

func (w canon) comma(i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

// quote writes s as it is: the canonical form escapes nothing.
func (w canon) quote(s string) {
	w.WriteByte('"')
	w.WriteString(s)
	w.WriteByte('"')
}

// crc64 is the specification's CRC-64-AVRO (Rabin) fingerprint.
func crc64(text string) uint64 {
	const empty = 0xc15d213aa4d7a795
	fp := uint64(empty)
	for i := range len(text) {
		fp ^= uint64(text[i])
		for range 8 {
			fp = fp>>1 ^ empty&-(fp&1)
		}
	}
	return fp
}
