package fetch

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestAPositionBeforeTheLogIsAGap(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 2, nil)
		for i := range 10 {
			c.Produce(topic, numbered(0, i*10, 10)...)
		}
		c.DeleteRecords(topic, 0, 40)
		r := newReader(t, c, nil)
		p := r.from(topic, 0, 7, -1)
		if e := event[Gap](r); e != (Gap{p, 7, 40}) {
			t.Errorf("got %+v", e)
		}
		if n := len(r.read(p)); n != 0 {
			t.Errorf("%d records although it is stopped", n)
		}
		r.from(topic, 0, 40, -1)
		checkNumbered(t, r.waitRecords(p, 60), 40, 60)

		// The log start passes a position that has been reached by reading.
		r.Pause(p)
		q := r.from(topic, 1, 0, -1)
		c.Produce(topic, numbered(1, 0, 1)...)
		r.waitRecords(q, 1) // by now the pause is in force, but for what is in flight
		r.until("the paused partition to be idle", func() bool { return idle(r, p) })
		for i := range 5 {
			c.Produce(topic, numbered(0, 100+i*10, 10)...)
		}
		c.DeleteRecords(topic, 0, 130)
		r.Resume(p)
		r.until("a second Gap", func() bool { return len(events[Gap](r)) == 2 })
		if e := events[Gap](r)[1]; e != (Gap{p, 100, 130}) {
			t.Errorf("got %+v", e)
		}
	})
}

// idle reports whether nothing is in flight for p.
func idle(r *reader, p Partition) bool {
	answer := make(chan bool)
	r.post(func() {
		part := r.topics[p.Topic][p.ID]
		answer <- part.on != nil && !part.busy() && !part.joined
	})
	return <-answer
}

func TestAPositionBehindTheEndIsBeyond(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(0, 0, 100)...)
		r := newReader(t, c, nil)
		p := r.from(topic, 0, 5000, -1)
		if e := event[Beyond](r); e != (Beyond{p, 5000, 100}) {
			t.Errorf("got %+v", e)
		}
	})
}

// A position with an epoch was reached by reading. Brokers say diverging epoch
// then, kfake says OFFSET_OUT_OF_RANGE.
func TestAReadPositionBehindTheEndIsTruncated(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(0, 0, 100)...)
		r := newReader(t, c, nil)
		p := Partition{topic, 0}
		r.Add(p, Position{Offset: 150, Epoch: 0}, -1)
		if e := event[Truncated](r); e != (Truncated{p, 150, 100}) {
			t.Errorf("got %+v", e)
		}
	})
}

// An epoch that the leader does not know, at an offset that it has, says nothing
// about the offset: it is read without.
func TestAnUnknownEpochIsDropped(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("one")
		topic := rig.Name("t")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(0, 0, 100)...)
		if !rig.Real() { // it ignores LastFetchedEpoch
			c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.OffsetOutOfRange})
		}
		r := newReader(t, c, nil)
		p := Partition{topic, 0}
		r.Add(p, Position{Offset: 50, Epoch: 77}, -1)
		checkNumbered(t, r.waitRecords(p, 50), 50, 50)
		if e, all := event[CaughtUp](r), r.told(); e != (CaughtUp{p, 100}) || len(all) != 1 {
			t.Errorf("told %+v", all)
		}
	})
}

// TestDivergingEpochIsTruncated has the answer of a leader that was elected
// although it had missed records; Apache Kafka gives it only then.
func TestDivergingEpochIsTruncated(t *testing.T) {
	t.Parallel()
	c, topic := fakeTopic(t)
	r := newReader(t, c, nil)
	p := r.from(topic, 0, 0, -1)
	r.waitRecords(p, 10)
	event[CaughtUp](r)
	answerFetch(c, 0, func(rp *kmsg.FetchResponseTopicPartition) {
		rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = 0, 4
	})
	if e := event[Truncated](r); e != (Truncated{p, 10, 4}) {
		t.Errorf("got %+v", e)
	}
}

// answerFetch has the next fetch that asks for partition id by itself answered
// with what change makes of an empty answer, outside of any session.
func answerFetch(c *kafkatest.Cluster, id int32, change func(*kmsg.FetchResponseTopicPartition)) {
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		for _, rt := range req.Topics {
			for _, p := range rt.Partitions {
				if p.Partition == id {
					return fetchAnswer(req, rt, p, change), nil, true
				}
			}
		}
		if req.SessionEpoch > 0 { // whose partitions kfake alone knows: open a new one
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
			c.Fake().KeepControl()
			return resp, nil, true
		}
		return nil, nil, false
	})
}

func fetchAnswer(req *kmsg.FetchRequest, rt kmsg.FetchRequestTopic, p kmsg.FetchRequestTopicPartition, change func(*kmsg.FetchResponseTopicPartition)) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition, rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = p.Partition, p.FetchOffset, p.FetchOffset, 0
	change(&rp)
	st := kmsg.NewFetchResponseTopic()
	st.Topic, st.TopicID = rt.Topic, rt.TopicID
	st.Partitions = append(st.Partitions, rp)
	resp.Topics = append(resp.Topics, st)
	return resp
}
