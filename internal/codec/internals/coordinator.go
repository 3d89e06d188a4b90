package internals

import (
	"encoding/binary"
	"fmt"
)

// coordinator is a topic of one of Kafka's coordinators: the first two bytes of
// a key are the type of the record, those of a value its version.
type coordinator struct{ types []recordType }

// recordType is what the records of one type hold.
type recordType struct {
	id    int16
	name  string
	key   message
	value message
}

func (c *coordinator) find(id int16) *recordType {
	for i := range c.types {
		if c.types[i].id == id {
			return &c.types[i]
		}
	}
	return nil
}

// AppendKey implements Topic.
func (c *coordinator) AppendKey(dst, key []byte) ([]byte, error) {
	if key == nil {
		return append(dst, "null"...), nil
	}
	id, body, err := cutVersion(key)
	if err != nil {
		return dst, fmt.Errorf("key: %w", err)
	}
	t := c.find(id)
	if t == nil {
		return unknown(dst, id, body), nil
	}
	dst = appendHead(dst, id)
	dst = append(append(append(dst, `,"type":"`...), t.name...), '"')
	r := reader{rest: body}
	if dst, err = r.message(dst, &t.key, 0); err != nil {
		return dst, fmt.Errorf("key of %s: %w", t.name, err)
	}
	return append(dst, '}'), nil
}

// AppendValue implements Topic.
func (c *coordinator) AppendValue(dst, key, value []byte) ([]byte, error) {
	if value == nil {
		return append(dst, "null"...), nil
	}
	version, body, err := cutVersion(value)
	if err != nil {
		return dst, fmt.Errorf("value: %w", err)
	}
	id, _, err := cutVersion(key)
	if err != nil {
		return dst, fmt.Errorf("value: its key has no type: %w", err)
	}
	t := c.find(id)
	if t == nil || version < 0 || version > t.value.last {
		return unknown(dst, version, body), nil
	}
	dst = appendHead(dst, version)
	r := reader{rest: body}
	if dst, err = r.message(dst, &t.value, version); err != nil {
		return dst, fmt.Errorf("value of %s, version %d: %w", t.name, version, err)
	}
	return append(dst, '}'), nil
}

func cutVersion(b []byte) (int16, []byte, error) {
	if len(b) < 2 {
		return 0, nil, fmt.Errorf("%d bytes are too few for a version", len(b))
	}
	return int16(binary.BigEndian.Uint16(b)), b[2:], nil
}

// appendHead begins the object of a key or value.
func appendHead(dst []byte, version int16) []byte {
	return appendInt(append(dst, `{"version":`...), int64(version))
}

// unknown shows what this program has no table for.
func unknown(dst []byte, version int16, body []byte) []byte {
	dst = append(appendHead(dst, version), `,"bytes":`...)
	return append(appendBase64(dst, body), '}')
}
