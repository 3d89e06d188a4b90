package kafkatest

import (
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Listener names one way to connect to a broker.
type Listener string

// The listeners. A real broker has all of them; an embedded one has the one
// that Options.Listener names.
const (
	Plaintext Listener = "PLAINTEXT" // no TLS, no authentication
	SASL      Listener = "SASL"      // SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) without TLS
	TLS       Listener = "TLS"       // TLS, the server's certificate only
	MTLS      Listener = "MTLS"      // TLS, a client certificate of CA is required
	SASLTLS   Listener = "SASLTLS"   // SASL over TLS
)

// The users of the SASL listeners, for every mechanism. Admin may do anything;
// App may do what no ACL denies it.
const (
	AdminUser     = "admin"
	AdminPassword = "admin-secret"
	AppUser       = "app"
	AppPassword   = "app-secret"
)

// Options say what clusters a test needs. The zero Options are right for most.
type Options struct {
	// Listener is the one that embedded clusters listen on; Plaintext when empty.
	Listener Listener
	// Brokers is how many brokers an own cluster (Rig.Start) has, one when 0. An
	// embedded rig's clusters have that many as well.
	Brokers int
	// Fake are further options for embedded clusters.
	Fake []kfake.Opt
	// Config are broker properties for real clusters started with Rig.Start.
	Config map[string]string
	// Heap is the largest Java heap of a broker started with Rig.Start, such as
	// 2g; 768m when empty.
	Heap string
	// Optimized runs Java's optimizing compiler and its default collector, as in
	// production: for measurements. Without it a broker starts faster.
	Optimized bool
}

// Rig is the set of clusters that one test runs on. It belongs to one test:
// subtests use With.
type Rig struct {
	t    testing.TB
	opts Options
	real bool
	set  *clusterSet
}

// clusterSet is what rigs of subtests share.
type clusterSet struct {
	mu    sync.Mutex
	byKey map[string]backend
	net   *kfake.VirtualNetwork // nil outside Virtual
	ports int                   // next port on net
}

// Each runs test on embedded clusters, as subtest "fake", and then, if real
// ones are Wanted, as subtest "kafka" on Apache Kafka. With KCM_TEST_KAFKA=only
// it leaves out the embedded ones.
func Each(t *testing.T, test func(t *testing.T, rig *Rig)) {
	t.Helper()
	EachWith(t, Options{}, test)
}

// EachWith is Each with options.
func EachWith(t *testing.T, opts Options, test func(t *testing.T, rig *Rig)) {
	t.Helper()
	if asked() != only {
		t.Run("fake", func(t *testing.T) { test(t, Fake(t, opts)) })
	}
	if Wanted() {
		t.Run("kafka", func(t *testing.T) { test(t, Real(t, opts)) })
	}
}

// Wanted reports whether tests are to run on Apache Kafka: KCM_TEST_KAFKA is 1
// or only, or the binary was built with -tags kafka.
func Wanted() bool { return builtForKafka || asked() == "1" || asked() == only }

const only = "only" // the value of KCM_TEST_KAFKA for Apache Kafka alone

func asked() string { return os.Getenv("KCM_TEST_KAFKA") }

// Fake returns a rig of embedded clusters, which end with the test.
func Fake(t testing.TB, opts Options) *Rig {
	return &Rig{t: t, opts: opts, set: &clusterSet{byKey: map[string]backend{}}}
}

// Real returns a rig on Apache Kafka. It fails the test when real clusters are
// not Wanted or can't be had.
func Real(t testing.TB, opts Options) *Rig {
	t.Helper()
	if !Wanted() {
		t.Fatal("this test runs on Apache Kafka only: run it with KCM_TEST_KAFKA=1 or -tags kafka")
	}
	return &Rig{t: t, opts: opts, real: true, set: &clusterSet{byKey: map[string]backend{}}}
}

// Real reports whether the rig is Apache Kafka.
func (r *Rig) Real() bool { return r.real }

// With returns the same clusters for a subtest: failures and clean-up are t's.
func (r *Rig) With(t testing.TB) *Rig {
	r2 := *r
	r2.t = t
	return &r2
}

// Name returns a name that no other test on a shared cluster uses: base and a
// hash of the test's name and process. It suits topics, groups and
// transactional ids.
func (r *Rig) Name(base string) string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s %d %p", r.t.Name(), os.Getpid(), r.set)
	return fmt.Sprintf("%s-%08x", base, h.Sum32())
}

// Cluster returns the cluster of that name, starting it if needed: east and
// west have one broker, three has three (racks rack-1 to rack-3, replication
// factor 3, consumers may read from followers). Other names are one-broker
// clusters as well, embedded ones cheaply. On Apache Kafka the clusters are
// shared with the other tests of the binary: use Name for topics and groups.
func (r *Rig) Cluster(name string) *Cluster {
	r.t.Helper()
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	b := r.set.byKey[name]
	if b == nil {
		b = r.make(name)
		r.set.byKey[name] = b
	}
	return &Cluster{t: r.t, rig: r, name: name, b: b}
}

// Start returns a cluster of the test's own, started with opts and ended with
// the test. On Apache Kafka that takes some seconds.
func (r *Rig) Start(name string, opts Options) *Cluster {
	r.t.Helper()
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	if _, taken := r.set.byKey[name]; taken {
		r.t.Fatalf("cluster %s was started already", name)
	}
	var b backend
	if r.real {
		b = startOwnKafka(r.t, name, opts)
	} else {
		b = r.startFake(name, opts)
	}
	r.set.byKey[name] = b
	return &Cluster{t: r.t, rig: r, name: name, b: b}
}

func (r *Rig) make(name string) backend {
	r.t.Helper()
	opts := r.opts
	if name == "three" {
		opts.Brokers = 3
	}
	if r.real {
		return sharedKafka(r.t, name, opts.Brokers)
	}
	return r.startFake(name, opts)
}

// M wraps a test main so that the brokers this test binary started end with it.
// The result goes wherever a *testing.M goes:
//
//	os.Exit(kafkatest.M(m).Run())
//	goleak.VerifyTestMain(kafkatest.M(m))
//	testscript.Main(kafkatest.M(m), commands)
//
// Without it they end as well, but leave their data for the next run to remove.
func M(m interface{ Run() int }) interface{ Run() int } { return endingMain{m} }

type endingMain struct{ m interface{ Run() int } }

// Run runs the tests and then ends the brokers.
func (e endingMain) Run() int {
	defer endKafka()
	return e.m.Run()
}

// backend is one running cluster.
type backend interface {
	// addresses returns the host:port list of a listener; nil if there is no such listener.
	addresses(l Listener) []string
	// admin is the listener and user that the helpers themselves use.
	admin() Listener
	// kill ends a broker at once, restart brings it back on the same ports.
	kill(node int32) error
	restart(node int32) error
	// pause stops a broker from answering, resume lets it go on.
	pause(node int32) error
	resume(node int32) error
	security() *Certificates
}

func join(addrs []string) string { return strings.Join(addrs, ",") }
