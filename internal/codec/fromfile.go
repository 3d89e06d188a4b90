package codec

import (
	"encoding/binary"

	"github.com/kcm-cli/kcm/internal/record"
)

// fromFile decodes by one schema that the user has given. What does not fit as a
// whole, and begins like a framed value, is tried without the frame: topics of
// registry users are read with a file where no registry is at hand.
type fromFile struct{ schema Schema }

// Decode implements Decoder.
func (f *fromFile) Decode(v *record.Value, dst, raw []byte, _ *record.Record) []byte {
	if raw == nil {
		*v = record.Value{}
		return dst
	}
	grown := appendBySchema(v, dst, raw, raw, f.schema, "")
	if v.Err == nil || len(raw) < 5 || raw[0] != 0 {
		return grown
	}
	payload := raw[5:]
	if f.schema.Type() == Protobuf {
		payload = withoutIndexes(payload)
	}
	var framed record.Value
	if tried := appendBySchema(&framed, dst, raw, payload, f.schema, ""); framed.Err == nil {
		*v = framed
		return tried
	}
	return grown
}

// withoutIndexes drops the message indexes in front of a framed Protobuf message:
// the message is the one that the user has named.
func withoutIndexes(b []byte) []byte {
	count, n := binary.Varint(b)
	if n <= 0 {
		return b
	}
	rest := b[n:]
	for range min(count, int64(len(rest))) {
		if _, n = binary.Varint(rest); n <= 0 {
			return b
		}
		rest = rest[n:]
	}
	return rest
}

// internal decodes one side of the records of a topic of Kafka's own. What is
// different from what such a topic holds is shown as Auto does: the name alone
// does not make a topic Kafka's.
type internal struct {
	topic Internal
	key   bool
	other auto
}

// Decode implements Decoder.
func (i *internal) Decode(v *record.Value, dst, raw []byte, r *record.Record) []byte {
	if raw == nil {
		*v = record.Value{}
		return dst
	}
	start := len(dst)
	var grown []byte
	var err error
	switch {
	case i.key:
		grown, err = i.topic.AppendKey(dst, raw)
	case r != nil:
		grown, err = i.topic.AppendValue(dst, r.Key, raw)
	default:
		return i.other.Decode(v, dst, raw, r)
	}
	if err != nil {
		dst = i.other.Decode(v, dst, raw, r)
		v.Err = err
		return dst
	}
	*v = record.Value{Kind: record.JSON, Bytes: grown[start:]}
	return grown
}
