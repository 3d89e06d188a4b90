package codec

import (
	"encoding/binary"
	"errors"

	"github.com/kcm-cli/kcm/internal/record"
)

// Finder finds where keys, or values, name their schema. It belongs to one
// goroutine.
type Finder struct{ f framed }

// NewFinder returns a finder for keys or values; wide says that ids in front of
// them have 8 bytes.
func NewFinder(key, wide bool) *Finder {
	return &Finder{framed{header: headerOf(key), wide: wide, other: &auto{}}}
}

// Found is what a key or value names its schema by.
type Found struct {
	ID       ID     // zero: none
	Payload  []byte // without the framing; alive until the next call
	InHeader bool   // a header holds the ID, and nothing stands in front
}

// Find looks at a key or value, and the headers of its record; raw may be nil.
// The error is about a header that should hold an id and does not.
func (x *Finder) Find(raw []byte, r *record.Record) (Found, error) {
	inHeader := r.Headers.Count > 0 && lastHeader(r.Headers, x.f.header) != nil
	if !inHeader && raw == nil {
		return Found{}, nil
	}
	id, payload, err := x.f.find(raw, r)
	switch {
	case errors.Is(err, errHeader):
		return Found{}, err
	case err != nil:
		return Found{}, nil //nolint:nilerr // it has no framing, which is no error
	case raw == nil:
		payload = nil
	}
	return Found{ID: id, Payload: payload, InHeader: inHeader}, nil
}

// Reframe appends raw, in front of which an id was found, to dst, with another
// id in its place; wide says how many bytes that has.
func (x *Finder) Reframe(dst, raw []byte, id ID, wide bool) ([]byte, error) {
	_, rest, err := x.f.cut(raw)
	if err != nil {
		return dst, err
	}
	return append(appendID(dst, id, wide), rest...), nil
}

// AppendHeaders appends headers in their encoded form to dst, with the ids
// replaced that headers of this side hold. There may be several, of which the
// last one counts.
func (x *Finder) AppendHeaders(dst []byte, list record.Headers, wide bool, to func(ID) (ID, error)) ([]byte, error) {
	for h := range list.All() {
		dst = appendBytes(dst, h.Key)
		if h.Value == nil || string(h.Key) != x.f.header {
			dst = appendBytes(dst, h.Value)
			continue
		}
		id, rest, err := x.f.cut(h.Value)
		if err == nil {
			id, err = to(id)
		}
		if err != nil {
			return dst, err
		}
		value := appendID(make([]byte, 0, 17+len(rest)), id, wide)
		dst = appendBytes(dst, append(value, rest...))
	}
	return dst, nil
}

// appendID appends the framing of an id, as cut reads it.
func appendID(dst []byte, id ID, wide bool) []byte {
	switch {
	case id.Number == 0:
		return append(append(dst, 1), id.GUID[:]...)
	case wide:
		return binary.BigEndian.AppendUint64(append(dst, 0), uint64(id.Number)) //nolint:gosec // above 0
	default:
		return binary.BigEndian.AppendUint32(append(dst, 0), uint32(id.Number)) //nolint:gosec // above 0 and below 1<<31
	}
}

// appendBytes appends what a header consists of (KIP-98); nil is null.
func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

// lastHeader is the value of the last header of that name, which is the one that
// Confluent's deserializers look at; nil if there is none, or null.
func lastHeader(list record.Headers, name string) (value []byte) {
	for h := range list.All() {
		if string(h.Key) == name {
			value = h.Value
		}
	}
	return value
}

func headerOf(key bool) string {
	if key {
		return keyHeader
	}
	return valueHeader
}
