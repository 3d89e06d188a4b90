package cluster

import (
	"crypto/tls"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	k, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// put writes records with the given timestamps to one partition.
func put(t testing.TB, k *kfake.Cluster, topic string, partition int32, timestamps ...int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, ms := range timestamps {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v"), Timestamp: time.UnixMilli(ms)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConnectFake(t *testing.T) {
	ca := newCA(t, "Test CA")
	for name, tc := range map[string]struct {
		opts []kfake.Opt
		cfg  Config
	}{
		"plain":   {nil, Config{ClusterID: "c1"}},
		"TLS":     {[]kfake.Opt{kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.good(t)}})}, Config{TLS: &TLS{CA: ca.pem}}},
		"PLAIN":   {[]kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "app", "secret")}, Config{SASL: &SASL{Mechanism: "plain", Username: "app", Password: "secret"}}},
		"SCRAM":   {[]kfake.Opt{kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "app", "secret")}, Config{SASL: &SASL{Mechanism: "SCRAM-SHA-256", Username: "app", Password: "secret"}}},
		"SCRAM-2": {[]kfake.Opt{kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "app", "secret")}, Config{SASL: &SASL{Mechanism: "SCRAM-SHA-512", Username: "app", Password: "secret"}}},
	} {
		t.Run(name, func(t *testing.T) {
			k := fake(t, append(tc.opts, kfake.NumBrokers(2), kfake.ClusterID("c1"))...)
			tc.cfg.Bootstrap = k.ListenAddrs()[:1]
			c := mustNew(t, tc.cfg)
			info, err := c.Connect(t.Context())
			if err != nil || info.ClusterID != "c1" || len(info.Brokers) != 2 || info.Via != tc.cfg.Bootstrap[0] {
				t.Fatalf("got %+v, %v", info, err)
			}
			// The probe alone must come to the same end.
			probed, err := c.probe(t.Context(), c.bootstrap[0])
			if err != nil || probed.ClusterID != "c1" || len(probed.Brokers) != 2 {
				t.Errorf("probe: %+v, %v", probed, err)
			}
		})
	}
}

func TestConnectFakeWrongPassword(t *testing.T) {
	k := fake(t, kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "app", "secret"))
	c := mustNew(t, Config{Bootstrap: k.ListenAddrs(), SASL: plainSASL})
	_, err := c.Connect(t.Context())
	if fault.KindOf(err) != fault.Auth {
		t.Errorf("got %v", err)
	}
}

func TestTopics(t *testing.T) {
	k := fake(t, kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.SeedTopics(2, "orders", "orders.v2"), kfake.SeedTopics(1, "users"))
	c := mustNew(t, Config{Bootstrap: k.ListenAddrs()})
	all, err := c.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range all {
		names = append(names, fmt.Sprintf("%s/%d", x.Name, len(x.Partitions)))
	}
	if want := []string{"orders/2", "orders.v2/2", "users/1"}; !reflect.DeepEqual(names, want) {
		t.Errorf("all: %v", names)
	}
	some, err := c.Topics(t.Context(), "ordres", "users")
	if err != nil || len(some) != 2 {
		t.Fatal(some, err)
	}
	if got := some[0].Err; got == nil || got.Error() != "east/ordres: no such topic" || fault.KindOf(got) != fault.Failed {
		t.Errorf("missing topic: %v", got)
	}
	if u := some[1]; u.Err != nil || u.ID == [16]byte{} || u.Partitions[0].Leader != 0 || len(u.Partitions[0].Replicas) == 0 {
		t.Errorf("users: %+v", u)
	}
	near, err := c.Nearest(t.Context(), "ordres")
	if err != nil || !reflect.DeepEqual(near, []string{"orders"}) {
		t.Errorf("nearest: %v, %v", near, err)
	}
	if again, err := c.Topics(t.Context()); err != nil || len(again) != 3 {
		t.Errorf("a look-up created a topic: %v, %v", again, err)
	}
}

func TestOffsets(t *testing.T) {
	k := fake(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "orders"))
	put(t, k, "orders", 0, 1000, 2000, 3000)
	c := mustNew(t, Config{Bootstrap: k.ListenAddrs()})
	p0, p1, p9 := TopicPartition{"orders", 0}, TopicPartition{"orders", 1}, TopicPartition{"orders", 9}
	gone := TopicPartition{"nope", 0}
	got, err := c.Offsets(t.Context(), []TopicPartition{p0, p1, p9, gone}, Start(), Stable(), End(), AtTime(2000), AtTime(2001), AtTime(9000), MaxTimestamp())
	if err != nil {
		t.Fatal(err)
	}
	offsets := func(tp TopicPartition) (out []int64) {
		for _, o := range got[tp] {
			out = append(out, o.Offset)
		}
		return out
	}
	if want := []int64{0, 3, 3, 1, 2, -1, 2}; !reflect.DeepEqual(offsets(p0), want) {
		t.Errorf("p0: %v", got[p0])
	}
	if want := []int64{0, 0, 0, -1, -1, -1, -1}; !reflect.DeepEqual(offsets(p1), want) {
		t.Errorf("p1: %v", got[p1])
	}
	if got[p0][3].Timestamp != 2000 || got[p0][0].Err != nil {
		t.Errorf("p0: %+v", got[p0])
	}
	if e := got[p9][0].Err; e == nil || e.Error() != "east/orders: no such topic or partition" {
		t.Errorf("p9: %v", e)
	}
	if e := got[gone][6].Err; e == nil || e.Error() != "east/nope: no such topic" {
		t.Errorf("gone: %v", e)
	}
}

// TestOffsetsNoLeader: two partitions are answered, the third is
// marked, within a few seconds.
func TestOffsetsNoLeader(t *testing.T) {
	k := fake(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "orders"))
	for p := range int32(3) {
		if err := k.MoveTopicPartition("orders", p, p); err != nil {
			t.Fatal(err)
		}
	}
	c := mustNew(t, Config{Bootstrap: k.ListenAddrs()})
	if _, err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.ControlKey(3, func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		return leaderless(k, req.(*kmsg.MetadataRequest)), nil, true
	})
	checkPartial(t, c, "east/orders: no leader")
}

// hang is longer than any of the limits of this package by what a busy machine
// takes, and shorter than the sum of what is waited for when one is missing.
const hang = 12 * time.Second

// saysOne reports whether an error is one of several, which are parted by |.
func saysOne(err error, want string) bool {
	return err != nil && slices.Contains(strings.Split(want, "|"), err.Error())
}

func checkPartial(t *testing.T, c *Cluster, want string) {
	t.Helper()
	begin := time.Now()
	parts := []TopicPartition{{"orders", 0}, {"orders", 1}, {"orders", 2}}
	got, err := c.Offsets(t.Context(), parts, Start(), End())
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > hang {
		t.Errorf("took %v", took)
	}
	for _, tp := range parts[:2] {
		for _, o := range got[tp] {
			if o.Err != nil || o.Offset != 0 {
				t.Errorf("%v: %+v", tp, o)
			}
		}
	}
	for _, o := range got[parts[2]] {
		if !saysOne(o.Err, want) || o.Offset != -1 {
			t.Errorf("%v: %+v, want %s", parts[2], o, want)
		}
	}
}

// leaderless is the metadata of orders with nobody leading partition 2.
func leaderless(k *kfake.Cluster, req *kmsg.MetadataRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for id, addr := range k.ListenAddrs() {
		b := kmsg.NewMetadataResponseBroker()
		host, port := splitAddr(addr)
		b.NodeID, b.Host, b.Port = int32(id), host, port
		resp.Brokers = append(resp.Brokers, b)
	}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = kmsg.StringPtr("orders")
	for p := range int32(3) {
		x := kmsg.NewMetadataResponseTopicPartition()
		x.Partition, x.Leader = p, p
		if p == 2 {
			x.Leader, x.ErrorCode = -1, kerr.LeaderNotAvailable.Code
		}
		t.Partitions = append(t.Partitions, x)
	}
	resp.Topics = append(resp.Topics, t)
	return resp
}

// TestOffsetsDeadBroker: the partitions of a dead broker are marked, the others
// are answered, within a few seconds.
func TestOffsetsDeadBroker(t *testing.T) {
	const via, dead = "VIA", "DEAD"
	// Of a broker that answers nothing this is as true, and what comes out when the
	// machine is too busy to connect in time.
	const unanswered = "east: connected to VIA, but broker 2 advertises DEAD, which cannot be reached: the connection attempt is not answered"
	for name, tc := range map[string]struct {
		dead func(t *testing.T) string
		want string // several that are right are parted by |
	}{
		"refused":   {func(t *testing.T) string { return closedPort(t) }, "east: connected to VIA, but broker 2 advertises DEAD, which refuses the connection"},
		"silent":    {stub(hold), "east: broker 2 (DEAD) does not answer|" + unanswered},
		"closes":    {stub(func(net.Conn) {}), "east: broker 2 (DEAD) closed the connection"},
		"blackhole": {blackhole, unanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := fake(t, kfake.NumBrokers(2), kfake.SeedTopics(3, "orders"))
			for p := range int32(2) {
				if err := k.MoveTopicPartition("orders", p, p); err != nil {
					t.Fatal(err)
				}
			}
			addr := tc.dead(t)
			k.ControlKey(3, func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				r := leaderless(k, req.(*kmsg.MetadataRequest)).(*kmsg.MetadataResponse)
				b := kmsg.NewMetadataResponseBroker()
				b.NodeID = 2
				b.Host, b.Port = splitAddr(addr)
				r.Brokers = append(r.Brokers, b)
				p := &r.Topics[0].Partitions[2]
				p.Leader, p.ErrorCode = 2, 0
				return r, nil, true
			})
			c := mustNew(t, Config{Bootstrap: k.ListenAddrs()[:1]})
			if _, err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer(via, k.ListenAddrs()[0], dead, addr).Replace(tc.want)
			rounds := map[string]int{"refused": 3, "closes": 3}[name] // whichever broker the client asks first
			for range max(rounds, 1) {
				checkPartial(t, c, want)
			}
			begin := time.Now()
			brokers, err := c.Brokers(t.Context())
			if err != nil || len(brokers) != 3 || time.Since(begin) > hang {
				t.Fatal(brokers, err, time.Since(begin))
			}
			if brokers[0].Err != nil || brokers[0].Version == "" || !saysOne(brokers[2].Err, want) {
				t.Errorf("brokers: %+v", brokers)
			}
		})
	}
}

func splitAddr(addr string) (string, int32) {
	var n int32
	_, _ = fmt.Sscan(portOf(addr), &n)
	return "127.0.0.1", n
}

func TestTopicConfigs(t *testing.T) {
	k := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	c := mustNew(t, Config{Bootstrap: k.ListenAddrs()})
	got, err := c.TopicConfigs(t.Context(), "orders", "nope")
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if got[0].Err != nil || len(got[0].Entries) == 0 {
		t.Errorf("orders: %+v", got[0])
	}
	if e := got[1].Err; e == nil || e.Error() != "east/nope: no such topic or partition" {
		t.Errorf("nope: %v", e)
	}
}
