package fetch

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// verdict is what became of a position that the leader refuses.
type verdict struct {
	event      Event // stops the partition; nil goes on
	dropsEpoch bool  // the epoch of the position is not known to the leader
	err        error // it could not be found out
}

// outOfRange finds out why p's position is refused: with nothing but the code
// it may be before the log, behind it, or within it at an epoch that the leader
// does not know.
func (f *Fetcher) outOfRange(p *part) {
	p.checking = true
	q := query{f: f, key: p.key, at: p.at, leader: p.leader, epoch: p.epoch}
	f.chores.Go(func() {
		v := q.judge()
		f.post(func() { f.judged(p, v) })
	})
}

func (f *Fetcher) judged(p *part, v verdict) {
	p.checking = false
	if p.gone.Load() || p.stopped {
		return
	}
	if p.on != nil {
		p.on.dirty = true
	}
	switch {
	case v.event != nil:
		f.stop(p, v.event)
	case v.err != nil:
		now := time.Now()
		f.troubled(p, now, v.err)
		p.due = now.Add(growing(p.fails, f.cfg.timing.poll, f.cfg.timing.longest/5))
		f.lookUp(p)
	case v.dropsEpoch:
		p.at.Epoch = -1
	}
}

// query asks a leader about one partition.
type query struct {
	f      *Fetcher
	key    Partition
	at     Position
	leader int32
	epoch  int32
}

func (q query) judge() verdict {
	start, err := q.offset(-2)
	if err != nil {
		return verdict{err: err}
	}
	end, err := q.offset(-1)
	if err != nil {
		return verdict{err: err}
	}
	switch {
	case q.at.Offset < start:
		return verdict{event: Gap{q.key, q.at.Offset, start}}
	case q.at.Offset > end && q.at.Epoch >= 0:
		return verdict{event: Truncated{q.key, q.at.Offset, end}}
	case q.at.Offset > end:
		return verdict{event: Beyond{q.key, q.at.Offset, end}}
	case q.at.Epoch < 0:
		return verdict{} // it was, for a moment
	}
	common, err := q.endOfEpoch()
	switch {
	case err != nil:
		return verdict{err: err}
	case common >= 0 && common < q.at.Offset:
		return verdict{event: Truncated{q.key, q.at.Offset, common}}
	default:
		return verdict{dropsEpoch: true}
	}
}

// offset returns the first offset (-2) or the high watermark (-1).
func (q query) offset(which int64) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = q.key.ID, q.epoch, which
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = q.key.Topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Topics = append(req.Topics, t)
	resp, err := q.f.ask(q.leader, req)
	if err != nil {
		return 0, err
	}
	ts := resp.(*kmsg.ListOffsetsResponse).Topics
	if len(ts) != 1 || len(ts[0].Partitions) != 1 {
		return 0, errNoAnswer
	}
	rp := ts[0].Partitions[0]
	return rp.Offset, kerr.ErrorForCode(rp.ErrorCode)
}

// endOfEpoch returns where the epoch of the position ends in the leader's log
// (KIP-320); -1 when it does not know that epoch.
func (q query) endOfEpoch() (int64, error) {
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = q.key.ID, q.epoch, q.at.Epoch
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic, t.Partitions = q.key.Topic, append(t.Partitions, p)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	req.Topics = append(req.Topics, t)
	resp, err := q.f.ask(q.leader, req)
	if err != nil {
		return 0, err
	}
	ts := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics
	if len(ts) != 1 || len(ts[0].Partitions) != 1 {
		return 0, errNoAnswer
	}
	rp := ts[0].Partitions[0]
	return rp.EndOffset, kerr.ErrorForCode(rp.ErrorCode)
}

var errNoAnswer = errors.New("the broker answered for no partition")
