package kafkatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// kafkaCluster is a cluster of real brokers.
type kafkaCluster struct {
	mu      sync.Mutex
	brokers []*broker // broker i has node id i+1
	certs   *Certificates
}

// binary holds what this test binary has running. Brokers belong to the process
// and not to a test, so there is one of it.
var running struct {
	mu         sync.Mutex
	run        *runDir
	clusters   map[string]*kafkaCluster
	registries map[RegistryOptions]*apicurio
}

// sharedKafka returns the binary's cluster of that name, starting it if needed.
func sharedKafka(t testing.TB, name string, brokers int) backend {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	if k := running.clusters[name]; k != nil {
		return k
	}
	k, err := startKafka(t.Context(), name, Options{Brokers: brokers})
	if err != nil {
		t.Fatalf("cluster %s: %v", name, err)
	}
	if running.clusters == nil {
		running.clusters = map[string]*kafkaCluster{}
	}
	running.clusters[name] = k
	return k
}

func startOwnKafka(t testing.TB, name string, opts Options) backend {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	k, err := startKafka(t.Context(), name, opts)
	if err != nil {
		t.Fatalf("cluster %s: %v", name, err)
	}
	t.Cleanup(k.end)
	return k
}

// endKafka ends every shared broker and registry and removes their data.
func endKafka() {
	running.mu.Lock()
	defer running.mu.Unlock()
	for _, k := range running.clusters {
		k.end()
	}
	for _, a := range running.registries {
		a.end()
	}
	running.clusters, running.registries = nil, nil
	if running.run != nil {
		running.run.remove()
		running.run = nil
	}
}

// runJava runs a program on Kafka's class path and returns its standard output.
func runJava(t testing.TB, stdin []byte, args ...string) string {
	t.Helper()
	in, err := openKafka(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	args = append([]string{
		"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=error", "-cp", in.classpath,
	}, args...)
	out, err := output(ctx, bytes.NewReader(stdin), t.TempDir(), in.java, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// openKafka returns the Kafka of this machine, fetched on first use.
func openKafka(ctx context.Context) (*install, error) {
	running.mu.Lock()
	defer running.mu.Unlock()
	run, err := openRunLocked()
	if err != nil {
		return nil, err
	}
	return run.kafka(ctx)
}

// openRunLocked returns the binary's run directory, made on first use;
// running.mu is held.
func openRunLocked() (*runDir, error) {
	if running.run != nil {
		return running.run, nil
	}
	run, err := newRunDir()
	if err != nil {
		return nil, err
	}
	running.run = run
	return run, nil
}

// startKafka starts a cluster and waits until it answers; running.mu is held. A
// port that somebody took between the choice and the start is tried again.
func startKafka(ctx context.Context, name string, opts Options) (*kafkaCluster, error) {
	run, err := openRunLocked()
	if err != nil {
		return nil, err
	}
	if _, err := run.kafka(ctx); err != nil {
		return nil, err
	}
	for {
		k, err := run.start(ctx, name, opts)
		if err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return k, err
		}
	}
}

func (r *runDir) start(ctx context.Context, name string, opts Options) (*kafkaCluster, error) {
	k, err := r.prepare(name, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for _, b := range k.brokers {
		err = errors.Join(err, b.start())
	}
	if err == nil {
		err = k.agree(ctx)
	}
	if err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

// prepare chooses ports and writes every broker's files.
func (r *runDir) prepare(name string, opts Options) (*kafkaCluster, error) {
	n := max(1, opts.Brokers)
	each := len(listeners())
	ports, err := freePorts(n * each)
	if err != nil {
		return nil, err
	}
	places := make([]placement, n)
	var voters []string
	for i := range places {
		p := placement{node: int32(i) + 1, brokers: n, ports: map[Listener]int{}, keystore: r.keystore, ca: r.certs.CA}
		for j, l := range listeners() {
			p.ports[l.name] = ports[i*each+j]
		}
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", p.node, p.ports[controller]))
		places[i] = p
	}
	k := &kafkaCluster{certs: r.certs}
	clusterID := kafkaID()
	for _, p := range places {
		if p.dir, err = os.MkdirTemp(r.dir, fmt.Sprintf("%s-%d-", name, p.node)); err != nil {
			return nil, err
		}
		p.voters = voters
		b, err := newBroker(r.in, p.dir, p.node, clusterID, serverProperties(p, opts.Config))
		if err != nil {
			return nil, err
		}
		b.ports, b.argv = p.ports, r.in.argv(opts)
		k.brokers = append(k.brokers, b)
	}
	return k, nil
}

// argv is the broker's command line, for its own directory.
func (in *install) argv(opts Options) []string {
	heap := opts.Heap
	if heap == "" {
		heap = "768m"
	}
	argv := []string{in.java, "-Xmx" + heap, "-XX:-UsePerfData", "-Dlog4j2.configurationFile=log4j2.properties"}
	if !opts.Optimized {
		argv = append(argv, "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	}
	return append(argv, "-cp", in.classpath, "kafka.Kafka", "server.properties")
}

func (k *kafkaCluster) addresses(l Listener) []string {
	var addrs []string
	for _, b := range k.brokers {
		addrs = append(addrs, b.address(l))
	}
	return addrs
}

func (k *kafkaCluster) admin() Listener         { return Plaintext }
func (k *kafkaCluster) security() *Certificates { return k.certs }

// end kills every broker: their data is thrown away anyway.
func (k *kafkaCluster) end() {
	for _, b := range k.brokers {
		if b.p != nil {
			b.p.kill()
		}
		_ = os.RemoveAll(filepath.Join(b.dir, "data"))
	}
}

func (k *kafkaCluster) at(node int32, do func(*broker) error) error {
	if node < 1 || int(node) > len(k.brokers) {
		return fmt.Errorf("there is no broker %d", node)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return do(k.brokers[node-1])
}

func (k *kafkaCluster) kill(node int32) error {
	return k.at(node, func(b *broker) error {
		b.p.kill()
		b.paused = false
		return nil
	})
}

// restart waits without holding the lock: brokers that make up a quorum only
// together are restarted at the same time.
func (k *kafkaCluster) restart(node int32) error {
	begun := false
	err := k.at(node, func(b *broker) error {
		if b.p.running() {
			return nil
		}
		begun = true
		return b.start()
	})
	if err != nil || !begun {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience) //nolint:forbidigo // also clean-up, which no test's context covers
	defer cancel()
	return k.agree(ctx)
}

// agree waits until all brokers that answer know each other.
func (k *kafkaCluster) agree(ctx context.Context) error {
	k.mu.Lock()
	var alive []*broker
	for _, b := range k.brokers {
		if b.p.running() && !b.paused {
			alive = append(alive, b)
		}
	}
	k.mu.Unlock()
	for _, b := range alive {
		if err := b.ready(ctx, len(alive)); err != nil {
			return err
		}
	}
	return nil
}

func (k *kafkaCluster) pause(node int32) error {
	return k.at(node, func(b *broker) error {
		b.paused = true
		return b.signal(syscall.SIGSTOP)
	})
}

func (k *kafkaCluster) resume(node int32) error {
	return k.at(node, func(b *broker) error {
		b.paused = false
		return b.signal(syscall.SIGCONT)
	})
}
