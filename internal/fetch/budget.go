package fetch

import "sync"

// Limits of what one request may ask for, in bytes.
const (
	mostBytes  = 8 << 20
	leastBytes = 64 << 10
)

// Budget bounds the bytes of batches that are being fetched or are not yet
// released, over all Fetchers that share it. A batch larger than what was asked
// for may take it above its total for a while.
type Budget struct {
	mu      sync.Mutex
	total   int64
	used    int64
	lanes   int
	waiting map[chan<- struct{}]struct{}
}

// NewBudget makes a budget of total bytes; below 1 MiB it is 1 MiB.
func NewBudget(total int64) *Budget {
	return &Budget{total: max(total, 1<<20), waiting: map[chan<- struct{}]struct{}{}}
}

// Total returns the size of the budget.
func (b *Budget) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Grow makes the budget n bytes larger, or smaller when n is negative.
func (b *Budget) Grow(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = max(b.total+n, 1<<20)
}

// Used returns how many bytes are reserved or not released.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// reserve takes a fair share for one request: what is free divided by the lanes
// that may want some, within the limits. If there is too little it takes nothing
// and wake gets a value as soon as there may be more.
func (b *Budget) reserve(most int, wake chan<- struct{}) (n int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.total - b.used
	if free < leastBytes {
		b.waiting[wake] = struct{}{}
		return 0, false
	}
	share := free / int64(max(b.lanes, 1))
	n = int(min(max(share, leastBytes), int64(max(most, leastBytes))))
	b.used += int64(n)
	return n, true
}

// take debits n bytes, more than there are if need be.
func (b *Budget) take(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += int64(n)
}

// give returns n bytes and wakes those who wait.
func (b *Budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= int64(n)
	if b.total-b.used < leastBytes {
		return
	}
	for wake := range b.waiting {
		select {
		case wake <- struct{}{}:
		default: // it has been woken and will look
		}
		delete(b.waiting, wake)
	}
}

// addLanes says that n more lanes may want bytes.
func (b *Budget) addLanes(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes += n
}
