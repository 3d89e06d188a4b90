package offsets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

const (
	listPatience   = 2 * time.Second         // for the next broker to list its groups
	detailPatience = 2500 * time.Millisecond // for the next answer about named groups
	bulkPatience   = 6 * time.Second         // about many, of brokers that have just answered
	mostAtOnce     = 200                     // groups in a request: their commits may be large
)

// groupReader is one run of Groups.
type groupReader struct {
	c  *cluster.Cluster
	cl *kgo.Client

	mu     sync.Mutex
	groups map[string]*Group
	err    error // the first one about the cluster
}

// patience is a context that ends when nothing has been heard for a while.
type patience struct {
	context.Context
	limit time.Duration
	timer *time.Timer
	stop  context.CancelFunc
}

func newPatience(ctx context.Context, limit time.Duration) *patience {
	p := &patience{limit: limit}
	p.Context, p.stop = context.WithCancel(ctx)
	p.timer = time.AfterFunc(limit, p.stop)
	return p
}

func (p *patience) heard() { p.timer.Reset(p.limit) }

// end gives the timer and the context back.
func (p *patience) end() {
	p.timer.Stop()
	p.stop()
}

// reason is why a request failed: that patience ran out is a time-out, and no wish
// of the caller.
func (p *patience) reason(caller context.Context, err error) error {
	if p.Err() != nil && caller.Err() == nil {
		return context.DeadlineExceeded
	}
	return err
}

// taker takes the answer of one broker, or why there is none.
type taker func(shard kgo.ResponseShard, err error)

// ask sends requests, all at once, and has their answers taken one after the other.
func (r *groupReader) ask(ctx context.Context, limit time.Duration, requests []kmsg.Request, take taker) {
	p := newPatience(ctx, limit)
	defer p.end()
	var asking sync.WaitGroup
	for _, req := range requests {
		asking.Go(func() {
			shards := r.cl.RequestSharded(p, req)
			p.heard()
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, s := range shards {
				err := s.Err
				if err != nil {
					err = p.reason(ctx, err)
				}
				take(s, err)
			}
		})
	}
	asking.Wait()
}

// failed keeps the first error about the cluster.
func (r *groupReader) failed(node int32, err error) {
	if r.err != nil || err == nil {
		return
	}
	if node >= 0 {
		r.err = r.c.ExplainBroker(err, node)
	} else {
		r.err = r.c.Explain(err, "")
	}
}

// list finds the selected groups: each broker knows those that it coordinates.
func (r *groupReader) list(ctx context.Context, s Selection) {
	req := kmsg.NewPtrListGroupsRequest()
	r.ask(ctx, listPatience, []kmsg.Request{req}, func(shard kgo.ResponseShard, err error) {
		resp, ok := shard.Resp.(*kmsg.ListGroupsResponse)
		if err == nil && ok {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil || !ok {
			r.failed(shard.Meta.NodeID, err)
			return
		}
		for i := range resp.Groups {
			if l := &resp.Groups[i]; s.Takes(l.Group) {
				r.groups[l.Group] = &Group{
					Name: l.Group, Kind: kindOf(l.GroupType), State: l.GroupState, Protocol: l.ProtocolType, Coordinator: shard.Meta.NodeID,
				}
			}
		}
	})
}

// kindOf reads the word of a listing; brokers before 3.8 have no word for it.
func kindOf(word string) cluster.GroupKind {
	switch k := cluster.GroupKind(strings.ToLower(word)); k {
	case cluster.ConsumerGroup, cluster.ShareGroup, cluster.StreamsGroup:
		return k
	default:
		return cluster.ClassicGroup
	}
}

// detail finds members and commits out, both at once.
func (r *groupReader) detail(ctx context.Context, s Selection, d Detail) {
	var asking sync.WaitGroup
	if d.Members || !s.lists() || len(s.Names) > 0 {
		asking.Go(func() { r.describe(ctx) })
	}
	if d.Commits {
		asking.Go(func() { r.commits(ctx, d.Stable) })
	}
	asking.Wait()
	for _, g := range r.groups {
		if g.Kind == cluster.NoGroup && len(g.Commits) > 0 { // for all that brokers say of it, it is there
			g.Kind, g.State = cluster.ClassicGroup, "Empty"
		}
	}
}

// pick returns the names of the groups for which take holds, in order, those of
// one coordinator together and not too many at once.
func (r *groupReader) pick(take func(*Group) bool) (batches [][]string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[int32][]string{}
	known = true
	for name, g := range r.groups {
		if g.Err == nil && take(g) {
			by[g.Coordinator] = append(by[g.Coordinator], name)
			known = known && g.Coordinator >= 0
		}
	}
	for _, names := range by {
		slices.Sort(names)
		batches = slices.AppendSeq(batches, slices.Chunk(names, mostAtOnce))
	}
	return batches, known
}

// about asks about groups with the requests that make makes of their names. A
// group whose broker does not answer has that as its error.
func (r *groupReader) about(ctx context.Context, take func(*Group) bool, kind func([]string) kmsg.Request, use func(kgo.ResponseShard)) {
	batches, known := r.pick(take)
	limit := detailPatience
	if known {
		limit = bulkPatience
	}
	requests := make([]kmsg.Request, len(batches))
	for i, names := range batches {
		requests[i] = kind(names)
	}
	r.ask(ctx, limit, requests, func(shard kgo.ResponseShard, err error) {
		if err == nil {
			use(shard)
			return
		}
		if lacksRequest(err) {
			return // the brokers are older than that kind of group: there is none
		}
		for _, name := range namesIn(shard.Req) {
			if g := r.groups[name]; g != nil && g.Err == nil {
				g.Err = r.unanswered(err, shard.Meta.NodeID, name)
			}
		}
	})
}

// unanswered explains why a broker said nothing about a group.
func (r *groupReader) unanswered(err error, node int32, group string) error {
	if _, told := errors.AsType[*kerr.Error](err); told || node < 0 {
		return r.c.ExplainGroup(err, group)
	}
	return r.c.ExplainBroker(err, node)
}

// lacksRequest reports whether brokers do not know a request at all.
func lacksRequest(err error) bool {
	if errors.Is(err, kerr.UnsupportedVersion) {
		return true
	}
	text := err.Error() // kgo has no values for these
	return strings.Contains(text, "unknown request key") || strings.Contains(text, "broker is too old") || strings.Contains(text, "broker too old")
}

// namesIn are the groups that a request is about.
func namesIn(req kmsg.Request) (names []string) {
	switch q := req.(type) {
	case *kmsg.DescribeGroupsRequest:
		return q.Groups
	case *kmsg.ConsumerGroupDescribeRequest:
		return q.Groups
	case *kmsg.ShareGroupDescribeRequest:
		return q.GroupIDs
	case *kmsg.OffsetFetchRequest:
		for _, g := range q.Groups {
			names = append(names, g.Group)
		}
		if len(names) == 0 {
			names = append(names, q.Group)
		}
	}
	return names
}
