package internals

// kind is a type of Kafka's message definitions (and three of this package).
type kind uint8

const (
	i8 kind = iota
	i16
	u16
	i32
	i64
	str
	uuid
	raw    // bytes
	object // a structure: fields
	// Bytes with something known inside, in a group of consumers:
	subscription
	assignment
)

// message is a key, a value or a structure in one: its fields in the order in
// which they are stored.
type message struct {
	fields []field
	tagged []field // by their tags, which count from 0 without a gap
	last   int16   // the newest version; of structures that of the message
	// flexible is the first version with compact lengths and tagged fields
	// (KIP-482); never when it is above last.
	flexible int16
}

// field is one field of a message.
type field struct {
	name  string // in JSON
	kind  kind
	list  bool     // an array of kind
	of    *message // of an object
	since int16    // the first version that has it
	until int16    // the last one; 0 is no end
	// nullable is 1 more than the first version in which null is allowed; 0 never.
	nullable int16
	words    []string // names for the values of an i8; empty where there is none
}

// null marks a field that may be null from its first version on.
func null(f field) field {
	f.nullable = f.since + 1
	return f
}

const never = 1 << 14

// v0 is a message of version 0 with tagged fields.
func v0(fields ...field) message { return message{fields: fields} }

// with adds the tagged fields.
func (m message) with(tagged ...field) message {
	m.tagged = tagged
	return m
}

// old is a message of version 0 from before tagged fields.
func old(fields ...field) message { return message{fields: fields, flexible: never} }

// topicID is the one id in these messages.
var topicID = field{name: "topic_id", kind: uuid}

func text(name string) field            { return field{name: name, kind: str} }
func int16s(name string) field          { return field{name: name, kind: i16} }
func int32s(name string) field          { return field{name: name, kind: i32} }
func int64s(name string) field          { return field{name: name, kind: i64} }
func one(name string, of message) field { return field{name: name, kind: object, of: &of} }

// words are an i8 with names for its values.
func words(name string, words []string) field { return field{name: name, kind: i8, words: words} }

// many makes an array of a field.
func many(f field) field {
	f.list = true
	return f
}
