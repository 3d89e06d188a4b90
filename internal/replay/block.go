package replay

import (
	"sync"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Block is some records of one key, in order, as lines that are parsed when the
// records are asked for. It does not change any more.
type Block struct {
	Key   Key
	First int64 // no record lies below
	Next  int64 // behind the last record

	parsers *sync.Pool
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

// Size is how many bytes of lines it holds.
func (b *Block) Size() int { return len(b.data) }

// Records yields the records of b. A record dies when yield returns. An error
// names the line that is wrong; what stands before it has been yielded. Several
// goroutines may call it at once.
func (b *Block) Records(yield func(*record.Record) bool) error {
	p, ok := b.parsers.Get().(*parser)
	if !ok {
		p = &parser{}
	}
	defer b.parsers.Put(p)
	at := 0
	for i, end := range b.ends {
		line := b.data[at:end]
		at = end
		if err := p.parse(line, b.head); err != nil {
			return fault.New(fault.Failed, "%s: no record as -f json writes it: %w", b.where(i), err).
				WithHint("the file is damaged there: mend or remove the line, and replay again")
		}
		if !yield(&p.rec) {
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
