package protobuf

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
)

// walker decodes one record at a time, from the wire straight into JSON. A
// message is read twice: once to note where its fields lie, for they may come in
// any order and more than once, and once to write them in the order of their
// numbers. What a message is made of is read when it is written, so that every
// byte is read a bounded number of times however deep it lies.
type walker struct {
	found   []found // of all messages that are being written, the inmost last
	entries []entry // of all maps that are being written
	unknown []byte  // fields that no table has, of all those messages
	winners []int32 // scratch: which field of each oneof counts
	keep    bool    // unknown fields are wanted
	absent  bool    // fields that are not there are wanted
	types   *types
}

// found is a value on the wire.
type found struct {
	v      uint64 // the number, or where the rest lies
	place  int32  // of its field in the table
	packed bool   // v is where several numbers lie
}

// message writes the message b. It may hold depth messages, itself the first.
func (w *walker) message(dst, b []byte, t *table, depth int) ([]byte, error) {
	if depth <= 0 {
		return dst, errDepth
	}
	base, unknown := len(w.found), len(w.unknown)
	if err := w.index(b, t, depth); err != nil {
		return dst, fmt.Errorf("%s: %w", t.name, err)
	}
	m := content{b: b, t: t, base: base, end: len(w.found), unknown: unknown, depth: depth}
	dst, err := w.write(dst, m)
	w.found, w.unknown = w.found[:base], w.unknown[:unknown]
	return dst, err
}

// content is a message of which is known where its fields lie.
type content struct {
	b         []byte
	t         *table
	base, end int // of its part of found
	unknown   int // where its part of unknown begins
	depth     int
}

// index notes where the fields of b lie, ordered by number, and leaves out the
// values of a oneof that a later one of its fields replaces.
func (w *walker) index(b []byte, t *table, depth int) error {
	base, last := len(w.found), int32(0)
	sorted, contested := true, false
	var oneofs uint64
	for i := 0; i < len(b); {
		from := i
		number, wire, i2, err := tag(b, i)
		if err != nil {
			return err
		}
		v, end, err := value(b, i2, number, wire)
		if err != nil {
			return err
		}
		i = end
		place := t.place(number)
		if place < 0 || !t.fields[place].takes(wire) {
			if w.keep {
				w.unknown = append(w.unknown, b[from:end]...)
			}
			continue
		}
		f := &t.fields[place]
		w.found = append(w.found, found{v: v, place: place, packed: wire != f.wire})
		if f.oneof >= 0 {
			bit := uint64(1) << min(f.oneof, 63)
			contested = contested || oneofs&bit != 0
			oneofs |= bit
		}
		sorted = sorted && place >= last
		last = place
	}
	if contested {
		if err := w.settle(b, t, base, depth); err != nil {
			return err
		}
	}
	if !sorted {
		slices.SortStableFunc(w.found[base:], func(x, y found) int { return int(x.place - y.place) })
	}
	return nil
}

// takes reports whether a field's value may have that wire type: numbers may be
// packed whatever the schema says.
func (f *field) takes(wire uint8) bool {
	return wire == f.wire || wire == wireBytes && f.packable
}

// settle takes out what a later field of the same oneof replaces. It has to be
// sound all the same.
func (w *walker) settle(b []byte, t *table, base, depth int) error {
	w.winners = slices.Grow(w.winners[:0], t.oneofs)[:t.oneofs]
	for i := range w.winners {
		w.winners[i] = -1
	}
	all := w.found[base:]
	kept := len(all)
	for i := len(all) - 1; i >= 0; i-- {
		o := all[i]
		f := &t.fields[o.place]
		if f.oneof >= 0 {
			if winner := w.winners[f.oneof]; winner == -1 {
				w.winners[f.oneof] = o.place
			} else if winner != o.place {
				w.winners[f.oneof] = replaced
				if err := check(b, f, o, depth); err != nil {
					return err
				}
				continue
			}
		}
		kept--
		all[kept] = o
	}
	w.found = w.found[:base+copy(all, all[kept:])]
	return nil
}

// replaced is the winner of a oneof of which all earlier values are gone.
const replaced = -2

// members writes the fields of m, each with a comma before it.
func (w *walker) members(dst []byte, m *content) ([]byte, error) {
	next := int32(0)
	for i := m.base; i < m.end; {
		place := w.found[i].place
		j := i + 1
		for j < m.end && w.found[j].place == place {
			j++
		}
		if w.absent {
			dst, next = m.t.appendAbsent(dst, next, place), place+1
		}
		var err error
		f := &m.t.fields[place]
		switch f.shape {
		case singular:
			dst, err = w.singular(dst, m, f, i, j)
		case list:
			dst, err = w.list(dst, m, f, i, j)
		case mapped:
			start := len(dst)
			dst = append(dst, f.label...)
			var some bool
			if dst, some, err = w.entriesOf(dst, m, f, i, j); !some {
				dst = dst[:start]
			}
		}
		if err != nil {
			return dst, m.t.located(f, err)
		}
		i = j
	}
	if w.absent {
		dst = m.t.appendAbsent(dst, next, int32(len(m.t.fields)))
	}
	if len(w.unknown) > m.unknown {
		dst = codec.AppendBytes(append(dst, `,"@unknown":`...), w.unknown[m.unknown:])
	}
	return dst, nil
}

// appendAbsent writes those fields that are shown without a value, from place from
// up to to.
func (t *table) appendAbsent(dst []byte, from, to int32) []byte {
	for _, f := range t.fields[from:to] {
		if f.absent != nil {
			dst = append(append(dst, f.label...), f.absent...)
		}
	}
	return dst
}

// located says where a value is that cannot be shown; within a message that has
// been done.
func (t *table) located(f *field, err error) error {
	if f.kind == kindMessage {
		return err
	}
	return fmt.Errorf("%s.%s: %w", t.name, f.name(), err)
}

// singular writes a field that is there once; of several values on the wire
// the last counts, and of messages the merged ones: one behind the other they
// are the merged message's bytes.
func (w *walker) singular(dst []byte, m *content, f *field, i, j int) ([]byte, error) {
	if j-i > 1 {
		for _, o := range w.found[i : j-1] {
			if err := check(m.b, f, o, m.depth); err != nil {
				return dst, err
			}
		}
	}
	v := w.found[j-1].v
	if f.kind == kindMessage {
		in := at(m.b, v)
		if j-i > 1 {
			if err := check(m.b, f, w.found[j-1], m.depth); err != nil {
				return dst, err
			}
			in = nil
			for _, o := range w.found[i:j] {
				in = append(in, at(m.b, o.v)...)
			}
		}
		return w.message(append(dst, f.label...), in, f.msg, m.depth-1)
	}
	if !f.presence && !w.absent && f.zero(v) {
		return dst, nil
	}
	return f.scalar(append(dst, f.label...), m.b, v)
}

// list writes a repeated field. One without elements (packed ones can be) is
// not there.
func (w *walker) list(dst []byte, m *content, f *field, i, j int) ([]byte, error) {
	start := len(dst)
	dst = append(append(dst, f.label...), '[')
	open := len(dst)
	dst, err := w.elements(dst, m, f, i, j)
	if err != nil {
		return dst, err
	}
	if len(dst) == open {
		if !w.absent {
			return dst[:start], nil
		}
		return append(dst, ']'), nil
	}
	dst[len(dst)-1] = ']'
	return dst, nil
}

// elements writes those of a repeated field, each with a comma behind it.
func (w *walker) elements(dst []byte, m *content, f *field, i, j int) ([]byte, error) {
	var err error
	for ; i < j; i++ {
		o := w.found[i]
		switch {
		case o.packed:
			dst, err = f.packed(dst, at(m.b, o.v))
		case f.kind == kindMessage:
			dst, err = w.message(dst, at(m.b, o.v), f.msg, m.depth-1)
			dst = append(dst, ',')
		default:
			dst, err = f.scalar(dst, m.b, o.v)
			dst = append(dst, ',')
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// packed writes the numbers in b, each with a comma behind it.
func (f *field) packed(dst, b []byte) ([]byte, error) {
	for i := 0; i < len(b); {
		v, end, err := value(b, i, 0, f.wire)
		if err != nil {
			return dst, err
		}
		if dst, err = f.scalar(dst, b, v); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
		i = end
	}
	return dst, nil
}

// check reads a value that is not shown, because a later one replaces it or is
// merged with it: a damaged one makes the record a damaged one.
func check(b []byte, f *field, o found, depth int) error {
	switch {
	case f.kind == kindMessage:
		return checkMessage(at(b, o.v), f.msg, depth-1)
	case f.kind == kindString && !utf8.Valid(at(b, o.v)):
		return errText
	case o.packed:
		for i, in := 0, at(b, o.v); i < len(in); {
			_, end, err := value(in, i, 0, f.wire)
			if err != nil {
				return err
			}
			i = end
		}
	}
	return nil
}

func checkMessage(b []byte, t *table, depth int) error {
	if depth <= 0 {
		return errDepth
	}
	for i := 0; i < len(b); {
		number, wire, start, err := tag(b, i)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		v, end, err := value(b, start, number, wire)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		i = end
		place := t.place(number)
		if place < 0 || !t.fields[place].takes(wire) {
			continue
		}
		f := &t.fields[place]
		if err := check(b, f, found{v: v, packed: wire != f.wire}, depth); err != nil {
			return t.located(f, err)
		}
	}
	return nil
}
