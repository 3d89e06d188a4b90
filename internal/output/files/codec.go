package files

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Codec is how a file is compressed.
type Codec uint8

// The codecs, by the suffixes of files.
const (
	Plain Codec = iota
	Gzip        // .gz
	Zstd        // .zst
)

var codecs = map[string]Codec{".gz": Gzip, ".zst": Zstd}

// press compresses pieces of files. Each becomes a gzip member or a zstd frame
// of its own, which any tool reads in a row as one, so that a file always ends
// on a whole one. It is safe for use by several goroutines at once.
type press struct {
	codec   Codec
	zstd    *zstd.Encoder
	gzips   sync.Pool // *gzip.Writer
	buffers sync.Pool // *bytes.Buffer
}

func newPress(c Codec) *press {
	p := &press{codec: c}
	p.gzips.New = func() any { return gzip.NewWriter(nil) }
	p.buffers.New = func() any { return new(bytes.Buffer) }
	if c == Zstd {
		// The options are right, so that there is no error.
		p.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithWindowSize(frameBytes))
	}
	return p
}

// frame compresses src. The result is one of the press's buffers, to be given
// back to it.
func (p *press) frame(src []byte) *bytes.Buffer {
	dst, _ := p.buffers.Get().(*bytes.Buffer)
	dst.Reset()
	if p.codec == Zstd {
		dst.Grow(len(src)/4 + 64)
		return p.keep(dst, p.zstd.EncodeAll(src, dst.AvailableBuffer()))
	}
	w, _ := p.gzips.Get().(*gzip.Writer)
	w.Reset(dst)
	_, _ = w.Write(src) // a buffer takes everything
	_ = w.Close()
	p.gzips.Put(w)
	return dst
}

// keep makes b the content of dst, into whose free room it was written as far as
// it fitted.
func (p *press) keep(dst *bytes.Buffer, b []byte) *bytes.Buffer {
	if cap(b) > dst.Cap() {
		*dst = *bytes.NewBuffer(b)
		return dst
	}
	_, _ = dst.Write(b)
	return dst
}

// free takes a buffer of frame back.
func (p *press) free(b *bytes.Buffer) {
	if b != nil && b.Cap() <= 4*frameBytes {
		p.buffers.Put(b)
	}
}

// frameBytes is how much one frame holds: enough to compress well, little enough
// for several to be worked on at once.
const frameBytes = 256 << 10
