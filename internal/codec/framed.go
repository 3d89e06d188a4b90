package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kcm-cli/kcm/internal/record"
)

// framed decodes by the schema that a key or value names itself: in front of it,
// as Confluent's serializers write it, or in a header of the record.
type framed struct {
	registry Registry
	want     SchemaType // empty: any
	wide     bool       // ids have 8 bytes
	header   string     // that may hold the id
	other    Decoder    // what decodes the rest; nil: the rest is an error

	// What was found last: mostly the next one is the same.
	id    ID
	found schemaOf
	front []byte // how it stood in front; empty when it did not
	// strange counts ids that had no schema while none had one.
	strange int

	joined []byte // what of a header comes in front of the payload, and the payload
}

// The headers that hold ids (Confluent's HeaderSchemaIdSerializer).
const (
	keyHeader   = "__key_schema_id"
	valueHeader = "__value_schema_id"
)

func newFramed(e Env, want SchemaType, key bool) *framed {
	f := &framed{registry: e.Registry, want: want, wide: e.WideIDs, header: headerOf(key)}
	if want == "" {
		f.other = &auto{}
	}
	return f
}

// Decode implements Decoder.
func (f *framed) Decode(v *record.Value, dst, raw []byte, r *record.Record) []byte {
	if raw == nil {
		*v = record.Value{}
		return dst
	}
	if r == nil || r.Headers.Count == 0 {
		switch {
		case len(f.front) > 0 && bytes.HasPrefix(raw, f.front):
			return f.found.decode(v, dst, raw, raw[len(f.front):])
		case f.other != nil && len(raw) > 0 && raw[0] > 1:
			return f.other.Decode(v, dst, raw, r) // most keys are text
		}
	}
	id, payload, err := f.find(raw, r)
	switch {
	case err == nil:
	case f.other != nil && !errors.Is(err, errHeader):
		return f.other.Decode(v, dst, raw, r)
	default:
		*v = plain(raw)
		v.Err = err
		return dst
	}
	if id != f.id {
		schema, err := f.look(id)
		if err != nil {
			f.strange++
			*v = plain(raw)
			v.Err, v.SchemaID = err, id.String()
			return dst
		}
		f.id, f.found = id, schemaOf{schema, id.String()}
		f.front = append(f.front[:0], raw[:max(0, len(raw)-len(payload))]...)
	}
	return f.found.decode(v, dst, raw, payload)
}

// Bytes that only look framed, such as the numbers of a LongSerializer, name a
// schema each that nobody has: then few of them are looked up.
const (
	mostStrange  = 100
	strangeShare = 1000
)

// look finds the schema of an id, which has to be of the type that is wanted.
func (f *framed) look(id ID) (Schema, error) {
	if f.found.Schema == nil && f.strange > mostStrange && f.strange%strangeShare != 0 {
		return nil, fmt.Errorf("schema %s is not looked up: no id here was in the registry so far", id)
	}
	schema, err := f.registry.Schema(id)
	if err == nil && f.want != "" && schema.Type() != f.want {
		err = fmt.Errorf("schema %s is for the decoder %s, not %s", id, schema.Type().Name(), f.want.Name())
	}
	return schema, err
}

// schemaOf is a schema with the id that it goes by; a file's has none.
type schemaOf struct {
	Schema
	id string
}

// decode fills v with what payload, the whole of raw but its framing, holds.
func (s schemaOf) decode(v *record.Value, dst, raw, payload []byte) []byte {
	start := len(dst)
	grown, err := s.AppendJSON(dst, payload)
	if err == nil {
		v.Kind, v.Bytes, v.SchemaID, v.Err = record.JSON, grown[start:], s.id, nil
		return grown
	}
	if flawed, ok := errors.AsType[Flawed](err); ok && flawed.Shown() {
		v.Kind, v.Bytes, v.SchemaID, v.Err = record.JSON, grown[start:], s.id, err
		return grown
	}
	*v = plain(raw)
	v.Err, v.SchemaID = err, s.id
	return dst
}

// find takes the id off a key or value. The error says why there is none.
func (f *framed) find(raw []byte, r *record.Record) (ID, []byte, error) {
	if r != nil && r.Headers.Count > 0 {
		if value := lastHeader(r.Headers, f.header); value != nil {
			return f.inHeader(value, raw)
		}
	}
	if f.other != nil && len(raw) > 0 && raw[0] == 1 {
		return ID{}, nil, errNoMagic // nobody writes GUIDs in front, and other bytes begin so
	}
	return f.cut(raw)
}

// inHeader takes the id from a header. What follows it there comes in front of
// the payload: Protobuf's message indexes.
func (f *framed) inHeader(value, raw []byte) (ID, []byte, error) {
	id, front, err := f.cut(value)
	if err != nil {
		return ID{}, nil, fmt.Errorf("%w %s: %w", errHeader, f.header, err)
	}
	if len(front) == 0 {
		return id, raw, nil
	}
	f.joined = append(append(f.joined[:0], front...), raw...)
	return id, f.joined, nil
}

var (
	errHeader   = errors.New("the header")
	errEmpty    = errors.New("it is empty: no schema id")
	errNoMagic  = errors.New("no schema id: the first byte is neither 0 nor 1")
	errShort    = errors.New("no schema id: it is too short for one")
	errNoNumber = errors.New("no schema id: the number is not above 0")
)

// cut reads the framing: 0 and a number, big-endian, or 1 and a GUID.
func (f *framed) cut(b []byte) (ID, []byte, error) {
	if len(b) == 0 {
		return ID{}, nil, errEmpty
	}
	magic, b := b[0], b[1:]
	switch {
	case magic == 1 && len(b) >= 16:
		return ID{GUID: [16]byte(b)}, b[16:], nil
	case magic > 1:
		return ID{}, nil, errNoMagic
	case magic == 1 || len(b) < 4 || f.wide && len(b) < 8:
		return ID{}, nil, errShort
	}
	var id ID
	if f.wide {
		id.Number, b = int64(binary.BigEndian.Uint64(b)), b[8:] //nolint:gosec // checked below
	} else {
		id.Number, b = int64(binary.BigEndian.Uint32(b)), b[4:]
	}
	if id.Number <= 0 || !f.wide && id.Number > 1<<31-1 {
		return ID{}, nil, errNoNumber
	}
	return id, b, nil
}
