package cmd

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/filter"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/output/files"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// consumeSink formats records and writes them to stdout.
type consumeSink struct {
	out      *output.Stdout
	format   output.Format
	needs    output.Needs
	choices  atomic.Pointer[map[string]codec.Choice] // by stream; replaced, never changed
	schemas  *schemas
	decode   codec.Choice // the command's own
	onDecode string
	copies   bool // schemas: nothing goes whose schema is not known
	// decodesKey and decodesValue say what is decoded at all.
	decodesKey, decodesValue bool
	limit                    int64 // for formats that number records; negative is none
	buffers                  buffers
	gather                   []byte

	filter      *filter.Filter // nil is none
	decoded     sync.Once
	tellDecoded func() // of stored bytes that are not there; may be nil
	failed      sync.Once
	tellFailure func(string) // of the filter's first failure; may be nil
	flawed      sync.Once
	tellFlaw    func(string) // of the first record that cannot be decoded; may be nil
	// reencodes says that what is decoded goes where no error stands beside it.
	reencodes bool
}

// streamChoice names the decoders of one stream's keys and values in one topic.
type streamChoice struct {
	shown  codec.Choice // for the format
	judged codec.Choice // for the filters, which see records as the format json has them
}

func newConsumeSink(o *consumeOptions) *consumeSink {
	s := &consumeSink{
		out: output.NewStdout(o.env.Stdout), format: o.format, needs: o.format.Needs(),
		schemas: o.schemas, decode: o.decode, onDecode: o.onDecode, limit: -1, filter: o.filter,
		copies: o.copiesSchemas(),
	}
	if !o.stores() { // positions are kept of what readers have taken: little is to be on its way
		s.out.Widen()
	}
	if !o.promised {
		s.tellFailure = func(failure string) {
			o.env.run.notices.Warnf("--where failed at %s; such records are left out", failure)
		}
	}
	if !o.promised {
		s.tellFlaw = func(flaw string) {
			o.env.run.notices.Warnf("%s; others that cannot be decoded are counted", flaw)
		}
	}
	s.tellDecoded = func() {
		o.env.run.notices.Warnf("--replay: values were decoded with a schema when the files were written; their text is written, because their stored bytes are not there")
	}
	// What is not shown is decoded as well where it decides about the record.
	s.decodesKey = s.needs.Key || o.onDecode != "raw"
	s.decodesValue = s.needs.Value || o.onDecode != "raw"
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
		if err := s.schemas.agrees(w.Stream); err != nil {
			return err
		}
		env := s.schemas.of(clusterIn(w))
		if _, err := s.decode.Or(codec.Choice{Key: "raw", Value: "raw"}).Pair(env); err != nil {
			return err // what is typed has to be possible, whether it is shown or not
		}
		if _, err := s.decoders(choice, env); err != nil {
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

// decoders makes what chosen, the decoders of one stream, is in one topic.
func (s *consumeSink) decoders(chosen codec.Choice, e codec.Env) (d streamDecoders, err error) {
	d.choice = s.choose(chosen, e)
	if d.shown, err = d.choice.shown.Pair(e); err != nil {
		return d, err
	}
	if d.judged = d.shown; d.choice.judged != d.choice.shown {
		d.judged, err = d.choice.judged.Pair(e)
	}
	return d, err
}

// choose says for what chosen is needed. A format of stored bytes decodes only what
// the command line says; filters see records as the format json has them.
func (s *consumeSink) choose(chosen codec.Choice, e codec.Env) streamChoice {
	chosen = chosen.In(e)
	c := streamChoice{shown: chosen, judged: chosen}
	if s.needs.StoredBytes {
		c.shown = s.decode.Or(codec.Choice{Key: "raw", Value: "raw"}).In(e)
	}
	var key, value bool
	if s.filter != nil {
		key, value = s.filter.Uses(chosen)
	}
	if !s.decodesKey {
		c.shown.Key = codec.Auto
	}
	if !s.decodesValue {
		c.shown.Value = codec.Auto
	}
	decides := s.onDecode != "raw" // about the record, also where stored bytes are shown
	if !key && !decides {
		c.judged.Key = c.shown.Key
	}
	if !value && !decides {
		c.judged.Value = c.shown.Value
	}
	return c
}

// Worker implements source.Sink.
func (s *consumeSink) Worker() source.Worker { return s.worker() }

func (s *consumeSink) worker() *consumeWorker {
	return &consumeWorker{s: s, left: s.limit, decoders: map[destination]streamDecoders{}, judging: newJudging(s.filter)}
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

// Joins implements source.Joiner.
func (s *consumeSink) Joins() bool { return true }

// Taken implements source.Taker.
func (s *consumeSink) Taken(end bool) int64 { return s.out.Taken(end) }

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
	decoders map[destination]streamDecoders
	judging  judging
	left     int64          // records that may still be numbered; negative is no limit
	divider  *files.Divider // between files; nil: everything goes to one place
	// What decoding wants to use again, for the format and the filters.
	shown, judged decoding
}

// streamDecoders are the decoders of one stream in one topic.
type streamDecoders struct {
	choice        streamChoice
	shown, judged codec.Pair
}

// Prepare implements source.Worker.
func (w *consumeWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	if w.left >= 0 && (limit < 0 || int64(limit) > w.left) {
		limit = int(w.left)
	}
	p, err := w.preparation(c, limit)
	if err != nil {
		return p.block, err
	}
	if rejected(p.judges) {
		p.block.Filtered = c.Stored()
		w.s.buffers.put(p.buf)
		return p.block, nil
	}
	err = c.Records(p.take)
	if err == nil {
		err = p.err
	}
	if p.full || err != nil {
		p.block.Next = p.seen
	}
	if w.left >= 0 {
		w.left -= int64(p.block.Written)
	}
	if p.divides() {
		p.buf.data, p.block.Load = w.divider.End()
	}
	p.block.Data, p.block.Cuts = p.buf.data, p.buf.cuts
	if p.cuts && w.divider != nil {
		p.block.Load = &orderedLoad{p.streams, p.split, p.block.Data, p.block.Cuts, 0, len(p.block.Cuts)}
	}
	buf := p.buf
	w.s.buffers.filled(buf)
	p.block.Free = func() { w.s.buffers.put(buf) }
	return p.block, err
}

// preparation is one chunk on its way to a block.
type preparation struct {
	w        *consumeWorker
	split    record.Split
	formats  []output.SplitFormat // by stream
	streams  []string
	expected int              // deliveries at most
	decoders []streamDecoders // by stream
	judges   []*filter.Judge  // by stream; nil keeps everything
	judged   *decoding        // what the filters see
	limit    int
	buf      *buffer
	cuts     bool // the block is to say where each record ends
	block    source.Block
	null     record.Value // stands for what is not decoded
	seen     int64        // position behind the last record that was dealt with
	full     bool
	err      error
}

func (w *consumeWorker) preparation(c *source.Chunk, limit int) (*preparation, error) {
	if now := w.s.choices.Load(); w.choices != now {
		w.choices = now
		clear(w.decoders)
	}
	buf := w.s.buffers.get()
	w.judging.stopWhen(c.Ended)
	p := &preparation{w: w, streams: c.Streams, split: c.Split, limit: limit, buf: buf, expected: c.Stored() * len(c.Streams), cuts: c.Cuts(), block: source.Block{Next: c.Next()}, seen: c.First()}
	if len(c.Streams) > 1 {
		p.block.ByStream = make([]int, len(c.Streams))
	}
	if p.divides() {
		w.divider.Begin(buf.data, c.Streams, c.Split)
	}
	for _, stream := range c.Streams {
		d, err := w.pairs(stream, c.Split)
		if err != nil { // it was checked when the plan was made
			w.s.buffers.put(buf)
			p.block.Next = c.First()
			return p, source.EndRun(err)
		}
		p.formats = append(p.formats, w.s.format.ForSplit(stream, c.Split))
		p.decoders = append(p.decoders, d)
		p.judges = append(p.judges, w.judging.judge(stream, c.Split, d.choice.judged))
	}
	return p, nil
}

// pairs returns a stream's decoders in the topic of a split, made when first needed.
func (w *consumeWorker) pairs(stream string, split record.Split) (streamDecoders, error) {
	split.Partition = 0
	at := destination{stream, split}
	d, ok := w.decoders[at]
	if ok {
		return d, nil
	}
	d, err := w.s.decoders(choiceOf(*w.choices, stream), w.s.schemas.of(split))
	if err == nil {
		w.decoders[at] = d
	}
	return d, err
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
	key, value, more := p.admit(r, stream)
	if key == nil {
		return more
	}
	w := p.w
	if r.Decoded != nil {
		w.s.sawDecoded(r.Decoded)
	}
	if !p.divides() {
		p.makeRoom()
		p.buf.data = p.formats[stream].Append(p.buf.data, r, key, value)
	} else {
		w.divider.Added(p.formats[stream].Append(w.divider.Buffer(stream, r.Timestamp), r, key, value))
	}
	if p.cuts {
		p.buf.cuts = append(p.buf.cuts, source.Cut{Time: r.Timestamp, Offset: r.Offset, End: len(p.buf.data), Stream: stream})
	}
	p.block.Count(stream, 1)
	p.seen = r.Offset + 1
	return true
}

// admit decodes one record for one stream. The key is nil if it is not to be
// written; more says whether others are to follow.
func (p *preparation) admit(r *record.Record, stream int) (key, value *record.Value, more bool) {
	if p.limit >= 0 && p.block.Written >= p.limit {
		p.full, p.seen = true, min(p.seen, r.Offset) // it may have been delivered to another stream
		return nil, nil, false
	}
	w, d := p.w, &p.decoders[stream]
	w.shown.begin(d.shown, d.choice.shown, r)
	if p.judged = &w.shown; d.choice.judged != d.choice.shown {
		p.judged = &w.judged
		p.judged.begin(d.judged, d.choice.judged, r)
	}
	if !p.keeps(r, stream) {
		p.block.Filtered++
		p.seen = r.Offset + 1
		return nil, nil, true
	}
	key, value = &p.null, &p.null
	if w.s.decodesKey {
		key = w.shown.Key()
	}
	if w.s.decodesValue {
		value = w.shown.Value()
	}
	keyErr, valueErr := key.Err, value.Err
	if w.s.onDecode != "raw" && p.judged != &w.shown {
		keyErr, valueErr = p.judged.Key().Err, p.judged.Value().Err
	}
	if (keyErr != nil || valueErr != nil) && !p.undecodable(r, keyErr, valueErr) {
		return nil, nil, p.err == nil
	}
	return key, value, true
}

// isClosed reports that nobody reads standard output any more.
func isClosed(err error) bool { return errors.Is(err, output.ErrClosedPipe) }
