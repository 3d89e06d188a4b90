package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is one broker process, which is its cluster's controller as well.
type broker struct {
	node  int32
	dir   string
	ports map[Listener]int
	argv  []string
	p     *process // the last one started; nil before that
	// paused says that it is stopped and can't answer.
	paused bool
}

// newBroker writes what a broker needs to start for the first time into dir.
func newBroker(in *install, dir string, node int32, clusterID string, props []byte) (*broker, error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	checkpoint, err := os.ReadFile(in.checkpoint)
	if err != nil {
		return nil, err
	}
	meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", clusterID, node, kafkaID())
	return &broker{node: node, dir: dir}, errors.Join(
		os.WriteFile(filepath.Join(data, "bootstrap.checkpoint"), checkpoint, 0o600),
		os.WriteFile(filepath.Join(data, "meta.properties"), []byte(meta), 0o600),
		os.WriteFile(filepath.Join(dir, "server.properties"), props, 0o600),
		os.WriteFile(filepath.Join(dir, "log4j2.properties"), []byte(log4j), 0o600),
	)
}

// start starts the process; ready tells when it answers.
func (b *broker) start() error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(b.argv[0], b.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, log, log
	b.p, err = startProcess(cmd)
	return err
}

func (b *broker) logFile() string { return filepath.Join(b.dir, "broker.log") }

func (b *broker) address(l Listener) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.ports[l]))
}

// ready waits until the broker knows itself and brokers in all as alive.
func (b *broker) ready(ctx context.Context, brokers int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.address(Plaintext)))
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if b.answers(ctx, cl.SeedBrokers()[0], brokers) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("broker %d did not get ready: %w\n%s", b.node, ctx.Err(), b.said())
		case <-b.p.done:
			return fmt.Errorf("broker %d ended: %s\n%s", b.node, b.p.cmd.ProcessState, b.said())
		case <-tick.C:
		}
	}
}

func (b *broker) answers(ctx context.Context, self *kgo.Broker, brokers int) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none, which nil is not
	resp, err := self.Request(ctx, req)
	if err != nil {
		return false
	}
	known := resp.(*kmsg.MetadataResponse).Brokers
	return len(known) >= brokers && slices.ContainsFunc(known, func(o kmsg.MetadataResponseBroker) bool { return o.NodeID == b.node })
}

func (b *broker) said() string {
	text, err := os.ReadFile(b.logFile())
	if err != nil {
		return err.Error()
	}
	return tail(string(text))
}

func (b *broker) signal(s syscall.Signal) error {
	if !b.p.running() {
		return nil
	}
	return b.p.signal(s)
}

// kafkaID makes an id in Kafka's form: 16 bytes, base64 for addresses. It never
// begins with a dash, which Kafka's own tools would take for a flag.
func kafkaID() string {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(rand.IntN(256))
	}
	id[0] &= 0x7f
	return base64URL(id)
}

// freePorts returns ports that nobody listens on, below the range that systems
// take outgoing ports from: a client that dials a dead broker's port must not
// be given that very port for itself, and a restart must find it free.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		held, ports = append(held, l), append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("found no free ports")
}
