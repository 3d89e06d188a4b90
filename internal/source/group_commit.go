package source

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// keep notes up to where partitions have been written out. What is not this
// member's is passed over: it may be another's by now. It never waits.
func (m *member) keep(list map[cluster.TopicPartition]committed) {
	m.mu.Lock()
	for p, at := range list {
		_, mine := m.owned[p]
		done, some := m.done[p]
		switch {
		case !mine:
		case some && done.same(at):
			delete(m.pending, p)
		default:
			m.pending[p] = at
		}
	}
	news := len(m.pending) > 0
	m.mu.Unlock()
	if news {
		signal(m.news)
	}
}

// same reports whether the group has nothing to gain from one in place of the
// other.
func (c committed) same(o committed) bool {
	return c.offset == o.offset && (c.topicID == o.topicID || c.topicID == [16]byte{})
}

// found notes what the group has committed already.
func (m *member) found(p cluster.TopicPartition, at committed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned[p] {
		m.done[p] = at
		delete(m.pending, p)
	}
}

// commitLoop commits what there is to commit, at most once a second. What the
// group refuses at the moment is tried again.
func (m *member) commitLoop() {
	var failing failing
	for {
		select {
		case <-m.news:
		case <-m.ctx.Done():
			return
		}
		if cl := m.session(); cl != nil {
			ctx, cancel := context.WithTimeout(m.ctx, commitLimit)
			err := m.commit(ctx, cl, nil)
			cancel()
			if m.ctx.Err() != nil {
				return
			}
			if err != nil {
				signal(m.news)
			}
			failing.heed(m, err)
		}
		select {
		case <-time.After(commitPause):
		case <-m.ctx.Done():
			return
		}
	}
}

// failing is since when commits fail, and whether that has been told.
type failing struct {
	since time.Time
	told  bool
}

// heed tells that commits fail, if that is more than what a group that is being
// rearranged does for a moment, and that they do not any more.
func (f *failing) heed(m *member, err error) {
	switch {
	case err == nil && f.told:
		m.h.trouble(nil, false)
		fallthrough
	case err == nil:
		*f = failing{}
		return
	case f.since.IsZero():
		f.since = time.Now()
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) { // the next sign of life is refused too, and ends the membership
		return
	}
	if !passing(err) || time.Since(f.since) > commitPatience {
		f.told = true
		m.h.trouble(m.explainCommit(err), false)
	}
}

// commitPatience is for how long commits may fail in passing without a word.
const commitPatience = 10 * time.Second

// explainCommit is ExplainGroup for commits.
func (m *member) explainCommit(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unreachable, "%s: group %s: no commit has been accepted for %s", m.cluster.Name(), m.group, commitPatience).On(m.cluster.Name())
	}
	return m.cluster.ExplainGroup(err, m.group)
}

// passing reports whether a commit failed because the group is being rearranged:
// what it was of is either kept, and committed then, or another's.
func passing(err error) bool {
	for _, code := range []error{
		errDoubtful, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch,
		context.DeadlineExceeded, // members of a group that agrees wait with their commits
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// gone reports whether a commit is of a topic that is not there any more, or is
// another one by now: nothing is ever committed for it.
func gone(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

// commit commits what is pending: of some partitions, or of all. Only what is this
// member's when the request is sent goes into it. The error is that of the first
// partition that was refused and stays pending.
func (m *member) commit(ctx context.Context, cl *kgo.Client, of []cluster.TopicPartition) error {
	batch := m.batch(of)
	if len(batch) == 0 {
		return nil
	}
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for p, at := range batch {
		if offsets[p.Topic] == nil {
			offsets[p.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: at.epoch, Offset: at.offset}
	}
	var sent *kmsg.OffsetCommitRequest
	var doubtful bool
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		doubtful = m.amend(req, batch)
		sent = req
		return nil
	})
	var answer *kmsg.OffsetCommitResponse
	var err error
	cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, e error) {
		answer, err = resp, e
	})
	if err != nil {
		return err
	}
	if err := m.acknowledge(sent, answer, batch); err != nil || !doubtful {
		return err
	}
	cl.ForceMetadataRefresh()
	return errDoubtful
}

// errDoubtful says that a name may be another topic's by now.
var errDoubtful = errors.New("its topic may have been made again")

// batch returns what is pending of some partitions, or of all.
func (m *member) batch(of []cluster.TopicPartition) map[cluster.TopicPartition]committed {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := map[cluster.TopicPartition]committed{}
	if of == nil {
		for p, at := range m.pending {
			list[p] = at
		}
		return list
	}
	for _, p := range of {
		if at, some := m.pending[p]; some {
			list[p] = at
		}
	}
	return list
}

// amend makes a request one for exactly what is this member's now, under the ids
// of the topics that were read. A client that waited for its group to agree may
// send it late; and a name may be another topic's by now. It reports whether
// something was left out because of that, which only a broker that is told ids can
// decide.
func (m *member) amend(req *kmsg.OffsetCommitRequest, batch map[cluster.TopicPartition]committed) (doubtful bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	metadata := ""
	topics := req.Topics[:0]
	for _, t := range req.Topics {
		parts := t.Partitions[:0]
		for _, p := range t.Partitions {
			at := cluster.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			read := batch[at].topicID
			if _, mine := m.owned[at]; !mine {
				delete(m.pending, at)
				continue
			}
			if !m.byID && read != [16]byte{} && t.TopicID != [16]byte{} && read != t.TopicID {
				doubtful = true
				continue
			}
			if read != [16]byte{} {
				t.TopicID = read
			}
			p.Metadata = &metadata
			parts = append(parts, p)
		}
		if t.Partitions = parts; len(parts) > 0 {
			topics = append(topics, t)
		}
	}
	req.Topics = topics
	return doubtful
}

// acknowledge notes what has been committed.
func (m *member) acknowledge(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, batch map[cluster.TopicPartition]committed) (refused error) {
	if req == nil || resp == nil {
		return nil
	}
	names := map[[16]byte]string{}
	for _, t := range req.Topics {
		names[t.TopicID] = t.Topic
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range resp.Topics {
		name := t.Topic
		if name == "" {
			name = names[t.TopicID]
		}
		for _, p := range t.Partitions {
			at := cluster.TopicPartition{Topic: name, Partition: p.Partition}
			err := kerr.ErrorForCode(p.ErrorCode)
			_, mine := m.owned[at]
			switch {
			case err == nil && mine:
				m.done[at] = batch[at]
			case err != nil && !gone(err):
				if refused == nil {
					refused = err
				}
				continue
			}
			if m.pending[at] == batch[at] {
				delete(m.pending, at)
			}
		}
	}
	return refused
}

// leave commits what is pending and leaves the group, so that its partitions are
// others' at once. It waits a few seconds at most, less for a cluster that is
// known not to answer. The error is why something was not committed; more calls
// return the same.
func (m *member) leave(dead bool) error {
	m.leaving.Do(func() {
		m.mu.Lock()
		cl, failed := m.client, m.left
		m.left = true
		m.mu.Unlock()
		switch {
		case cl == nil:
		case failed: // it is no member
			go cl.Close()
		default:
			limit := commitLimit
			if dead {
				limit = commitPause
			}
			m.final = m.explainLast(m.finalCommit(cl, limit))
			m.depart(cl)
		}
		m.stop()
		m.running.Wait()
	})
	return m.final
}

// explainLast is ExplainGroup for the last commit.
func (m *member) explainLast(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unreachable, "%s: group %s: its coordinator does not answer", m.cluster.Name(), m.group).On(m.cluster.Name())
	}
	return m.cluster.ExplainGroup(err, m.group)
}

// finalCommit is the last one. What the group refuses while it is being
// rearranged is tried again for a while.
func (m *member) finalCommit(cl *kgo.Client, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(m.ctx, limit)
	defer cancel()
	for doubts := 0; ; {
		err := m.commit(ctx, cl, nil)
		if errors.Is(err, errDoubtful) {
			if doubts++; doubts > 3 {
				return nil // it was another topic
			}
		}
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return err
		}
	}
}

// depart leaves the group. A member that waits for the others to agree is taken
// out by a request of its own: it would wait as long as they do.
func (m *member) depart(cl *kgo.Client) {
	ctx, cancel := context.WithTimeout(m.ctx, leaveLimit)
	defer cancel()
	if err := cl.LeaveGroupContext(ctx); err != nil && ctx.Err() != nil {
		m.withdraw(cl)
	}
	closed := make(chan struct{})
	go func() {
		cl.Close() // waits for an answer of the group's coordinator, which may never come
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

func (m *member) withdraw(cl *kgo.Client) {
	id, _ := cl.GroupMetadata()
	control, err := m.cluster.Control()
	if err != nil || id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, leaveLimit)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, id
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = id
	req.Members = append(req.Members, one)
	_, _ = req.RequestWith(ctx, control)
}
