package batch

import (
	"math/bits"
	"sync"
)

const (
	smallestClass = 14 // buffers of 16 KiB
	largestClass  = 24 // buffers of 16 MiB: larger ones are not kept
	classes       = largestClass - smallestClass + 1
	maxShells     = 1024 // batches without a buffer
	poison        = 0xdb
)

// DefaultPoolBytes is how much a Pool keeps when Max is 0.
const DefaultPoolBytes = 32 << 20

// Pool keeps decompression buffers and batches for reuse. The zero Pool is
// ready; all decoders of a program may share one. It must not be copied.
type Pool struct {
	// Max is how many bytes of idle buffers it keeps at most; 0 means
	// DefaultPoolBytes.
	Max int

	// Poison is for tests: a buffer is overwritten when its batch is released
	// and never used again, batches without compression are copied so that they
	// have a buffer too, and a batch released twice always panics.
	Poison bool

	mu     sync.Mutex
	kept   int
	free   [classes][][]byte // by power of two
	shells []*Batch
}

// get returns an empty buffer with room for size bytes.
func (p *Pool) get(size int) []byte {
	class := classOf(size)
	if class >= classes {
		return make([]byte, 0, size)
	}
	if !p.Poison {
		p.mu.Lock()
		// One twice as large does as well, and saves a new one.
		for c := class; c < min(class+2, classes); c++ {
			if n := len(p.free[c]); n > 0 {
				buf := p.free[c][n-1]
				p.free[c] = p.free[c][:n-1]
				p.kept -= cap(buf)
				p.mu.Unlock()
				return buf[:0]
			}
		}
		p.mu.Unlock()
	}
	return make([]byte, 0, 1<<(class+smallestClass))
}

// put takes a buffer back that nobody sees any more.
func (p *Pool) put(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	if p.Poison {
		buf = buf[:cap(buf)]
		for i := range buf {
			buf[i] = poison
		}
		return
	}
	class := bits.Len(uint(cap(buf))) - 1 - smallestClass // rounded down: what is in a class has its size
	if class < 0 || cap(buf) > 1<<largestClass {
		return
	}
	limit := p.Max
	if limit == 0 {
		limit = DefaultPoolBytes
	}
	p.mu.Lock()
	if p.kept+cap(buf) <= limit {
		p.free[class] = append(p.free[class], buf)
		p.kept += cap(buf)
	}
	p.mu.Unlock()
}

// grow returns a buffer with the bytes of buf and room for size bytes, and
// takes buf back.
func (p *Pool) grow(buf []byte, size int) []byte {
	larger := p.get(size)
	larger = append(larger, buf...)
	p.put(buf)
	return larger
}

func classOf(size int) int {
	if size <= 1<<smallestClass {
		return 0
	}
	return bits.Len(uint(size-1)) - smallestClass
}

// shell returns a batch with one reference and nothing else.
func (p *Pool) shell() *Batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b *Batch
	if n := len(p.shells); n > 0 {
		b = p.shells[n-1]
		p.shells = p.shells[:n-1]
	} else {
		b = &Batch{}
	}
	b.pool = p
	b.refs.Store(1)
	return b
}

func (p *Pool) putShell(b *Batch) {
	p.put(b.buf)
	b.Header, b.records, b.buf, b.shift, b.count = Header{}, nil, nil, 0, 0
	if p.Poison {
		return
	}
	p.mu.Lock()
	if len(p.shells) < maxShells {
		p.shells = append(p.shells, b)
	}
	p.mu.Unlock()
}
