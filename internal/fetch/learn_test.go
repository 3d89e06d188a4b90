package fetch

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recorder is a handler that keeps events as text.
type recorder struct{ told []string }

func (r *recorder) Fetched(Data) {}

func (r *recorder) Event(e Event) {
	r.told = append(r.told, strings.TrimPrefix(fmt.Sprintf("%T", e), "fetch."))
}

// lookedUp is one look-up's answer about partition 0 of topic t, and where the
// partition is read from after it.
type lookedUp struct {
	topicErr, partErr *kerr.Error
	id                byte
	leader, epoch     int32
	on                int32 // -1 is nowhere
	told              string
}

// TestLearn goes through look-ups one after the other, without a loop.
func TestLearn(t *testing.T) {
	for name, answers := range map[string][]lookedUp{
		"a leader moves": {{leader: 1, epoch: 4, on: 1}, {leader: 2, epoch: 5, on: 2}},
		"an older epoch is news from yesterday, three times": {
			{leader: 1, epoch: 4, on: 1},
			{leader: 2, epoch: 3, on: 1},
			{leader: 2, epoch: 3, on: 1},
			{leader: 2, epoch: 3, on: 1},
			{leader: 2, epoch: 3, on: 2},
		},
		"an older epoch once": {{leader: 1, epoch: 4, on: 1}, {leader: 2, epoch: 3, on: 1}, {leader: 3, epoch: 6, on: 3}},
		"no epochs at all":    {{leader: 1, epoch: -1, on: 1}, {leader: 2, epoch: -1, on: 2}},
		"no leader, told once": {
			{leader: 1, epoch: 4, on: 1},
			{leader: -1, epoch: 4, on: -1},
			{partErr: kerr.LeaderNotAvailable, leader: -1, epoch: 4, on: -1, told: "NoLeader"},
			{topicErr: kerr.LeaderNotAvailable, on: -1},
			{leader: 2, epoch: 5, on: 2},
		},
		"a topic that one broker does not know": {
			{leader: 1, epoch: 4, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: 1},
			{leader: 1, epoch: 4, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: 1},
		},
		"a topic that is gone": {
			{leader: 1, epoch: 4, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: -1, told: "Missing"},
			{topicErr: kerr.UnknownTopicOrPartition, on: -1},
		},
		"without ids, a topic that was gone is another": {
			{topicErr: kerr.InvalidTopicException, on: -1},
			{topicErr: kerr.UnknownTopicOrPartition, on: -1, told: "Missing"},
			{leader: 1, epoch: 0, on: -1, told: "Recreated"},
		},
		"with ids, it may be the same": {
			{id: 7, leader: 1, epoch: 0, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: 1},
			{topicErr: kerr.UnknownTopicOrPartition, on: -1, told: "Missing"},
			{id: 7, leader: 1, epoch: 0, on: 1},
		},
		"another id, twice":             {{id: 7, leader: 1, on: 1}, {id: 8, leader: 1, on: 1}, {id: 8, leader: 1, on: -1, told: "Recreated"}},
		"another id, once":              {{id: 7, leader: 1, on: 1}, {id: 8, leader: 1, on: 1}, {id: 7, leader: 1, on: 1}, {id: 8, leader: 1, on: 1}},
		"a broker too old for ids":      {{id: 7, leader: 1, on: 1}, {id: 0, leader: 2, epoch: 1, on: 2}},
		"access is denied":              {{leader: 1, on: 1}, {topicErr: kerr.TopicAuthorizationFailed, on: -1, told: "Denied"}, {leader: 1, on: -1}},
		"a follower's error is no news": {{partErr: kerr.ReplicaNotAvailable, leader: 1, epoch: 2, on: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			f := New(Config{Handler: rec, timing: timing{trouble: 1}})
			p := newPart(Partition{"t", 0}, Position{Epoch: -1}, -1)
			f.admit(p)
			for i, a := range answers {
				rec.told = nil
				f.learn(a.response(), time.Now().Add(time.Duration(i)*time.Second))
				if on := where(p); on != a.on {
					t.Errorf("after look-up %d it is on %d, want %d", i, on, a.on)
				}
				if told := strings.Join(rec.told, " "); told != a.told {
					t.Errorf("look-up %d told %q, want %q", i, told, a.told)
				}
			}
			if homeless := p.on == nil && !p.stopped; homeless != (f.homeless == 1) {
				t.Errorf("%d are homeless", f.homeless)
			}
		})
	}
}

func where(p *part) int32 {
	if p.on == nil {
		return -1
	}
	return p.on.id
}

func (a lookedUp) response() *kmsg.MetadataResponse {
	mt := kmsg.NewMetadataResponseTopic()
	mt.Topic = kmsg.StringPtr("t")
	mt.TopicID[0] = a.id
	if a.topicErr != nil {
		mt.ErrorCode = a.topicErr.Code
	} else {
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Leader, mp.LeaderEpoch = a.leader, a.epoch
		if a.partErr != nil {
			mp.ErrorCode = a.partErr.Code
		}
		mt.Partitions = append(mt.Partitions, mp)
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Topics = append(resp.Topics, mt)
	return resp
}

// TestWhyAPositionIsRefused asks an embedded leader, some of whose answers are
// faults.
func TestWhyAPositionIsRefused(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	c.DeleteRecords(topic, 0, 4)
	r := newReader(t, c, nil)
	p := Partition{topic, 0}
	r.until("Run", func() bool { return r.requests() == 0 }) // which sets the context of requests
	q := query{f: r.Fetcher, key: p, leader: c.Leader(topic, 0), epoch: -1}
	lists := []kmsg.Key{kmsg.ListOffsets}
	epochs := []kmsg.Key{kmsg.OffsetForLeaderEpoch}
	for _, tt := range []struct {
		name  string
		at    Position
		fault *kfake.Fault
		want  verdict
	}{
		{"before the log", Position{Offset: 3, Epoch: 0}, nil, verdict{event: Gap{p, 3, 4}}},
		{"its start", Position{Offset: 4, Epoch: -1}, nil, verdict{}},
		{"its end", Position{Offset: 10, Epoch: -1}, nil, verdict{}},
		{"behind it", Position{Offset: 11, Epoch: -1}, nil, verdict{event: Beyond{p, 11, 10}}},
		{"behind it, having been there", Position{Offset: 11, Epoch: 0}, nil, verdict{event: Truncated{p, 11, 10}}},
		{"an unknown epoch", Position{Offset: 7, Epoch: 99}, nil, verdict{dropsEpoch: true}},
		{"no start", Position{Offset: 7, Epoch: 0}, &kfake.Fault{Keys: lists, Err: kerr.NotLeaderForPartition}, verdict{err: kerr.NotLeaderForPartition}},
		{"no epoch", Position{Offset: 7, Epoch: 0}, &kfake.Fault{Keys: epochs, Err: kerr.FencedLeaderEpoch}, verdict{err: kerr.FencedLeaderEpoch}},
	} {
		if tt.fault != nil {
			c.Fake().Fault(*tt.fault)
		}
		q.at = tt.at
		if got := q.judge(); got.event != tt.want.event || got.dropsEpoch != tt.want.dropsEpoch || !errors.Is(got.err, tt.want.err) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	c.Fake().ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		rp.EndOffset = 6
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	q.at = Position{Offset: 8, Epoch: 2}
	if got := q.judge(); got.event != (Truncated{p, 8, 6}) {
		t.Errorf("an epoch that ended earlier: got %+v", got)
	}
}

// TestARefusalThatCannotBeExplained yet is tried on, and told.
func TestARefusalThatCannotBeExplained(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	fault := c.Fake().Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: kerr.OffsetOutOfRange, Count: -1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: topic, Err: kerr.KafkaStorageError, Count: -1},
	)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	if e := event[NoLeader](r); e.Partition != p || !errors.Is(e.Err, kerr.KafkaStorageError) {
		t.Errorf("got %+v", e)
	}
	fault.Remove()
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	event[Recovered](r)
}

// TestAWholeAnswerThatIsAnError is tried on after a pause.
func TestAWholeAnswerThatIsAnError(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	var n atomic.Int32
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		if n.Add(1) > 4 {
			c.Fake().DropControl()
			return nil, nil, false
		}
		c.Fake().KeepControl()
		resp := kreq.ResponseKind().(*kmsg.FetchResponse)
		resp.ErrorCode = kerr.UnknownServerError.Code
		return resp, nil, true
	})
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing.trouble = 1 })
	begun := time.Now()
	p := r.from(topic, 0, 0, -1)
	checkNumbered(t, r.waitRecords(p, 10), 0, 10)
	if d := time.Since(begun); d < 100*time.Millisecond {
		t.Errorf("four errors took only %v", d)
	}
	if e := event[NoLeader](r); !errors.Is(e.Err, kerr.UnknownServerError) {
		t.Errorf("got %+v", e)
	}
}

// TestWhatStaysCorruptIsDamaged: the broker itself says so.
func TestWhatStaysCorruptIsDamaged(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: kerr.CorruptMessage, Count: -1})
	r := newReader(t, c, nil)
	p, q := r.from(topic, 0, 0, -1), r.from(topic, 1, 0, -1)
	if e := event[Damaged](r); e.Partition != p || e.Offset != 0 || !errors.Is(e.Err, kerr.CorruptMessage) {
		t.Errorf("got %+v", e)
	}
	checkNumbered(t, r.waitRecords(q, 10), 0, 10)
}
