//go:build kafka

package source_test

import (
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
)

// TestOneMemberAfterTheOther does not wait for a heartbeat to hear that it has all
// partitions again: brokers put off assignments that follow one another closely.
func TestOneMemberAfterTheOther(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east := rig.Cluster("east")
	topic, group := rig.Name("orders"), rig.Name("g")
	east.CreateTopic(topic, 2, nil)
	for n := range 3 {
		east.Produce(topic, values("v", 0, 3)...)
		r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group).bounded()
		r.opts.GroupProtocol = source.GroupServer
		began := time.Now()
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took, got := time.Since(began), len(r.sink.all()); took > 4*time.Second || got != 3 {
			t.Errorf("run %d: %d records in %v", n, got, took)
		}
	}
}
