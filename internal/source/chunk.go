package source

import (
	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/record"
)

// chunkBytes is the size at which a fetch answer is cut: small enough to keep
// all workers busy and output buffers near a megabyte, large enough that the
// work per chunk does not show.
const chunkBytes = 192 << 10

// Chunk is some whole batches of one split, in order, on the way to the sink.
// It may hold no batch at all: then it only moves the position.
type Chunk struct {
	Split   record.Split
	Streams []string // under which records are delivered

	batches  []batch.Raw
	past     *PastBlock // in the place of batches; may be nil
	first    int64      // position before the chunk
	next     int64      // position behind the chunk
	split    *split
	spans    []span // by Streams
	rewinds  bool   // next may lie before what has been written: the log was truncated
	follows  bool   // behind it comes what follows on the past
	err      error  // ends the split once everything before it is written
	full     bool   // with it the split has given all it may; of the writer
	maxBatch int64
	decoder  *batch.Decoder // of the goroutine that prepares it
	ended    func() bool    // nobody waits for it any more; of the same
	release  func()
	cuts     bool           // the block is to have Cuts
	copied   []byte         // what batches lie in, of a merger
	heads    []batch.Header // of the batches, when these have been let go
}

// First is the position before the chunk: no wanted record lies below it.
func (c *Chunk) First() int64 { return c.first }

// Next is the split's position once the whole chunk has been written.
func (c *Chunk) Next() int64 { return c.next }

// Ended reports that the run has ended, and that nobody waits for what Prepare
// makes of the chunk. Records then gives no more.
func (c *Chunk) Ended() bool { return c.ended != nil && c.ended() }

// Batches are the chunk's batches as they are stored.
func (c *Chunk) Batches() []batch.Raw { return c.batches }

// Whole reports whether a stream, by its index in Streams, takes all of a batch
// that has this header.
func (c *Chunk) Whole(h *batch.Header, stream int) bool {
	s := &c.spans[stream]
	return h.BaseOffset >= max(c.first, s.from) && h.Next() <= s.until && s.window == always
}

// most is a number of deliveries that the chunk does not exceed.
func (c *Chunk) most() int { return int(c.next-c.first) * len(c.Streams) }

// Stored is how many deliveries the chunk's batches say that they hold; those
// outside of what is wanted count too.
func (c *Chunk) Stored() (n int) {
	for _, raw := range c.batches {
		if h, err := raw.Head(); err == nil {
			n += int(h.NumRecords) * len(c.Streams)
		}
	}
	return n
}

// epochBefore is the leader epoch of the batch before a position; -1 if it is not
// one of the chunk's.
func (c *Chunk) epochBefore(next int64) int32 {
	epoch := int32(-1)
	for _, h := range c.headers() {
		if h.BaseOffset >= next {
			break
		}
		epoch = h.LeaderEpoch
	}
	return epoch
}

// headers are those of the batches, up to one that is damaged.
func (c *Chunk) headers() (list []batch.Header) {
	if c.batches == nil {
		return c.heads
	}
	for _, raw := range c.batches {
		h, err := raw.Head()
		if err != nil {
			break
		}
		list = append(list, h)
	}
	return list
}

// Cuts reports whether the block must have Cuts.
func (c *Chunk) Cuts() bool { return c.cuts }

// size is how many bytes were fetched for the chunk.
func (c *Chunk) size() (n int) {
	for _, raw := range c.batches {
		n += len(raw)
	}
	if c.past != nil {
		n += c.past.Size
	}
	return n
}

// Records yields the wanted deliveries in order: a record and the index in
// Streams of the stream it is for. A record dies when yield returns. An error
// names the first offset that could not be read. It must be called from within
// Prepare.
func (c *Chunk) Records(yield func(r *record.Record, stream int) bool) error {
	if c.past != nil {
		return c.recall(yield)
	}
	for _, raw := range c.batches {
		if more, err := c.RecordsIn(raw, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

func (c *Chunk) walk(b *batch.Batch, rec *record.Record, yield func(*record.Record, int) bool) (bool, error) {
	spans := c.spans
	w := b.Records()
	for w.Next(rec) {
		if rec.Offset < c.first { // deleted, or delivered before
			continue
		}
		if c.Ended() {
			return false, errEnded
		}
		for i := range spans {
			if spans[i].wants(rec) && !yield(rec, i) {
				return false, nil
			}
		}
	}
	return true, w.Err()
}
