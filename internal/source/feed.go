package source

import (
	"context"
	"fmt"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/twmb/franz-go/pkg/kgo"
)

// feed is a fetcher of one cluster at one isolation level, and the splits that
// it reads. It is the fetcher's handler: data goes into the pipeline, events
// wait for the reader's goroutine.
type feed struct {
	*fetch.Fetcher
	r   *reader
	ctx context.Context //nolint:containedctx // of the handler calls, which carry none

	mu     sync.Mutex
	splits map[fetch.Partition]*split
	events []fetch.Event
	gone   []fetch.Partition // finished, and to be removed from the fetcher
	// trouble is what keeps splits from being read, by broker or partition. It
	// belongs to the reader's goroutine.
	trouble map[any]trouble
	losses  map[broker]loss
}

// feed returns the fetcher for one isolation level, started when first needed:
// an isolation level is a property of a whole Fetch request.
func (r *reader) feed(ctx context.Context, committed bool) *feed {
	if f := r.feeds[committed]; f != nil {
		return f
	}
	t := r.cluster.Tuning()
	f := &feed{r: r, ctx: ctx, splits: map[fetch.Partition]*split{}, trouble: map[any]trouble{}, losses: map[broker]loss{}}
	f.Fetcher = fetch.New(fetch.Config{
		Cluster: r.name,
		Client:  func(role cluster.Role) (*kgo.Client, error) { return r.cluster.Client(role) },
		Rack:    t.Rack, Committed: committed, Budget: r.e.budget, Handler: f,
		MaxWait: t.FetchMaxWait, MinBytes: t.FetchMinBytes, MaxBytes: t.FetchMaxBytes, PartitionMaxBytes: t.FetchMaxPartitionSize,
	})
	r.feeds[committed] = f
	r.running.Go(func() {
		if err := f.Run(ctx); err != nil {
			r.e.stop(fmt.Errorf("%s: %w", r.name, err))
		}
	})
	return f
}

// add reads a split from an offset on.
func (f *feed) add(s *split, from int64) {
	f.mu.Lock()
	f.splits[s.id] = s
	f.mu.Unlock()
	f.Add(s.id, fetch.Position{Offset: from, Epoch: -1}, s.fetchUntil())
}

// forget stops handing on a split that is finished. It is called by the writer,
// which must not wait for a call of Fetched that waits for the writer: the
// reader removes it from the fetcher.
func (f *feed) forget(s *split) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.splits[s.id] != s {
		return // its topic was made again, and the new one is read
	}
	delete(f.splits, s.id)
	f.gone = append(f.gone, s.id)
}

func (f *feed) split(p fetch.Partition) *split {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.splits[p]
}

// Fetched puts an answer's batches into the pipeline.
func (f *feed) Fetched(d fetch.Data) {
	s := f.fetched(d)
	if s == nil || d.Next <= d.From && len(d.Batches) == 0 {
		d.Release()
		return
	}
	s.read.Store(d.Next)
	for _, c := range s.chunks(d, f.r.e.MaxBatch) {
		if f.r.e.pipe.put(f.ctx, c) != nil {
			d.Release()
			return
		}
	}
}

// fetched returns the split that data is of, and notes which topic that is.
func (f *feed) fetched(d fetch.Data) *split {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.splits[d.Partition]
	if s != nil && d.TopicID != [16]byte{} {
		s.topicID = d.TopicID
	}
	return s
}

// moved has the fetcher go on at another offset of the same topic, told apart
// from one that has its name by now.
func (f *feed) moved(s *split, to int64) {
	f.mu.Lock()
	id := s.topicID
	f.mu.Unlock()
	f.Add(s.id, fetch.Position{Offset: to, Epoch: -1, TopicID: id}, s.fetchUntil())
}

// Event keeps an event for the reader.
func (f *feed) Event(ev fetch.Event) {
	f.mu.Lock()
	f.events = append(f.events, ev)
	f.mu.Unlock()
	f.r.poke()
}

// take returns what has come in since the last call.
func (f *feed) take() (events []fetch.Event, gone []fetch.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, gone = f.events, f.gone
	f.events, f.gone = nil, nil
	return events, gone
}
