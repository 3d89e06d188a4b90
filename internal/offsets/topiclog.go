package offsets

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
)

// logRange is what is read of a partition: the offsets from From up to Until.
type logRange struct {
	Partition
	From, Until int64
}

// logBudget bounds what is fetched and not yet looked at, in bytes.
const logBudget = 8 << 20

// mostBatch is how large a batch may be once it is decompressed.
const mostBatch = 256 << 20

// logReader reads ranges of one cluster's partitions once, read_committed.
type logReader struct {
	c *cluster.Cluster
	// patience is how long nothing may come before the reading is given up.
	patience time.Duration
	// take gets one record after the other, those of a partition in order, and
	// says whether more of that partition is wanted. The record is valid only until
	// it returns.
	take func(at Partition, r *logRecord) (more bool)
}

// read reads the ranges, and returns the errors of those that were not read to
// their ends. A range ends by position: behind its last record there may be
// markers of transactions, or holes that compaction left.
func (l *logReader) read(ctx context.Context, ranges []logRange) map[Partition]error {
	r := &logRun{logReader: l, open: map[Partition]logRange{}, failed: map[Partition]error{}, news: make(chan struct{}, 1), decoder: batch.NewDecoder(&batch.Pool{})}
	for _, one := range ranges {
		if one.From < one.Until {
			r.open[one.Partition] = one
		}
	}
	if len(r.open) == 0 {
		return r.failed
	}
	tuning := l.c.Tuning()
	r.fetcher = fetch.New(fetch.Config{
		Cluster: l.c.Name(), Client: func(role cluster.Role) (*kgo.Client, error) { return l.c.Client(role) },
		Rack: tuning.Rack, Committed: true, Budget: fetch.NewBudget(logBudget), Handler: r,
		MaxWait: tuning.FetchMaxWait, PartitionMaxBytes: logBudget / 4,
	})
	for at, one := range r.open {
		r.fetcher.Add(fetch.Partition{Topic: at.Topic, ID: at.Partition}, fetch.Position{Offset: one.From, Epoch: -1}, one.Until)
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = r.fetcher.Run(ctx) }) // it has no errors but the end of ctx
	r.consume(ctx)
	stop()
	running.Wait()
	return r.failed
}

// logRun is one reading. Its goroutine is the one that calls read; the fetcher's
// put into the queue.
type logRun struct {
	*logReader
	fetcher *fetch.Fetcher
	decoder *batch.Decoder
	open    map[Partition]logRange
	failed  map[Partition]error
	trouble error // the last that kept something from being read

	mu    sync.Mutex
	queue []any // fetch.Data and fetch.Event, in order
	news  chan struct{}
}

// Fetched puts data into the queue, which the budget bounds.
func (r *logRun) Fetched(d fetch.Data) { r.put(d) }

// Event puts an event into the queue.
func (r *logRun) Event(e fetch.Event) { r.put(e) }

func (r *logRun) put(item any) {
	r.mu.Lock()
	r.queue = append(r.queue, item)
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default: // it has been woken and will look
	}
}

func (r *logRun) consume(ctx context.Context) {
	idle := time.NewTimer(r.patience)
	defer idle.Stop()
	for len(r.open) > 0 {
		select {
		case <-ctx.Done():
			r.failAll(ctx.Err())
		case <-idle.C:
			r.failAll(r.silence())
		case <-r.news:
			r.mu.Lock()
			items := r.queue
			r.queue = nil
			r.mu.Unlock()
			for _, item := range items {
				if r.handle(item) {
					idle.Reset(r.patience)
				}
			}
		}
	}
}

// silence says why nothing has come for so long.
func (r *logRun) silence() error {
	if r.trouble != nil {
		return r.trouble
	}
	return fault.New(fault.Unreachable, "%s: nothing has come for %s", r.c.Name(), r.patience).On(r.c.Name())
}

func (r *logRun) failAll(err error) {
	for at := range r.open {
		r.failed[at] = err
	}
	clear(r.open)
}

// handle deals with one item and reports whether that was progress.
func (r *logRun) handle(item any) bool {
	switch i := item.(type) {
	case fetch.Data:
		defer i.Release()
		return r.data(i)
	case fetch.Gap:
		at := place(i.Partition)
		if one, ok := r.open[at]; ok && i.To < one.Until {
			r.fetcher.Add(i.Partition, fetch.Position{Offset: i.To, Epoch: -1}, one.Until) // retention took what lay before
		} else {
			delete(r.open, at)
		}
	case fetch.Done:
		delete(r.open, place(i.Partition))
	case fetch.Lost:
		r.trouble = r.c.Explain(i.Err, "")
		return false
	case fetch.NoLeader:
		r.trouble = r.c.Explain(i.Err, i.Topic)
		return false
	case fetch.Missing:
		r.fail(i.Partition, "%s/%s: the topic is gone", r.c.Name(), i.Partition.Topic)
	default:
		return r.stopped(item)
	}
	return true
}

// stopped deals with the events after which a partition is not read on.
func (r *logRun) stopped(item any) bool {
	switch i := item.(type) {
	case fetch.Denied:
		r.end(i.Partition, r.c.Explain(i.Err, i.Topic))
	case fetch.Damaged:
		r.fail(i.Partition, "%s/%s: partition %d is damaged at offset %d: %w", r.c.Name(), i.Topic, i.ID, i.Offset, i.Err)
	case fetch.TooLarge:
		r.fail(i.Partition, "%s/%s: partition %d: the batch at offset %d is too large", r.c.Name(), i.Topic, i.ID, i.Offset)
	case fetch.Recreated:
		r.fail(i.Partition, "%s/%s: the topic was made again while it was read", r.c.Name(), i.Topic)
	case fetch.Truncated:
		r.fail(i.Partition, "%s/%s: partition %d has lost what was read of it", r.c.Name(), i.Topic, i.ID)
	case fetch.Beyond:
		r.fail(i.Partition, "%s/%s: partition %d now ends at offset %d, before %d", r.c.Name(), i.Topic, i.ID, i.End, i.At)
	default:
		return false
	}
	return true
}

func (r *logRun) fail(p fetch.Partition, format string, args ...any) {
	r.end(p, fault.New(fault.Failed, format, args...).On(r.c.Name()))
}

// end ends the reading of a partition with an error.
func (r *logRun) end(p fetch.Partition, err error) {
	if at := place(p); r.has(at) {
		r.failed[at] = err
		delete(r.open, at)
	}
}

func (r *logRun) has(at Partition) bool {
	_, ok := r.open[at]
	return ok
}

func place(p fetch.Partition) Partition { return Partition{Topic: p.Topic, Partition: p.ID} }

// data hands the records of an answer on.
func (r *logRun) data(d fetch.Data) bool {
	at := place(d.Partition)
	one, ok := r.open[at]
	if !ok {
		return false
	}
	for _, raw := range d.Batches {
		more, err := r.records(at, raw, max(d.From, one.From), one.Until)
		if err != nil {
			r.end(d.Partition, fmt.Errorf("%s/%s: partition %d: %w", r.c.Name(), at.Topic, at.Partition, err))
			return true
		}
		if !more {
			delete(r.open, at)
			return true
		}
	}
	return d.Next > d.From
}

func (r *logRun) records(at Partition, raw batch.Raw, from, until int64) (more bool, err error) {
	b, err := r.decoder.Decode(raw, mostBatch)
	if err != nil {
		return false, err
	}
	defer b.Release()
	w := b.Records()
	var rec record.Record
	for w.Next(&rec) {
		if rec.Offset < from || rec.Offset >= until {
			continue
		}
		if !r.take(at, &rec) {
			return false, nil
		}
	}
	return true, w.Err()
}

// readTopic reads all partitions of a topic from their starts to the stable ends
// that they have now. The error is that of the first partition that was not read to
// its end.
func (l *logReader) readTopic(ctx context.Context, topic cluster.Topic) error {
	if topic.Err != nil {
		return topic.Err
	}
	of := make([]Partition, len(topic.Partitions))
	for i, p := range topic.Partitions {
		of[i] = Partition{Topic: topic.Name, Partition: p.ID}
	}
	bounds, err := l.c.Offsets(ctx, of, cluster.Start(), cluster.Stable())
	if err != nil {
		return err
	}
	var ranges []logRange
	var errs []error
	for _, at := range of {
		b := bounds[at]
		if err := firstOf(b[0].Err, b[1].Err); err != nil {
			errs = append(errs, err)
			continue
		}
		ranges = append(ranges, logRange{at, b[0].Offset, b[1].Offset})
	}
	failed := l.read(ctx, ranges)
	for _, at := range of {
		if err := failed[at]; err != nil {
			errs = append(errs, err)
		}
	}
	return firstOf(errs...)
}

// firstOf returns the first error that is one.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
