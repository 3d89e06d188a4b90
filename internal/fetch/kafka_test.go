//go:build kafka

package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// three is a cluster of three real brokers; what is tested on it an embedded one
// does not do.
func three(t *testing.T) (*kafkatest.Rig, *kafkatest.Cluster) {
	t.Helper()
	rig := kafkatest.Real(t, kafkatest.Options{})
	return rig, rig.Cluster("three")
}

// slow is a patience for brokers that start and elect.
const slow = 90 * time.Second

func (r *reader) within(d time.Duration, what string, cond func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(d)
	for !cond() && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if !cond() {
		r.t.Fatalf("waited %v in vain for %s; events %+v", d, what, r.told())
	}
}

// steady writes numbered records to all partitions of a topic in turn, with
// acknowledgements of all replicas, until stop is called; that returns how many
// each partition has.
func steady(t *testing.T, c *kafkatest.Cluster, topic string, partitions int32) (stop func() []int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cl := c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond), kgo.RecordRetries(1_000_000))
	counts := make([]int, partitions)
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			p := int32(i) % partitions
			rec := &kgo.Record{Topic: topic, Partition: p, Value: fmt.Appendf(nil, "v%d", counts[p])}
			counts[p]++
			cl.Produce(context.WithoutCancel(ctx), rec, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("write: %v", err)
				}
			})
			time.Sleep(2 * time.Millisecond)
		}
	})
	return func() []int {
		cancel()
		done.Wait()
		flush, cancel := context.WithTimeout(t.Context(), slow)
		defer cancel()
		if err := cl.Flush(flush); err != nil {
			t.Fatalf("flush: %v", err)
		}
		return counts
	}
}

func TestARollingRestartLosesNothing(t *testing.T) {
	rig, c := three(t)
	const partitions = 6
	topic := rig.Name("t")
	c.CreateTopic(topic, partitions, map[string]string{"min.insync.replicas": "1"})
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing = timing{} })
	for p := range int32(partitions) {
		r.from(topic, p, 0, -1)
	}
	stop := steady(t, c, topic, partitions)
	for _, node := range c.Nodes() {
		c.Kill9(node)
		time.Sleep(2 * time.Second)
		c.Restart(node)
		r.within(slow, "records after the restart", func() bool { return r.moves(topic, partitions) })
	}
	for p := range int32(partitions) { // and the leaders once round
		nodes := c.Nodes()
		c.MoveLeader(topic, p, nodes[(slices.Index(nodes, c.Leader(topic, p))+1)%len(nodes)])
	}
	counts := stop()
	for p := range int32(partitions) {
		key := Partition{topic, p}
		r.within(slow, "all records", func() bool { return len(r.read(key)) >= counts[p] })
		checkNumbered(t, r.read(key), 0, counts[p])
	}
	for _, e := range r.told() {
		switch e.(type) {
		case CaughtUp, Lost, Back, NoLeader, Recovered:
		default:
			t.Errorf("told %+v", e)
		}
	}
	if lost, back := len(events[Lost](r)), len(events[Back](r)); lost != back {
		t.Errorf("%d lost, %d back", lost, back)
	}
}

// moves reports whether every partition reads on, a moment later than now.
func (r *reader) moves(topic string, partitions int32) bool {
	before := make([]int, partitions)
	for p := range before {
		before[p] = len(r.read(Partition{topic, int32(p)}))
	}
	time.Sleep(300 * time.Millisecond)
	for p := range before {
		if len(r.read(Partition{topic, int32(p)})) == before[p] {
			return false
		}
	}
	return true
}

func TestTheNearestReplicaIsReadFromAndLeft(t *testing.T) {
	rig, c := three(t)
	topic := rig.Name("t")
	c.CreateTopic(topic, 1, map[string]string{"min.insync.replicas": "1"})
	nodes := c.Nodes()
	near := nodes[(slices.Index(nodes, c.Leader(topic, 0))+1)%len(nodes)]
	c.Produce(topic, numbered(0, 0, 100)...)
	r := newReader(t, c, func(_ *reader, cfg *Config) {
		cfg.Rack, cfg.timing = fmt.Sprintf("rack-%d", near), timing{}
	})
	p := r.from(topic, 0, 0, -1)
	r.within(slow, "100 records", func() bool { return len(r.read(p)) >= 100 })
	r.within(slow, "the near replica", func() bool { return r.replicaOf(p) == near })
	for i := range 20 {
		c.Produce(topic, numbered(0, 100+i, 1)...)
		r.waitRecords(p, 101+i)
	}
	if n := r.replicaOf(p); n != near {
		t.Errorf("broker %d is read from, want %d", n, near)
	}
	c.Kill9(near)
	c.Produce(topic, numbered(0, 120, 10)...)
	r.within(slow, "what comes after its death", func() bool { return len(r.read(p)) >= 130 })
	c.Restart(near)
	checkNumbered(t, r.read(p), 0, 130)
	for _, e := range r.told() {
		switch e.(type) {
		case CaughtUp, Lost, Back:
		default:
			t.Errorf("told %+v", e)
		}
	}
}

// TestAnUncleanElectionIsTold has a replica become leader that has missed what
// was read already.
func TestAnUncleanElectionIsTold(t *testing.T) {
	rig, c := three(t)
	topic := rig.Name("t")
	nodes := c.Nodes()
	first, second := nodes[0], nodes[1]
	createAssigned(t, c, topic, []int32{first, second})
	c.Produce(topic, numbered(0, 0, 100)...)
	r := newReader(t, c, func(_ *reader, cfg *Config) { cfg.timing = timing{} })
	p := r.from(topic, 0, 0, -1)
	r.within(slow, "100 records", func() bool { return len(r.read(p)) >= 100 })

	c.Kill9(second)
	r.within(slow, "an ISR of one", func() bool { return isr(t, c, topic) == 1 })
	c.Produce(topic, numbered(0, 100, 50)...)
	r.within(slow, "150 records", func() bool { return len(r.read(p)) >= 150 })
	c.Kill9(first)
	c.Restart(second)
	r.within(2*slow, "an unclean election", func() bool { return c.Leader(topic, 0) == second })
	c.Produce(topic, numbered(0, 100, 10)...)
	r.within(slow, "Truncated", func() bool { return len(events[Truncated](r)) > 0 })
	if e := events[Truncated](r)[0]; e != (Truncated{p, 150, 100}) {
		t.Errorf("got %+v", e)
	}
	checkNumbered(t, r.read(p), 0, 150)
	r.from(topic, 0, 100, -1)
	r.within(slow, "what is there now", func() bool { return len(r.read(p)) >= 160 })
	checkNumbered(t, r.read(p)[150:], 100, 10)
	c.Restart(first)
}

func createAssigned(t *testing.T, c *kafkatest.Cluster, topic string, replicas []int32) {
	t.Helper()
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = replicas
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
	rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	for k, v := range map[string]string{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"} {
		cfg := kmsg.NewCreateTopicsRequestTopicConfig()
		cfg.Name, cfg.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, cfg)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 30_000
	resp, err := req.RequestWith(t.Context(), c.Client())
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for isr(t, c, topic) != len(replicas) {
		if time.Now().After(deadline) {
			t.Fatal("the topic has not all its replicas in sync")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// isr is how many replicas of partition 0 are in sync; 0 while nobody knows.
func isr(t *testing.T, c *kafkatest.Cluster, topic string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	md, err := c.Admin().Metadata(ctx, topic)
	if err = errors.Join(err, md.Topics[topic].Err); err != nil || len(md.Topics[topic].Partitions) == 0 {
		return 0
	}
	return len(md.Topics[topic].Partitions[0].ISR)
}
