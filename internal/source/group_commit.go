package source

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// keep notes up to where partitions have been written out. What is not this
// member's is passed over: it may be another's by now. It never waits.
func (m *member) keep(list map[cluster.TopicPartition]committed) {
	m.mu.Lock()
	for p, at := range list {
		_, mine := m.owned[p]
		switch {
		case !mine:
		case m.done[p] == at:
			delete(m.pending, p)
		default:
			m.pending[p] = at
		}
	}
	some := len(m.pending) > 0
	m.mu.Unlock()
	if some {
		signal(m.news)
	}
}

// found notes what the group has committed already.
func (m *member) found(p cluster.TopicPartition, at committed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned[p] {
		m.done[p] = at
	}
}

// commitLoop commits what there is to commit, at most once a second. What the
// group refuses at the moment is tried again.
func (m *member) commitLoop() {
	failing := false
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
			switch {
			case m.ctx.Err() != nil:
				return
			case err == nil && failing:
				failing = false
				m.h.trouble(nil, false)
			case err != nil && !passing(err):
				failing = true
				m.h.trouble(m.cluster.ExplainGroup(err, m.group), false)
			}
			if err != nil {
				signal(m.news)
			}
		}
		select {
		case <-time.After(commitPause):
		case <-m.ctx.Done():
			return
		}
	}
}

// passing reports whether a commit failed because the group is being rearranged:
// what it was of is either kept, and committed then, or another's.
func passing(err error) bool {
	for _, code := range []error{
		kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch,
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
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		m.amend(req, batch)
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
	return m.acknowledge(sent, answer, batch)
}

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
// send it late; and a name may be another topic's by now.
func (m *member) amend(req *kmsg.OffsetCommitRequest, batch map[cluster.TopicPartition]committed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	metadata := ""
	topics := req.Topics[:0]
	for _, t := range req.Topics {
		parts := t.Partitions[:0]
		for _, p := range t.Partitions {
			at := cluster.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			read := batch[at].topicID
			if _, mine := m.owned[at]; !mine || read != [16]byte{} && t.TopicID != [16]byte{} && read != t.TopicID {
				delete(m.pending, at)
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
// others' at once. It waits a few seconds at most. The error is why something was
// not committed. More calls do nothing.
func (m *member) leave() error {
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
			m.final = m.cluster.ExplainGroup(m.finalCommit(cl), m.group)
			m.depart(cl)
		}
		m.stop()
		m.running.Wait()
	})
	return m.final
}

// finalCommit is the last one. What the group refuses while it is being
// rearranged is tried again for a while.
func (m *member) finalCommit(cl *kgo.Client) error {
	ctx, cancel := context.WithTimeout(m.ctx, commitLimit)
	defer cancel()
	for {
		err := m.commit(ctx, cl, nil)
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
