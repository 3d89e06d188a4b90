package offsets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	groupsAtOnce = 8
	commitLimit  = 30 * time.Second // for one request with all its retries
	// mostBytes is what the commits of one request may come to: the coordinator keeps
	// them in one batch, which max.message.bytes limits to 1 MiB as a rule.
	mostBytes = 512 << 10
	perCommit = 150 // bytes of a commit besides names and metadata, generously
)

// Apply carries changes of one cluster out that Check has just let through: one
// request for each group and kind of change unless it grows too large. Then the
// commits are read back, those of decided transactions only, and each change has the
// Outcome that they show. The groups that have not been begun when ctx ends are left
// alone.
func Apply(ctx context.Context, c *cluster.Cluster, changes []Change) {
	a := applier{c: c, ctx: context.WithoutCancel(ctx)}
	var busy sync.WaitGroup
	slots := make(chan struct{}, groupsAtOnce)
	by := map[string][]*Change{}
	for i := range changes {
		if ch := &changes[i]; !ch.Keep {
			by[ch.Group] = append(by[ch.Group], ch)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(by)) {
		own := by[group]
		slots <- struct{}{}
		if err := ctx.Err(); err != nil {
			fail(own, err)
			<-slots
			continue
		}
		busy.Go(func() {
			defer func() { <-slots }()
			a.group(group, own)
		})
	}
	busy.Wait()
	a.readBack(changes)
}

// applier is one run of Apply. Its context outlives a signal: what has been begun
// is brought to an end and looked at.
type applier struct {
	c   *cluster.Cluster
	ctx context.Context //nolint:containedctx // of one run
}

// fail gives changes an error unless they have one.
func fail(list []*Change, err error) {
	for _, ch := range list {
		if ch.Err == nil {
			ch.Err = err
		}
	}
}

// group makes the changes of one group. The first request that fails as a whole is
// the last one.
func (a *applier) group(name string, own []*Change) {
	var set, removed []*Change
	for _, ch := range own {
		if ch.New == nil {
			removed = append(removed, ch)
		} else {
			set = append(set, ch)
		}
	}
	for _, send := range []struct {
		list []*Change
		one  func(string, []*Change) error
	}{{set, a.commit}, {removed, a.remove}} {
		for len(send.list) > 0 {
			n := portion(send.list)
			if err := send.one(name, send.list[:n]); err != nil {
				fail(own, err)
				return
			}
			send.list = send.list[n:]
		}
	}
}

// portion is how many of a list fit into a request.
func portion(list []*Change) int {
	size := 0
	for i, ch := range list {
		size += perCommit + len(ch.Group) + len(ch.Topic)
		if ch.New != nil {
			size += len(ch.New.Metadata)
		}
		if size > mostBytes && i > 0 {
			return i
		}
	}
	return len(list)
}

// commit commits for a group as nobody's member: brokers take that only while it has
// none (generation -1, in KIP-848's words the member epoch).
func (a *applier) commit(group string, list []*Change) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	at := map[string]int{}
	for _, ch := range list {
		i, ok := at[ch.Topic]
		if !ok {
			i = len(req.Topics)
			at[ch.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = ch.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = ch.Partition.Partition, ch.New.Offset, ch.New.Epoch, &ch.New.Metadata
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	ctx, cancel := context.WithTimeout(a.ctx, commitLimit)
	defer cancel()
	cl, err := a.c.Control()
	if err != nil {
		return err
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return a.c.ExplainGroup(err, group)
	}
	codes := map[Partition]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[Partition{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return a.take(group, list, codes)
}

// remove removes commits of a group.
func (a *applier) remove(group string, list []*Change) error {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	at := map[string]int{}
	for _, ch := range list {
		i, ok := at[ch.Topic]
		if !ok {
			i = len(req.Topics)
			at[ch.Topic] = i
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = ch.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = ch.Partition.Partition
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	ctx, cancel := context.WithTimeout(a.ctx, commitLimit)
	defer cancel()
	resp, err := a.send(ctx, req)
	if err != nil {
		return a.c.ExplainGroup(err, group)
	}
	switch err := kerr.ErrorForCode(resp.ErrorCode); {
	case errors.Is(err, kerr.GroupIDNotFound): // and so are its commits: reading back tells
		return nil
	case err != nil:
		return a.explain(err, group, "")
	}
	codes := map[Partition]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[Partition{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return a.take(group, list, codes)
}

// send sends a request to the group's coordinator, and again if that has moved: of
// this kind of request the client does not see it.
func (a *applier) send(ctx context.Context, req *kmsg.OffsetDeleteRequest) (*kmsg.OffsetDeleteResponse, error) {
	cl, err := a.c.Control()
	if err != nil {
		return nil, err
	}
	resp, err := req.RequestWith(ctx, cl)
	for round := 1; err == nil && moves(resp.ErrorCode) && round < mostRounds && pause(ctx, settle); round++ {
		nodes, errs := a.c.Coordinators(ctx, []string{req.Group})
		if err := errs[req.Group]; err != nil {
			return nil, err
		}
		kresp, askErr := cl.Broker(int(nodes[req.Group])).RetriableRequest(ctx, req)
		if again, ok := kresp.(*kmsg.OffsetDeleteResponse); ok {
			resp = again
		}
		err = askErr
	}
	return resp, err
}

// take notes what a broker says about each partition. An error that is about the
// whole group is returned.
func (a *applier) take(group string, list []*Change, codes map[Partition]int16) (whole error) {
	for _, ch := range list {
		code, answered := codes[ch.Partition]
		err := kerr.ErrorForCode(code)
		switch {
		case !answered:
			ch.Err = a.c.Explain(errors.New("the broker left the partition out of its answer"), ch.Topic)
		case errors.Is(err, kerr.UnknownTopicOrPartition) && ch.New == nil:
			ch.Err = fault.New(fault.Failed, "%s/%s: brokers remove no commit on a topic that does not exist", a.c.Name(), ch.Topic).On(a.c.Name()).
				WithHint("it goes with the group, or after offsets.retention.minutes")
		case err != nil:
			ch.Err = a.explain(err, group, ch.Topic)
			if joined(err) {
				whole = ch.Err
			}
		}
	}
	return whole
}

// joined reports whether an answer says that a group has members.
func joined(err error) bool {
	return slices.ContainsFunc([]error{
		kerr.UnknownMemberID, kerr.NonEmptyGroup, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch,
	}, func(e error) bool { return errors.Is(err, e) })
}

func (a *applier) explain(err error, group, topic string) error {
	switch {
	case joined(err):
		return fault.New(fault.Refused, "%s: a member has joined group %s in the meantime", a.c.Name(), group).On(a.c.Name()).
			WithHint("stop its members first")
	case errors.Is(err, kerr.GroupSubscribedToTopic):
		return fault.New(fault.Refused, "%s/%s: members of group %s subscribe to it", a.c.Name(), topic, group).On(a.c.Name()).
			WithHint("stop its members first")
	case errors.Is(err, kerr.GroupAuthorizationFailed) || topic == "":
		return a.c.ExplainGroup(err, group)
	default:
		return a.c.Explain(err, topic)
	}
}

// readBack looks what the groups have committed now. What a broker answered does not
// matter where that can be seen: an answer may have been lost.
func (a *applier) readBack(changes []Change) {
	groups, err := settledGroups(a.ctx, a.c, Selection{Names: groupsOf(changes)}, Detail{Commits: true, Stable: true})
	for i := range changes {
		ch := &changes[i]
		if ch.Keep {
			continue
		}
		g := groups[ch.Group]
		now := g.commitAt(ch.Partition)
		switch {
		case err != nil:
			ch.unknown(err)
		case g.Err != nil:
			ch.unknown(g.Err)
		case now != nil && now.Err != nil:
			ch.unknown(now.Err)
		case sameCommit(now, ch.New) && (ch.Err == nil || !sameCommit(ch.Prior, ch.New)):
			ch.Outcome, ch.Err = Changed, nil
		case sameCommit(now, ch.Prior):
			ch.Outcome = Unchanged
			if ch.Err == nil {
				ch.Err = a.surprise(ch, "the broker said that it was changed, but it is as it was")
			}
		case ch.Err == nil:
			ch.Outcome, ch.Err = Unknown, a.surprise(ch, "somebody else has committed at the same time")
		default:
			ch.Outcome = Unknown
		}
	}
}

func (ch *Change) unknown(err error) {
	ch.Outcome = Unknown
	if ch.Err == nil {
		ch.Err = err
	}
}

func (a *applier) surprise(ch *Change, text string) error {
	return fault.New(fault.Failed, "%s/%s: partition %d: group %s: %s", a.c.Name(), ch.Topic, ch.Partition.Partition, ch.Group, text).On(a.c.Name())
}
