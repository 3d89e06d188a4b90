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
	locatePatience = 2 * time.Second        // for somebody to say who coordinates groups
	listPatience   = 2 * time.Second        // for the next broker to list its groups
	detailPatience = 2 * time.Second        // for the next answer about named groups
	bulkPatience   = 6 * time.Second        // about many, of brokers that have just answered
	mostAtOnce     = 200                    // groups in a request: their commits may be large
	mostRounds     = 4                      // until coordinators have settled
	settle         = 250 * time.Millisecond // before one more
)

// groupReader is one run of Groups.
type groupReader struct {
	c  *cluster.Cluster
	cl *kgo.Client

	mu     sync.Mutex
	groups map[string]*Group
	listed bool  // they come from their coordinators, which have just answered
	err    error // the first one about the cluster
}

// patience is a context that ends when nothing has been heard for a while.
type patience struct {
	ctx, caller context.Context //nolint:containedctx // it is one
	limit       time.Duration
	timer       *time.Timer
	stop        context.CancelFunc
}

func newPatience(ctx context.Context, limit time.Duration) *patience {
	p := &patience{caller: ctx, limit: limit}
	p.ctx, p.stop = context.WithCancel(ctx)
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
func (p *patience) reason(err error) error {
	if err != nil && p.ctx.Err() != nil && p.caller.Err() == nil {
		return context.DeadlineExceeded
	}
	return err
}

// question is a request to one broker.
type question struct {
	node   int32
	groups []string // that it is about
	req    kmsg.Request
}

// ask sends requests, all at once, and has their answers taken one after the other.
func (r *groupReader) ask(ctx context.Context, limit time.Duration, questions []question, take func(q *question, resp kmsg.Response, err error)) {
	p := newPatience(ctx, limit)
	defer p.end()
	var asking sync.WaitGroup
	for i := range questions {
		q := &questions[i]
		asking.Go(func() {
			resp, err := r.cl.Broker(int(q.node)).RetriableRequest(p.ctx, q.req)
			if err = p.reason(err); err == nil {
				p.heard()
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			take(q, resp, err)
		})
	}
	asking.Wait()
}

// list finds the selected groups: each broker knows those that it coordinates.
func (r *groupReader) list(ctx context.Context, s Selection) {
	nodes, err := r.c.Nodes(ctx)
	if err != nil {
		r.err = err
		return
	}
	var questions []question
	for _, node := range nodes {
		questions = append(questions, question{node: node, req: kmsg.NewPtrListGroupsRequest()})
	}
	r.listed = true
	r.ask(ctx, listPatience, questions, func(q *question, kresp kmsg.Response, err error) {
		resp, ok := kresp.(*kmsg.ListGroupsResponse)
		if err == nil && ok {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil || !ok {
			if r.err == nil {
				r.err = r.unanswered(err, q.node, "")
			}
			return
		}
		for i := range resp.Groups {
			if l := &resp.Groups[i]; s.Takes(l.Group) {
				r.groups[l.Group] = &Group{
					Name: l.Group, Kind: kindOf(l.GroupType), State: l.GroupState, Protocol: l.ProtocolType, Coordinator: q.node,
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

// locate finds the coordinators of the groups that have none yet.
func (r *groupReader) locate(ctx context.Context) {
	var names []string
	for name, g := range r.groups {
		if g.Coordinator < 0 && g.Err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return
	}
	p := newPatience(ctx, locatePatience)
	defer p.end()
	var looking sync.WaitGroup
	if !r.listed {
		// The client has to know the brokers: it would look them up by itself, but at
		// one of them alone, which may be the one that does not answer.
		looking.Go(func() { _, _ = r.c.Nodes(p.ctx) })
	}
	for round := 0; len(names) > 0 && round < mostRounds; round++ {
		if round > 0 && !pause(p.ctx, settle) {
			break
		}
		nodes, errs := r.c.Coordinators(p.ctx, names)
		names = r.located(p, nodes, errs)
	}
	looking.Wait()
}

// located notes what was found, and returns the groups to look for again.
func (r *groupReader) located(p *patience, nodes map[string]int32, errs map[string]error) (again []string) {
	for name, node := range nodes {
		r.groups[name].Coordinator, r.groups[name].Err = node, nil
	}
	for name, err := range errs {
		r.groups[name].Err = r.c.ExplainGroup(p.reason(err), name)
		if kerr.IsRetriable(err) {
			again = append(again, name)
		}
	}
	slices.Sort(again)
	return again
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// detail finds members and commits out, both at once.
func (r *groupReader) detail(ctx context.Context, s Selection, d Detail) {
	if len(r.groups) == 0 {
		return
	}
	r.locate(ctx)
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

// subject is something that is asked about groups.
type subject struct {
	of      func(*Group) bool // whom it is asked about
	request func(names []string) kmsg.Request
	// take takes an answer, and returns the groups that this broker does not
	// coordinate any more, or not yet.
	take func(q *question, resp kmsg.Response) (moved []string)
}

// questions are those about a subject, of the groups of one coordinator together and
// not too many at once; with only, about these alone.
func (r *groupReader) questions(s *subject, only []string) (list []question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[int32][]string{}
	for name, g := range r.groups {
		if g.Err == nil && g.Coordinator >= 0 && s.of(g) && (only == nil || slices.Contains(only, name)) {
			by[g.Coordinator] = append(by[g.Coordinator], name)
		}
	}
	for node, names := range by {
		slices.Sort(names)
		for names := range slices.Chunk(names, mostAtOnce) {
			list = append(list, question{node, names, s.request(names)})
		}
	}
	return list
}

// about asks about groups. A group whose broker does not answer has that as its
// error. One whose coordinator has moved is asked for again at the new one.
func (r *groupReader) about(ctx context.Context, s *subject) {
	limit := detailPatience
	if r.listed {
		limit = bulkPatience
	}
	moved := r.round(ctx, limit, s, nil)
	for round := 1; len(moved) > 0 && round < mostRounds && pause(ctx, settle); round++ {
		r.relocate(ctx, moved)
		moved = r.round(ctx, limit, s, moved)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range moved {
		r.groups[name].Err = r.c.ExplainGroup(kerr.CoordinatorNotAvailable, name)
	}
}

// round asks once, and returns the groups that are to be asked for elsewhere.
func (r *groupReader) round(ctx context.Context, limit time.Duration, s *subject, only []string) (moved []string) {
	r.ask(ctx, limit, r.questions(s, only), func(q *question, resp kmsg.Response, err error) {
		switch {
		case err == nil:
			moved = append(moved, s.take(q, resp)...)
		case lacksRequest(err): // the brokers are older than that kind of group: there is none
		default:
			for _, name := range q.groups {
				if g := r.groups[name]; g.Err == nil {
					g.Err = r.unanswered(err, q.node, name)
				}
			}
		}
	})
	return moved
}

// relocate looks up where groups have moved to.
func (r *groupReader) relocate(ctx context.Context, names []string) {
	nodes, _ := r.c.Coordinators(ctx, names)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, node := range nodes {
		r.groups[name].Coordinator = node
	}
}

// moves reports whether an answer says that a group is to be asked for elsewhere,
// or later.
func moves(code int16) bool {
	switch kerr.ErrorForCode(code) {
	case kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable:
		return true
	default:
		return false
	}
}

// unanswered explains why a broker said nothing about a group; an empty name is all
// that it has.
func (r *groupReader) unanswered(err error, node int32, group string) error {
	_, told := errors.AsType[*kerr.Error](err)
	switch {
	case told && group != "":
		return r.c.ExplainGroup(err, group)
	case told:
		return r.c.Explain(err, "")
	default:
		return r.c.ExplainBroker(err, node)
	}
}

// lacksRequest reports whether brokers do not know a request at all.
func lacksRequest(err error) bool {
	if errors.Is(err, kerr.UnsupportedVersion) {
		return true
	}
	text := err.Error() // kgo has no values for these
	return strings.Contains(text, "unknown request key") || strings.Contains(text, "broker is too old") || strings.Contains(text, "broker too old")
}
