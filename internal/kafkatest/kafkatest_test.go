package kafkatest_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.M(m).Run()) }

// read returns the values of the first n records of a topic, or fails.
func read(t *testing.T, c *kafkatest.Cluster, topic string, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	cl := c.Client(append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(100<<20), kgo.FetchMaxPartitionBytes(100<<20), kgo.BrokerMaxReadBytes(200<<20))...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("read %s: %v after %d records", topic, err, len(out))
		}
		out = append(out, fs.Records()...)
	}
	return out
}

func values(rs []*kgo.Record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, string(r.Value))
	}
	return out
}

func TestProduceKeepsEveryField(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 2, nil)
		east.Produce(topic, kafkatest.Record{
			Partition: 1, Key: []byte("k"), Value: []byte{}, Time: 1_725_999_704_063,
			Headers: []kafkatest.Header{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}},
		}, kafkatest.Record{Partition: 1})
		got := read(t, east, topic, 2)
		first, second := got[0], got[1]
		if string(first.Key) != "k" || first.Value == nil || len(first.Value) != 0 || first.Partition != 1 ||
			!first.Timestamp.Equal(time.UnixMilli(1_725_999_704_063)) {
			t.Errorf("first record is %+v", first)
		}
		if len(first.Headers) != 2 || string(first.Headers[0].Value) != "1" || first.Headers[1].Value != nil {
			t.Errorf("headers are %+v", first.Headers)
		}
		if second.Key != nil || second.Value != nil || second.Offset != 1 {
			t.Errorf("second record is %+v", second)
		}
	})
}
