package kafkatest

import (
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeCluster is an embedded cluster behind switches that can cut its network.
type fakeCluster struct {
	c        *kfake.Cluster
	listener Listener
	certs    *Certificates
	switches []*netSwitch // by node: kfake numbers its brokers from 0
	net      *kfake.VirtualNetwork
}

// startFake starts an embedded cluster and ends it with the test. r.set.mu is held.
func (r *Rig) startFake(name string, opts Options) *fakeCluster {
	r.t.Helper()
	f := &fakeCluster{listener: opts.Listener, net: r.set.net}
	if f.listener == "" {
		f.listener = Plaintext
	}
	kopts := []kfake.Opt{
		kfake.NumBrokers(max(1, opts.Brokers)),
		kfake.ClusterID("kcm-" + name),
		kfake.AllowAutoTopicCreation(),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(maxMessageBytes)}),
		kfake.ListenFn(f.listen),
	}
	if f.net != nil {
		// The virtual network gives out no free ports by itself.
		var ports []int
		for range max(1, opts.Brokers) {
			ports = append(ports, 9092+r.set.ports)
			r.set.ports++
		}
		kopts = append(kopts, kfake.Ports(ports...))
	}
	secured, err := f.secure(r)
	if err != nil {
		r.t.Fatalf("cluster %s: %v", name, err)
	}
	if f.c, err = kfake.NewCluster(append(append(kopts, secured...), opts.Fake...)...); err != nil {
		r.t.Fatalf("cluster %s: start an embedded cluster: %v", name, err)
	}
	r.t.Cleanup(f.close)
	return f
}

func (f *fakeCluster) secure(r *Rig) ([]kfake.Opt, error) {
	var opts []kfake.Opt
	if f.listener == TLS || f.listener == MTLS || f.listener == SASLTLS {
		var err error
		if f.certs, err = NewCertificates(r.t.TempDir()); err != nil {
			return nil, err
		}
		cfg, err := f.certs.ServerConfig(f.listener == MTLS)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kfake.TLS(cfg))
	}
	if f.listener == SASL || f.listener == SASLTLS {
		opts = append(opts, kfake.EnableSASL(), kfake.EnableACLs())
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
			opts = append(opts, kfake.Superuser(mechanism, AdminUser, AdminPassword))
			opts = append(opts, kfake.User(mechanism, AppUser, AppPassword, allowAll()...))
		}
	}
	return opts, nil
}

// allowAll makes kfake, which denies what no ACL allows, treat a user as the
// real brokers of this package do.
func allowAll() []kfake.ACL {
	var acls []kfake.ACL
	for _, res := range []kmsg.ACLResourceType{
		kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup, kmsg.ACLResourceTypeCluster, kmsg.ACLResourceTypeTransactionalId,
	} {
		name := "*"
		if res == kmsg.ACLResourceTypeCluster {
			name = "kafka-cluster"
		}
		acls = append(acls, kfake.ACL{
			Resource: res, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationAll, Allow: true,
		})
	}
	return acls
}

func (f *fakeCluster) listen(network, address string) (net.Listener, error) {
	listen := net.Listen
	if f.net != nil {
		listen = f.net.Listen
	}
	s, err := newNetSwitch(network, address, listen)
	if err == nil {
		f.switches = append(f.switches, s)
	}
	return s, err
}

func (f *fakeCluster) close() {
	for _, s := range f.switches {
		s.resume()
	}
	f.c.Close()
}

func (f *fakeCluster) addresses(l Listener) []string {
	if l != f.listener {
		return nil
	}
	return f.c.ListenAddrs()
}

func (f *fakeCluster) admin() Listener         { return f.listener }
func (f *fakeCluster) security() *Certificates { return f.certs }

func (f *fakeCluster) at(node int32, do func(*netSwitch) error) error {
	if node < 0 || int(node) >= len(f.switches) {
		return fmt.Errorf("there is no broker %d", node)
	}
	return do(f.switches[node])
}

func (f *fakeCluster) kill(node int32) error    { return f.at(node, (*netSwitch).down) }
func (f *fakeCluster) restart(node int32) error { return f.at(node, (*netSwitch).up) }

func (f *fakeCluster) pause(node int32) error {
	return f.at(node, func(s *netSwitch) error { s.pause(); return nil })
}

func (f *fakeCluster) resume(node int32) error {
	return f.at(node, func(s *netSwitch) error { s.resume(); return nil })
}
