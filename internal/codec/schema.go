package codec

import (
	"encoding/hex"
	"strconv"
)

// SchemaType is a language that schemas are written in. Its values are the
// registries' words for them, and those of -s in lower case.
type SchemaType string

// The schema types.
const (
	Avro       SchemaType = "AVRO"
	Protobuf   SchemaType = "PROTOBUF"
	JSONSchema SchemaType = "JSON"
)

// Definition is a schema with everything that it refers to, as a registry or a
// file holds it.
type Definition struct {
	Type SchemaType
	Text string
	// Name says where the text comes from, for messages: subject orders-value
	// version 3, schema 7 of https://sr.east:8081, or a file's path.
	Name string
	// References are all that the text needs, itself or through others: each one
	// once, behind those that it needs itself.
	References []Reference
}

// Reference is a text that another one refers to by name: Avro's full name of a
// type, Protobuf's import path, or the $ref of JSON Schema.
type Reference struct {
	Name    string
	Subject string
	Version int
	Text    string
}

// Schema is a compiled schema. It is safe for use by several goroutines.
type Schema interface {
	Type() SchemaType
	// AppendJSON appends to dst what payload holds as one compact JSON value of
	// valid UTF-8. The payload is a key or value without its framing, never nil;
	// with Protobuf from a registry its message indexes come first. Bytes left over
	// are an error; when there is one, what was appended means nothing. Neither
	// panics nor unbounded allocations come of any payload.
	AppendJSON(dst, payload []byte) ([]byte, error)
}

// Flawed is an error of a value that is not as its schema wants it but could be
// read: Shown reports that AppendJSON has appended all of it, and that it is shown
// beside the error.
type Flawed interface {
	error
	Shown() bool
}

// ID is what a framed key or value names its schema by. The zero ID names none.
type ID struct {
	Number int64 // of one registry, above 0; 0 when there is a GUID
	GUID   [16]byte
}

// String gives the number, or the GUID in its usual form.
func (id ID) String() string {
	if id.Number != 0 {
		return strconv.FormatInt(id.Number, 10)
	}
	b := make([]byte, 0, 36)
	for i, part := range [][]byte{id.GUID[:4], id.GUID[4:6], id.GUID[6:8], id.GUID[8:10], id.GUID[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return string(b)
}

// Registry finds the schemas of one cluster. It is safe for use by several
// goroutines, asks once for each id whatever their number, remembers the answer,
// and keeps a caller waiting for a bounded time only: then, and while the
// registry is down, it returns an error, which later calls need not.
type Registry interface {
	Schema(id ID) (Schema, error)
}
