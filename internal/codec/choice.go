package codec

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Choice names the decoders of keys and values; an empty name is no choice.
type Choice struct{ Key, Value string }

// Or fills what c leaves open from other.
func (c Choice) Or(other Choice) Choice {
	if c.Key == "" {
		c.Key = other.Key
	}
	if c.Value == "" {
		c.Value = other.Value
	}
	return c
}

// ParseChoice reads the values of the flag -s: each is [key=|value=]NAME or
// several of those with commas between; a NAME alone is for both. The last one
// for a side wins. Unknown sides and names are errors of kind fault.Usage.
func ParseChoice(args []string) (Choice, error) {
	var c Choice
	for _, arg := range args {
		for part := range strings.SplitSeq(arg, ",") {
			side, word, found := strings.Cut(part, "=")
			if !found {
				side, word = "", part
			}
			name, _, err := named(word)
			if err != nil {
				return Choice{}, err
			}
			switch {
			case !found:
				c = Choice{Key: name, Value: name}
			case side == "key":
				c.Key = name
			case side == "value":
				c.Value = name
			default:
				return Choice{}, fault.New(fault.Usage, "unknown side %q in -s %s; sides are key and value", side, arg)
			}
		}
	}
	return c, nil
}

// Env is what decoders have to know about where records come from: one topic of
// one cluster.
type Env struct {
	Cluster  string   // for messages
	Registry Registry // nil: the cluster has none
	// WideIDs says that ids in keys and values have 8 bytes, as Apicurio's own
	// serializers write them, and not 4.
	WideIDs bool
	// Key and Value are schemas from files; nil is none.
	Key, Value Schema
	Internal   Internal // nil: an ordinary topic
}

// Internal decodes the records of a topic that Kafka or MirrorMaker 2 keeps for
// itself, to compact JSON. It is safe for use by several goroutines. A value is
// understood by its key. An error that is ErrOther says that the topic has only
// the name of such a one.
type Internal interface {
	AppendKey(dst, key []byte) ([]byte, error)
	AppendValue(dst, key, value []byte) ([]byte, error)
}

// bySchema is what Auto is called where it may find a schema, or knows the topic.
const bySchema = "auto by schema"

// In returns c as it is meant where records come from e, with nothing left open.
func (c Choice) In(e Env) Choice {
	c = c.Or(Choice{Key: Auto, Value: Auto})
	c.Key, c.Value = Named(c.Key), Named(c.Value)
	if e.Registry == nil && e.Internal == nil {
		return c
	}
	if c.Key == Auto {
		c.Key = bySchema
	}
	if c.Value == Auto {
		c.Value = bySchema
	}
	return c
}

// Named returns the name of the decoder that a word is a synonym of; other words
// stay as they are.
func Named(word string) string {
	if name, _, err := named(word); err == nil {
		return name
	}
	return word
}

// Pair holds the decoders of one stream's keys and values.
type Pair struct{ Key, Value Decoder }

// Pair makes the decoders that c names, Auto where it names none. A decoder that
// needs a schema and has none is an error of kind fault.Usage.
func (c Choice) Pair(e Env) (p Pair, err error) {
	c = c.In(e)
	if p.Key, err = e.decoder(c.Key, true); err != nil {
		return Pair{}, err
	}
	p.Value, err = e.decoder(c.Value, false)
	return p, err
}

// decoder makes the decoder of one side.
func (e Env) decoder(word string, key bool) (Decoder, error) {
	switch word {
	case Auto:
		return &auto{}, nil
	case bySchema:
		if e.Internal != nil {
			return newInternal(e, key), nil
		}
		return newFramed(e, "", key), nil
	}
	name, d, err := named(word)
	if err != nil || d != nil {
		return d, err
	}
	want := schemaTypes[name]
	local, side, flag := e.Value, "value", "--schema"
	if key {
		local, side, flag = e.Key, "key", "--key-schema"
	}
	if want == Protobuf {
		flag = "--proto"
	}
	switch {
	case local != nil && local.Type() == want:
		return &fromFile{schema: local}, nil
	case e.Registry != nil:
		return newFramed(e, want, key), nil
	}
	return nil, fault.New(fault.Usage, "%s: the decoder %s has no schema for the %s: the cluster has no schema registry", e.Cluster, name, side).
		WithHint("schemaRegistry: under the cluster, --registry URL, or %s FILE", flag)
}

// schemaTypes are the types that decoders are named after.
var schemaTypes = map[string]SchemaType{"avro": Avro, "protobuf": Protobuf, "jsonschema": JSONSchema}

// Name returns the name of the decoder for schemas of type t.
func (t SchemaType) Name() string {
	for name, of := range schemaTypes {
		if of == t {
			return name
		}
	}
	return strings.ToLower(string(t))
}

// ShowsStored reports whether the decoder of that name, as Choice.In gives it,
// shows the stored bytes themselves, but perhaps for whitespace between the tokens
// of JSON: what is looked for in its text is found in the bytes as well. An empty
// name is Auto.
func ShowsStored(name string) bool {
	switch name {
	case "", Auto, "raw", "string", "json":
		return true
	default:
		return false
	}
}

// Repeats reports whether the decoder of that name, given the text or JSON that
// it has shown, shows the same once more. An empty name is Auto.
func Repeats(name string) bool { return name == bySchema || name != "json" && ShowsStored(name) }
