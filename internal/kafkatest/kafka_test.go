//go:build kafka

package kafkatest_test

import (
	"fmt"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestJavaProducerWritesWhatItIsGiven(t *testing.T) {
	east := kafkatest.Real(t, kafkatest.Options{}).Cluster("east")
	rig := kafkatest.Real(t, kafkatest.Options{})
	topic := rig.Name("java")
	east.CreateTopic(topic, 3, nil)
	const n = 300_000
	east.ProduceWithJava(topic, "snappy", n, func(i int) kafkatest.Record {
		return kafkatest.Record{Partition: int32(i % 3), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i), Time: int64(i + 1)}
	})
	for p := range int32(3) {
		if end := east.EndOffset(topic, p); end != n/3 {
			t.Errorf("partition %d ends at %d", p, end)
		}
	}
	got := read(t, east, topic, n)
	seen := map[string]bool{}
	for _, r := range got {
		i := r.Timestamp.UnixMilli() - 1
		if string(r.Value) != fmt.Sprintf("v%d", i) || string(r.Key) != fmt.Sprintf("k%d", i) || int64(r.Partition) != i%3 {
			t.Fatalf("record %d is %s=%s in partition %d", i, r.Key, r.Value, r.Partition)
		}
		seen[string(r.Key)] = true
	}
	if len(seen) != n {
		t.Errorf("%d distinct keys", len(seen))
	}
}

func TestJavaConsumerReads(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, topic := rig.Cluster("east"), rig.Name("console")
	east.CreateTopic(topic, 1, nil)
	east.Produce(topic, kafkatest.Record{Value: []byte("hello")})
	got := east.Java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", topic, "--from-beginning", "--max-messages", "1")
	if got != "hello\n" {
		t.Errorf("the console consumer wrote %q", got)
	}
}

func TestBrokerLosesLeadershipWhenKilled(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("three"), rig.Name("survives")
	c.CreateTopic(topic, 1, nil)
	was := c.Leader(topic, 0)
	c.Kill9(was)
	c.Produce(topic, kafkatest.Record{Value: []byte("x")})
	if now := c.Leader(topic, 0); now == was || now < 0 {
		t.Errorf("leader is %d, was %d", now, was)
	}
	c.Restart(was)
	if n := len(c.Nodes()); n != 3 {
		t.Errorf("%d brokers after the restart", n)
	}
}

func TestOwnClusterTakesConfig(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Start("own", kafkatest.Options{Config: map[string]string{"auto.create.topics.enable": "false"}})
	configs, err := c.Admin().DescribeBrokerConfigs(t.Context(), c.Nodes()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range configs[0].Configs {
		if cfg.Key == "auto.create.topics.enable" {
			if cfg.MaybeValue() != "false" {
				t.Errorf("auto.create.topics.enable is %s", cfg.MaybeValue())
			}
			return
		}
	}
	t.Error("the broker has no such setting")
}
