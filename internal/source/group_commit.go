package source

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
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
		errDoubtful, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch,
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
	unknown := map[cluster.TopicPartition]committed{}
	for p, at := range batch {
		if at.topicID == [16]byte{} {
			unknown[p] = at
			delete(batch, p)
		}
	}
	// One topic without an id makes a request one by names.
	return cmp.Or(m.send(ctx, cl, batch), m.send(ctx, cl, unknown))
}

func (m *member) send(ctx context.Context, cl *kgo.Client, batch map[cluster.TopicPartition]committed) error {
	if len(batch) == 0 {
		return nil
	}
	now, err := m.topicsNow(ctx, cl, batch)
	if err != nil {
		return err
	}
	var sent *kmsg.OffsetCommitRequest
	var doubtful bool
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		doubtful = m.fill(req, batch, now)
		sent = req
		return nil
	})
	var answer *kmsg.OffsetCommitResponse
	// The client refuses to commit for a name that was another topic's when it first
	// met it. So it is asked for a name that it does not know, and the request that
	// it makes is filled afterwards.
	cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{"": {0: {}}}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, e error) {
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

// topicsNow are the ids of the topics that have the names now, for brokers that
// take commits by name only; nil for others.
func (m *member) topicsNow(ctx context.Context, cl *kgo.Client, batch map[cluster.TopicPartition]committed) (map[string][16]byte, error) {
	m.mu.Lock()
	byID := m.byID
	m.mu.Unlock()
	req := kmsg.NewPtrMetadataRequest()
	for p, at := range batch {
		known := slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool { return *t.Topic == p.Topic })
		if byID || known || at.topicID == [16]byte{} {
			continue
		}
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &p.Topic
		req.Topics = append(req.Topics, t)
	}
	if len(req.Topics) == 0 {
		return nil, nil
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	now := map[string][16]byte{}
	for _, t := range resp.Topics {
		if t.Topic != nil {
			now[*t.Topic] = t.TopicID
		}
	}
	return now, nil
}

// fill puts into a request exactly what is this member's now, each under the id
// of the topic that was read: partitions of one name may be of two topics while one
// is made anew. A client that waited for its group to agree may send it late. It
// reports whether something was left out because the name is another topic's,
// which only a broker that is told ids can decide.
func (m *member) fill(req *kmsg.OffsetCommitRequest, batch map[cluster.TopicPartition]committed, now map[string][16]byte) (doubtful bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	metadata := ""
	req.Topics = nil
	for at, c := range batch {
		if _, mine := m.owned[at]; !mine {
			delete(m.pending, at)
			continue
		}
		if is := now[at.Topic]; is != [16]byte{} && c.topicID != [16]byte{} && is != c.topicID {
			doubtful = true
			continue
		}
		i := slices.IndexFunc(req.Topics, func(t kmsg.OffsetCommitRequestTopic) bool {
			return t.Topic == at.Topic && t.TopicID == c.topicID
		})
		if i < 0 {
			i = len(req.Topics)
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = at.Topic, c.topicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = at.Partition, c.offset, c.epoch, &metadata
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
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
			if err := m.answered(at, batch[at], kerr.ErrorForCode(p.ErrorCode)); err != nil && refused == nil {
				refused = err
			}
		}
	}
	return refused
}

// answered notes what has become of one commit. It returns why it was refused if it
// stays pending. The caller holds mu.
func (m *member) answered(p cluster.TopicPartition, at committed, err error) error {
	if err != nil && (!gone(err) || m.doubt(p, at)) {
		return err
	}
	if _, mine := m.owned[p]; err == nil && mine {
		m.done[p] = at
	}
	if err == nil {
		m.proven[p] = at.topicID
	}
	if m.pending[p] == at {
		delete(m.pending, p)
	}
	return nil
}

// doubt reports whether a commit that was refused because there is no such topic
// is worth another try: the coordinator may not have heard yet of a new one.
func (m *member) doubt(p cluster.TopicPartition, at committed) bool {
	d := m.doubts[p]
	if d.topicID != at.topicID {
		d = doubt{topicID: at.topicID}
	}
	d.times++
	m.doubts[p] = d
	return d.times <= mostDoubts
}

type doubt struct {
	topicID [16]byte
	times   int
}

const mostDoubts = 3

// provenFor reports whether this member has committed for a partition of just this
// topic, so that what the group has is of no other of the name.
func (m *member) provenFor(p cluster.TopicPartition, topicID [16]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proven[p] == topicID
}

// proofs is what provenFor knows.
func (m *member) proofs() map[cluster.TopicPartition][16]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.proven)
}

// believe takes over what an earlier member knew.
func (m *member) believe(proven map[cluster.TopicPartition][16]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.proven, proven)
}
