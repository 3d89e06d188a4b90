package output

import (
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/record"
)

// templateFormat writes records by a template in the grammar of franz-go's
// record formatter, with %c for the cluster and %n for the stream.
type templateFormat struct {
	parts     []part
	null, end string
	needs     Needs
	calls     atomic.Int64 // records formatted so far, for %i
	cursors   sync.Pool
}

// part appends a piece of a record.
type part func(dst []byte, c *cursor) []byte

// cursor is what parts look at. Key and value are decoded, and null replaced;
// inside %h they are a header's.
type cursor struct {
	split      *templateSplit
	rec        *record.Record
	key, value []byte
	call       int64
}

func newTemplate(text, null, end string) (*templateFormat, error) {
	p := &parser{text: text}
	if err := p.parse(); err != nil {
		return nil, err
	}
	f := &templateFormat{parts: p.parts, null: null, end: end, needs: p.needs}
	f.cursors.New = func() any { return new(cursor) }
	return f, nil
}

// Needs implements Format.
func (f *templateFormat) Needs() Needs { return f.needs }

// ForSplit implements Format.
func (f *templateFormat) ForSplit(stream string, split record.Split) SplitFormat {
	return &templateSplit{
		f:         f,
		stream:    []byte(stream),
		cluster:   []byte(split.Cluster),
		topic:     []byte(split.Topic),
		partition: split.Partition,
	}
}

type templateSplit struct {
	f                      *templateFormat
	stream, cluster, topic []byte
	partition              int32
}

// Append implements SplitFormat.
func (s *templateSplit) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	c, _ := s.f.cursors.Get().(*cursor)
	*c = cursor{split: s, rec: rec, key: s.f.bytes(key), value: s.f.bytes(value)}
	if s.f.needs.Sequence {
		c.call = s.f.calls.Add(1)
	}
	for _, p := range s.f.parts {
		dst = p(dst, c)
	}
	*c = cursor{}
	s.f.cursors.Put(c)
	return append(dst, s.f.end...)
}

// bytes returns what %k and %v print.
func (f *templateFormat) bytes(v *record.Value) []byte {
	if v == nil {
		return nil
	}
	if v.Kind == record.Null {
		return []byte(f.null)
	}
	return v.Bytes
}
