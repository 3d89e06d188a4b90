package cmd

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/produce"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// toSink hands records to another cluster. It filters and decodes as the sink of
// stdout does.
type toSink struct {
	*consumeSink
	ctx    context.Context //nolint:containedctx // of the run, for look-ups while a chunk is prepared
	target *target

	mu    sync.Mutex
	lanes map[record.Split]*produce.Lane
}

func newToSink(ctx context.Context, s *consumeSink, t *target) *toSink {
	to := t.o.to
	if !to.encoded {
		s.needs = output.Needs{Key: to.decodedKey, Value: to.decodedValue}
		s.reencodes = to.decodedKey || to.decodedValue
	}
	s.decodesKey = s.needs.Key || s.onDecode != "raw"
	s.decodesValue = s.needs.Value || s.onDecode != "raw"
	return &toSink{consumeSink: s, ctx: ctx, target: t, lanes: map[record.Split]*produce.Lane{}}
}

// Worker implements source.Sink.
func (s *toSink) Worker() source.Worker {
	w, _ := s.consumeSink.Worker().(*consumeWorker)
	return &toWorker{consumeWorker: w, s: s, loader: produce.NewLoader(), topics: map[destination]*produce.Topic{}, routes: map[route]*reframing{}}
}

// Write implements source.Sink; a Forwarder is given everything by Forward.
func (s *toSink) Write([]source.Block) error {
	return errors.New("what goes to a cluster is forwarded")
}

// Forward implements source.Forwarder.
func (s *toSink) Forward(blocks []source.Block, done func(i int, b source.Block, err error)) {
	for i, b := range blocks {
		load, _ := b.Load.(*produce.Load)
		s.target.writer.Send(s.lane(b.Split), load, func(r produce.Result) {
			if r.Err != nil {
				b.Written, b.Next, b.Size = r.Arrived, r.Next, r.Bytes
			}
			done(i, b, r.Err)
		})
	}
}

func (s *toSink) lane(split record.Split) *produce.Lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[split]
	if l == nil {
		l = &produce.Lane{From: split}
		s.lanes[split] = l
	}
	return l
}

// toWorker makes chunks ready for the target. It belongs to one goroutine.
type toWorker struct {
	*consumeWorker
	s      *toSink
	loader *produce.Loader
	topics map[destination]*produce.Topic
	text   []byte // of a record that is encoded
	routes map[route]*reframing
	routed *map[string]codec.Choice // that routes are for
}

// destination is what the target's topic depends on.
type destination struct {
	stream string
	split  record.Split
}

// Prepare implements source.Worker.
func (w *toWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	own, err := w.preparation(c, limit)
	if err != nil {
		return own.block, err
	}
	p := &toPreparation{preparation: own, w: w, c: c}
	defer w.s.buffers.put(p.buf)
	if rejected(p.judges) || len(c.Batches()) == 0 && !c.Recalled() {
		p.block.Filtered = c.Stored()
		return p.block, nil
	}
	if err := p.resolve(); err != nil {
		p.block.Next = c.First()
		return p.block, err
	}
	w.loader.Begin(produce.Origin{Split: c.Split, Partitions: c.Partitions()})
	err = p.records()
	load := w.loader.End()
	if p.full || err != nil {
		p.block.Next = p.seen
	}
	p.block.Load, p.block.Size, p.block.Free = load, load.Bytes, load.Free
	return p.block, err
}

// topic is where records of a split go, looked up when it is first needed.
func (w *toWorker) topic(stream string, c *source.Chunk) (*produce.Topic, error) {
	d := destination{stream, c.Split}
	if t := w.topics[d]; t != nil {
		return t, nil
	}
	name := w.s.target.o.to.topic.of(stream, c.Split)
	if err := checkTopicName(name); err != nil {
		return nil, fault.New(fault.Failed, "%s: --to makes the topic %q of it, which is no legal name", c.Split, name).
			WithHint("%s", fault.HintOf(err))
	}
	if err := w.s.target.guard.target(name); err != nil {
		return nil, source.EndRun(err)
	}
	t, err := w.s.target.writer.Topic(w.s.ctx, name, c.Partitions())
	if err != nil {
		return nil, err
	}
	w.topics[d] = t
	return t, nil
}

// toPreparation is one chunk on its way to the target.
type toPreparation struct {
	*preparation
	w      *toWorker
	c      *source.Chunk
	topics []*produce.Topic // by stream
	frames []*reframing     // by stream; nil leaves ids as they are
	copies bool             // one of them is not nil
}

func (p *toPreparation) resolve() error {
	for _, stream := range p.c.Streams {
		t, err := p.w.topic(stream, p.c)
		if err != nil {
			return err
		}
		p.topics = append(p.topics, t)
		f, err := p.w.reframing(stream, p.c.Split, t.Name)
		if err != nil {
			return err
		}
		p.frames, p.copies = append(p.frames, f), p.copies || f != nil
	}
	return nil
}

// records goes over all that the chunk has.
func (p *toPreparation) records() error {
	if !p.c.Recalled() {
		return p.batches()
	}
	if err := p.c.Records(p.take); err != nil {
		return err
	}
	return p.err
}

// smallBatch is the mean size of batches below which they are put together anew:
// each would take as long as a large one on the way.
const smallBatch, manyBatches = 4 << 10, 8

// batches goes over the chunk's batches: what may go as it is stored does, the
// rest is taken apart.
func (p *toPreparation) batches() error {
	stored := p.storable()
	for _, raw := range p.c.Batches() {
		h, err := raw.Head()
		if err != nil {
			return err
		}
		n := len(p.topics) * int(h.NumRecords)
		whole := stored && p.takes(n)
		for i := range p.topics {
			whole = whole && p.c.Whole(&h, i)
		}
		if whole && p.w.loader.Store(p.topics, &h, raw) {
			p.block.CountAll(len(p.topics), int(h.NumRecords))
			p.seen = h.Next()
			continue
		}
		more, err := p.c.RecordsIn(raw, p.take)
		if err == nil {
			err = p.err
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// storable reports whether batches may go as they are at all: nothing looks at
// their records, and they are not too many small ones.
func (p *toPreparation) storable() bool {
	if p.copies || !p.w.s.target.o.to.asStored() || p.w.s.onDecode != "raw" {
		return false
	}
	for _, j := range p.judges {
		if j != nil {
			return false
		}
	}
	list, size := p.c.Batches(), 0
	for _, raw := range list {
		size += len(raw)
	}
	return len(list) < manyBatches || size/len(list) >= smallBatch
}

// takes reports whether n deliveries more are within the limit.
func (p *toPreparation) takes(n int) bool { return p.limit < 0 || p.block.Written+n <= p.limit }

// take adds one record for one stream.
func (p *toPreparation) take(r *record.Record, stream int) bool {
	key, value, more := p.admit(r, stream)
	if key == nil {
		return more
	}
	w := p.w
	if p.err = p.lacksStored(r); p.err != nil {
		return false
	}
	out := *r
	p.encode(&out, stream, key, value)
	if f := p.frames[stream]; f != nil {
		if p.err = f.apply(&out, p.split); p.err != nil {
			return false
		}
	}
	if p.err = w.loader.Add(p.topics[stream], &out); p.err != nil {
		return false
	}
	p.block.Count(stream, 1)
	p.seen = r.Offset + 1
	return true
}

// encode replaces what is to be replaced. Null stays null: a tombstone that is
// decoded is still one.
func (p *toPreparation) encode(out *record.Record, stream int, key, value *record.Value) {
	to := p.w.s.target.o.to
	if to.encoded && out.Value != nil {
		text := p.formats[stream].Append(p.w.text[:0], out, key, value)
		p.w.text = text
		out.Value = bytes.TrimSuffix(text, []byte("\n"))
	}
	if to.decodedKey && out.Key != nil {
		out.Key = notNull(key.Bytes)
	}
	if to.decodedValue && out.Value != nil {
		out.Value = notNull(value.Bytes)
	}
}

func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
