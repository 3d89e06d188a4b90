package internals

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// reader turns the bytes of a message into the members of a JSON object. Every
// length is checked against the bytes that are left before anything is made of
// it.
type reader struct {
	rest []byte
	// version and flexible are those of the message being read.
	version  int16
	flexible bool
	// inTag is a tagged field itself, where 0 is an object that is null, not -1.
	inTag bool
	// foreign is a group whose members are no consumers: what they tell each
	// other is theirs to understand.
	foreign bool
}

var (
	errNull     = errors.New("null, which it cannot be")
	errUTF8     = errors.New("not valid UTF-8")
	errTagOrder = errors.New("tagged fields out of order")
)

func short(need, have int) error {
	return fmt.Errorf("%d bytes needed, %d left", need, have)
}

// message appends the message's fields, each with a comma before it, and wants
// the bytes used up.
func (r *reader) message(dst []byte, m *message, version int16) ([]byte, error) {
	r.version, r.flexible = version, version >= m.flexible
	dst, err := r.fields(dst, m)
	if err == nil && len(r.rest) > 0 {
		err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	return dst, err
}

func (r *reader) fields(dst []byte, m *message) (_ []byte, err error) {
	for i := range m.fields {
		f := &m.fields[i]
		if r.version < f.since || f.until > 0 && r.version > f.until {
			continue
		}
		if dst, err = r.field(dst, f); err != nil {
			return dst, err
		}
	}
	if !r.flexible {
		return dst, nil
	}
	return r.tags(dst, m.tagged)
}

// tags reads tagged fields. Those that the table lacks are shown by number, in
// base64; those that are missing have their default, and are not shown.
func (r *reader) tags(dst []byte, known []field) ([]byte, error) {
	n, err := r.uvarint()
	if err != nil {
		return dst, err
	}
	next := uint32(0)
	for ; n > 0; n-- {
		tag, err := r.uvarint()
		if err != nil {
			return dst, err
		}
		if tag < next || tag == 1<<32-1 {
			return dst, errTagOrder
		}
		next = tag + 1
		size, err := r.uvarint()
		if err != nil {
			return dst, err
		}
		body, err := r.take(int64(size))
		if err != nil {
			return dst, fmt.Errorf("tag %d: %w", tag, err)
		}
		if dst, err = r.tag(dst, known, tag, body); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (r *reader) tag(dst []byte, known []field, tag uint32, body []byte) ([]byte, error) {
	if int64(tag) >= int64(len(known)) {
		dst = appendInt(append(dst, `,"tag_`...), int64(tag))
		return appendBase64(append(dst, `":`...), body), nil
	}
	inner := *r
	inner.rest, inner.inTag = body, true
	dst, err := inner.field(dst, &known[tag])
	if err == nil && len(inner.rest) > 0 {
		err = fmt.Errorf("%s: %d bytes left over", known[tag].name, len(inner.rest))
	}
	return dst, err
}

func (r *reader) field(dst []byte, f *field) (_ []byte, err error) {
	dst = append(append(append(dst, `,"`...), f.name...), `":`...)
	if f.list {
		dst, err = r.list(dst, f)
	} else {
		dst, err = r.one(dst, f)
	}
	if err != nil {
		return dst, fmt.Errorf("%s: %w", f.name, err)
	}
	return dst, nil
}

func (r *reader) list(dst []byte, f *field) ([]byte, error) {
	n, err := r.length(false)
	if err != nil {
		return dst, err
	}
	if n < 0 {
		return r.null(dst, f)
	}
	if n > int64(len(r.rest)) { // each element takes a byte at least
		return dst, short(int(min(n, 1<<31)), len(r.rest))
	}
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.element(dst, f); err != nil {
			return dst, fmt.Errorf("%d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

// one reads a field that is no array.
func (r *reader) one(dst []byte, f *field) ([]byte, error) {
	if f.kind == object && f.nullable > 0 {
		present, err := r.take(1)
		if err != nil {
			return dst, err
		}
		if int8(present[0]) < 0 || r.inTag && present[0] == 0 {
			return r.null(dst, f)
		}
	}
	return r.element(dst, f)
}

func (r *reader) element(dst []byte, f *field) ([]byte, error) {
	switch f.kind {
	case object:
		return r.object(dst, f.of)
	case str, raw, subscription, assignment:
		return r.sized(dst, f)
	case uuid:
		b, err := r.take(16)
		if err != nil {
			return dst, err
		}
		return appendUUID(dst, b), nil
	default:
		return r.number(dst, f)
	}
}

// object appends a structure: the comma before its first field becomes the
// opening brace.
func (r *reader) object(dst []byte, m *message) ([]byte, error) {
	start := len(dst)
	r.inTag = false
	dst, err := r.fields(dst, m)
	if err != nil {
		return dst, err
	}
	if len(dst) == start {
		return append(dst, "{}"...), nil
	}
	dst[start] = '{'
	return append(dst, '}'), nil
}

// sizes are those of the numbers, in bytes.
var sizes = [...]int64{i8: 1, i16: 2, u16: 2, i32: 4, i64: 8}

func (r *reader) number(dst []byte, f *field) ([]byte, error) {
	b, err := r.take(sizes[f.kind])
	if err != nil {
		return dst, err
	}
	var n int64
	switch f.kind {
	case i8:
		n = int64(int8(b[0]))
	case i16:
		n = int64(int16(binary.BigEndian.Uint16(b)))
	case u16:
		n = int64(binary.BigEndian.Uint16(b))
	case i32:
		n = int64(int32(binary.BigEndian.Uint32(b)))
	default:
		n = int64(binary.BigEndian.Uint64(b))
	}
	if n >= 0 && n < int64(len(f.words)) && f.words[n] != "" {
		return appendString(dst, []byte(f.words[n])), nil
	}
	return appendInt(dst, n), nil
}

// sized reads a string or bytes.
func (r *reader) sized(dst []byte, f *field) ([]byte, error) {
	n, err := r.length(f.kind == str)
	if err != nil {
		return dst, err
	}
	if n < 0 {
		return r.null(dst, f)
	}
	b, err := r.take(n)
	if err != nil {
		return dst, err
	}
	switch f.kind {
	case str:
		if !utf8.Valid(b) {
			return dst, errUTF8
		}
		if f.name == "protocol_type" {
			r.foreign = string(b) != "consumer"
		}
		return appendString(dst, b), nil
	case subscription:
		return r.inside(dst, &consumerSubscription, b), nil
	case assignment:
		return r.inside(dst, &consumerAssignment, b), nil
	default:
		return appendBase64(dst, b), nil
	}
}

// inside shows what the members of a group tell each other: consumers' messages
// as objects; what is none, or of other members, in base64. A message of a later
// version begins like the latest known one, as Kafka promises.
func (r *reader) inside(dst []byte, m *message, b []byte) []byte {
	if !r.foreign {
		if version, body, err := cutVersion(b); err == nil && version >= 0 {
			start := len(dst)
			in := reader{rest: body, version: min(version, m.last)}
			grown, err := in.fields(appendHead(dst, version), m)
			if err == nil && (len(in.rest) == 0 || version > m.last) {
				return append(grown, '}')
			}
			dst = grown[:start]
		}
	}
	return appendBase64(dst, b)
}

func (r *reader) null(dst []byte, f *field) ([]byte, error) {
	if f.nullable == 0 || r.version < f.nullable-1 {
		return dst, errNull
	}
	return append(dst, "null"...), nil
}

// length reads the length of a string, which is small before flexible versions,
// of bytes or of an array; -1 is null.
func (r *reader) length(small bool) (int64, error) {
	var n int64
	switch {
	case r.flexible:
		u, err := r.uvarint()
		if err != nil {
			return 0, err
		}
		n = int64(u) - 1
	case small:
		b, err := r.take(2)
		if err != nil {
			return 0, err
		}
		n = int64(int16(binary.BigEndian.Uint16(b)))
	default:
		b, err := r.take(4)
		if err != nil {
			return 0, err
		}
		n = int64(int32(binary.BigEndian.Uint32(b)))
	}
	if n < -1 {
		return 0, fmt.Errorf("a length of %d", n)
	}
	return n, nil
}

func (r *reader) uvarint() (uint32, error) {
	u, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 5 || u >= 1<<32 {
		return 0, fmt.Errorf("no length within the %d bytes left", len(r.rest))
	}
	r.rest = r.rest[n:]
	return uint32(u), nil
}

func (r *reader) take(n int64) ([]byte, error) {
	if n > int64(len(r.rest)) {
		return nil, short(int(min(n, 1<<31)), len(r.rest))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}
