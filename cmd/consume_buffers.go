package cmd

import (
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/source"
)

// buffer is what a chunk is formatted into.
type buffer struct {
	data []byte
	cuts []source.Cut
}

// buffers keeps buffers for use again. Unlike a sync.Pool it survives the garbage
// collector: when records are put in order many are full at once, and to grow as
// many new ones after each collection costs more than to format.
type buffers struct {
	mu    sync.Mutex
	free  []*buffer
	size  int // bytes of data in free
	usual int // bytes of data that the last ones took
}

const (
	maxKeptBuffer  = 16 << 20 // bytes of data up to which a buffer is used again
	maxIdleBuffers = 24 << 20 // bytes of data that are kept at most
)

func (b *buffers) get() *buffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free) - 1
	if n < 0 {
		return &buffer{data: make([]byte, 0, b.usual+b.usual/8)}
	}
	one := b.free[n]
	b.free[n] = nil
	b.free = b.free[:n]
	b.size -= cap(one.data)
	return one
}

func (b *buffers) put(one *buffer) {
	one.data, one.cuts = one.data[:0], one.cuts[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	if size := cap(one.data); size <= maxKeptBuffer && b.size+size <= maxIdleBuffers {
		b.free = append(b.free, one)
		b.size += size
	}
}

// filled notes how much a buffer has come to hold, so that new ones need not grow.
func (b *buffers) filled(one *buffer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usual = min((3*b.usual+len(one.data))/4, maxKeptBuffer)
}

// Where makeRoom looks ahead: what is smaller may grow as it likes.
const (
	foresightBytes   = 64 << 10
	foresightRecords = 64
)

// makeRoom lets the buffer grow once, to what the deliveries so far let expect of
// all, in place of many times: each time would leave a buffer behind as garbage.
func (p *preparation) makeRoom() {
	n, written := len(p.buf.data), p.block.Written
	if n < foresightBytes || written < foresightRecords || n+n/written <= cap(p.buf.data) {
		return
	}
	if left := p.expected - written; left > 0 {
		each := n/written + 1
		p.buf.data = slices.Grow(p.buf.data, each*left+each*left/32)
	}
}
