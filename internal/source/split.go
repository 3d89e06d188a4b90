package source

import (
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// split is one partition under way.
type split struct {
	record.Split
	id         fetch.Partition
	wants      []Want
	feed       *feed
	committed  bool
	streams    []string
	deliveries []delivery
	appeared   bool         // it was not there when the run began
	until      int64        // where it is finished; spec.Open is never
	read       atomic.Int64 // position behind what has been fetched
	topicID    [16]byte     // of what has been fetched; guarded by the feed's mu

	// Of the writer only.
	stopped bool  // nothing more of it may be written
	done    bool  // its end has been told to its reader
	next    int64 // position behind what has been written
}

// bound takes the span of what its deliveries want.
func (s *split) bound() (from int64) {
	from = s.deliveries[0].from
	s.until = s.deliveries[0].until
	for _, d := range s.deliveries[1:] {
		from = min(from, d.from)
		s.until = max(s.until, d.until)
	}
	s.next = from
	s.read.Store(from)
	return from
}

// fetchUntil is until in the words of package fetch.
func (s *split) fetchUntil() int64 {
	if s.until == spec.Open {
		return -1
	}
	return s.until
}

// chunks cuts an answer into chunks.
func (s *split) chunks(d fetch.Data, maxBatch int64) []*Chunk {
	base := Chunk{Split: s.Split, Streams: s.streams, split: s, maxBatch: maxBatch, first: d.From, next: d.Next}
	var list []*Chunk
	for rest := d.Batches; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n]) <= chunkBytes) {
			size += len(rest[n])
			n++
		}
		c := base
		c.batches, rest = rest[:n:n], rest[n:]
		if len(rest) > 0 {
			if h, err := c.batches[n-1].Head(); err == nil {
				c.next = h.Next()
			}
			base.first = c.next
		}
		list = append(list, &c)
	}
	if len(list) == 0 {
		c := base
		list = append(list, &c)
	}
	// The writer works in order: when the last chunk is through, all are.
	list[len(list)-1].release = d.Release
	return list
}
