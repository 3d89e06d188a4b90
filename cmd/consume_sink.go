package cmd

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// consumeSink formats records and writes them to stdout.
type consumeSink struct {
	out      *output.Stdout
	format   output.Format
	needs    output.Needs
	choices  atomic.Pointer[map[string]codec.Choice] // of decoders, by stream; replaced, never changed
	decode   codec.Choice                            // the command's own
	onDecode string
	// decodesKey and decodesValue say what is decoded at all.
	decodesKey, decodesValue bool
	limit                    int64     // for formats that number records; negative is none
	buffers                  sync.Pool // *[]byte
	gather                   []byte
}

// maxKeptBuffer is the size up to which an output buffer is used again.
const maxKeptBuffer = 8 << 20

func newConsumeSink(o *consumeOptions) *consumeSink {
	s := &consumeSink{
		out: output.NewStdout(o.env.Stdout), format: o.format, needs: o.format.Needs(),
		decode: o.decode, onDecode: o.onDecode, limit: -1,
	}
	// What is not shown is decoded as well where it decides about the record.
	s.decodesKey = s.needs.Key || o.onDecode != "raw"
	s.decodesValue = s.needs.Value || o.onDecode != "raw"
	s.buffers.New = func() any { return new([]byte) }
	if s.needs.Sequence {
		s.limit = o.limit
	}
	return s
}

// setStreams makes the decoders of streams known. It may be called again while
// records are formatted.
func (s *consumeSink) setStreams(wants []source.Want) error {
	choices := map[string]codec.Choice{}
	for _, w := range wants {
		choice := s.decode.Or(codec.Choice{Key: w.Stream.Key, Value: w.Stream.Value})
		if s.needs.StoredBytes {
			choice = choice.Or(codec.Choice{Key: "raw", Value: "raw"})
		}
		if !s.decodesKey {
			choice.Key = codec.Auto
		}
		if !s.decodesValue {
			choice.Value = codec.Auto
		}
		if _, err := choice.Pair(); err != nil {
			return err
		}
		name := w.Stream.Name
		if w.Stream.ByTopic {
			name = byTopic
		}
		choices[name] = choice
	}
	if old := s.choices.Load(); old != nil { // streams that have left are still on their way out
		for name, choice := range *old {
			if _, there := choices[name]; !there {
				choices[name] = choice
			}
		}
	}
	s.choices.Store(&choices)
	return nil
}

// Worker implements source.Sink.
func (s *consumeSink) Worker() source.Worker {
	return &consumeWorker{s: s, left: s.limit, decoders: map[string]codec.Pair{}}
}

// Write implements source.Sink. Small blocks are gathered into one write.
func (s *consumeSink) Write(blocks []source.Block) error {
	if len(blocks) == 1 {
		_, err := s.out.Write(blocks[0].Data)
		return err
	}
	s.gather = s.gather[:0]
	for _, b := range blocks {
		if len(b.Data) >= 64<<10 {
			if err := s.flush(); err != nil {
				return err
			}
			if _, err := s.out.Write(b.Data); err != nil {
				return err
			}
			continue
		}
		s.gather = append(s.gather, b.Data...)
	}
	return s.flush()
}

func (s *consumeSink) flush() error {
	if len(s.gather) == 0 {
		return nil
	}
	_, err := s.out.Write(s.gather)
	s.gather = s.gather[:0]
	return err
}

// consumeWorker formats chunks. It belongs to one goroutine.
type consumeWorker struct {
	s        *consumeSink
	choices  *map[string]codec.Choice // that decoders are made of
	decoders map[string]codec.Pair    // by stream
	scratch  []byte
	left     int64 // records that may still be numbered; negative is no limit
}

// Prepare implements source.Worker.
func (w *consumeWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	if w.left >= 0 && (limit < 0 || int64(limit) > w.left) {
		limit = int(w.left)
	}
	p := w.preparation(c, limit)
	err := c.Records(p.take)
	if err == nil {
		err = p.err
	}
	if p.full || err != nil {
		p.block.Next = p.seen
	}
	if w.left >= 0 {
		w.left -= int64(p.block.Written)
	}
	p.block.Data = *p.buf
	buf := p.buf
	p.block.Free = func() {
		if cap(*buf) <= maxKeptBuffer {
			w.s.buffers.Put(buf)
		}
	}
	return p.block, err
}

// preparation is one chunk on its way to a block.
type preparation struct {
	w        *consumeWorker
	formats  []output.SplitFormat // by stream
	decoders []codec.Pair         // by stream
	limit    int
	buf      *[]byte
	block    source.Block
	key      record.Value
	value    record.Value
	seen     int64 // position behind the last record that was dealt with
	full     bool
	err      error
}

func (w *consumeWorker) preparation(c *source.Chunk, limit int) *preparation {
	if now := w.s.choices.Load(); w.choices != now {
		w.choices = now
		clear(w.decoders)
	}
	buf, _ := w.s.buffers.Get().(*[]byte)
	*buf = (*buf)[:0]
	p := &preparation{w: w, limit: limit, buf: buf, block: source.Block{Next: c.Next()}, seen: c.First()}
	for _, stream := range c.Streams {
		p.formats = append(p.formats, w.s.format.ForSplit(stream, c.Split))
		p.decoders = append(p.decoders, w.pair(stream))
	}
	return p
}

// pair returns a stream's decoders, made when first needed.
func (w *consumeWorker) pair(stream string) codec.Pair {
	pair, ok := w.decoders[stream]
	if !ok {
		pair, _ = choiceOf(*w.choices, stream).Pair() // it has been made before
		w.decoders[stream] = pair
	}
	return pair
}

// choiceOf returns a stream's decoders. Streams named after a topic of a pattern
// are not known beforehand and have those of the command line.
func choiceOf(choices map[string]codec.Choice, stream string) codec.Choice {
	if c, ok := choices[stream]; ok {
		return c
	}
	return choices[byTopic]
}

// byTopic stands among the choices for streams named after their topics.
const byTopic = ""

// take formats one record for one stream.
func (p *preparation) take(r *record.Record, stream int) bool {
	if p.limit >= 0 && p.block.Written >= p.limit {
		p.full = true
		return false
	}
	w := p.w
	key, value := &p.key, &p.value
	w.scratch = w.scratch[:0]
	if w.s.decodesKey {
		w.scratch = p.decoders[stream].Key.Decode(key, w.scratch, r.Key)
	}
	if w.s.decodesValue {
		w.scratch = p.decoders[stream].Value.Decode(value, w.scratch, r.Value)
	}
	if (key.Err != nil || value.Err != nil) && !p.undecodable(r, key.Err, value.Err) {
		return p.err == nil
	}
	*p.buf = p.formats[stream].Append(*p.buf, r, key, value)
	p.block.Written++
	p.seen = r.Offset + 1
	return true
}

// undecodable applies the policy to a record and reports whether it is written.
func (p *preparation) undecodable(r *record.Record, key, value error) bool {
	p.block.Undone++
	switch p.w.s.onDecode {
	case "skip":
		p.block.Dropped++
		p.seen = r.Offset + 1
		return false
	case "fail":
		p.err = source.EndRun(decodeError(r.Offset, key, value))
		return false
	default:
		return true
	}
}

func decodeError(offset int64, key, value error) error {
	if key != nil {
		return fmt.Errorf("offset %d: the key cannot be decoded: %w", offset, key)
	}
	return fmt.Errorf("offset %d: the value cannot be decoded: %w", offset, value)
}

// isClosed reports that nobody reads standard output any more.
func isClosed(err error) bool { return errors.Is(err, output.ErrClosedPipe) }
