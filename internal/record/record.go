// Package record holds the words that every other package shares: the split,
// the record as a view into a batch, and the decoded value. It does no I/O,
// imports the standard library only and must stay free of policy.
package record

import "strconv"

// Split is one partition of one topic on one cluster. Its three parts together
// are its identity; nothing in kcm is keyed by less.
type Split struct {
	Cluster   string
	Topic     string
	Partition int32
}

// String gives the form that messages use: cluster/topic/partition.
func (s Split) String() string {
	return s.Cluster + "/" + s.Topic + "/" + strconv.FormatInt(int64(s.Partition), 10)
}

// Compare orders splits by cluster, topic and partition.
func (s Split) Compare(o Split) int {
	switch {
	case s.Cluster != o.Cluster:
		return compare(s.Cluster, o.Cluster)
	case s.Topic != o.Topic:
		return compare(s.Topic, o.Topic)
	default:
		return compare(s.Partition, o.Partition)
	}
}

func compare[T string | int32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// TimestampType says who set a record's timestamp.
type TimestampType uint8

// The two timestamp types of Kafka's topic setting message.timestamp.type.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// String gives the word of the JSON output: create or append.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "append"
	}
	return "create"
}

// Record is one record, seen in place: its slices point into the batch that it
// was read from and die with that batch, so whoever keeps a Record copies it.
type Record struct {
	Offset        int64
	Timestamp     int64 // milliseconds since 1970 as stored; any int64, -1 is "none"
	TimestampType TimestampType
	LeaderEpoch   int32  // of the batch; -1 when it has none
	ProducerID    int64  // of the batch; -1 when it has none
	ProducerEpoch int16  // of the batch; -1 when it has none
	Attributes    int16  // of the batch, as stored: bits 0-2 compression, 3 timestamp type, 4 transactional, 5 control
	Key           []byte // nil is null; empty and not nil is empty
	Value         []byte // nil is null; empty and not nil is empty
	Headers       Headers
	// Decoded is set for records that come from a file in which they were kept
	// after decoding; nil otherwise.
	Decoded *Decoded
}

// Decoded is what an earlier run made of a record's key and value, where a file
// has that instead of the stored bytes. The record's Key and Value are then the
// bytes of what was made: the text or the JSON. They are the stored bytes too if
// the decoder was one that shows these, which the file does not tell; with a
// SchemaID they are not.
type Decoded struct {
	Key   *Value // nil: the record's key is as it was stored
	Value *Value // nil: the record's value is as it was stored
}

// Value is what a decoder made of a record's key or value, ready to be shown.
type Value struct {
	Kind     Kind
	Bytes    []byte // JSON text, UTF-8 text or raw bytes, as Kind says; nil for Null
	SchemaID string // empty when no schema took part
	Err      error  // why Bytes are the stored bytes and not a decoded form
}

// Kind says how the bytes of a Value are to be shown.
type Kind uint8

// What a Value's bytes are.
const (
	Null   Kind = iota // no value at all; differs from empty
	JSON               // one compact JSON text, valid UTF-8
	Text               // valid UTF-8
	Binary             // anything
)
