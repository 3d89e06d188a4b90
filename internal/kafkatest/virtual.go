package kafkatest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Virtual runs test in a testing/synctest bubble on embedded clusters whose
// network is in memory, so that an hour of refreshes passes in milliseconds.
// Clients must connect with Cluster.Dial; the only listener is Plaintext.
func Virtual(t *testing.T, opts Options, test func(t *testing.T, rig *Rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rig := Fake(t, opts)
		rig.set.net = &kfake.VirtualNetwork{}
		test(t, rig)
	})
}

// Dial connects to the cluster: over the virtual network in Virtual, over TCP
// elsewhere. It suits kgo.Dialer and cluster descriptions alike.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if f, ok := c.b.(*fakeCluster); ok && f.net != nil {
		return f.net.DialContext(ctx, network, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
