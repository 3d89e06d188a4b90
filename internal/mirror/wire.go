package mirror

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// What is wrong with a record; errors of this package wrap one of these.
var (
	// ErrMalformed: the bytes are no record of that kind; a key is missing, or
	// something is cut off or has an impossible length.
	ErrMalformed = errors.New("malformed")
	// ErrVersion: the record has a version that this program does not know. It is
	// never read as another one.
	ErrVersion = errors.New("unsupported version")
)

// cursor reads Kafka's primitive types from a record (Type.java: big-endian
// integers, strings of a 16-bit length in bytes and UTF-8). After the first
// failure it reads nothing more.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) take(n int, field string) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.rest) {
		c.err = fmt.Errorf("%w: %s takes %d bytes of %d", ErrMalformed, field, n, len(c.rest))
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) int16(field string) int16 {
	if b := c.take(2, field); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) int32(field string) int32 {
	if b := c.take(4, field); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) int64(field string) int64 {
	if b := c.take(8, field); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (c *cursor) string(field string) []byte {
	n := c.int16(field)
	if n < 0 && c.err == nil {
		c.err = fmt.Errorf("%w: %s has a length of %d", ErrMalformed, field, n)
	}
	if c.err != nil {
		return nil
	}
	return c.take(int(n), field)
}

// version reads the version that a value begins with.
func (c *cursor) version() {
	if v := c.int16("version"); v != 0 && c.err == nil {
		c.err = fmt.Errorf("%w %d", ErrVersion, v)
	}
}

// open starts to read a key or value, which must not be null.
func open(b []byte, what string) cursor {
	if b == nil {
		return cursor{err: fmt.Errorf("%w: no %s", ErrMalformed, what)}
	}
	return cursor{rest: b}
}

// appendString writes a string. Kafka's limit for one is 32767 bytes; what is
// longer cannot be a group, topic or alias, and is cut.
func appendString(dst, s []byte) []byte {
	s = s[:min(len(s), math.MaxInt16)]
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}
