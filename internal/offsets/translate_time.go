package offsets

import (
	"context"
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// timeWorkers is how many look-ups by time are under way at once.
const timeWorkers = 8

// timed is a position of the source that is translated by the time of the record
// there.
type timed struct {
	source, target Partition
	position       int64
}

// byTime translates by timestamps what nothing else translates, as copies keep
// the times of their records: the first record on the target that is not older
// than the group's next one. Records in the same millisecond, and such as come
// out of order, are read again rather than left out.
func (t *Translator) byTime(ctx context.Context, s *sources, groups []TranslatedGroup, ends map[Partition]limits) error {
	if t.Via != ViaTimestamp && (t.Via != ViaAuto || !s.asked) {
		return nil
	}
	found := map[timed]finding{}
	var open []*Translated
	for _, g := range groups {
		for i := range g.Partitions {
			if r := &g.Partitions[i]; r.Offset == nil && !r.Checkpointed && ends[r.Partition].known {
				open = append(open, r)
				found[timed{r.source(), r.Partition, r.SourceOffset}] = finding{}
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	q := &timeQuery{Translator: t, found: found, ends: ends}
	if err := q.run(ctx); err != nil {
		return t.tolerate(s, err, false)
	}
	for _, r := range open {
		f := q.found[timed{r.source(), r.Partition, r.SourceOffset}]
		f.via = ViaTimestamp
		if f.found() || r.Note == "" {
			r.Note = ""
			r.apply(weigh([]finding{f}, ends[r.Partition]), ends[r.Partition], make([]int64, 2))
		}
	}
	return nil
}

type timeQuery struct {
	*Translator
	found  map[timed]finding
	ends   map[Partition]limits
	starts map[Partition][]cluster.Offset // start, stable end, newest time of the source's partitions
	times  map[timed]int64                // of the record at or after the position; not there if there is none
	mu     sync.Mutex
}

func (q *timeQuery) run(ctx context.Context) error {
	appended, err := q.appendTimes(ctx)
	if err != nil {
		return err
	}
	sources := map[Partition]bool{}
	var list []Partition
	for p := range q.found {
		if !sources[p.source] {
			sources[p.source] = true
			list = append(list, p.source)
		}
	}
	// After the target's ends: what has been copied since then is left out of account.
	if q.starts, err = q.From.Offsets(ctx, list, cluster.Start(), cluster.Stable(), cluster.MaxTimestamp()); err != nil {
		return err
	}
	q.readTimes(ctx)
	work := make(chan timed)
	var workers sync.WaitGroup
	for range timeWorkers {
		workers.Go(func() {
			for p := range work {
				f := q.one(ctx, p)
				q.mu.Lock()
				q.found[p] = f
				q.mu.Unlock()
			}
		})
	}
	for _, p := range q.sorted() {
		if appended[p.target.Topic] {
			q.mu.Lock()
			q.found[p] = finding{status: Unmapped, note: q.To.Name() + "/" + p.target.Topic + " has the times of writing (LogAppendTime), not those of the source"}
			q.mu.Unlock()
			continue
		}
		work <- p
	}
	close(work)
	workers.Wait()
	return ctx.Err()
}

func (q *timeQuery) sorted() []timed {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]timed, 0, len(q.found))
	for p := range q.found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b timed) int {
		if c := ComparePartitions(a.source, b.source); c != 0 {
			return c
		}
		return compareInt(a.position, b.position)
	})
	return list
}

// appendTimes are the target's topics whose records have no times of their own.
func (q *timeQuery) appendTimes(ctx context.Context) (map[string]bool, error) {
	seen := map[string]bool{}
	for p := range q.found {
		seen[p.target.Topic] = false
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	configs, err := q.To.TopicConfigs(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		for _, e := range c.Entries {
			if e.Name == "message.timestamp.type" && e.Value != nil && *e.Value == "LogAppendTime" {
				seen[c.Topic] = true
			}
		}
	}
	return seen, nil
}

// readTimes reads the record at or after each position, round by round one
// position of each partition.
func (q *timeQuery) readTimes(ctx context.Context) {
	q.times = map[timed]int64{}
	rest := q.sorted()
	for len(rest) > 0 && ctx.Err() == nil {
		now := map[Partition]timed{}
		var ranges []logRange
		var later []timed
		for _, p := range rest {
			if _, taken := now[p.source]; taken {
				later = append(later, p)
				continue
			}
			now[p.source] = p
			if b := q.starts[p.source]; b[0].Err == nil && b[1].Err == nil {
				ranges = append(ranges, logRange{p.source, max(p.position, b[0].Offset), b[1].Offset})
			}
		}
		q.reader(q.From, func(at Partition, r *logRecord) bool {
			q.times[now[at]] = r.Timestamp
			return false
		}).read(ctx, ranges)
		rest = later
	}
}

// one looks one position up.
func (q *timeQuery) one(ctx context.Context, p timed) finding {
	bounds := q.starts[p.source]
	if err := firstOf(bounds[0].Err, bounds[1].Err); err != nil {
		return finding{status: Pending, note: err.Error()}
	}
	at, ok := q.times[p]
	if !ok {
		return q.behindAll(ctx, p, bounds)
	}
	first, err := q.lookUp(ctx, q.To, p.target, at)
	switch {
	case err != nil:
		return finding{status: Pending, note: err.Error()}
	case first.Offset < 0:
		return finding{status: Pending, note: "the group's next record, of " + timeText(at) + ", has not been copied yet"}
	}
	f := finding{status: Bounded, offset: first.Offset, most: unbounded, bound: -1, note: "by the time " + timeText(at)}
	// Where the source still has all its records, the first of that time on both
	// sides is the same one.
	if same, err := q.lookUp(ctx, q.From, p.source, at); err == nil && bounds[0].Offset == 0 && same.Timestamp == first.Timestamp && same.Offset >= 0 {
		f.bound = max(p.position-same.Offset, 0)
	}
	return f
}

// behindAll is for a group that has read everything: it goes on at the newest
// record, as what lies behind that on the target may be from somebody else.
func (q *timeQuery) behindAll(ctx context.Context, p timed, bounds []cluster.Offset) finding {
	newest := bounds[2]
	switch {
	case newest.Err != nil:
		return finding{status: Pending, note: newest.Err.Error()}
	case newest.Offset < 0:
		return finding{status: Unmapped, note: "the source has no record left whose time could be looked for"}
	}
	first, err := q.lookUp(ctx, q.To, p.target, newest.Timestamp)
	switch {
	case err != nil:
		return finding{status: Pending, note: err.Error()}
	case first.Offset < 0:
		return finding{status: Pending, note: "the newest record, of " + timeText(newest.Timestamp) + ", has not been copied yet"}
	}
	return finding{status: Bounded, offset: first.Offset, most: unbounded, bound: -1, note: "everything is read: from the newest record on, of " + timeText(newest.Timestamp)}
}

func (q *timeQuery) lookUp(ctx context.Context, c *cluster.Cluster, at Partition, ms int64) (cluster.Offset, error) {
	if ms < 0 {
		return cluster.Offset{}, fault.New(fault.Failed, "%s/%s: the record has no time", c.Name(), at.Topic)
	}
	got, err := c.Offsets(ctx, []Partition{at}, cluster.AtTime(ms))
	if err != nil {
		return cluster.Offset{}, err
	}
	return got[at][0], got[at][0].Err
}
