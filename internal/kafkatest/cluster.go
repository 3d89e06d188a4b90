package kafkatest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// patience is how long a helper waits for a cluster before the test fails.
const patience = time.Minute

// Cluster is one cluster of a rig, seen by one test. Its helpers fail the test
// when they cannot do what they say. Topics that they create go with the test.
type Cluster struct {
	t    testing.TB
	rig  *Rig
	name string
	b    backend
	adm  *kadm.Client
}

// Name returns the name that the cluster was asked for by.
func (c *Cluster) Name() string { return c.name }

// Bootstrap returns the brokers' addresses, comma-separated: of the plaintext
// listener, or of the one that an embedded cluster was given.
func (c *Cluster) Bootstrap() string { return join(c.b.addresses(c.b.admin())) }

// BootstrapFor returns the addresses of one listener. Asking an embedded cluster
// for a listener that it was not started with fails the test.
func (c *Cluster) BootstrapFor(l Listener) string {
	c.t.Helper()
	addrs := c.b.addresses(l)
	if addrs == nil {
		c.t.Fatalf("cluster %s has no listener %s: set Options.Listener", c.name, l)
	}
	return join(addrs)
}

// Certificates are those of the TLS listeners.
func (c *Cluster) Certificates() *Certificates { return c.b.security() }

// Fake returns the embedded cluster, for faults and controls that only kfake
// has; nil on Apache Kafka.
func (c *Cluster) Fake() *kfake.Cluster {
	if f, ok := c.b.(*fakeCluster); ok {
		return f.c
	}
	return nil
}

// ClientOpts are the options of a client that may do anything: seeds and, where
// the cluster needs them, TLS and credentials.
func (c *Cluster) ClientOpts() []kgo.Opt {
	c.t.Helper()
	l := c.b.admin()
	opts := []kgo.Opt{kgo.SeedBrokers(c.b.addresses(l)...)}
	if f, ok := c.b.(*fakeCluster); ok && f.net != nil {
		opts = append(opts, kgo.Dialer(f.net.DialContext))
	} else if l == TLS || l == MTLS || l == SASLTLS {
		cfg, err := c.b.security().ClientConfig()
		c.check(err)
		opts = append(opts, kgo.DialTLSConfig(cfg))
	}
	if l == SASL || l == SASLTLS {
		opts = append(opts, kgo.SASL(plain.Auth{User: AdminUser, Pass: AdminPassword}.AsMechanism()))
	}
	return opts
}

// Client returns a client with ClientOpts and opts, closed with the test.
func (c *Cluster) Client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(c.ClientOpts(), opts...)...)
	c.check(err)
	c.t.Cleanup(cl.Close)
	return cl
}

// Admin returns an admin client for direct checks, closed with the test.
func (c *Cluster) Admin() *kadm.Client {
	c.t.Helper()
	if c.adm == nil {
		c.adm = kadm.NewClient(c.Client())
	}
	return c.adm
}

// ID returns the cluster id that the brokers give.
func (c *Cluster) ID() string {
	c.t.Helper()
	return c.metadata().Cluster
}

// Nodes returns the brokers' ids in ascending order.
func (c *Cluster) Nodes() []int32 {
	c.t.Helper()
	return c.metadata().Brokers.NodeIDs()
}

func (c *Cluster) metadata() kadm.Metadata {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	md, err := c.Admin().BrokerMetadata(fresh(ctx))
	c.check(err)
	return md
}

// Commit sets a group's committed offset of a partition; the group must be empty.
func (c *Cluster) Commit(group, topic string, partition int32, offset int64) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var os kadm.Offsets
	os.AddOffset(topic, partition, offset, -1)
	c.untilCoordinated(ctx, group, func() error { return c.Admin().CommitAllOffsets(ctx, group, os) })
}

// untilCoordinated repeats a call until the group has a coordinator: the first
// group of a new cluster waits for its internal topic, and a client that has been
// connected to a broker which was killed finds that out by an error.
func (c *Cluster) untilCoordinated(ctx context.Context, group string, call func() error) {
	c.t.Helper()
	c.until(ctx, "coordinator of "+group, func() bool {
		err := call()
		if _, broken := errors.AsType[net.Error](err); broken && ctx.Err() == nil || errors.Is(err, io.EOF) {
			return false
		}
		if errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator) {
			return false
		}
		c.check(err)
		return true
	})
}

// Committed returns a group's committed offset of a partition, -1 if there is none.
func (c *Cluster) Committed(group, topic string, partition int32) int64 {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var os kadm.OffsetResponses
	c.untilCoordinated(ctx, group, func() (err error) {
		os, err = c.Admin().FetchOffsets(ctx, group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		return err
	})
	o, ok := os.Lookup(topic, partition)
	if !ok {
		return -1
	}
	c.check(o.Err)
	return o.At
}

// CreateACLs adds ACLs, such as
//
//	kadm.NewACLs().Deny("User:app").Topics(topic).Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral)
//
// They are removed with the test. A principal of the SASL listeners is
// User:name, of MTLS User:CN=client.
func (c *Cluster) CreateACLs(b *kadm.ACLBuilder) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	resps, err := c.Admin().CreateACLs(ctx, b)
	c.check(err)
	for _, r := range resps {
		c.check(r.Err)
	}
	if c.rig.real {
		c.until(ctx, "the ACLs", func() bool { // of which the broker hears a little later
			found, err := c.Admin().DescribeACLs(ctx, b.AllowHosts().DenyHosts())
			n := 0
			for _, f := range found {
				n += len(f.Described)
			}
			return err == nil && n >= len(resps)
		})
	}
	c.t.Cleanup(func() {
		ctx, cancel := c.context()
		defer cancel()
		cl, err := kadm.NewOptClient(c.ClientOpts()...)
		c.check(err)
		defer cl.Close()
		// A delete filter must name hosts; an empty list matches every one.
		_, err = cl.DeleteACLs(ctx, b.AllowHosts().DenyHosts())
		if err != nil && c.rig.real {
			c.t.Errorf("cluster %s: delete ACLs after the test: %v", c.name, err)
		}
	})
}

// Kill9 ends a broker at once, as a power cut would, and brings it back at the
// end of the test if Restart did not. An embedded broker drops its connections,
// refuses new ones and keeps its data; its partitions keep their leader, so use
// MoveLeader where there are several brokers.
func (c *Cluster) Kill9(node int32) {
	c.t.Helper()
	c.check(c.b.kill(node))
	c.t.Cleanup(func() { c.check(c.b.restart(node)) })
}

// Restart brings a killed broker back on the same ports and waits until it
// answers. It does nothing to a broker that runs.
func (c *Cluster) Restart(node int32) {
	c.t.Helper()
	c.check(c.b.restart(node))
}

// RestartAll is Restart for several brokers at once, which of three that are all
// down no one can do alone.
func (c *Cluster) RestartAll(nodes ...int32) {
	c.t.Helper()
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { errs[i] = c.b.restart(node) })
	}
	all.Wait()
	c.check(errors.Join(errs...))
}

// Pause stops a broker from answering: connections stay open, new ones are
// taken and lie there. It goes on at the end of the test if Continue was not
// called.
func (c *Cluster) Pause(node int32) {
	c.t.Helper()
	c.check(c.b.pause(node))
	c.t.Cleanup(func() { c.check(c.b.resume(node)) })
}

// Continue lets a paused broker go on.
func (c *Cluster) Continue(node int32) {
	c.t.Helper()
	c.check(c.b.resume(node))
}

// fresh makes kadm ask the brokers: what it asks for here is never cached, and
// the brokers otherwise are for as long as a client lives.
func fresh(ctx context.Context) context.Context { return kadm.WithAuthorizedOps(ctx) }

// context outlives the test's own context, so that clean-up can use it.
func (c *Cluster) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.t.Context()), patience)
}

func (c *Cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("cluster %s: %v", c.name, err)
	}
}

// until polls cond until it holds; ctx's end fails the test.
func (c *Cluster) until(ctx context.Context, what string, cond func() bool) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			c.t.Fatalf("cluster %s: waited for %s: %v", c.name, what, ctx.Err())
		case <-tick.C:
		}
	}
}

// FirstNode returns the id that the first broker of a cluster has: it can be
// asked for while no broker answers.
func (c *Cluster) FirstNode() int32 {
	if c.rig.real {
		return 1
	}
	return 0
}
