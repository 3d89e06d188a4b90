package batch

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressor keeps the codecs' state between batches.
type compressor struct {
	out  []byte // of the last batch
	gzip *gzip.Writer
	zstd *zstd.Encoder
	lz4  lz4.Compressor
}

// zstdWindow is how far back zstd looks: a reader needs as much memory.
const zstdWindow = 256 << 10

// compress returns src compressed, in memory that the next call uses again; nil
// when the codec is none or cannot.
func (c *compressor) compress(codec Codec, src []byte) []byte {
	switch codec {
	case Gzip:
		buf := bytes.NewBuffer(c.out[:0])
		if c.gzip == nil {
			c.gzip, _ = gzip.NewWriterLevel(nil, gzip.DefaultCompression) // a level that there is
		}
		c.gzip.Reset(buf)
		_, err := c.gzip.Write(src)
		if err == nil {
			err = c.gzip.Close()
		}
		if err != nil {
			return nil
		}
		c.out = buf.Bytes()
	case Snappy:
		if s2.MaxEncodedLen(len(src)) < 0 { // too large for a block
			return nil
		}
		c.out = s2.EncodeSnappy(c.out[:cap(c.out)], src)
	case LZ4:
		c.out = c.frame(c.out[:0], src)
	case Zstd:
		if c.zstd == nil {
			var err error
			c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow),
				zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
			if err != nil {
				return nil
			}
		}
		c.out = c.zstd.EncodeAll(src, c.out[:0])
	default:
		return nil
	}
	return c.out
}

// lz4Piece is the size of blocks in the frames that frame writes: Java's.
const lz4Piece = 64 << 10

// frame appends an LZ4 frame of independent blocks, without checksums but that of
// the descriptor: a batch has its own.
func (c *compressor) frame(out, src []byte) []byte {
	const sizeOfBlocks = 4 << 4 // 64 KiB
	out = binary.LittleEndian.AppendUint32(out, lz4Magic)
	out = append(out, 0x40|lz4Independent, sizeOfBlocks)
	out = append(out, byte(xxh32(out[len(out)-2:])>>8))
	for len(src) > 0 {
		block := src[:min(lz4Piece, len(src))]
		src = src[len(block):]
		at := len(out)
		out = append(out, make([]byte, 4+lz4.CompressBlockBound(len(block)))...)
		n, err := c.lz4.CompressBlock(block, out[at+4:])
		if err != nil || n == 0 || n >= len(block) {
			binary.LittleEndian.PutUint32(out[at:], uint32(len(block))|lz4Stored)
			n = copy(out[at+4:], block)
		} else {
			binary.LittleEndian.PutUint32(out[at:], uint32(n))
		}
		out = out[:at+4+n]
	}
	return binary.LittleEndian.AppendUint32(out, 0)
}
