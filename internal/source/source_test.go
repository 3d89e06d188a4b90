package source_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

func TestMain(m *testing.M) {
	if kafkatest.Wanted() {
		os.Exit(kafkatest.M(m).Run()) // the shared brokers' clients live as long as the binary
	}
	goleak.VerifyTestMain(kafkatest.M(m))
}

// collector is a sink that keeps what it is given, a line for each delivery.
type collector struct {
	mu      sync.Mutex
	lines   []string
	block   chan struct{} // when not nil, Write waits for it to be closed
	waiting bool
	fail    error  // Write answers it
	first   func() // called before the first line; may be nil
}

type collectorWorker struct{}

func (c *collector) Worker() source.Worker {
	return collectorWorker{}
}

func (collectorWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	b := source.Block{Next: c.Next(), ByStream: make([]int, len(c.Streams))}
	next, full := c.First(), false
	err := c.Records(func(r *record.Record, stream int) bool {
		if limit >= 0 && b.Written >= limit {
			full = true
			return false
		}
		b.Data = fmt.Appendf(b.Data, "%s %s@%d %s\n", c.Streams[stream], c.Split, r.Offset, r.Value)
		b.Count(stream, 1)
		next = r.Offset + 1
		return true
	})
	if full || err != nil {
		b.Next = next
	}
	return b, err
}

func (c *collector) Write(blocks []source.Block) error {
	if c.block != nil {
		c.mu.Lock()
		c.waiting = true
		c.mu.Unlock()
		<-c.block
	}
	if c.fail != nil {
		return c.fail
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first != nil && len(c.lines) == 0 {
		c.first()
	}
	for _, b := range blocks {
		for line := range strings.Lines(string(b.Data)) {
			c.lines = append(c.lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return nil
}

func (c *collector) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// run is one run of the engine.
type run struct {
	opts   source.Options
	sink   *collector
	mu     sync.Mutex
	events []source.Event
	ended  atomic.Bool
}

func newRun(t *testing.T, clusters []*kafkatest.Cluster, streams ...*metadata.Stream) *run {
	t.Helper()
	r := &run{sink: &collector{}}
	r.opts = source.Options{
		Clusters: map[string]*cluster.Cluster{}, Start: spec.Bound{Kind: spec.Start}, Limit: -1,
		GiveUp: 15 * time.Second, WaitTopics: true, Started: time.Now(), Sink: r.sink, Pool: &batch.Pool{Poison: true},
		Event: func(ev source.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, ev)
			t.Logf("%s: %s", ev.Kind, ev.Text)
		},
	}
	for _, c := range clusters {
		r.addCluster(t, c.Name(), c.Bootstrap())
	}
	for _, s := range streams {
		for i := range s.Sources {
			r.opts.Wants = append(r.opts.Wants, source.Want{Stream: s, Source: &s.Sources[i]})
		}
	}
	return r
}

func (r *run) addCluster(t *testing.T, name, bootstrap string) {
	t.Helper()
	c, err := cluster.New(cluster.Config{Name: name, Bootstrap: strings.Split(bootstrap, ",")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r.opts.Clusters[name] = c
}

func (r *run) bounded() *run {
	r.opts.Exit, r.opts.Bounded, r.opts.WaitTopics = true, true, false
	return r
}

func (r *run) run(ctx context.Context) (source.Stats, error) {
	defer r.ended.Store(true)
	return source.Run(ctx, r.opts)
}

func stream(name, topic string, clusters ...string) *metadata.Stream {
	s := &metadata.Stream{Name: name}
	for _, c := range clusters {
		s.Sources = append(s.Sources, metadata.Source{Cluster: c, Topics: []metadata.Topic{metadata.Named(topic)}})
	}
	return s
}

// values are n records whose values are prefix0, prefix1 and so on.
func values(prefix string, partition int32, n int) []kafkatest.Record {
	list := make([]kafkatest.Record, n)
	for i := range list {
		list[i] = kafkatest.Record{Partition: partition, Value: fmt.Appendf(nil, "%s%d", prefix, i)}
	}
	return list
}

// lines are what the collector makes of values.
func lines(stream, split, prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s %s@%d %s%d", stream, split, i, prefix, i)
	}
	return list
}

// bySplit orders lines by split and keeps the order within each.
func bySplit(lines []string) []string {
	split := func(line string) string { s, _, _ := strings.Cut(line, "@"); return s }
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(split(a), split(b)) })
	return lines
}

func checkLines(t *testing.T, got, want []string) {
	t.Helper()
	got = bySplit(got)
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%d lines, want %d; line %d is %q, want %q", len(got), len(want), i, got[i], want[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(got), len(want))
}

func TestBoundedReadOfTwoClustersGivesEachRecordOnceInOrder(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		var wanted []string
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 3, nil)
			for p := range int32(2) { // the third stays empty
				c.Produce(topic, values(c.Name(), p, 500)...)
				wanted = append(wanted, lines("orders", fmt.Sprintf("%s/%s/%d", c.Name(), topic, p), c.Name(), 500)...)
			}
		}
		r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west")).bounded()
		stats, err := r.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, r.sink.all(), wanted)
		if stats.Records != 2000 || stats.Clusters["east"].Records != 1000 || stats.Clusters["west"].Splits != 3 {
			t.Errorf("stats %+v", stats)
		}
	})
}
