package batch

import "sync/atomic"

// Batch is a batch with its records decompressed. It is shared by counting
// references: whoever gets one from a Decoder owns the first. Records walked out
// of it are views that die with the last reference.
type Batch struct {
	Header Header

	records []byte // decompressed; of a legacy batch the messages
	buf     []byte // what records points into, if the pool owns it
	shift   int64  // what to add to the offsets in a compressed set of format 1
	count   int
	pool    *Pool
	refs    atomic.Int32
}

// Len returns how many records the batch holds.
func (b *Batch) Len() int { return b.count }

// Size returns how many bytes the records take decompressed.
func (b *Batch) Size() int { return len(b.records) }

// Retain adds a reference.
func (b *Batch) Retain() {
	if b.refs.Add(1) <= 1 {
		panic("batch: retained after its last release")
	}
}

// Release gives a reference back; with the last one the records are gone. To
// release more often than retained is a bug of the caller and panics, always
// under a Pool with Poison and as long as the batch is not in use again under
// another.
func (b *Batch) Release() {
	switch n := b.refs.Add(-1); {
	case n < 0:
		panic("batch: released more often than retained")
	case n == 0:
		b.pool.putShell(b)
	}
}
