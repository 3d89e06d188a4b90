package replay

import (
	"bytes"
	"context"
	"slices"

	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	// blockBytes is the size at which a block is handed on: as the engine's chunks,
	// small enough to keep all workers busy.
	blockBytes = 192 << 10
	// heldBytes is how much may be held of all keys together.
	heldBytes = 4 << 20
)

// reading is one call of Files.Read.
type reading struct {
	ctx   context.Context //nolint:containedctx // of the one call that this is
	f     *Files
	give  func(*Block) error
	stats Stats
	lanes map[int]*lane // by key
	from  map[int]int64 // by key
	heads *heads
	held  int

	buffers buffers
}

// lane is what has been read of one key and not been handed on yet.
type lane struct {
	key     Key
	from    int64 // nothing below is wanted
	next    int64 // behind what has been read
	given   int64 // behind what has been handed on
	started bool
	open    bool // it belongs to the pass that is made
	block   *Block
	size    int // of its last block, and a little more
	lines   int // that this held
}

func newReading(ctx context.Context, f *Files, wants []Want, give func(*Block) error) *reading {
	r := &reading{ctx: ctx, f: f, give: give, lanes: map[int]*lane{}, from: map[int]int64{}}
	for _, w := range wants {
		if n, ok := f.number[w.Key]; ok {
			r.lanes[n] = &lane{key: w.Key, from: w.From, next: w.From, given: w.From}
			r.from[n] = w.From
		}
	}
	r.heads = newHeads(func(k Key) int {
		if n, ok := f.number[k]; ok {
			return n
		}
		return -1
	})
	return r
}

func (r *reading) run() error {
	passes, tangled := r.f.order(r.from)
	for _, p := range passes {
		if err := r.pass(p); err != nil {
			return err
		}
	}
	for _, key := range tangled {
		if err := r.merge(key); err != nil {
			return err
		}
	}
	return nil
}

// pass reads pieces one after the other.
func (r *reading) pass(p pass) error {
	for _, key := range p.keys {
		r.lanes[key].open = true
	}
	for _, at := range p.pieces {
		if err := r.piece(at); err != nil {
			return err
		}
	}
	if err := r.giveAll(); err != nil {
		return err
	}
	for _, key := range p.keys {
		r.lanes[key].open = false
	}
	return nil
}

func (r *reading) piece(at int) error {
	w, err := r.walk(at)
	if err != nil {
		return err
	}
	defer w.close()
	for {
		key, offset, line, err := w.next()
		if err != nil || line == nil {
			return err
		}
		l := r.lanes[key]
		if l == nil || !l.open {
			continue
		}
		if err := r.take(l, w, offset, line); err != nil {
			return err
		}
	}
}

// walk is a walk over the lines of a piece.
type walk struct {
	r     *reading
	lines *lines
	path  string
	end   int64
	head  []byte // of the line that was returned last
}

func (r *reading) walk(at int) (*walk, error) {
	p := &r.f.pieces[at]
	path := r.f.paths[p.file]
	l, err := r.buffers.open(path, r.f.sizes[p.file])
	if err != nil {
		return nil, damaged(path, 0, err)
	}
	if err := l.seek(p.at, p.number); err != nil {
		l.close()
		return nil, damaged(path, l.number, err)
	}
	return &walk{r: r, lines: l, path: path, end: p.end}, nil
}

func (w *walk) close() { w.lines.close() }

// next returns the next record's key, offset and line; nil behind the last one.
func (w *walk) next() (key int, offset int64, line []byte, err error) {
	for w.lines.at < w.end {
		if w.lines.number&1023 == 0 && w.r.ctx.Err() != nil {
			return 0, 0, nil, context.Cause(w.r.ctx)
		}
		line, _, err = w.lines.next()
		if err != nil {
			return 0, 0, nil, damaged(w.path, w.lines.number, err)
		}
		if line == nil {
			return 0, 0, nil, w.changed()
		}
		if line = bytes.TrimRight(line, " \t\r"); len(line) == 0 {
			continue
		}
		if key, offset, w.head, err = w.r.heads.of(line); err != nil {
			return 0, 0, nil, fault.New(fault.Failed, "%s: no record as -f json writes it: %w", where(w.path, w.lines.number), err)
		}
		return key, offset, line, nil
	}
	return 0, 0, nil, nil
}

func (w *walk) changed() error {
	return fault.New(fault.Failed, "%s: the file has become shorter while it was replayed", w.path)
}

// take adds a line to its lane, unless its record is not wanted or has been
// taken.
func (r *reading) take(l *lane, w *walk, offset int64, line []byte) error {
	switch {
	case offset < l.from:
		return nil
	case offset < l.next:
		r.stats.Again++
		return nil
	case l.started:
		r.stats.Absent += offset - l.next
	}
	l.started = true
	if l.block == nil {
		l.block = &Block{
			Key: l.key, parsers: &r.f.parsers, head: slices.Clone(w.head),
			data: make([]byte, 0, l.size), ends: make([]int, 0, l.lines), numbers: make([]int64, 0, l.lines),
		}
	}
	l.block.add(line, w.path, w.lines.number)
	l.next = offset + 1
	r.stats.Records++
	if r.held += len(line); l.block.Size() >= blockBytes {
		return r.emit(l)
	}
	if r.held >= heldBytes {
		return r.giveAll()
	}
	return nil
}

// emit hands on what a lane holds.
func (r *reading) emit(l *lane) error {
	b := l.block
	l.block = nil
	l.size, l.lines = min(b.Size()+b.Size()/16, blockBytes+blockBytes/16), len(b.ends)+len(b.ends)/16
	b.First, b.Next = l.given, l.next
	l.given = l.next
	r.held -= b.Size()
	return r.give(b)
}

func (r *reading) giveAll() error {
	var keys []int
	for key, l := range r.lanes {
		if l.block != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := r.emit(r.lanes[key]); err != nil {
			return err
		}
	}
	return nil
}
