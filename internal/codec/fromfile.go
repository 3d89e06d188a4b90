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
	schema := schemaOf{Schema: f.schema}
	grown := schema.decode(v, dst, raw, raw)
	if v.Err == nil || len(raw) < 5 || raw[0] != 0 {
		return grown
	}
	payload := raw[5:]
	if f.schema.Type() == Protobuf {
		payload = withoutIndexes(payload)
	}
	var framed record.Value
	if tried := schema.decode(&framed, dst, raw, payload); framed.Err == nil {
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
