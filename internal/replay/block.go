package replay

import (
	"sync"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Block is some records of one key, in order, as lines that are parsed when the
// records are asked for.
type Block struct {
	Key   Key
	First int64 // no record lies below
	Next  int64 // behind the last record

	pool    *blocks
	head    []byte // that lines begin with if they were written by kcm
	data    []byte
	ends    []int // of the lines in data
	numbers []int64
	origins []origin
}

// origin says which file lines are from, from one of the block on.
type origin struct {
	line int
	path string
}

// blocks are used again: their buffers are large.
type blocks struct{ pool sync.Pool }

func (b *blocks) get() *Block {
	if one, ok := b.pool.Get().(*Block); ok {
		return one
	}
	return &Block{pool: b}
}

// Release gives the block back. It must not be used any more.
func (b *Block) Release() {
	if cap(b.data) > 4*blockBytes {
		return
	}
	*b = Block{pool: b.pool, head: b.head[:0], data: b.data[:0], ends: b.ends[:0], numbers: b.numbers[:0], origins: b.origins[:0]}
	b.pool.pool.Put(b)
}

// Size is how many bytes of lines it holds.
func (b *Block) Size() int { return len(b.data) }

// Reader parses blocks. It belongs to one goroutine, and keeps what it needs for
// the next block.
type Reader struct{ parser parser }

// Records yields the records of b. A record dies when yield returns. An error
// names the line that is wrong; what stands before it has been yielded.
func (r *Reader) Records(b *Block, yield func(*record.Record) bool) error {
	at := 0
	for i, end := range b.ends {
		line := b.data[at:end]
		at = end
		if err := r.parser.parse(line, b.head); err != nil {
			return fault.New(fault.Failed, "%s: no record as -f json writes it: %w", b.where(i), err).
				WithHint("the file is damaged there: mend or remove the line, and replay again")
		}
		if !yield(&r.parser.rec) {
			return nil
		}
	}
	return nil
}

func (b *Block) add(line []byte, path string, number int64) {
	if n := len(b.origins); n == 0 || b.origins[n-1].path != path {
		b.origins = append(b.origins, origin{len(b.ends), path})
	}
	b.data = append(b.data, line...)
	b.ends = append(b.ends, len(b.data))
	b.numbers = append(b.numbers, number)
}

// where names a line of the block by file and number.
func (b *Block) where(line int) string {
	path := ""
	for _, o := range b.origins {
		if o.line <= line {
			path = o.path
		}
	}
	return where(path, b.numbers[line])
}
