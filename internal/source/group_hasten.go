package source

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// hastenPauses are between heartbeats that are sent ahead of their time, 5 s after
// one another: brokers from 4.3 on work out a group's assignments once in
// group.consumer.assignment.interval.ms at most, by default a second (KIP-1263). A
// member that joins within one that another has just left in is let in with nothing,
// and would hear of its partitions with the next heartbeat only.
var hastenPauses = []time.Duration{300 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}

// hasten asks the brokers again, a few times, whether there is something for a
// member that has been let in with nothing.
func (m *member) hasten(cl *kgo.Client) {
	for _, pause := range hastenPauses {
		select {
		case <-time.After(pause):
		case <-m.ctx.Done():
			return
		}
		if _, n := m.given(); n > 0 || m.session() != cl {
			return
		}
		cl.ForceRebalance() // with this protocol it is a heartbeat
	}
}
