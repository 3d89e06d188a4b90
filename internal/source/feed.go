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
	r    *reader
	ctx  context.Context //nolint:containedctx // of the handler calls, which carry none
	stop context.CancelFunc
	over chan struct{} // closed when nothing is handed on any more

	mu     sync.Mutex
	splits map[fetch.Partition]*split
	events []fetch.Event
	gone   []fetch.Partition // finished, and to be removed from the fetcher
	// trouble is what keeps splits from being read, by broker or partition. It
	// belongs to the reader's goroutine.
	trouble map[any]trouble
	losses  map[broker]loss
}

// feedKey tells the feeds of a cluster apart. An isolation level is a property
// of a whole Fetch request. A fetcher reads a partition once: a stream that comes
// to one that is read for others already, and begins elsewhere, takes a lane of
// its own.
type feedKey struct {
	committed bool
	lane      int
}

// feed returns the feed of the first lane that does not read a partition yet,
// started when it is first needed.
func (r *reader) feed(ctx context.Context, committed bool, p fetch.Partition) *feed {
	key := feedKey{committed: committed}
	for ; r.feeds[key] != nil; key.lane++ {
		if r.feeds[key].split(p) == nil {
			return r.feeds[key]
		}
	}
	f := r.newFeed(ctx, committed)
	r.feeds[key] = f
	return f
}

func (r *reader) newFeed(ctx context.Context, committed bool) *feed {
	c := r.cluster
	t := c.Tuning()
	f := &feed{
		r: r, over: make(chan struct{}), splits: map[fetch.Partition]*split{},
		trouble: map[any]trouble{}, losses: map[broker]loss{},
	}
	f.ctx, f.stop = context.WithCancel(ctx)
	f.Fetcher = fetch.New(fetch.Config{
		Cluster: r.name,
		Client:  func(role cluster.Role) (*kgo.Client, error) { return c.Client(role) },
		Rack:    t.Rack, Committed: committed, Budget: r.e.budget, Handler: f,
		MaxWait: t.FetchMaxWait, MinBytes: t.FetchMinBytes, MaxBytes: t.FetchMaxBytes, PartitionMaxBytes: t.FetchMaxPartitionSize,
	})
	r.running.Go(func() {
		defer close(f.over)
		if err := f.Run(f.ctx); err != nil {
			r.e.stop(fmt.Errorf("%s: %w", r.name, err))
		}
	})
	return f
}

// reserve makes a split one of the feed's, without reading it yet.
func (f *feed) reserve(s *split) {
	f.mu.Lock()
	f.splits[s.id] = s
	f.mu.Unlock()
	s.mu.Lock()
	s.feed = f
	s.mu.Unlock()
}

// add reads a split from a position on.
func (f *feed) add(s *split, at fetch.Position) {
	f.reserve(s)
	f.r.e.pipe.merge.open(s)
	f.Add(s.id, at, s.fetchUntil())
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

// all returns the splits that the feed reads.
func (f *feed) all() (list []*split) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.splits {
		list = append(list, s)
	}
	return list
}

// Fetched puts an answer's batches into the pipeline.
func (f *feed) Fetched(d fetch.Data) {
	s := f.split(d.Partition)
	if s != nil {
		s.reached(d.End, d.Stable)
	}
	if s == nil || d.Next <= d.From && len(d.Batches) == 0 {
		d.Release()
		return
	}
	s.handing.Lock()
	defer s.handing.Unlock()
	if s.disowned.Load() || f.r.group != nil && d.From != s.read.Load() { // of the time before it was taken away and given back
		d.Release()
		return
	}
	s.fetched(d.TopicID)
	s.cutOff(&d)
	for _, c := range f.r.e.pipe.cut(s, d) {
		if f.r.e.pipe.put(f.ctx, c) != nil {
			d.Release()
			return
		}
		s.read.Store(c.next)
	}
	s.setEpoch(d.Epoch)
}

// fetched notes which topic data is of. The epoch is known again when all of
// the data is in the pipeline.
func (s *split) fetched(topicID [16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = -1
	if topicID != [16]byte{} {
		s.topicID = topicID
	}
}

// moved has the fetcher go on at another offset of the same topic, told apart
// from one that has its name by now.
func (f *feed) moved(s *split, to int64) {
	s.read.Store(to)
	s.setEpoch(-1)
	f.Add(s.id, s.position(), s.fetchUntil())
}

// Event keeps an event for the reader. A lost contact also ends the look-up that
// the reader may be waiting for because something leaves.
func (f *feed) Event(ev fetch.Event) {
	if _, lost := ev.(fetch.Lost); lost {
		defer f.r.stopAiming()
	}
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

// end stops the feed, waits until it hands on nothing more, and returns what it
// was reading.
func (f *feed) end() []*split {
	f.stop()
	<-f.over
	return f.all()
}
