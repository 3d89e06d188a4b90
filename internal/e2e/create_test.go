//go:build kafka

package e2e

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestALookUpCreatesNoTopic on brokers that create whatever is asked for.
func TestALookUpCreatesNoTopic(t *testing.T) {
	beside(t)
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	witness, topic := rig.Name("witness"), rig.Name("orders")
	cl := c.Client(kgo.ConsumeTopics(witness), kgo.AllowAutoTopicCreation())
	for deadline := time.Now().Add(patience); !c.HasTopic(witness); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("these brokers create no topics by themselves: the test sees nothing")
		}
	}
	cl.Close()
	t.Cleanup(func() { c.DeleteTopic(witness) })

	meta := metadata(t, "orders", topic, at(c))
	for _, tc := range []struct {
		code int
		args []string
	}{
		{1, []string{"-b", c.Bootstrap(), "consume", topic, "-e"}},
		{1, []string{"-b", c.Bootstrap(), "consume", topic}},
		{1, []string{"-m", meta, "consume", "orders", "-e"}},
		{1, []string{"-b", c.Bootstrap(), "describe", "topic", topic}},
		{1, []string{"-m", meta, "describe", "orders"}},
		{1, []string{"-m", meta, "describe", "topic", "east/" + topic}},
	} {
		r := run(t, tc.args)
		r.exits(t, tc.code)
		r.says(t, 1, topic)
		tidy(t, r)
	}
	k := start(t, []string{"-m", meta, "consume", "orders", "-J"})
	w := start(t, []string{"-b", c.Bootstrap(), "consume", topic, "--wait", "-J"})
	for _, k := range []*kcm{k, w} {
		k.told(5*time.Second, topic, "no such topic", "waiting for it")
	}
	time.Sleep(2 * time.Second) // some more look-ups
	if c.HasTopic(topic) {
		t.Fatal("the topic was created by looking for it")
	}
	c.CreateTopic(topic, 2, nil)
	c.Produce(topic, append(numbered(c, 0, 0, 20), numbered(c, 1, 0, 20)...)...)
	for _, k := range []*kcm{k, w} {
		k.gets(15*time.Second, 40)
		r := k.stop()
		r.exits(t, 0)
		got := values(t, r.stdout)
		equal(t, "p0", of(c, 0, got), counted(c, 0, 20))
		equal(t, "p1", of(c, 1, got), counted(c, 1, 20))
		r.says(t, 1, topic, "waiting for it")
	}
}
