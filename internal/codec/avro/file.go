package avro

import (
	"bytes"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// ParseFile makes a definition of the text of a schema file (.avsc): one schema
// in JSON, which may be a union. It finds out that the schema compiles; errors
// are of kind fault.Usage.
func ParseFile(name string, text []byte) (codec.Definition, error) {
	def := codec.Definition{Type: codec.Avro, Name: name, Text: string(bytes.TrimPrefix(text, []byte("\ufeff")))}
	if bytes.HasPrefix(text, []byte("Obj\x01")) {
		return def, fault.New(fault.Usage, "%s is a file of Avro records, not a schema", name).
			WithHint("avro-tools getschema FILE prints the schema that it holds")
	}
	if !utf8.Valid(text) {
		return def, fault.New(fault.Usage, "%s: not UTF-8", name)
	}
	if _, err := parse(def); err != nil {
		return def, fault.New(fault.Usage, "%w", err).WithHint("an Avro schema file (.avsc) is one schema in JSON")
	}
	return def, nil
}
