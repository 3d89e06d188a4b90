package protobuf

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
)

// walker decodes one record at a time, from the wire straight into JSON. Unless
// its record is straight, a message is read twice: once to note where its fields
// lie, for they may come in any order and more than once, and once to write them
// in the order of their numbers. What a message is made of is read when it is written, so that every
// byte is read a bounded number of times however deep it lies.
type walker struct {
	found   []found // of all messages that are being written, the inmost last
	entries []entry // of all maps that are being written
	unknown []byte  // fields that no table has, of all those messages
	winners []int32 // scratch: which field of each oneof counts
	keep    bool    // unknown fields are wanted
	absent  bool    // fields that are not there are wanted
	types   *types

	straight bool // this record is written while it is read
	wary     int  // how many more are not
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
	if w.straight {
		switch t.form {
		case plain:
			return w.along(dst, b, t, depth)
		case formTimestamp:
			if seconds, nanos, ok := plainInstant(b); ok {
				return appendTimestamp(dst, seconds, nanos), nil
			}
		}
	}
	base, unknown := len(w.found), len(w.unknown)
	if err := w.index(b, t, depth); err != nil {
		return dst, err
	}
	// What is written meanwhile is noted behind this part of found, or elsewhere.
	m := content{b: b, t: t, all: w.found[base:len(w.found):len(w.found)], unknown: unknown, depth: depth}
	dst, err := w.write(dst, &m)
	w.found, w.unknown = w.found[:base], w.unknown[:unknown]
	return dst, err
}

// content is a message of which is known where its fields lie.
type content struct {
	b       []byte
	t       *table
	all     []found
	unknown int // where its part of unknown begins
	depth   int
}

// index notes where the fields of b lie, ordered by number, and leaves out the
// values of a oneof that a later one of its fields replaces.
func (w *walker) index(b []byte, t *table, depth int) error {
	base, last := len(w.found), int32(0)
	sorted, contested := true, false
	var oneofs uint64
	all := w.found
	for i := 0; i < len(b); {
		tag, v, end := next(b, i)
		if end < 0 {
			return fmt.Errorf("%s: %w", t.name, damage(end))
		}
		s := t.slot(tag >> 3)
		if wire := uint8(tag & 7); s.takes(wire) {
			all = append(all, found{v: v, place: s.place, packed: wire != s.wire})
			one := s.inOneof()
			contested = contested || oneofs&one != 0
			oneofs |= one
			sorted = sorted && s.place >= last
			last = s.place
		} else if w.keep {
			w.unknown = append(w.unknown, b[i:end]...)
		}
		i = end
	}
	w.found = all
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
					return t.located(f, err)
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
	all := m.all
	for i := 0; i < len(all); {
		place := all[i].place
		j := i + 1
		for j < len(all) && all[j].place == place {
			j++
		}
		if w.absent {
			dst, next = m.t.appendAbsent(dst, next, place), place+1
		}
		var err error
		f := &m.t.fields[place]
		if j == i+1 && f.shape == singular && f.kind != kindMessage {
			dst, err = w.one(dst, m.b, f, all[i].v)
		} else {
			dst, err = w.field(dst, m, f, all[i:j])
		}
		if err != nil {
			return dst, m.t.located(f, err)
		}
		i = j
	}
	return w.ending(dst, m.t, next, m.unknown), nil
}

// ending writes what stands behind a message's fields: those from next on that are
// not there, and its part of unknown.
func (w *walker) ending(dst []byte, t *table, next int32, unknown int) []byte {
	if w.absent {
		dst = t.appendAbsent(dst, next, int32(len(t.fields)))
	}
	if len(w.unknown) > unknown {
		dst = codec.AppendBytes(append(dst, `,"@unknown":`...), w.unknown[unknown:])
	}
	return dst
}

// one writes a singular field that is no message.
func (w *walker) one(dst, b []byte, f *field, v uint64) ([]byte, error) {
	if !f.presence && !w.absent && f.zero(v) {
		return dst, nil
	}
	return f.scalar(f.label.Append(dst), b, v)
}

// field writes a field of which the values are all.
func (w *walker) field(dst []byte, m *content, f *field, all []found) ([]byte, error) {
	switch f.shape {
	case singular:
		return w.singular(dst, m, f, all)
	case list:
		return w.list(dst, m, f, all)
	default:
		dst, _, err := w.entriesOf(f.label.Append(dst), m, f, all)
		return dst, err
	}
}

// appendAbsent writes those fields that are shown without a value, from place from
// up to to.
func (t *table) appendAbsent(dst []byte, from, to int32) []byte {
	for _, f := range t.fields[from:to] {
		if f.absent != nil {
			dst = append(f.label.Append(dst), f.absent...)
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
func (w *walker) singular(dst []byte, m *content, f *field, all []found) ([]byte, error) {
	last := len(all) - 1
	if last > 0 {
		for _, o := range all {
			if err := check(m.b, f, o, m.depth); err != nil {
				return dst, err
			}
		}
	}
	v := all[last].v
	if f.kind == kindMessage {
		in := at(m.b, v)
		if last > 0 {
			in = nil
			for _, o := range all {
				in = append(in, at(m.b, o.v)...)
			}
		}
		return w.message(f.label.Append(dst), in, f.msg, m.depth-1)
	}
	return w.one(dst, m.b, f, v)
}

// list writes a repeated field. One without elements (packed ones can be) is
// not there.
func (w *walker) list(dst []byte, m *content, f *field, all []found) ([]byte, error) {
	start := len(dst)
	dst = append(f.label.Append(dst), '[')
	open := len(dst)
	dst, err := w.elements(dst, m, f, all)
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
func (w *walker) elements(dst []byte, m *content, f *field, all []found) ([]byte, error) {
	var err error
	for _, o := range all {
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
		v, end := value(b, i, uint64(f.wire))
		if end < 0 {
			return dst, damage(end)
		}
		var err error
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
			_, end := value(in, i, uint64(f.wire))
			if end < 0 {
				return damage(end)
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
		tag, v, end := next(b, i)
		if end < 0 {
			return fmt.Errorf("%s: %w", t.name, damage(end))
		}
		i = end
		s, wire := t.slot(tag>>3), uint8(tag&7)
		if !s.takes(wire) {
			continue
		}
		f := &t.fields[s.place]
		if err := check(b, f, found{v: v, packed: wire != s.wire}, depth); err != nil {
			return t.located(f, err)
		}
	}
	return nil
}
