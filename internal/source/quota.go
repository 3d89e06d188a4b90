package source

import (
	"sync"
	"sync/atomic"
)

// quotas are how many deliveries splits may still give to each stream. They hold
// for the whole run: what leaves and comes back goes on counting.
type quotas struct {
	each int64 // 0 is no limit

	mu   sync.Mutex
	left map[leftover]*quota
}

// quota is that of one split. A nil one has no limit.
type quota struct {
	left  atomic.Int64 // changed by the writer only
	ahead int64        // of the only worker, when there is one: what it may still prepare
}

// of returns the quota of what is delivered from one place to one stream.
func (q *quotas) of(l leftover) *quota {
	if q.each == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left == nil {
		q.left = map[leftover]*quota{}
	}
	one := q.left[l]
	if one == nil {
		one = &quota{ahead: q.each}
		one.left.Store(q.each)
		q.left[l] = one
	}
	return one
}

// spent reports whether nothing more may be given.
func (q *quota) spent() bool { return q != nil && q.left.Load() <= 0 }

// within returns the smaller of the quota and another limit, of which negative
// ones are none.
func (q *quota) within(limit int64) int64 {
	switch {
	case q == nil:
		return limit
	case limit < 0:
		return q.left.Load()
	default:
		return min(limit, q.left.Load())
	}
}

// take counts deliveries, and reports whether the last of the quota is among
// them.
func (q *quota) take(n int) (last bool) {
	return q != nil && n > 0 && q.left.Add(-int64(n)) <= 0
}

// ahead prepares a chunk. A single worker heeds quotas itself, so that formats
// which number records do not number what is left out; of several none knows
// what the others have prepared, and the writer cuts.
func (p *pipeline) ahead(w preparer, c *Chunk) (Block, error) {
	q := c.split.quota
	if !p.solo || q == nil {
		return w.prepare(c, -1)
	}
	b, err := w.prepare(c, int(q.ahead))
	q.ahead -= int64(b.Written)
	return b, err
}

// together parts the wants of one partition into those that are read together:
// all of them, unless each has a quota or a past of its own.
func (r *reader) together(wants []*wanted) (list [][]*wanted) {
	switch {
	case len(wants) == 0:
		return nil
	case r.e.PerSplit == 0 && r.e.Past == nil:
		return [][]*wanted{wants}
	}
	for _, w := range wants {
		list = append(list, []*wanted{w})
	}
	return list
}

// allGiven reports whether a want's quotas leave nothing more to come of what it
// reads.
func (r *reader) allGiven(w *wanted) bool {
	if r.e.PerSplit == 0 {
		return false
	}
	for at, d := range r.live {
		if at.want == w.key() && !d.split.quota.spent() {
			return false
		}
	}
	return true
}
