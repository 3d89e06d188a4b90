// Package codec turns stored keys and values into values that can be shown:
// text, JSON, numbers, MessagePack, CBOR. It knows bytes and their encodings;
// it must not know where a value is shown, nor read or write anything.
package codec

import (
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Decoder decodes stored keys or values. It may remember what it has seen, so it
// belongs to one goroutine, and is best used for the keys or values of one stream.
//
// Decode sets every field of *v; a raw of nil gives a Value of kind Null. raw is
// the key or value of r, which may be nil where nothing else of it is known. Decode
// may append to dst, and returns dst for the next call: the Value's bytes are a part of
// raw or of dst, so they live as long as both do. When raw is not what the
// decoder expects, the Value holds raw itself (kind Text or Binary) and its Err
// says why; bytes left over behind a decoded value are such an error.
type Decoder interface {
	Decode(v *record.Value, dst, raw []byte, r *record.Record) []byte
}

// Auto is the name of the decoder that is used where none is chosen.
const Auto = "auto"

// decodeFunc makes a Decoder of a function that is never called with nil. The
// function may leave the Value empty but for Err: the stored bytes are filled in.
type decodeFunc func(dst, raw []byte) (record.Value, []byte)

// Decode implements Decoder.
func (f decodeFunc) Decode(v *record.Value, dst, raw []byte, _ *record.Record) []byte {
	if raw == nil {
		*v = record.Value{}
		return dst
	}
	var grown []byte
	if *v, grown = f(dst, raw); v.Err != nil {
		err := v.Err
		*v = plain(raw)
		v.Err = err
		return dst
	}
	return grown
}

// decoders is ordered as messages list it; synonyms follow their name.
var decoders = []struct {
	name     string
	synonyms []string
	decode   Decoder
}{
	{Auto, nil, nil}, // made for each use: it remembers
	{"raw", []string{"bytes"}, decodeFunc(decodeRaw)},
	{"string", []string{"str", "text"}, decodeFunc(decodeString)},
	{"json", nil, decodeFunc(decodeJSON)},
	{"hex", nil, decodeFunc(decodeHex)},
	{"base64", nil, decodeFunc(decodeBase64)},
	{"msgpack", []string{"messagepack"}, decodeFunc(decodeMsgpack)},
	{"cbor", nil, decodeFunc(decodeCBOR)},
	{"uuid", nil, decodeFunc(decodeUUID)},
	{"int8", nil, decodeInt(1)},
	{"int16", []string{"short"}, decodeInt(2)},
	{"int32", []string{"int", "integer"}, decodeInt(4)},
	{"int64", []string{"long"}, decodeInt(8)},
	{"uint8", nil, decodeUint(1)},
	{"uint16", nil, decodeUint(2)},
	{"uint32", nil, decodeUint(4)},
	{"uint64", nil, decodeUint(8)},
	{"float32", []string{"float"}, decodeFunc(decodeFloat32)},
	{"float64", []string{"double"}, decodeFunc(decodeFloat64)},
	{"avro", nil, nil}, // these three need a schema
	{"protobuf", []string{"proto"}, nil},
	{"jsonschema", []string{"json-schema"}, nil},
}

// Names lists the decoders, without synonyms.
func Names() []string {
	names := make([]string, len(decoders))
	for i, d := range decoders {
		names[i] = d.name
	}
	return names
}

// named returns the decoder of that name or synonym, nil for one that has to be
// made, and the name. An unknown one is an error of kind fault.Usage.
func named(word string) (name string, d Decoder, err error) {
	for _, d := range decoders {
		if d.name == word || slices.Contains(d.synonyms, word) {
			return d.name, d.decode, nil
		}
	}
	return "", nil, unknown(word)
}

func unknown(name string) error {
	err := fault.New(fault.Usage, "unknown decoder %q; decoders are %s", name, strings.Join(Names(), ", "))
	var words []string
	for _, d := range decoders {
		words = append(append(words, d.name), d.synonyms...)
	}
	switch near := fault.Nearest(strings.ToLower(name), words); {
	case near != "":
		return err.WithHint("did you mean %s?", near)
	case strings.ContainsAny(name, "<>$"):
		return err.WithHint("kcat's pack strings are templates here, as in -f '%%v{unpack{%s}}\\n'", name)
	}
	return err
}
