package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// The most that a byte of input can become, rounded up: of deflate a match of
// 258 bytes in two bits, of snappy a copy of 64 bytes in three bytes.
const (
	mostDeflate = 1032
	mostSnappy  = 22
)

// ungzip decompresses gzip members.
func (d *Decoder) ungzip(src []byte, limit int) ([]byte, error) {
	d.src.Reset(src)
	defer d.src.Reset(nil)
	if err := d.gzip.Reset(&d.src); err != nil {
		return nil, ended(err)
	}
	want := d.hint[Gzip].guess(len(src), limit)
	if len(src) >= 18 { // the last member's size stands at its end; it may lie
		claim := int64(binary.LittleEndian.Uint32(src[len(src)-4:])) + 1
		want = int(min(claim, int64(len(src))*mostDeflate, max(mostGuessed, int64(want)), int64(limit)+1))
	}
	buf := d.pool.get(want)
	for {
		if len(buf) == cap(buf) {
			buf = d.pool.grow(buf, min(2*cap(buf), limit+1))
		}
		n, err := d.gzip.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			d.pool.put(buf)
			return nil, sizeError(len(buf))
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			d.pool.put(buf)
			return nil, ended(err)
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errShort
	}
	return err
}

// xerial is how a stream of Java's snappy library begins. Two versions of four
// bytes follow, then blocks, each behind its length of four bytes.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHead = 16

// unsnappy decompresses one block of snappy, or a stream of Java's.
func (d *Decoder) unsnappy(src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerial) {
		size, err := snappySize(src)
		if err != nil {
			return nil, err
		}
		if size > limit {
			return nil, sizeError(size)
		}
		return d.snappyBlocks(size, src, false)
	}
	// Sizes first: the buffer is then made once, and not before it is known to
	// be within the limit.
	total := 0
	for rest := src; len(rest) > 0; {
		block, after, err := xerialBlock(rest)
		if err != nil {
			return nil, err
		}
		if rest = after; block == nil {
			continue
		}
		size, err := snappySize(block)
		if err != nil {
			return nil, err
		}
		if total += size; total > limit {
			return nil, sizeError(total)
		}
	}
	return d.snappyBlocks(total, src, true)
}

// snappyBlocks decompresses src, which unsnappy has measured to be of size bytes.
func (d *Decoder) snappyBlocks(size int, src []byte, stream bool) ([]byte, error) {
	buf := d.pool.get(size)
	for len(src) > 0 {
		block := src
		if stream {
			block, src, _ = xerialBlock(src)
		} else {
			src = nil
		}
		if block == nil {
			continue
		}
		n, _ := s2.DecodedLen(block)
		if _, err := s2.Decode(buf[len(buf):len(buf)+n], block); err != nil {
			d.pool.put(buf)
			return nil, errCorrupt
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

// xerialBlock cuts the next block; it is nil where a stream begins, which may
// happen again in the middle.
func xerialBlock(src []byte) (block, rest []byte, err error) {
	if bytes.HasPrefix(src, xerial) {
		if len(src) < xerialHead {
			return nil, nil, errShort
		}
		return nil, src[xerialHead:], nil
	}
	if len(src) < 4 {
		return nil, nil, errShort
	}
	n := int64(binary.BigEndian.Uint32(src))
	if n > int64(len(src)-4) {
		return nil, nil, errShort
	}
	return src[4 : 4+n], src[4+n:], nil
}

// snappySize returns what a block claims to be decompressed, if that is possible.
func snappySize(block []byte) (int, error) {
	size, err := s2.DecodedLen(block)
	if err != nil || size/mostSnappy > len(block) {
		return 0, errCorrupt
	}
	return size, nil
}

// unzstd decompresses zstd frames.
func (d *Decoder) unzstd(src []byte, limit int) ([]byte, error) {
	want, memory := d.hint[Zstd].guess(len(src), limit), limit
	var head zstd.Header
	if head.Decode(src) == nil {
		if head.HasFCS && head.FrameContentSize > uint64(limit) {
			return nil, sizeError(min(head.FrameContentSize, 1<<62))
		}
		if head.HasFCS {
			// A claim beyond all reason is left to the decoder, which takes memory
			// only as the blocks come.
			want = min(int(head.FrameContentSize), max(mostGuessed, want))
		}
		if window := min(head.WindowSize, zstd.MaxWindowSize); window > uint64(limit) {
			want, memory = limit, int(window)
		}
	}
	if err := d.setZstd(memory, memory > limit); err != nil {
		return nil, err
	}
	buf := d.pool.get(want)
	if memory > limit {
		buf = buf[:0:limit]
	}
	out, err := d.zstd.DecodeAll(src, buf)
	if err != nil {
		d.pool.put(buf)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return nil, sizeError(limit + 1)
		}
		return nil, ended(err)
	}
	if cap(out) != cap(buf) { // the decoder took a larger one
		d.pool.put(buf)
	}
	return out, nil
}

// setZstd sets how much the decoder may make of a batch. Because it also refuses
// a window above that, a batch with a window above the limit, which says nothing
// about its size, is held within the room of its buffer instead.
func (d *Decoder) setZstd(memory int, room bool) error {
	if d.zstd != nil && d.memory == memory && d.room == room {
		return nil
	}
	d.memory, d.room = memory, room
	options := []zstd.DOption{zstd.WithDecoderMaxMemory(uint64(memory)), zstd.WithDecodeAllCapLimit(room)}
	if d.zstd != nil {
		return d.zstd.ResetWithOptions(nil, options...)
	}
	var err error
	// One at a time: then it starts no goroutines and needs no closing.
	d.zstd, err = zstd.NewReader(nil, append(options, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))...)
	return err
}
