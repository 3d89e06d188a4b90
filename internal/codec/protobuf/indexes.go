package protobuf

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// chooser finds the message that the indexes at the start of a registry's
// payload name: the place of a message among those of its file, then of one
// nested in it among those nested there, and so on. They are zigzag varints
// behind their count, and the single byte 0 is short for the list of 0 (wire format of Confluent's
// KafkaProtobufSerializer).
type chooser struct {
	file  *node
	types *types
}

// node is a file or a message, with the messages in it.
type node struct {
	message protoreflect.MessageDescriptor // nil for a file
	table   atomic.Pointer[table]          // of the message, once it was needed
	nested  []*node                        // as Confluent's Java serializer counts: messages as the text has them
	all     []*node                        // as its others do: the entries of maps among them
}

var (
	errNoIndexes = errors.New("the message indexes are missing")
	errIndexes   = errors.New("more message indexes than bytes")
)

func newNode(md protoreflect.MessageDescriptor, in protoreflect.MessageDescriptors, entries map[string]bool) *node {
	n := &node{message: md}
	for i := range in.Len() {
		m := in.Get(i)
		sub := newNode(m, m.Messages(), entries)
		n.all = append(n.all, sub)
		if !m.IsMapEntry() || entries[string(m.FullName())] {
			n.nested = append(n.nested, sub)
		}
	}
	return n
}

// choose reads the indexes and returns the message's table and what follows.
func (c *chooser) choose(payload []byte) (*table, []byte, error) {
	if len(payload) == 0 {
		return nil, nil, errNoIndexes
	}
	v, i := varint(payload, 0)
	if i < 0 {
		return nil, nil, fmt.Errorf("message indexes: %w", damage(i))
	}
	count := protowire.DecodeZigZag(v)
	if count < 0 || count > int64(len(payload)-i) {
		return nil, nil, errIndexes
	}
	var short [8]int64
	path := short[:0]
	if count == 0 {
		path = append(path, 0)
	}
	for range count {
		v, end := varint(payload, i)
		if end < 0 {
			return nil, nil, fmt.Errorf("message indexes: %w", damage(end))
		}
		if len(path) == maxNesting {
			return nil, nil, fmt.Errorf("message indexes: %w", errDepth)
		}
		path, i = append(path, protowire.DecodeZigZag(v)), end
	}
	return c.table(path, payload[i:])
}

// maxNesting is how deep messages can be declared in each other.
const maxNesting = 64

// table finds the message at path. The registry and the serializers of Java
// and JavaScript do not count the entry types that map fields stand for, those
// of Go and Python do: what cannot be meant in the first way is taken in the second.
func (c *chooser) table(path []int64, rest []byte) (*table, []byte, error) {
	n := c.file.walk(path, false)
	if n == nil {
		n = c.file.walk(path, true)
	}
	if n == nil || n.message.IsMapEntry() {
		return nil, nil, fmt.Errorf("the schema has no message at the indexes %v", slices.Clone(path)) // the path itself stays on the stack
	}
	t := n.table.Load()
	if t == nil {
		t = c.types.table(n.message)
		n.table.Store(t)
	}
	return t, rest, nil
}

func (n *node) walk(path []int64, entries bool) *node {
	for _, index := range path {
		messages := n.nested
		if entries {
			messages = n.all
		}
		if index < 0 || index >= int64(len(messages)) {
			return nil
		}
		n = messages[index]
	}
	return n
}
