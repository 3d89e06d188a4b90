package fetch

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestAPartitionIsAskedForNoMoreThanItsLimit looks at what requests ask for, with
// the limit and when it has been raised again.
func TestAPartitionIsAskedForNoMoreThanItsLimit(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("one")
	c.CreateTopic("t", 1, nil)
	for range 20 {
		c.Produce("t", numbered(0, 0, 2000)...)
	}
	var most atomic.Int32
	c.Fake().ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				most.Store(max(most.Load(), p.PartitionMaxBytes))
			}
		}
		return nil, nil, false
	})
	r := newReader(t, c, nil)
	r.LimitPartition(70_000)
	p := r.from("t", 0, 0, 40_000)
	r.waitRecords(p, 40_000)
	if got := most.Load(); got != 70_000 {
		t.Errorf("asked for %d bytes, want 70000", got)
	}
	r.LimitPartition(1 << 40)
	r.from("t", 0, 0, 40_000)
	r.waitRecords(p, 80_000)
	if got := most.Load(); got < 1<<20 {
		t.Errorf("asked for %d bytes, want a megabyte or more", got)
	}
}
