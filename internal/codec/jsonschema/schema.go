// Package jsonschema reads keys and values that are JSON by a JSON Schema: their
// text as it is, checked against the schema where that is asked for. It owns how
// references between schemas are found and what a failed check says; it never
// reads a file or an address.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kcm-cli/kcm/internal/codec"
)

// Options say what is done with a schema.
type Options struct {
	Validate bool // check every payload against the schema
}

// Invalid is the error of a payload that is JSON but not what the schema wants.
// What AppendJSON appended before it is the payload all the same.
type Invalid struct {
	Reason string // where in the value and what was wanted; one short line
}

// Error gives the reason.
func (e *Invalid) Error() string { return "not valid by its schema: " + e.Reason }

// Shown implements codec.Flawed.
func (e *Invalid) Shown() bool { return true }

var errNotJSON = errors.New("not valid JSON")

// Compile makes a codec.Schema of a JSON Schema: drafts 4, 6, 7, 2019-09 and
// 2020-12, and 7 for a schema that names none. Without Validate the definition
// is not even looked at: whatever it holds, it is no error.
func Compile(def codec.Definition, o Options) (codec.Schema, error) {
	if !o.Validate {
		return plain{}, nil
	}
	return compile(def)
}

// plain takes any JSON value.
type plain struct{}

// Type implements codec.Schema.
func (plain) Type() codec.SchemaType { return codec.JSONSchema }

// AppendJSON implements codec.Schema: the payload itself, without whitespace
// between its tokens.
func (plain) AppendJSON(dst, payload []byte) ([]byte, error) {
	ok, spaced := codec.ValidJSON(payload)
	switch {
	case !ok:
		return dst, errNotJSON
	case spaced:
		return codec.CompactJSON(dst, payload), nil
	default:
		return append(dst, payload...), nil
	}
}

// checked takes what its schema allows.
type checked struct {
	plain
	schema *jsonschema.Schema
}

// AppendJSON implements codec.Schema; a payload that the schema does not allow
// is an *Invalid.
func (c checked) AppendJSON(dst, payload []byte) ([]byte, error) {
	dst, err := c.plain.AppendJSON(dst, payload)
	if err != nil {
		return dst, err
	}
	if err := withinBounds(payload); err != nil {
		return dst, &Invalid{Reason: "not checked: " + err.Error()}
	}
	value, err := parse(payload)
	if err != nil {
		return dst, err
	}
	return dst, validate(c.schema, value)
}

// validate turns the library's error into one line. A panic of the library is an
// error too: a payload must not end the run.
func validate(schema *jsonschema.Schema, value any) (err error) {
	defer func() {
		if recover() != nil {
			err = &Invalid{Reason: "not checked: the value or the schema is beyond the validator"}
		}
	}()
	failed := schema.Validate(value)
	if failed == nil {
		return nil
	}
	if tree, ok := errors.AsType[*jsonschema.ValidationError](failed); ok {
		return &Invalid{Reason: describe(tree)}
	}
	return &Invalid{Reason: oneLine(failed.Error())}
}

// parse reads one JSON value; numbers keep their digits.
func parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotJSON, err)
	}
	return v, nil
}
