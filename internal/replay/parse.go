package replay

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/record"
)

// parser reads lines. What it makes of one lives until the next, and as long as
// the line. It belongs to one goroutine.
type parser struct {
	rec record.Record

	stream, cluster, topic []byte
	partition              int32

	key, value side
	found      members
	arena      []byte // what is not in the line as it is
	headers    []byte // of the line, as Kafka encodes them
	decoded    record.Decoded
	keyShown   record.Value
	valueShown record.Value
}

// side is what a line says about a key or a value.
type side struct {
	kind   record.Kind // Null, JSON or Text, as it stands there
	bytes  []byte
	base64 bool
	failed bool   // it could not be decoded, so these are the stored bytes
	schema string // that it was decoded with
}

// members is a set of the members that a line must have.
type members uint16

const (
	memberStream members = 1 << iota
	memberCluster
	memberTopic
	memberPartition
	memberOffset
	memberTimestamp
	memberTimestampType
	memberKey
	memberValue
	memberHeaders

	memberHead = memberStream | memberCluster | memberTopic | memberPartition
	memberAll  = memberHeaders<<1 - 1
)

// memberNames are in the order of the bits.
var memberNames = []string{"stream", "cluster", "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers"}

// errShort is what is wrong with a text that ends too early.
var errShort = errors.New("it ends in the middle")

// parse reads a line. The bytes of head, when it begins with them, are known to
// be its stream, cluster, topic and partition and are not looked at.
func (p *parser) parse(line, head []byte) error {
	p.arena, p.headers, p.found = p.arena[:0], p.headers[:0], 0
	p.key, p.value = side{}, side{}
	p.rec = record.Record{LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1}
	if !utf8.Valid(line) {
		return errors.New("it is not valid UTF-8")
	}
	c := cursor{b: line, p: p}
	if n := len(head); n > 0 && len(line) > n && string(line[:n]) == string(head) {
		c.i, p.found = n, memberHead
		if err := c.more(); err != nil {
			return err
		}
	} else if err := c.open(); err != nil {
		return err
	}
	for !c.closed {
		if err := c.member(); err != nil {
			return err
		}
		if err := c.more(); err != nil {
			return err
		}
	}
	if c.skipSpace(); c.i < len(line) {
		return fmt.Errorf("something follows the record: %s", excerpt(line[c.i:]))
	}
	if p.found != memberAll {
		return p.missing()
	}
	return p.finish()
}

// missing names the members that a line lacks.
func (p *parser) missing() error {
	var names []string
	for i, name := range memberNames {
		if p.found&(1<<i) == 0 {
			names = append(names, name)
		}
	}
	return fmt.Errorf("it lacks %s", strings.Join(names, ", "))
}

// finish makes the record's key and value of what the line says about them.
func (p *parser) finish() (err error) {
	if p.rec.Key, err = p.stored(&p.key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if p.rec.Value, err = p.stored(&p.value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	p.rec.Headers.Raw = p.headers
	p.decoded = record.Decoded{}
	if p.key.shown(&p.keyShown, p.rec.Key) {
		p.decoded.Key = &p.keyShown
	}
	if p.value.shown(&p.valueShown, p.rec.Value) {
		p.decoded.Value = &p.valueShown
	}
	if p.decoded != (record.Decoded{}) {
		p.rec.Decoded = &p.decoded
	}
	return nil
}

// stored gives the bytes that s stands for.
func (p *parser) stored(s *side) ([]byte, error) {
	switch {
	case s.kind == record.Null && s.schema != "" && !s.failed:
		return []byte("null"), nil // a schema's null is not Kafka's
	case s.kind == record.Null:
		return nil, nil
	case s.base64 && s.kind == record.Text:
		return p.unbase64(s.bytes)
	case s.base64:
		return nil, errors.New("its encoding is base64, but it is no string")
	case s.kind == record.JSON:
		if ok, _ := codec.ValidJSON(s.bytes); !ok {
			return nil, fmt.Errorf("not valid JSON: %s", excerpt(s.bytes))
		}
	}
	return s.bytes, nil
}

// shown says what an earlier decoder had made of a key or value, unless the
// stored bytes are known.
func (s *side) shown(v *record.Value, bytes []byte) bool {
	switch {
	case s.failed, s.schema == "" && (s.base64 || s.kind == record.Null):
		return false
	case s.kind == record.Null:
		s.kind = record.JSON
	}
	*v = record.Value{Kind: s.kind, Bytes: bytes, SchemaID: s.schema}
	if s.base64 {
		v.Kind = record.Binary
	}
	return true
}

func (p *parser) unbase64(text []byte) ([]byte, error) {
	at := len(p.arena)
	grown, err := base64.StdEncoding.AppendDecode(p.arena, text)
	if err != nil {
		return nil, fmt.Errorf("not valid base64: %s", excerpt(text))
	}
	if p.arena = grown; len(grown) == at {
		return []byte{}, nil
	}
	return grown[at:len(grown):len(grown)], nil
}

// appendHeader adds a header to those of the record.
func (p *parser) appendHeader(key, value []byte) {
	p.rec.Headers.Count++
	p.headers = append(binary.AppendVarint(p.headers, int64(len(key))), key...)
	if value == nil {
		p.headers = binary.AppendVarint(p.headers, -1)
		return
	}
	p.headers = append(binary.AppendVarint(p.headers, int64(len(value))), value...)
}

// excerptBytes is how much of a bad text a message shows.
const excerptBytes = 40

// excerpt shows the beginning of a text.
func excerpt(b []byte) string {
	if len(b) <= excerptBytes {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%q…", b[:excerptBytes])
}
