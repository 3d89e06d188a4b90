package fetch

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestNothingIsLostOrRepeatedInTrouble reads while leaders move, answers are
// lost, sessions are refused, brokers die, partitions are paused, removed and
// added again and calls of Fetched block: every record comes once and in order.
func TestNothingIsLostOrRepeatedInTrouble(t *testing.T) {
	t.Parallel()
	rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 3})
	c := rig.Cluster("three")
	const partitions = 8
	topic := rig.Name("t")
	c.CreateTopic(topic, partitions, nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := newReader(t, c, func(r *reader, cfg *Config) {
		cfg.timing.trouble = time.Minute
		var n atomic.Int32
		r.onData = func(Data) {
			if n.Add(1)%7 == 0 {
				time.Sleep(25 * time.Millisecond) // longer than an answer waits
			}
		}
	})
	written := make([]int, partitions)
	for p := range int32(partitions) {
		r.from(topic, p, 0, -1)
	}
	for range 120 {
		p := rnd.Int32N(partitions)
		n := 1 + rnd.IntN(20)
		c.Produce(topic, numbered(p, written[p], n)...)
		written[p] += n
		makeTrouble(r, c, topic, rnd)
	}
	for p := range int32(partitions) {
		r.Resume(Partition{topic, p})
	}
	for p := range int32(partitions) {
		checkNumbered(t, r.waitRecords(Partition{topic, p}, written[p]), 0, written[p])
	}
	for _, e := range r.told() {
		switch e.(type) {
		case CaughtUp, Lost, Back:
		default:
			t.Errorf("told %+v", e)
		}
	}
}

func makeTrouble(r *reader, c *kafkatest.Cluster, topic string, rnd *rand.Rand) {
	p := Partition{topic, rnd.Int32N(8)}
	switch rnd.IntN(12) {
	case 0, 1:
		c.MoveLeader(topic, p.ID, rnd.Int32N(3))
	case 2:
		cut(c, func(*kmsg.FetchRequest) error { return errors.New("cut") })
	case 3:
		cut(c, func(req *kmsg.FetchRequest) error {
			if req.SessionEpoch > 0 {
				return kerr.FetchSessionIDNotFound
			}
			return nil
		})
	case 4:
		errs := []*kerr.Error{kerr.UnknownLeaderEpoch, kerr.NotLeaderForPartition, kerr.UnknownTopicID, kerr.KafkaStorageError}
		c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{p.ID}, Err: errs[rnd.IntN(len(errs))]})
	case 5:
		r.Pause(p)
	case 6, 7:
		r.Resume(p)
	case 8, 9: // removed and added where it was, as after a restart
		r.Remove(p)
		r.mu.Lock()
		at := Position{Epoch: -1}
		if d, ok := r.last[p]; ok {
			at = d.Position()
		}
		r.mu.Unlock()
		r.Add(p, at, -1)
	case 10:
		node := rnd.Int32N(3)
		c.Kill9(node)
		time.Sleep(time.Duration(rnd.IntN(150)) * time.Millisecond)
		c.Restart(node)
	}
}

// cut has one of the next fetches answered with an error of its session, or cut
// off if the error is none of Kafka's.
func cut(c *kafkatest.Cluster, with func(*kmsg.FetchRequest) error) {
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		err := with(req)
		var code *kerr.Error
		switch {
		case err == nil:
			return nil, nil, false
		case errors.As(err, &code):
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			resp.ErrorCode = code.Code
			return resp, nil, true
		default:
			return nil, err, true
		}
	})
}
