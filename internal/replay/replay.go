// Package replay reads files of records that an earlier run wrote as JSON, one
// record a line, and gives them back as records: those of each partition in the
// order of their offsets, and each once, however they are spread over files. It
// must know neither Kafka nor what becomes of the records.
//
// All files are looked at before anything is given, so that what cannot be used
// is refused while nothing has been written yet.
package replay

import (
	"context"
	"sync"

	"github.com/kcm-cli/kcm/internal/record"
)

// Key is a partition as one stream took it: what a line of a file is for. Names
// are all that the files hold of a cluster and a topic.
type Key struct {
	Stream string
	record.Split
}

// Extent is what the files hold of a Key.
type Extent struct {
	First int64 // lowest offset
	Next  int64 // behind the highest offset
	Lines int64 // records, counting one that is there twice as two
}

// Want is what Read gives: the records of Key from an offset on.
type Want struct {
	Key
	From int64
}

// Stats counts what Read met.
type Stats struct {
	Records int64 // given
	Again   int64 // left out, because the offset had been given before
	Absent  int64 // offsets between the records of the wanted keys that no file has
}

// Files are the files of one path, after they have been looked at. They may be
// read by several goroutines at once.
type Files struct {
	paths  []string
	sizes  []int64 // when they were looked at
	pieces []piece
	keys   []Key
	number map[Key]int // index in keys
	parts  [][]int     // by key: indexes in pieces, in the order of first offsets

	parsers sync.Pool // of *parser
}

// Keys lists what the files hold records of, sorted by split and stream.
func (f *Files) Keys() []Key { return f.keys }

// Count says how many files there are.
func (f *Files) Count() int { return len(f.paths) }

// Extent says what the files hold of k; false is nothing.
func (f *Files) Extent(k Key) (Extent, bool) {
	n, ok := f.number[k]
	if !ok {
		return Extent{}, false
	}
	e := Extent{First: f.part(f.parts[n][0], n).first}
	for _, at := range f.parts[n] {
		p := f.part(at, n)
		e.Next, e.Lines = max(e.Next, p.last+1), e.Lines+p.lines
	}
	return e, true
}

// Read gives the wanted records in blocks: those of one key in the order of their
// offsets, several keys side by side. An error of give ends Read. What is wrong with a line shows when the block's
// records are looked at; Read itself fails when a file cannot be read or is not
// any more what it was when it was looked at.
func (f *Files) Read(ctx context.Context, wants []Want, give func(*Block) error) (Stats, error) {
	r := newReading(ctx, f, wants, give)
	err := r.run()
	return r.stats, err
}
