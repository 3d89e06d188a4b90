package source

import (
	"context"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// RunPast is Run without any cluster: it delivers what o.Past has of places, and
// ends. Offsets are taken as if the past were the log. Positions are kept under
// a slash and the cluster's name, as its id is not known.
func RunPast(ctx context.Context, o Options, places []PastPlace) (Stats, error) {
	o.Wants, o.Clusters, o.Updates = nil, nil, nil
	e := newEngine(o)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.ctx, e.stop = ctx, stop
	splits, err := e.pastSplits(places)
	if err != nil {
		return e.stats, err
	}
	var workers sync.WaitGroup
	for range e.Workers {
		workers.Go(func() { e.pipe.prepare(ctx) })
	}
	e.reading.Go(func() { e.onlyPast(ctx, splits) })
	err = e.write(ctx)
	close(e.pipe.over)
	stop(err)
	e.reading.Wait()
	within(workersGrace, workers.Wait)
	return e.end(err)
}

// pastSplits makes a split of each place of which something is wanted.
func (e *engine) pastSplits(places []PastPlace) (list []*split, err error) {
	topics := pastTopics(places)
	for _, p := range places {
		part, ok := e.Past.Find(p.Stream, p.Split)
		if !ok {
			continue
		}
		r := e.readers[p.Cluster]
		if r == nil {
			r = newReader(e, p.Cluster, nil, nil)
			r.ctx, r.id = e.ctx, "/"+p.Cluster
			e.readers[p.Cluster] = r
		}
		w := newWanted(Want{ID: p.Stream, Stream: &metadata.Stream{Name: p.Stream}, Source: &metadata.Source{Cluster: p.Cluster}})
		s := newSplit(r, splitKey{topic: p.Topic, partition: p.Partition}, []*wanted{w})
		s.topic = topics[record.Split{Cluster: p.Cluster, Topic: p.Topic}]
		d, err := e.pastDelivery(s, w, part)
		if err != nil {
			return nil, err
		}
		e.account(p.Cluster, func(st *ClusterStats) { st.Splits++ })
		if d.from < d.until {
			r.open++
			list = append(list, s)
		}
	}
	return list, nil
}

// mostPartitions bounds what a file may say of a topic.
const mostPartitions = 1 << 16

// pastTopics are the topics of places, by cluster and topic, with the partitions
// that they had at least.
func pastTopics(places []PastPlace) map[record.Split]cluster.Topic {
	topics := map[record.Split]cluster.Topic{}
	for _, p := range places {
		at := record.Split{Cluster: p.Cluster, Topic: p.Topic}
		t := topics[at]
		t.Name = p.Topic
		for id := int32(len(t.Partitions)); id <= min(p.Partition, mostPartitions); id++ {
			t.Partitions = append(t.Partitions, cluster.Partition{ID: id})
		}
		topics[at] = t
	}
	return topics
}

func (e *engine) pastDelivery(s *split, w *wanted, part PastPart) (*delivery, error) {
	r := s.r
	rg, _ := e.Offsets.For(s.Split)
	stop := spec.Range{}
	if w.Source.Stop != nil {
		stop.Stop = w.Source.Stop.Bound
	}
	facts := spec.Facts{
		Start: part.First, End: part.Next,
		At:        func(int64) (int64, bool) { return 0, false }, // the window finds the records
		Committed: func(string) (int64, bool) { return 0, false },
	}
	b := rg.Resolve(facts)
	if rg.Start.Kind == spec.Time {
		b.From = part.First
	}
	d := &delivery{
		want: w.key(), stream: s.streams[0], split: s, from: b.From, until: min(b.Until, part.Next, pastStop(stop.Stop)),
		window: window(ranges{command: rg, source: stop}), ends: -1,
	}
	m, known, err := r.known(w, s.Split)
	if known {
		d.from = max(m.Offset, part.First)
	}
	d.wish = d.until
	s.deliveries = []*delivery{d}
	s.past = &recollection{part: part, span: span{d.from, d.until, d.window}, live: d.until, until: d.until, news: make(chan struct{}, 1)}
	s.bound()
	s.backlog = part.Next
	e.pipe.ledger.open(s, -1)
	e.Monitor.begin(s)
	s.quota = e.quotas.of(r.leftover(w.key(), s.Topic, s.Partition))
	return d, err
}

// onlyPast reads the past of splits and ends the run when they are finished.
func (e *engine) onlyPast(ctx context.Context, list []*split) {
	if len(list) > 0 {
		if err := e.readPast(ctx, list); err != nil {
			for _, s := range list {
				if !s.over() {
					e.Monitor.over(s.Cluster, err)
				}
			}
			e.stop(err)
			return
		}
	}
	for _, s := range list {
		if !s.over() { // the last record may not be one that is there
			_ = e.pipe.put(ctx, &Chunk{Split: s.Split, split: s, next: s.past.until})
		}
	}
	for _, r := range e.readers {
		if r.finishPast(ctx); ctx.Err() == nil {
			e.Monitor.over(r.name, nil)
		}
	}
	e.stop(errFinished)
}

// withoutLog delivers the past of a cluster that has been given up without any
// contact: that is there all the same.
func (r *reader) withoutLog(ctx context.Context) {
	if r.e.Past == nil || r.e.Keeper != nil || !r.e.Bounded || r.e.FailFast || r.looks != nil {
		return
	}
	seen := map[record.Split]bool{}
	for _, p := range r.e.Past.Places() {
		if p.Cluster != r.name || seen[p.Split] || !r.takes(p.Topic) || !r.e.Partitions.Has(p.Partition) {
			continue
		}
		seen[p.Split] = true
		for _, w := range r.wants {
			if !w.takes(cluster.Topic{Name: p.Topic}) {
				continue
			}
			s := newSplit(r, splitKey{topic: p.Topic, partition: p.Partition, committed: w.Committed}, []*wanted{w})
			part, _ := r.e.Past.Find(s.streams[0], p.Split)
			if d, _ := r.e.pastDelivery(s, w, part); d.from < d.until {
				r.mu.Lock()
				r.open++
				r.mu.Unlock()
				r.e.pasts.admit(s)
			}
		}
	}
	if r.unfinished() {
		r.detail(0, "%s: what the files have is delivered; what follows in the log is missing", r.name)
	}
	r.finishPast(ctx)
}

// finishPast waits until everything that the reader has to deliver is through.
func (r *reader) finishPast(ctx context.Context) {
	for r.unfinished() {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// unfinished reports whether splits of the reader are still under way.
func (r *reader) unfinished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open > 0
}
