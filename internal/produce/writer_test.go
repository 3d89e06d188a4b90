package produce

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
)

var produceKey = []kmsg.Key{kmsg.Produce}

// Stored and built batches of many partitions arrive once each and in the order in
// which they were sent.
func TestEverythingArrivesOnceAndInOrder(t *testing.T) {
	kafkatest.EachWith(t, kafkatest.Options{Brokers: 3}, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("three")
		name := rig.Name("copy")
		const partitions = 6
		c.CreateTopic(name, partitions, nil)
		w := newWriting(t, c, nil)
		topic := w.topic(name)
		if topic.Partitions != partitions || topic.MaxBytes < defaultMaxBytes {
			t.Errorf("the topic is %+v", topic)
		}
		want := make([][]string, partitions)
		for p := range int32(partitions) {
			lane := &Lane{}
			o := Origin{Split: record.Split{Partition: p}, Partitions: partitions}
			for i := range 20 {
				values := numbers(i*100, 100)
				want[p] = append(want[p], values...)
				if i%3 == 2 {
					w.send(lane, built(t, topic, o, values...))
				} else {
					w.send(lane, stored(topic, o, 7, values...))
				}
			}
		}
		w.fine()
		for p := range int32(partitions) {
			equal(t, fmt.Sprint("partition ", p), w.log(name, p), want[p])
		}
		counts := w.Counts()
		if counts.Topics[name] != partitions*2000 || counts.Built != partitions*6 || counts.Raw != partitions*14*15 || counts.Renewed != 0 {
			t.Errorf("counts %+v", counts)
		}
		if texts := w.told(); len(texts) > 0 && !rig.Real() { // which may take its time on a busy machine
			t.Errorf("told %q", texts)
		}
	})
}

// origin is where the loads of a test with one partition come from.
var origin = Origin{Split: record.Split{Cluster: "east", Topic: "src"}, Partitions: 1}

// one begins a test on an embedded cluster with a topic of one partition.
func one(t *testing.T, change func(*Config)) (w *writing, topic *Topic, lane *Lane) {
	t.Helper()
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("west")
	c.CreateTopic("t", 1, nil)
	w = newWriting(t, c, change)
	return w, w.topic("t"), &Lane{From: origin.Split}
}

// Whatever a broker answers that may pass is tried again, in order and with the
// same sequences: what it has taken all the same it does not take twice.
func TestPassingErrorsLoseAndRepeatNothing(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError,
		kerr.NetworkException, kerr.FencedLeaderEpoch, kerr.UnknownTopicID, kerr.ThrottlingQuotaExceeded,
		kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, // with these kfake appends
	} {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			w, topic, lane := one(t, nil)
			w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
			w.fine()
			for range 3 {
				w.c.Fake().Fault(kfake.Fault{Keys: produceKey, Topic: "t", Err: code, Count: 2})
			}
			for i := range 20 {
				w.send(lane, stored(topic, origin, 10, numbers(50+50*i, 50)...))
			}
			w.fine()
			equal(t, "the log", w.log("t", 0), numbers(0, 1050))
			if n := w.Counts().Renewed; n != 0 {
				t.Errorf("%d producer ids were given up", n)
			}
		})
	}
}

// A connection that ends before the answer comes leaves open what has arrived.
func TestLostAnswersLoseAndRepeatNothing(t *testing.T) {
	w, topic, lane := one(t, nil)
	var n atomic.Int32
	w.c.Fake().ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.c.Fake().KeepControl()
		if n.Add(1)%4 == 0 {
			return nil, fmt.Errorf("cut"), true
		}
		return nil, nil, false
	})
	for i := range 40 {
		w.send(lane, stored(topic, origin, 5, numbers(25*i, 25)...))
	}
	w.fine()
	equal(t, "the log", w.log("t", 0), numbers(0, 1000))
}

// A broker that has lost track of the producer gets everything that it has not
// acknowledged under a new producer id.
func TestLostTrackOfTheProducer(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch} {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			w, topic, lane := one(t, nil)
			w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
			w.fine()
			w.c.Fake().Fault(kfake.Fault{Keys: produceKey, Topic: "t", Err: code, Count: 1})
			for i := range 10 {
				w.send(lane, stored(topic, origin, 10, numbers(50+50*i, 50)...))
			}
			w.fine()
			equal(t, "the log", w.log("t", 0), numbers(0, 550))
			if n := w.Counts().Renewed; n != 1 {
				t.Errorf("%d producer ids were given up, want 1", n)
			}
		})
	}
}

// Up to five requests are on their way for a partition, once the broker knows the
// producer.
func TestRequestsOnTheirWay(t *testing.T) {
	w, topic, lane := one(t, nil)
	w.send(lane, stored(topic, origin, 1, numbers(0, 1)...))
	w.fine()
	w.c.Pause(w.c.FirstNode())
	w.send(lane, stored(topic, origin, 1, numbers(1, 50)...))
	flying := func() (n int) {
		w.Writer.mu.Lock()
		defer w.Writer.mu.Unlock()
		for _, p := range w.partitions {
			n = max(n, len(p.flight))
		}
		return n
	}
	w.until("requests", func() bool { return flying() == mostFlying })
	w.c.Continue(w.c.FirstNode())
	w.fine()
	equal(t, "the log", w.log("t", 0), numbers(0, 51))
}

// Of a batch that a broker refuses, everything before the record that is to blame
// arrives, and nothing behind it; other lanes go on.
func TestARefusedRecordStopsItsLaneThere(t *testing.T) {
	w, topic, lane := one(t, nil)
	other := &Lane{From: record.Split{Cluster: "east", Topic: "other"}}
	large := strings.Repeat("x", 2000)
	w.c.Fake().ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.c.Fake().KeepControl()
		p, ok := req.(*kmsg.ProduceRequest)
		if ok && strings.Contains(string(p.Topics[0].Partitions[0].Records), large) {
			return refusing(p, kerr.MessageTooLarge.Code), nil, true
		}
		return nil, nil, false
	})
	w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
	bad := numbers(50, 30)
	bad[14] += large
	w.send(lane, stored(topic, origin, 10, bad...))
	w.send(lane, stored(topic, origin, 10, numbers(80, 50)...))
	w.send(other, stored(topic, origin, 10, numbers(1000, 50)...))
	w.settled()
	equal(t, "the log", w.log("t", 0), slices.Concat(numbers(0, 64), numbers(1000, 50)))
	byNext := map[int64]Result{}
	for _, r := range w.results {
		byNext[r.Next] = r
	}
	r := byNext[64]
	if r.Arrived != 14 || fault.KindOf(r.Err) != fault.Partial {
		t.Fatalf("the answers are %+v", w.results)
	}
	want := "east/src/0: west/t/0 refuses the record at offset 64, 2076 bytes as a batch: it is too large"
	if !strings.HasPrefix(r.Err.Error(), want) || !strings.Contains(fault.HintOf(r.Err), "max.message.bytes") {
		t.Errorf("the error is %q, want %q", r.Err, want)
	}
	if r := byNext[80]; r.Arrived != 0 || r.Err == nil {
		t.Errorf("what came behind: %+v", r)
	}
}

// refusing answers every partition of a request with a code.
func refusing(p *kmsg.ProduceRequest, code int16) kmsg.Response {
	resp := p.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range p.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, x := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = x.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestRefusalsThatStayFailAtOnce(t *testing.T) {
	for _, tt := range []struct {
		code *kerr.Error
		kind fault.Kind
		text string
	}{
		{kerr.TopicAuthorizationFailed, fault.Auth, "west/t: not authorized to write"},
		{kerr.PolicyViolation, fault.Refused, "west/t: a policy of the cluster forbids it"},
		{kerr.InvalidTimestamp, fault.Partial, "east/src/0: west/t/0 refuses the record at offset 0, 74 bytes as a batch: its timestamp is out of range (INVALID_TIMESTAMP)"},
	} {
		t.Run(tt.code.Message, func(t *testing.T) {
			t.Parallel()
			w, topic, lane := one(t, nil)
			w.c.Fake().Fault(kfake.Fault{Keys: produceKey, Topic: "t", Err: tt.code, Count: -1})
			w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
			r := w.settled()[0]
			if fault.KindOf(r.Err) != tt.kind || !strings.HasPrefix(r.Err.Error(), tt.text) || r.Next != 0 || r.Arrived != 0 {
				t.Errorf("%+v, want %s", r, tt.text)
			}
		})
	}
	t.Run("producer ids", func(t *testing.T) {
		w, topic, lane := one(t, nil)
		w.c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: -1})
		w.send(lane, stored(topic, origin, 10, numbers(0, 50)...))
		r := w.settled()[0]
		if fault.KindOf(r.Err) != fault.Auth || r.Err.Error() != "west: not authorized to write under a producer id" {
			t.Errorf("%+v", r)
		}
	})
}
