// Package avro turns Avro's binary encoding into JSON. A schema is compiled
// once, together with what it refers to, into a list of steps that walk over
// the bytes and write straight into the output: no tree, no reflection, and no
// allocation for a record. It follows Avro 1.12 and takes what Java's parser
// takes; it must not know where schemas come from, nor how payloads are framed.
package avro

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/kcm-cli/kcm/internal/codec"
)

// Options say what becomes of a payload.
type Options struct {
	// Tagged asks for the specification's JSON encoding: the value of a union is an
	// object with the name of its type, bytes and fixed are strings of the
	// characters U+0000 to U+00FF, and logical types are shown as what they are
	// stored as. Otherwise unions are plain values, bytes and fixed are base64, and
	// logical types are shown as what they mean (docs/decoding.md).
	Tagged bool
	// SingleObject takes payloads in the single-object encoding too: C3 01 and the
	// schema's fingerprint, then the value. It is for schemas that no registry
	// names.
	SingleObject bool
}

// Schema is a compiled schema: a codec.Schema with a fingerprint.
type Schema struct {
	name      string // of the type that it describes
	program   *program
	canonical string
	marker    []byte // of the single-object encoding; nil when that is not asked for
	bytes     bool   // it is bytes as a whole
	ratio     int    // bytes of output that a byte of a payload may make
}

// Compile compiles a schema and its references. Its errors begin with the
// definition's name, or with the subject and version of a reference.
func Compile(def codec.Definition, o Options) (codec.Schema, error) {
	root, err := parse(def)
	if err != nil {
		return nil, err
	}
	s := &Schema{name: root.typeName(), canonical: canonical(root), bytes: root.kind == kindBytes}
	s.program, s.ratio = compile(root, o.Tagged)
	if o.SingleObject {
		s.marker = binary.LittleEndian.AppendUint64([]byte{0xc3, 0x01}, s.Fingerprint())
	}
	return s, nil
}

// Fingerprint returns the fingerprint of a schema: CRC-64-AVRO of its parsing
// canonical form.
func Fingerprint(def codec.Definition) (uint64, error) {
	root, err := parse(def)
	if err != nil {
		return 0, err
	}
	return crc64(canonical(root)), nil
}

// Type implements codec.Schema.
func (s *Schema) Type() codec.SchemaType { return codec.Avro }

// Fingerprint returns CRC-64-AVRO of the schema's parsing canonical form.
func (s *Schema) Fingerprint() uint64 { return crc64(s.canonical) }

// Canonical returns the parsing canonical form. It holds what the schema refers
// to, so it is the same for one text and for a text with references.
func (s *Schema) Canonical() string { return s.canonical }

// AppendJSON implements codec.Schema.
func (s *Schema) AppendJSON(dst, payload []byte) ([]byte, error) {
	if s.marker == nil {
		return s.framed(dst, payload)
	}
	if len(payload) < len(s.marker) || payload[0] != s.marker[0] || payload[1] != s.marker[1] {
		return s.value(dst, payload)
	}
	if bytes.Equal(payload[:len(s.marker)], s.marker) {
		return s.value(dst, payload[len(s.marker):])
	}
	// A value that begins like the marker is possible, if not likely.
	out, err := s.value(dst, payload)
	if err != nil {
		return dst, fmt.Errorf("a single-object value of the schema with the fingerprint %016x, not %016x",
			binary.LittleEndian.Uint64(payload[2:]), s.Fingerprint())
	}
	return out, nil
}

// framed reads a payload that a registry's id stands before. The registry's own
// serializer for Java writes bytes, where they are the whole value, without their
// length, and reads them so; other programs keep to the specification. What does
// not fit that is taken to be Java's.
func (s *Schema) framed(dst, payload []byte) ([]byte, error) {
	out, err := s.value(dst, payload)
	if err == nil || !s.bytes {
		return out, err
	}
	if out, e := s.value(dst, append(binary.AppendVarint(nil, int64(len(payload))), payload...)); e == nil {
		return out, nil
	}
	return dst, err
}

func (s *Schema) value(dst, payload []byte) ([]byte, error) {
	m := machine{in: payload, limit: len(dst) + freeOutput + s.ratio*len(payload)}
	out, end, f := m.run(s.program, dst, 0, 0)
	if f == nil && end < len(payload) {
		f = &fail{what: fmt.Sprintf("%d bytes are left over behind the value", len(payload)-end)}
	}
	if f != nil {
		return dst, fmt.Errorf("not a value of the Avro schema %s: %w", s.name, f)
	}
	return out, nil
}
