package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/kcm-cli/kcm/internal/record"
)

// cursor walks over the JSON object of one line. Its methods read what is at i,
// which is behind whitespace, and move it behind that.
type cursor struct {
	b      []byte
	i      int
	p      *parser
	closed bool // the object has ended
}

func (c *cursor) skipSpace() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t' || c.b[c.i] == '\r' || c.b[c.i] == '\n') {
		c.i++
	}
}

// take passes over one character and the whitespace behind it.
func (c *cursor) take(char byte) bool {
	if c.i >= len(c.b) || c.b[c.i] != char {
		return false
	}
	c.i++
	c.skipSpace()
	return true
}

// unexpected says what stands where something else should.
func (c *cursor) unexpected(want string) error {
	if c.i >= len(c.b) {
		return errShort
	}
	return fmt.Errorf("%s is expected, not %s", want, excerpt(c.b[c.i:]))
}

func (c *cursor) open() error {
	c.skipSpace()
	if !c.take('{') {
		if c.i >= len(c.b) {
			return errShort
		}
		return fmt.Errorf("it is no JSON object: %s", excerpt(c.b[c.i:]))
	}
	c.closed = c.take('}')
	return nil
}

// more passes over what stands behind a member.
func (c *cursor) more() error {
	c.skipSpace()
	switch {
	case c.take(','):
		return nil
	case c.take('}'):
		c.closed = true
		return nil
	default:
		return c.unexpected("a comma or a brace")
	}
}

// name reads a member's name and the colon behind it.
func (c *cursor) name() ([]byte, error) {
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return nil, c.unexpected("a member's name")
	}
	name, err := c.text()
	if err != nil {
		return nil, err
	}
	if c.skipSpace(); !c.take(':') {
		return nil, c.unexpected("a colon")
	}
	return name, nil
}

// member reads one member of a record.
func (c *cursor) member() (err error) {
	name, err := c.name()
	if err != nil {
		return err
	}
	known, err := c.known(name)
	if !known {
		return c.mark(name)
	}
	if err != nil && !errors.Is(err, errShort) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// known reads the value of one of the members that every record has.
func (c *cursor) known(name []byte) (known bool, err error) {
	p := c.p
	switch string(name) {
	case "stream":
		p.stream, err = c.place(memberStream)
	case "cluster":
		p.cluster, err = c.place(memberCluster)
	case "topic":
		p.topic, err = c.place(memberTopic)
	case "partition":
		err = c.partition()
	case "offset":
		err = c.offset()
	case "timestamp":
		p.rec.Timestamp, err = c.number(memberTimestamp)
	case "timestamp_type":
		err = c.timestampType()
	case "key":
		err = c.side(memberKey, &p.key)
	case "value":
		err = c.side(memberValue, &p.value)
	case "headers":
		err = c.headers()
	default:
		return false, nil
	}
	return true, err
}

func (c *cursor) partition() error {
	n, err := c.number(memberPartition)
	if err == nil && (n < 0 || n > math.MaxInt32) {
		return fmt.Errorf("%d is no partition", n)
	}
	c.p.partition = int32(n) //nolint:gosec // it has just been checked
	return err
}

func (c *cursor) offset() (err error) {
	if c.p.rec.Offset, err = c.number(memberOffset); err == nil && c.p.rec.Offset < 0 {
		return fmt.Errorf("%d is no offset", c.p.rec.Offset)
	}
	return err
}

// mark reads one of the members that only some records have.
func (c *cursor) mark(name []byte) (err error) {
	s := &c.p.value
	rest, ok := bytes.CutPrefix(name, []byte("value_"))
	if !ok {
		s = &c.p.key
		rest, ok = bytes.CutPrefix(name, []byte("key_"))
	}
	if !ok {
		return c.skip()
	}
	switch string(rest) {
	case "encoding":
		s.base64, err = c.encoding()
	case "schema_id":
		var id []byte
		if id, err = c.schemaID(); err == nil {
			s.schema = string(id)
		}
	case "error":
		s.failed = true
		err = c.skip()
	default:
		return c.skip()
	}
	if err != nil && !errors.Is(err, errShort) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// first notes that a member has been found; once is right.
func (c *cursor) first(m members) error {
	if c.p.found&m != 0 {
		return errors.New("it is there twice")
	}
	c.p.found |= m
	return nil
}

// place reads one of the names that say where a record is from.
func (c *cursor) place(m members) ([]byte, error) {
	if err := c.first(m); err != nil {
		return nil, err
	}
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return nil, c.unexpected("a string")
	}
	return c.text()
}

func (c *cursor) number(m members) (int64, error) {
	if err := c.first(m); err != nil {
		return 0, err
	}
	n, size := leadingInt(c.b[c.i:])
	if size == 0 {
		return 0, c.unexpected("an integer")
	}
	c.i += size
	return n, nil
}

func (c *cursor) timestampType() error {
	word, err := c.place(memberTimestampType)
	if err != nil {
		return err
	}
	switch string(word) {
	case "create":
	case "append":
		c.p.rec.TimestampType, c.p.rec.Attributes = record.LogAppendTime, 1<<3
	default:
		return fmt.Errorf("%s is neither create nor append", excerpt(word))
	}
	return nil
}

// side reads a key or value. A string with half a character, which only JSON that
// was embedded as it was can have, stays the JSON that it is.
func (c *cursor) side(m members, s *side) (err error) {
	if err := c.first(m); err != nil {
		return err
	}
	if c.i >= len(c.b) {
		return errShort
	}
	if c.b[c.i] == '"' {
		s.kind = record.Text
		if s.bytes, err = c.text(); !errors.Is(err, errNoCharacter) {
			return err
		}
	}
	start := c.i
	if err := c.skip(); err != nil {
		return err
	}
	s.kind, s.bytes = record.JSON, c.b[start:c.i:c.i]
	if string(s.bytes) == "null" {
		s.kind, s.bytes = record.Null, nil
	}
	return nil
}

func (c *cursor) encoding() (bool, error) {
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return false, c.unexpected("a string")
	}
	word, err := c.text()
	if err == nil && string(word) != "base64" {
		err = fmt.Errorf("%s is not known; base64 is", excerpt(word))
	}
	return true, err
}

// schemaID reads an identifier, which is a number or a string.
func (c *cursor) schemaID() ([]byte, error) {
	if c.i < len(c.b) && c.b[c.i] == '"' {
		return c.text()
	}
	start := c.i
	if _, size := leadingInt(c.b[c.i:]); size > 0 {
		c.i += size
		return c.b[start:c.i], nil
	}
	return nil, c.unexpected("a number or a string")
}

// headers reads the array of headers.
func (c *cursor) headers() error {
	if err := c.first(memberHeaders); err != nil {
		return err
	}
	if !c.take('[') {
		return c.unexpected("an array")
	}
	if c.take(']') {
		return nil
	}
	for {
		if err := c.header(); err != nil {
			return err
		}
		c.skipSpace()
		if c.take(']') {
			return nil
		}
		if !c.take(',') {
			return c.unexpected("a comma or a bracket")
		}
	}
}

// header reads one header.
func (c *cursor) header() error {
	var key, value side
	hasKey, hasValue := false, false
	if !c.take('{') {
		return c.unexpected("an object")
	}
	for done := c.take('}'); !done; {
		name, err := c.name()
		if err != nil {
			return err
		}
		switch string(name) {
		case "key":
			hasKey, key.kind = true, record.Text
			key.bytes, err = c.textOnly()
		case "value":
			hasValue = true
			value.kind, value.bytes, err = c.textOrNull()
		case "key_encoding":
			key.base64, err = c.encoding()
		case "encoding":
			value.base64, err = c.encoding()
		default:
			err = c.skip()
		}
		if err != nil {
			return err
		}
		c.skipSpace()
		if done = c.take('}'); !done && !c.take(',') {
			return c.unexpected("a comma or a brace")
		}
	}
	if !hasKey || !hasValue {
		return errors.New("a header without key or value")
	}
	return c.p.header(&key, &value)
}

// header adds a header of a line to the record.
func (p *parser) header(key, value *side) error {
	k, err := p.stored(key)
	if err != nil {
		return err
	}
	v, err := p.stored(value)
	if err != nil {
		return err
	}
	p.appendHeader(k, v)
	return nil
}

func (c *cursor) textOnly() ([]byte, error) {
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return nil, c.unexpected("a string")
	}
	return c.text()
}

func (c *cursor) textOrNull() (record.Kind, []byte, error) {
	if bytes.HasPrefix(c.b[c.i:], []byte("null")) {
		c.i += len("null")
		return record.Null, nil, nil
	}
	text, err := c.textOnly()
	return record.Text, text, err
}
