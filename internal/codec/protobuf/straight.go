package protobuf

import "errors"

// errDisorder ends the attempt to write a record while it is read.
var errDisorder = errors.New("fields that are not in the order of their numbers")

// wary is how many records are read twice without another attempt after one that
// could not be written while it was read.
const wary = 63

// record writes a record, which is the message b. Nearly all serializers write
// fields in the order of their numbers: such a record is written while it is read.
// Where that does not work out, for its order or for damage, it begins anew and
// every message is read twice, which also finds the right words for the damage.
func (w *walker) record(dst, b []byte, t *table) ([]byte, error) {
	if w.wary > 0 {
		w.wary--
		return w.message(dst, b, t, maxDepth+1)
	}
	start := len(dst)
	w.straight = true
	dst, err := w.message(dst, b, t, maxDepth+1)
	w.straight = false
	if err == nil {
		return dst, nil
	}
	w.wary = wary
	w.reset()
	return w.message(dst[:start], b, t, maxDepth+1)
}

// reset leaves nothing behind of a record that could not be written.
func (w *walker) reset() {
	w.found, w.unknown = w.found[:0], w.unknown[:0]
	clear(w.entries)
	w.entries = w.entries[:0]
}

// along writes the message b while it is read.
func (w *walker) along(dst, b []byte, t *table, depth int) ([]byte, error) {
	start, unknown := len(dst), len(w.unknown)
	last, oneofs := int32(-1), uint64(0)
	for i := 0; i < len(b); {
		tag, v, end := next(b, i)
		if end < 0 {
			return dst, errDisorder
		}
		s, wire := t.slot(tag>>3), uint8(tag&7)
		if !s.takes(wire) {
			if w.keep {
				w.unknown = append(w.unknown, b[i:end]...)
			}
			i = end
			continue
		}
		one := s.inOneof()
		if s.place <= last || oneofs&one != 0 {
			return dst, errDisorder
		}
		oneofs |= one
		if w.absent {
			dst = t.appendAbsent(dst, last+1, s.place)
		}
		last, i = s.place, end
		var err error
		switch f := &t.fields[s.place]; {
		case f.shape != singular:
			m := content{b: b, t: t, depth: depth}
			dst, i, err = w.several(dst, &m, found{v: v, place: s.place, packed: wire != s.wire}, i)
		case f.kind == kindMessage:
			dst, err = w.message(f.label.Append(dst), at(b, v), f.msg, depth-1)
		default:
			dst, err = w.one(dst, b, f, v)
		}
		if err != nil {
			return dst, err
		}
	}
	dst = w.ending(dst, t, last+1, unknown)
	w.unknown = w.unknown[:unknown]
	return closed(dst, start), nil
}

// several writes a repeated field or a map, of which the first value is known, and
// those that follow it, from i on, side by side. It returns where they end.
func (w *walker) several(dst []byte, m *content, first found, i int) ([]byte, int, error) {
	if f := &m.t.fields[first.place]; f.shape == list && f.kind == kindMessage {
		return w.messages(dst, m, first, i)
	}
	base := len(w.found)
	w.found = append(w.found, first)
	for i < len(m.b) {
		tag, v, end := next(m.b, i)
		if end < 0 {
			return dst, i, errDisorder
		}
		s, wire := m.t.slot(tag>>3), uint8(tag&7)
		if s.place != first.place || !s.takes(wire) {
			break
		}
		w.found = append(w.found, found{v: v, place: s.place, packed: wire != s.wire})
		i = end
	}
	m.all = w.found[base:len(w.found):len(w.found)]
	dst, err := w.field(dst, m, &m.t.fields[first.place], m.all)
	w.found = w.found[:base]
	return dst, i, err
}

// messages is several for a repeated field of messages.
func (w *walker) messages(dst []byte, m *content, first found, i int) ([]byte, int, error) {
	f := &m.t.fields[first.place]
	dst = append(f.label.Append(dst), '[')
	for v := first.v; ; dst = append(dst, ',') {
		var err error
		if dst, err = w.message(dst, at(m.b, v), f.msg, m.depth-1); err != nil {
			return dst, i, err
		}
		if i == len(m.b) {
			return append(dst, ']'), i, nil
		}
		tag, following, end := next(m.b, i)
		if end < 0 {
			return dst, i, errDisorder
		}
		if s := m.t.slot(tag >> 3); s.place != first.place || !s.takes(uint8(tag&7)) {
			return append(dst, ']'), i, nil
		}
		v, i = following, end
	}
}
