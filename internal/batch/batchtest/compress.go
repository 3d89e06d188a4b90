package batchtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/kcm-cli/kcm/internal/batch"
)

// Framing is a way to write one codec's data; a codec to which it means nothing
// takes the plain one.
type Framing int

// The framings.
const (
	Plain        Framing = iota // snappy: one block; lz4: independent blocks of 64 KiB, no checksums, as Java's producer writes; zstd: no content size
	Xerial                      // snappy: the stream of Java's library, blocks of 32 KiB
	LZ4Linked                   // lz4: blocks of 64 KiB that refer to the ones before
	LZ4Checksums                // lz4: checksums of blocks and content, and the content's size; blocks of 4 MiB
	LZ4Broken                   // lz4: the descriptor's checksum as writers of format 0 made it
	ZstdSized                   // zstd: with the content's size
)

// Compress returns data compressed with codec. It panics when that fails.
func Compress(codec batch.Codec, framing Framing, data []byte) []byte {
	var out bytes.Buffer
	switch codec {
	case batch.None:
		return data
	case batch.Gzip:
		stream(gzip.NewWriter(&out), data)
	case batch.Snappy:
		return snappy(framing, data)
	case batch.LZ4:
		return lz4Frame(framing, data)
	case batch.Zstd:
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
		must(err)
		if framing == ZstdSized {
			return w.EncodeAll(data, nil)
		}
		stream(w, data)
	default:
		panic(fmt.Sprintf("batchtest: no codec %d", codec))
	}
	return out.Bytes()
}

func stream(w io.WriteCloser, data []byte) {
	for len(data) > 0 { // in pieces: a writer that saw everything could write the size
		n := min(len(data), 100_000)
		_, err := w.Write(data[:n])
		must(err)
		data = data[n:]
	}
	must(w.Close())
}

func must(err error) {
	if err != nil {
		panic("batchtest: " + err.Error())
	}
}

func snappy(framing Framing, data []byte) []byte {
	if framing != Xerial {
		return s2.EncodeSnappy(nil, data)
	}
	out := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
	for len(data) > 0 {
		n := min(len(data), 32<<10)
		block := s2.EncodeSnappy(nil, data[:n])
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
		data = data[n:]
	}
	return out
}

func lz4Frame(framing Framing, data []byte) []byte {
	if framing == LZ4Linked {
		return linkedFrame(data)
	}
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if framing == LZ4Checksums {
		must(w.Apply(lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(data))), lz4.BlockSizeOption(lz4.Block4Mb)))
	} else {
		must(w.Apply(lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb)))
	}
	stream(w, data)
	frame := out.Bytes()
	if framing == LZ4Broken {
		frame[6] ^= 0x55
	}
	return frame
}
