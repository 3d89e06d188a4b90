//go:build kafka

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestABrokerKilledAndRestarted follows two clusters while one of them loses its
// only broker for a while.
func TestABrokerKilledAndRestarted(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	topic := rig.Name("orders")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, numbered(c, 0, 0, 100)...)
	}
	k := start(t, []string{"-m", metadata(t, "orders", topic, at(east), at(west)), "consume", "orders", "-o", "start", "-J"})
	k.gets(patience, 200)

	killed := time.Now()
	east.Kill9(east.FirstNode())
	k.told(15*time.Second, "kcm: east: lost")
	t.Logf("told %.1f s after the kill", time.Since(killed).Seconds())
	west.Produce(topic, numbered(west, 0, 100, 100)...)
	k.gets(3*time.Second, 300)

	east.Restart(east.FirstNode())
	up := time.Now()
	k.told(8*time.Second, "kcm: east: ", "back")
	t.Logf("back %.1f s after the broker", time.Since(up).Seconds())
	east.Produce(topic, numbered(east, 0, 100, 100)...)
	k.gets(5*time.Second, 400)
	r := k.stop()
	r.exits(t, 0)
	r.says(t, 1, "kcm: east:", "lost")
	r.says(t, 1, "kcm: east:", "back")
	r.says(t, 0, "west")
	got := values(t, r.stdout)
	equal(t, "east", of(east, 0, got), counted(east, 0, 200))
	equal(t, "west", of(west, 0, got), counted(west, 0, 200))
}

// steady writes numbered records to all partitions of a topic in turn, every one
// acknowledged by all replicas, until stop is called; that returns how many each
// partition has.
func steady(t *testing.T, c *kafkatest.Cluster, topic string, partitions int32) (stop func() []int) {
	t.Helper()
	cl := c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond), kgo.RecordRetries(1_000_000))
	counts := make([]int, partitions)
	ended, tick := make(chan struct{}), time.NewTicker(2*time.Millisecond)
	var done sync.WaitGroup
	done.Go(func() {
		for p := int32(0); ; p = (p + 1) % partitions {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			r := &kgo.Record{Topic: topic, Partition: p, Value: fmt.Appendf(nil, "%s/%d/%d", c.Name(), p, counts[p])}
			counts[p]++
			cl.Produce(context.WithoutCancel(t.Context()), r, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("write: %v", err)
				}
			})
		}
	})
	return func() []int {
		close(ended)
		done.Wait()
		tick.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := cl.Flush(ctx); err != nil {
			t.Fatalf("flush: %v", err)
		}
		return counts
	}
}

// sensible is what may be told while brokers come and go.
var sensible = regexp.MustCompile(`^kcm: (following; -e stops at the end` +
	`|three: (lost|back)\b.*` +
	`|three: broker \d+ is not needed any more, others lead its partitions` +
	`|three/[^ ]+/\d+: (no leader: .*|back)` +
	`|hint: .*)$`)

// TestARollingRestartOfThreeBrokers moves leaders and restarts every broker
// while records are written all the time.
func TestARollingRestartOfThreeBrokers(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("three")
	topic := rig.Name("orders")
	const partitions = 6
	c.CreateTopic(topic, partitions, map[string]string{"min.insync.replicas": "1"})
	k := start(t, []string{"-b", "three=" + c.Bootstrap(), "consume", topic, "-o", "start", "-J"})
	stop := steady(t, c, topic, partitions)
	k.gets(patience, 100)
	nodes := c.Nodes()
	for p := range int32(partitions) {
		c.MoveLeader(topic, p, nodes[(slices.Index(nodes, c.Leader(topic, p))+1)%len(nodes)])
	}
	moved := len(k.err.all())
	for _, node := range nodes {
		c.Kill9(node)
		time.Sleep(2 * time.Second) // so long is a machine away
		c.Restart(node)
		now := k.out.count()
		k.gets(30*time.Second, now+300)
	}
	counts := stop()
	total := 0
	for _, n := range counts {
		total += n
	}
	k.gets(30*time.Second, total)
	r := k.stop()
	r.exits(t, 0)
	r.figures(t, fmt.Sprintf("%d records through leader moves and restarts", total))
	r.below(t, 80)
	got := values(t, r.stdout)
	for p, n := range counts {
		equal(t, fmt.Sprintf("partition %d", p), of(c, int32(p), got), counted(c, int32(p), n))
	}
	if len(got) != total {
		t.Errorf("%d records, want %d", len(got), total)
	}
	t.Logf("stderr, %d lines, of them %d by the end of the moves:\n%s", len(r.stderr), moved, strings.Join(r.stderr, "\n"))
	if moved > 1 {
		t.Errorf("moved leaders are worth no line: %q", r.stderr[:moved])
	}
	// A restart may be told by the broker's loss and return, with a hint, and by
	// every partition that had no leader for a while.
	if most := 1 + 3*(3+2*partitions); len(r.stderr) > most {
		t.Errorf("%d lines on stderr, want %d at most", len(r.stderr), most)
	}
	lost, back := 0, 0
	for _, l := range r.stderr {
		switch {
		case !sensible.MatchString(l):
			t.Errorf("told %q", l)
		case strings.Contains(l, "lost") || strings.Contains(l, "no leader"):
			lost++
		case strings.Contains(l, "back") || strings.Contains(l, "not needed"):
			back++
		}
	}
	if lost != back {
		t.Errorf("%d times lost, %d times back", lost, back)
	}
}
