package source

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
)

// searchPatience is how long a search in a run without an end waits when nothing
// comes.
const searchPatience = 5 * time.Second

// step is one step of several searches: a fetcher of its own reads what they are
// to look through. It is that fetcher's handler.
type step struct {
	r    *reader
	list map[fetch.Partition]*search
	news chan struct{} // capacity 1: something has come or ended
	*fetch.Fetcher
}

// step takes one step of every search, of different partitions at one isolation
// level. What cannot be read is left for reading to tell.
func (r *reader) step(list []*search) error {
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	c, t := r.cluster, r.cluster.Tuning()
	h := &step{r: r, list: map[fetch.Partition]*search{}, news: make(chan struct{}, 1)}
	h.Fetcher = fetch.New(fetch.Config{
		Cluster: r.name,
		Client:  func(role cluster.Role) (*kgo.Client, error) { return c.Client(role) },
		Rack:    t.Rack, Committed: list[0].split.committed, Budget: r.e.budget, Handler: h,
		MaxWait: t.FetchMaxWait, MaxBytes: t.FetchMaxBytes, PartitionMaxBytes: t.FetchMaxPartitionSize,
	})
	for _, s := range list {
		h.list[s.split.id] = s
		h.Add(s.split.id, fetch.Position{Offset: s.from, Epoch: -1}, s.upTo)
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Run(ctx) }()
	err := h.wait(ctx, failed)
	stop()
	<-failed //nolint:errcheck // what it says when it is stopped is of no interest
	return err
}

// wait waits until every search has ended its step, or nothing comes any more.
func (h *step) wait(ctx context.Context, failed chan error) error {
	patience := searchPatience
	if h.r.e.Bounded {
		patience = max(h.r.e.GiveUp, searchPatience)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for h.open() {
		select {
		case <-h.news:
			timer.Reset(patience)
		case <-timer.C:
			for _, s := range h.list {
				s.fails(s.from)
			}
		case err := <-failed:
			failed <- err
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (h *step) open() bool {
	for _, s := range h.list {
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if open {
			return true
		}
	}
	return false
}

func (h *step) tell() {
	select {
	case h.news <- struct{}{}:
	default: // whoever waits has been woken and will look
	}
}

// Fetched notes which records there are.
func (h *step) Fetched(d fetch.Data) {
	defer h.tell()
	defer d.Release()
	s := h.list[d.Partition]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return
	}
	decoder := batch.NewDecoder(h.r.e.Pool)
	for _, raw := range d.Batches {
		b, err := decoder.Decode(raw, h.r.e.MaxBatch)
		if err == nil {
			err = s.take(b, d.From)
			b.Release()
		}
		if err != nil { // it will be told when reading comes to it
			at := d.From
			if head, e := raw.Head(); e == nil {
				at = max(at, head.BaseOffset)
			}
			s.pin, s.open = at, false
			return
		}
	}
}

// take notes the records of a batch. Of more than n the last ones count.
func (s *search) take(b *batch.Batch, from int64) error {
	var rec record.Record
	w := b.Records()
	for w.Next(&rec) {
		if rec.Offset < max(from, s.from) || rec.Offset >= s.upTo {
			continue
		}
		for i := range s.spans {
			if s.spans[i].wants(&rec) {
				s.step = append(s.step, found{rec.Timestamp, rec.Offset})
				break
			}
		}
	}
	if len(s.step) > 2*s.n+1024 {
		s.step = append(s.step[:0], s.step[len(s.step)-s.n:]...)
	}
	return w.Err()
}

// fails ends a search at what cannot be read.
func (s *search) fails(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.pin, s.open = at, false
	}
}

// Event ends the step of a search, or lets it go on behind what is gone from the
// log.
func (h *step) Event(ev fetch.Event) {
	switch ev := ev.(type) {
	case fetch.Done:
		h.ends(ev.Partition)
	case fetch.Gap:
		h.gap(ev)
	case fetch.Damaged:
		h.list[ev.Partition].fails(ev.Offset)
	case fetch.TooLarge:
		h.list[ev.Partition].fails(ev.Offset)
	case fetch.Denied:
		h.fails(ev.Partition)
	case fetch.Recreated:
		h.fails(ev.Partition)
	case fetch.Truncated:
		h.fails(ev.Partition)
	case fetch.Beyond:
		h.fails(ev.Partition)
	case fetch.Missing:
		h.fails(ev.Partition)
	default:
		return
	}
	h.tell()
}

// fails ends a search for good: reading begins at the end, and tells what is wrong.
func (h *step) fails(p fetch.Partition) { h.list[p].fails(h.list[p].end) }

func (h *step) ends(p fetch.Partition) {
	s := h.list[p]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

func (h *step) gap(ev fetch.Gap) {
	s := h.list[ev.Partition]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = ev.To
	if s.from = min(ev.To, s.upTo); s.from == s.upTo {
		s.open = false
		return
	}
	h.Add(ev.Partition, fetch.Position{Offset: s.from, Epoch: -1}, s.upTo)
}
