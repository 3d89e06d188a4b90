package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicPartition names a partition within a cluster.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Point is a place in a partition that can be looked up: Start, End, Stable,
// MaxTimestamp or AtTime.
type Point struct {
	timestamp int64
	stable    bool
}

// Start is the first offset of the log.
func Start() Point { return Point{timestamp: -2} }

// End is the high watermark.
func End() Point { return Point{timestamp: -1} }

// Stable is the last stable offset, where a read_committed reader ends.
func Stable() Point { return Point{timestamp: -1, stable: true} }

// MaxTimestamp is the record with the highest timestamp (KIP-734).
func MaxTimestamp() Point { return Point{timestamp: -3} }

// AtTime is the first record whose timestamp is ms or later. A negative ms is a
// time before 1970, which no broker can be asked for: it is taken as 0.
func AtTime(ms int64) Point { return Point{timestamp: max(ms, 0)} }

// Offset is the answer for one Point of one partition.
type Offset struct {
	Offset      int64 // -1 when there is no such record: a time after the last one, an empty partition's MaxTimestamp
	Timestamp   int64 // of the record, for AtTime and MaxTimestamp; else -1
	LeaderEpoch int32 // -1 when unknown
	Err         error // a *fault.Error; Offset is then -1
}

const (
	brokerLimit = 4 * time.Second        // for one broker's answer
	settle      = 250 * time.Millisecond // before asking again after a leader has moved
	mostRounds  = 4
)

// Offsets looks up points of partitions, one request per broker and point. The
// slices of the result are parallel to points, and every partition asked for is
// in it. A leaderless partition or a dead broker is marked within 5 s and the
// others are answered; the error is about the cluster as a whole.
func (c *Cluster) Offsets(ctx context.Context, of []TopicPartition, points ...Point) (map[TopicPartition][]Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	q := &offsetQuery{c: c, cl: cl, points: points, out: map[TopicPartition][]Offset{}}
	open := map[TopicPartition]bool{}
	for _, tp := range of {
		q.out[tp] = make([]Offset, len(points))
		open[tp] = true
	}
	for round := range mostRounds {
		if round > 0 && !pause(ctx, settle) {
			break
		}
		leaders, err := q.leaders(ctx, open)
		if err != nil {
			if round == 0 {
				return nil, err
			}
			break
		}
		if open = q.ask(ctx, leaders); len(open) == 0 {
			break
		}
	}
	return q.out, nil
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// offsetQuery is one run of Offsets; a partition that may do better in another
// round stays open with the error of this one.
type offsetQuery struct {
	c      *Cluster
	cl     *kgo.Client
	points []Point

	mu    sync.Mutex
	out   map[TopicPartition][]Offset
	again map[TopicPartition]bool
}

// mark sets the same error for all points of a partition.
func (q *offsetQuery) mark(tp TopicPartition, err error) {
	for i := range q.out[tp] {
		q.out[tp][i] = failedOffset(err)
	}
}

func failedOffset(err error) Offset {
	return Offset{Offset: -1, Timestamp: -1, LeaderEpoch: -1, Err: err}
}

// leaders finds the leaders of the open partitions and marks those that have
// none; these stay open, as an election may be going on.
func (q *offsetQuery) leaders(ctx context.Context, open map[TopicPartition]bool) (map[int32][]TopicPartition, error) {
	q.again = map[TopicPartition]bool{}
	var names []string
	seen := map[string]bool{}
	for tp := range open {
		if !seen[tp.Topic] {
			seen[tp.Topic] = true
			names = append(names, tp.Topic)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	topics, err := q.c.Topics(ctx, names...)
	if err != nil {
		return nil, err
	}
	byName := map[string]*Topic{}
	for i := range topics {
		byName[topics[i].Name] = &topics[i]
	}
	out := map[int32][]TopicPartition{}
	for tp := range open {
		p, err := byName[tp.Topic].partition(tp.Partition)
		switch {
		case err != nil:
			q.mark(tp, err)
		case p == nil:
			q.mark(tp, q.c.Explain(kerr.UnknownTopicOrPartition, tp.Topic))
		case p.Leader < 0:
			q.mark(tp, p.Err)
			q.again[tp] = true
		default:
			out[p.Leader] = append(out[p.Leader], tp)
		}
	}
	return out, nil
}

// partition finds one partition; nil when the topic has none of this id.
func (t *Topic) partition(id int32) (*Partition, error) {
	i, found := slices.BinarySearchFunc(t.Partitions, id, func(p Partition, id int32) int { return cmp.Compare(p.ID, id) })
	if t.Err != nil || !found {
		return nil, t.Err
	}
	return &t.Partitions[i], nil
}

// ask sends every leader one request per point, all at once, and returns the
// partitions that another round may answer.
func (q *offsetQuery) ask(ctx context.Context, leaders map[int32][]TopicPartition) map[TopicPartition]bool {
	ctx, cancel := context.WithTimeout(ctx, brokerLimit)
	defer cancel()
	var wg sync.WaitGroup
	for id, parts := range leaders {
		for i := range q.points {
			wg.Go(func() { q.askOne(ctx, id, parts, i) })
		}
	}
	wg.Wait()
	return q.again
}

func (q *offsetQuery) askOne(ctx context.Context, id int32, parts []TopicPartition, i int) {
	resp, err := q.cl.Broker(int(id)).Request(ctx, q.request(parts, q.points[i]))
	lr, ok := resp.(*kmsg.ListOffsetsResponse)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil || !ok {
		// The broker may be gone and its partitions led by another soon.
		for _, tp := range parts {
			q.out[tp][i] = failedOffset(q.c.explainBroker(err, id))
			q.again[tp] = ctx.Err() == nil
		}
		return
	}
	for _, tp := range parts {
		q.out[tp][i] = failedOffset(q.c.Explain(errors.New("the broker left the partition out of its answer"), tp.Topic))
	}
	for _, t := range lr.Topics {
		for _, p := range t.Partitions {
			tp := TopicPartition{t.Topic, p.Partition}
			if _, asked := q.out[tp]; !asked {
				continue
			}
			q.take(tp, i, &p)
		}
	}
}

func (q *offsetQuery) take(tp TopicPartition, i int, p *kmsg.ListOffsetsResponseTopicPartition) {
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		q.out[tp][i] = failedOffset(q.c.Explain(err, tp.Topic))
		if kerr.IsRetriable(err) && err != kerr.UnknownTopicOrPartition {
			q.again[tp] = true
		}
		return
	}
	o := Offset{Offset: p.Offset, Timestamp: p.Timestamp, LeaderEpoch: p.LeaderEpoch}
	if len(p.OldStyleOffsets) > 0 {
		o.Offset = p.OldStyleOffsets[0]
	}
	q.out[tp][i] = o
}

func (q *offsetQuery) request(parts []TopicPartition, at Point) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if at.stable {
		req.IsolationLevel = 1
	}
	index := map[string]int{}
	for _, tp := range parts {
		i, ok := index[tp.Topic]
		if !ok {
			i = len(req.Topics)
			index[tp.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.MaxNumOffsets = tp.Partition, at.timestamp, 1
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// ExplainBroker explains why a broker gave no answer, with its id and address.
func (c *Cluster) ExplainBroker(err error, id int32) error { return c.explainBroker(err, id) }

// explainBroker explains why a broker gave no answer, with its id and address.
func (c *Cluster) explainBroker(err error, id int32) error {
	if err == nil {
		err = errors.New("the broker's answer makes no sense")
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	addr := c.book.addr(id)
	if de, ok := errors.AsType[*dialError](err); ok {
		return c.explainDial(de)
	}
	if last, ok := errors.AsType[*dialError](c.book.recent(addr, lookupLimit)); ok && addr != "" && isTimeout(err) {
		return c.explainDial(last)
	}
	if isTimeout(err) {
		return c.sentences().unreachable(err, "broker %d (%s) does not answer", id, orNone(addr))
	}
	if _, login := errors.AsType[*loginError](err); isClosed(err) && !login {
		return c.sentences().unreachable(err, "broker %d (%s) closed the connection", id, orNone(addr))
	}
	return c.Explain(err, "")
}
