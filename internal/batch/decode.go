package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// smallestRecord is the least that a record of format 2 takes: its length, its
// attributes, two deltas, two lengths and the number of headers, a byte each.
const smallestRecord = 7

// Decoder decompresses batches. It keeps the codecs' state between batches and
// so belongs to one goroutine; its Pool may be shared.
type Decoder struct {
	pool   *Pool
	src    bytes.Reader
	gzip   gzip.Reader
	zstd   *zstd.Decoder
	memory int  // what zstd is set to
	room   bool // and whether its buffer is the limit
	hint   [5]growth
}

// NewDecoder returns a decoder that takes its buffers from pool.
func NewDecoder(pool *Pool) *Decoder { return &Decoder{pool: pool} }

// Decode decompresses the records of raw, which must be one whole batch, and
// returns it with one reference. Records that are not compressed stay where they
// are, in raw. No more than limit bytes are decompressed, nor memory for more
// taken, and the limit holds for what is not compressed as well; 0 means no
// limit. The errors are *DamagedError, *CodecError and
// *TooLargeError. The records themselves are checked by walking them, the
// checksum only by Check.
func (d *Decoder) Decode(raw Raw, limit int64) (*Batch, error) {
	h, err := raw.Head()
	if err != nil {
		return nil, err
	}
	b := d.pool.shell()
	b.Header = h
	if h.Magic == 2 {
		err = d.open(b, raw[atRecords:], limit)
		b.count = int(h.NumRecords)
		if err == nil && b.count > len(b.records)/smallestRecord {
			err = damaged(h.BaseOffset, "%d records do not fit into %d bytes", b.count, len(b.records))
		}
	} else {
		err = d.openLegacy(b, raw, limit)
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// open sets b's records to what payload holds, decompressed as b's header says.
func (d *Decoder) open(b *Batch, payload []byte, limit int64) error {
	codec := b.Header.Codec()
	if codec == None && limit > 0 && int64(len(payload)) > limit {
		return &TooLargeError{Offset: b.Header.BaseOffset, Size: int64(len(payload)), Limit: limit}
	}
	if codec == None {
		b.records = payload
		if d.pool.Poison {
			b.buf = append(d.pool.get(len(payload)), payload...)
			b.records = b.buf
		}
		return nil
	}
	if limit <= 0 || limit > math.MaxInt-1 {
		limit = math.MaxInt - 1
	}
	if codec > Zstd || (codec == Zstd && b.Header.Magic < 2) {
		return &CodecError{Offset: b.Header.BaseOffset, Codec: codec}
	}
	buf, err := d.decompress(payload, &b.Header, int(limit))
	if err != nil {
		if size, ok := errors.AsType[sizeError](err); ok {
			return &TooLargeError{Offset: b.Header.BaseOffset, Size: int64(size), Limit: limit}
		}
		return &DamagedError{Offset: b.Header.BaseOffset, Reason: fmt.Sprintf("%s: %v", codec, err)}
	}
	b.buf, b.records = buf, buf
	d.hint[codec].learn(len(payload), len(buf))
	return nil
}

func (d *Decoder) decompress(src []byte, h *Header, limit int) ([]byte, error) {
	codec := h.Codec()
	switch codec {
	case Gzip:
		return d.ungzip(src, limit)
	case Snappy:
		return d.unsnappy(src, limit)
	case LZ4:
		return d.unlz4(src, limit, h.Magic == 0)
	default:
		return d.unzstd(src, limit)
	}
}

// sizeError is the size that went, or would go, above the limit.
type sizeError int

func (e sizeError) Error() string { return fmt.Sprintf("%d bytes or more", int(e)) }

var (
	errCorrupt = errors.New("corrupt data")
	errShort   = errors.New("the data ends too early")
)

// growth remembers how much batches grew, so that the next one finds room at
// once. It never asks for more than a batch of that compressed size can use.
type growth struct{ sixteenths int }

const (
	firstGrowth = 4 * 16
	mostGuessed = 1 << largestClass
)

func (g *growth) guess(compressed, limit int) int {
	if g.sixteenths == 0 {
		g.sixteenths = firstGrowth
	}
	size := compressed / 16 * g.sixteenths
	return min(max(size, compressed), max(mostGuessed, compressed), limit)
}

func (g *growth) learn(compressed, size int) {
	if compressed >= 16 {
		now := size/(compressed/16) + 1
		g.sixteenths = max(now, g.sixteenths-g.sixteenths/8)
	}
}
