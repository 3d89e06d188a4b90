package protobuf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// entry is an entry of a map that is being written.
type entry struct {
	text  []byte // a key of text
	key   int64  // a key that is a number; its order is that of the keys
	raw   uint64 // the same as it lies on the wire
	value []byte // a value that is a text or a message
	num   uint64 // a value that is a number
}

var errMapType = errors.New("a map whose type has not a key and a value")

// entriesOf writes a map: its entries ordered by key, the last one of each key.
// some is false when there is none.
func (w *walker) entriesOf(dst []byte, m *content, f *field, all []found) (_ []byte, some bool, _ error) {
	key, val := f.msg.key, f.msg.val
	if key == nil {
		return dst, false, errMapType
	}
	if m.depth < 2 {
		return dst, false, errDepth
	}
	base, sorted := len(w.entries), true
	for _, o := range all {
		e, err := readEntry(at(m.b, o.v), key, val, m.depth-1)
		if err != nil {
			return dst, false, fmt.Errorf("%s: %w", f.msg.name, err)
		}
		sorted = sorted && (len(w.entries) == base || e.compare(&w.entries[len(w.entries)-1]) > 0)
		w.entries = append(w.entries, e)
	}
	if !sorted {
		if err := w.order(base, val, m.depth-1); err != nil {
			return dst, false, fmt.Errorf("%s: %w", f.msg.name, err)
		}
	}
	dst, err := w.object(dst, base, key, val, m.depth-2)
	clear(w.entries[base:])
	w.entries = w.entries[:base]
	return dst, true, err
}

// object writes the entries from base on.
func (w *walker) object(dst []byte, base int, key, val *field, depth int) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	for k := base; k < len(w.entries); k++ {
		if k > base {
			dst = append(dst, ',')
		}
		e := w.entries[k]
		if key.kind == kindString {
			dst, err = key.scalar(dst, e.text, span(0, len(e.text)))
		} else {
			dst, err = key.mapKey(dst, nil, e.raw)
		}
		if err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		switch val.kind {
		case kindMessage:
			dst, err = w.message(dst, e.value, val.msg, depth)
		case kindString, kindBytes:
			dst, err = val.scalar(dst, e.value, span(0, len(e.value)))
		default:
			dst, err = val.scalar(dst, nil, e.num)
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (e *entry) compare(o *entry) int {
	if c := cmp.Compare(e.key, o.key); c != 0 {
		return c
	}
	return bytes.Compare(e.text, o.text)
}

// order sorts the entries from base on and leaves the last one of each key; the
// others have to be sound all the same.
func (w *walker) order(base int, val *field, depth int) error {
	all := w.entries[base:]
	slices.SortStableFunc(all, func(x, y entry) int { return x.compare(&y) })
	kept := 0
	for k := range all {
		if k+1 < len(all) && all[k].compare(&all[k+1]) == 0 {
			if err := check(all[k].value, val, found{v: span(0, len(all[k].value))}, depth); err != nil {
				return err
			}
			continue
		}
		all[kept] = all[k]
		kept++
	}
	clear(all[kept:])
	w.entries = w.entries[:base+kept]
	return nil
}

// readEntry reads one entry. A key or value that is not there is zero; of
// several the last counts, and messages are merged.
func readEntry(b []byte, key, val *field, depth int) (entry, error) {
	e := entry{key: key.orderOf(0)}
	for i := 0; i < len(b); {
		tag, v, end := next(b, i)
		if end < 0 {
			return e, damage(end)
		}
		i = end
		var err error
		switch tag {
		case 1<<3 | uint64(key.wire):
			err = e.setKey(b, v, key, depth)
		case 2<<3 | uint64(val.wire):
			err = e.setValue(b, v, val, depth)
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

func (e *entry) setKey(b []byte, v uint64, key *field, depth int) error {
	if key.kind != kindString {
		e.raw, e.key = v, key.orderOf(v)
		return nil
	}
	e.text = at(b, v)
	return check(b, key, found{v: v}, depth)
}

func (e *entry) setValue(b []byte, v uint64, val *field, depth int) error {
	switch val.kind {
	case kindMessage:
		return e.merge(at(b, v), val, depth)
	case kindString, kindBytes:
		e.value = at(b, v)
		return check(b, val, found{v: v}, depth)
	default:
		e.num = v
		return nil
	}
}

// merge adds a message to the value of an entry.
func (e *entry) merge(in []byte, val *field, depth int) error {
	if e.value == nil {
		e.value = in // not nil, be it empty: a part of the record
		return nil
	}
	for _, part := range [][]byte{e.value, in} {
		if err := checkMessage(part, val.msg, depth-1); err != nil {
			return err
		}
	}
	e.value = append(slices.Clone(e.value), in...)
	return nil
}

// orderOf returns a number that is ordered as keys of that kind are: false before
// true, numbers by their value.
func (f *field) orderOf(v uint64) int64 {
	const middle = 1 << 63
	switch f.kind {
	case kindInt32:
		return int64(int32(v))
	case kindUint32:
		return int64(uint32(v))
	case kindSint32:
		return protowire.DecodeZigZag(v & (1<<32 - 1))
	case kindSint64:
		return protowire.DecodeZigZag(v)
	case kindUint64:
		return int64(v ^ middle)
	case kindBool:
		if v != 0 {
			return 1
		}
		return 0
	default:
		return int64(v)
	}
}
