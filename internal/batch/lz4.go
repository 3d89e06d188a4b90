package batch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// Numbers and flags of the LZ4 frame format, version 1.
const (
	lz4Magic     = 0x184D2204
	lz4Skippable = 0x184D2A50 // and the 15 numbers after it

	lz4Version     = 0xC0
	lz4Independent = 0x20
	lz4BlockSums   = 0x10
	lz4ContentSize = 0x08
	lz4ContentSum  = 0x04
	lz4Dictionary  = 0x01

	lz4Window = 64 << 10
	lz4Stored = 1 << 31 // the bit of a block's size that says that it is not compressed
)

var errChecksum = errors.New("wrong checksum")

// lz4Frame is a frame's descriptor.
type lz4Frame struct {
	linked    bool // blocks may refer to the 64 KiB before them
	blockSums bool
	sum       bool
	block     int   // a block's largest size
	size      int64 // of the content; -1 when it is not said
}

// unlz4 decompresses LZ4 frames block by block into one buffer. It does not use
// lz4.Reader, which copies each block of a linked frame twice and takes a
// buffer of the frame's block size, 4 MiB as a rule, for a batch of any size.
//
// Descriptor and block checksums are checked. A checksum of the content is not,
// as in Kafka's own reader: a batch's CRC-32C has covered the same bytes.
// brokenSum is for format 0, whose writers made the descriptor's checksum over
// too many bytes (KAFKA-3160).
func (d *Decoder) unlz4(src []byte, limit int, brokenSum bool) ([]byte, error) {
	if len(src) == 0 {
		return nil, errShort
	}
	out := lz4Output{pool: d.pool, limit: limit, buf: d.pool.get(d.hint[LZ4].guess(len(src), limit))}
	for len(src) > 0 {
		frame, rest, err := lz4Head(src, brokenSum)
		if err == nil && frame.block > 0 {
			rest, err = out.frame(rest, frame)
		}
		if err != nil {
			d.pool.put(out.buf)
			return nil, err
		}
		src = rest
	}
	return out.buf, nil
}

// lz4Head reads a frame's descriptor. A frame that is to be skipped is skipped
// and has a block size of 0.
func lz4Head(src []byte, brokenSum bool) (f lz4Frame, rest []byte, err error) {
	if len(src) < 7 {
		return f, nil, errShort
	}
	magic := binary.LittleEndian.Uint32(src)
	if magic&^0xF == lz4Skippable {
		if len(src) < 8 || int64(binary.LittleEndian.Uint32(src[4:])) > int64(len(src)-8) {
			return f, nil, errShort
		}
		n := 8 + int(binary.LittleEndian.Uint32(src[4:]))
		return f, src[n:], nil
	}
	if magic != lz4Magic {
		return f, nil, fmt.Errorf("no frame begins with %08x", magic)
	}
	flags, sizes := src[4], src[5]
	if err := lz4Readable(flags, sizes); err != nil {
		return f, nil, err
	}
	f = lz4Frame{
		linked:    flags&lz4Independent == 0,
		blockSums: flags&lz4BlockSums != 0,
		sum:       flags&lz4ContentSum != 0,
		block:     1 << (8 + 2*(sizes>>4)), // 4 is 64 KiB, 7 is 4 MiB
		size:      -1,
	}
	end := 6
	if flags&lz4ContentSize != 0 {
		if end = 14; len(src) <= end {
			return f, nil, errShort
		}
		if f.size = int64(binary.LittleEndian.Uint64(src[6:])); f.size < 0 {
			return f, nil, errors.New("a negative content size")
		}
	}
	if !brokenSum && byte(xxh32(src[4:end])>>8) != src[end] {
		return f, nil, errChecksum
	}
	return f, src[end+1:], nil
}

// lz4Readable refuses a frame whose flags ask for what Kafka never writes.
func lz4Readable(flags, sizes byte) error {
	switch {
	case flags&lz4Version != 0x40:
		return fmt.Errorf("frame version %d", flags>>6)
	case flags&lz4Dictionary != 0:
		return errors.New("a frame with a dictionary")
	case flags&0x02 != 0 || sizes&0x8F != 0 || sizes < 0x40:
		return errors.New("a reserved bit or block size")
	default:
		return nil
	}
}

// lz4Output collects what the blocks of one or more frames become.
type lz4Output struct {
	pool  *Pool
	buf   []byte
	limit int
}

// frame appends a frame's blocks, which src begins with, up to the end mark, and
// returns what follows the frame.
func (o *lz4Output) frame(src []byte, f lz4Frame) (rest []byte, err error) {
	start := len(o.buf)
	if f.size > int64(o.limit-start) {
		return nil, sizeError(start + int(min(f.size, 1<<62)))
	}
	for {
		block, stored, rest, err := lz4Block(src, f)
		if err != nil {
			return nil, err
		}
		src = rest
		if block == nil {
			break
		}
		if stored {
			err = o.store(block)
		} else {
			window := 0
			if f.linked {
				window = min(len(o.buf)-start, lz4Window)
			}
			err = o.uncompress(block, window, f.block)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.size >= 0 && f.size != int64(len(o.buf)-start) {
		return nil, errors.New("the content has another size than its frame says")
	}
	if f.sum {
		if len(src) < 4 {
			return nil, errShort
		}
		src = src[4:]
	}
	return src, nil
}

// lz4Block cuts the next block; it is nil at the end mark.
func lz4Block(src []byte, f lz4Frame) (block []byte, stored bool, rest []byte, err error) {
	if len(src) < 4 {
		return nil, false, nil, errShort
	}
	word := binary.LittleEndian.Uint32(src)
	src = src[4:]
	if word == 0 {
		return nil, false, src, nil
	}
	n := int(word &^ lz4Stored)
	if n > f.block {
		return nil, false, nil, errCorrupt
	}
	sum := 0
	if f.blockSums {
		sum = 4
	}
	if n > len(src)-sum {
		return nil, false, nil, errShort
	}
	block, src = src[:n:n], src[n:]
	if f.blockSums && xxh32(block) != binary.LittleEndian.Uint32(src) {
		return nil, false, nil, errChecksum
	}
	return block, word&lz4Stored != 0, src[sum:], nil
}

// store appends a block that is not compressed.
func (o *lz4Output) store(block []byte) error {
	if err := o.reserve(len(block)); err != nil {
		return err
	}
	o.buf = append(o.buf, block...)
	return nil
}

// uncompress appends what block becomes, at most largest bytes. The last window
// bytes before it are its dictionary. It tries the room that there is, which is
// as a rule enough, and measures the block only when it was not.
func (o *lz4Output) uncompress(block []byte, window, largest int) error {
	n, err := o.into(block, window)
	if err != nil {
		need, ok := lz4Size(block)
		if !ok || need > largest || need <= cap(o.buf)-len(o.buf) {
			return errCorrupt
		}
		if err := o.reserve(need); err != nil {
			return err
		}
		if n, err = o.into(block, window); err != nil {
			return errCorrupt
		}
	}
	if n > largest {
		return errCorrupt
	}
	if len(o.buf)+n > o.limit {
		return sizeError(len(o.buf) + n)
	}
	o.buf = o.buf[:len(o.buf)+n]
	return nil
}

func (o *lz4Output) into(block []byte, window int) (int, error) {
	n := len(o.buf)
	if window == 0 {
		return lz4.UncompressBlock(block, o.buf[n:cap(o.buf)])
	}
	return lz4.UncompressBlockWithDict(block, o.buf[n:cap(o.buf)], o.buf[n-window:n])
}

// reserve makes room for n more bytes, if the limit allows so many.
func (o *lz4Output) reserve(n int) error {
	need := len(o.buf) + n
	if need > o.limit {
		return sizeError(need)
	}
	if need > cap(o.buf) {
		o.buf = o.pool.grow(o.buf, max(need, min(2*cap(o.buf), o.limit)))
	}
	return nil
}

// lz4Size measures what a compressed block becomes, by its lengths alone.
func lz4Size(block []byte) (size int, ok bool) {
	for p := 0; ; {
		if p >= len(block) {
			return 0, false
		}
		token := block[p]
		literals, p2, ok := lz4Length(block, p+1, int(token>>4))
		if !ok || literals > len(block)-p2 {
			return 0, false
		}
		size += literals
		if p = p2 + literals; p == len(block) {
			return size, true
		}
		match, p2, ok := lz4Length(block, p+2, int(token&0xF)) // behind the match's distance
		if !ok {
			return 0, false
		}
		size += match + 4
		p = p2
	}
}

// lz4Length reads the rest of a length whose first 4 bits are n.
func lz4Length(block []byte, p, n int) (length, next int, ok bool) {
	if n < 15 {
		return n, p, p <= len(block)
	}
	for p < len(block) {
		b := block[p]
		p++
		n += int(b)
		if b != 255 {
			return n, p, true
		}
	}
	return 0, 0, false
}
