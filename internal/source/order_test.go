package source_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// ordering is a collector that can say where its deliveries end.
type ordering struct{ *collector }

type orderingWorker struct{ collectorWorker }

func (o ordering) Worker() source.Worker { return orderingWorker{} }

func (w orderingWorker) Prepare(c *source.Chunk, limit int) (source.Block, error) {
	b, err := w.collectorWorker.Prepare(c, limit)
	end := 0
	_ = c.Records(func(r *record.Record, stream int) bool {
		if len(b.Cuts) == b.Written {
			return false
		}
		end += len(fmt.Sprintf("%s %s@%d %s\n", c.Streams[stream], c.Split, r.Offset, r.Value))
		b.Cuts = append(b.Cuts, source.Cut{Time: r.Timestamp, Offset: r.Offset, End: end, Stream: stream})
		return true
	})
	return b, err
}

func (r *run) ordered() *run {
	r.opts.Sink = ordering{r.sink}
	r.opts.Order, r.opts.OrderWait = source.OrderTimestamp, 2*time.Second
	return r
}

func (r *run) tail(n int64) *run {
	r.opts.Sink = ordering{r.sink}
	r.opts.Tail, r.opts.OrderWait = n, 2*time.Second
	r.opts.Start = spec.Bound{Kind: spec.End}
	return r
}

// timed are records of one partition with times that mostly rise, by up to step.
func timed(rng *rand.Rand, partition int32, n int, first, step int64) []kafkatest.Record {
	list := make([]kafkatest.Record, n)
	at := first
	for i := range list {
		at += rng.Int64N(step + 1)
		list[i] = kafkatest.Record{Partition: partition, Time: at, Value: fmt.Appendf(nil, "%d", at)}
		if rng.IntN(20) == 0 { // and some go back
			list[i].Time = at - rng.Int64N(10*step+1)
		}
	}
	return list
}

// inOrder gives the lines of records in the order of a merge, for each partition of
// each cluster. Names of clusters and topics must sort as they are written.
func inOrder(stream string, parts map[record.Split][]kafkatest.Record) []string {
	type key struct {
		time  int64
		split record.Split
		line  string
	}
	var keys []key
	for split, records := range parts {
		high := int64(-1)
		for i, r := range records {
			high = max(high, r.Time)
			keys = append(keys, key{high, split, fmt.Sprintf("%s %s@%d %s", stream, split, i, r.Value)})
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.time, b.time), a.split.Compare(b.split)) })
	lines := make([]string, len(keys))
	for i, k := range keys {
		lines[i] = k.line
	}
	return lines
}

func checkOrder(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%d lines, want %d; line %d is %q, want %q", len(got), len(want), i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
}

const firstTime = 1_700_000_000_000

// fillTwo makes a topic with partitions on two clusters and fills it.
func fillTwo(rig *kafkatest.Rig, partitions int32, n int) (clusters []*kafkatest.Cluster, topic string, parts map[record.Split][]kafkatest.Record) {
	rng := rand.New(rand.NewPCG(1, 2))
	topic = rig.Name("orders")
	parts = map[record.Split][]kafkatest.Record{}
	for _, name := range []string{"east", "west"} {
		c := rig.Cluster(name)
		clusters = append(clusters, c)
		c.CreateTopic(topic, partitions+1, nil) // the last one stays empty
		for p := range partitions {
			records := timed(rng, p, n, firstTime, 3)
			c.Produce(topic, records...)
			parts[record.Split{Cluster: name, Topic: topic, Partition: p}] = records
		}
	}
	return clusters, topic, parts
}

func TestOrderIsTheSameWhateverComesFirst(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		clusters, topic, parts := fillTwo(rig, 4, 500)
		want := inOrder("s", parts)
		for try := range 3 {
			if !rig.Real() {
				slow(clusters[try%2].Fake())
			}
			r := newRun(t, clusters, stream("s", topic, "east", "west")).bounded().ordered()
			stats, err := r.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkOrder(t, r.sink.all(), want)
			if stats.Records != 4000 || stats.Late != 0 || stats.Back == 0 {
				t.Errorf("stats %+v", stats)
			}
			for _, limit := range []int64{1, 1234} {
				r := newRun(t, clusters, stream("s", topic, "east", "west")).bounded().ordered()
				r.opts.Limit = limit
				if _, err := r.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				checkOrder(t, r.sink.all(), want[:limit])
			}
		}
	})
}

// slow has a cluster take its time over some fetches.
func slow(c *kfake.Cluster) {
	n := 0
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if n++; n%3 == 0 {
			time.Sleep(5 * time.Millisecond) // as a slow broker would; kfake's own SleepControl has a data race
		}
		return nil, nil, false
	})
}

func TestOrderKeepsToTheQuotaOfEachSplit(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	clusters, topic, parts := fillTwo(rig, 3, 100)
	for split, records := range parts {
		parts[split] = records[:7]
	}
	r := newRun(t, clusters, stream("s", topic, "east", "west")).bounded().ordered()
	r.opts.PerSplit = 7
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkOrder(t, r.sink.all(), inOrder("s", parts))
}

// TestOrderNeedsNoMoreMemoryThanItHas has partitions that lie one behind the other
// in time: each of them waits until all before it have been read whole.
func TestOrderNeedsNoMoreMemoryThanItHas(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 6, nil)
	parts := map[record.Split][]kafkatest.Record{}
	for p := range int32(6) {
		for batch := range 20 { // of 100 KB each
			var records []kafkatest.Record
			for i := range 100 {
				at := int64(firstTime) + int64(5-p)*10_000 + int64(batch*100+i)
				records = append(records, kafkatest.Record{Partition: p, Time: at, Value: fmt.Appendf(nil, "%01000d", i)})
			}
			c.Produce("orders", records...)
			split := record.Split{Cluster: "east", Topic: "orders", Partition: p}
			parts[split] = append(parts[split], records...)
		}
	}
	r := newRun(t, []*kafkatest.Cluster{c}, stream("s", "orders", "east")).bounded().ordered()
	r.opts.Memory = 1 << 20
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkOrder(t, r.sink.all(), inOrder("s", parts))
}

func TestOrderWaitsForADeadClusterUntilItIsGivenUp(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	clusters, topic, parts := fillTwo(rig, 2, 50)
	r := newRun(t, clusters, stream("s", topic, "east", "west", "dead")).bounded().ordered()
	r.addCluster(t, "dead", deadAddress(t))
	r.opts.GiveUp = time.Second
	began := time.Now()
	r.sink.first = func() {
		if waited := time.Since(began); waited < time.Second {
			t.Errorf("something was written after %s", waited)
		}
	}
	if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v", err)
	}
	checkOrder(t, r.sink.all(), inOrder("s", parts))
}

func TestAFollowInOrderGoesOnBesideADeadCluster(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	clusters, topic, parts := fillTwo(rig, 2, 50)
	r := newRun(t, clusters, stream("s", topic, "east", "west", "dead")).ordered()
	r.addCluster(t, "dead", deadAddress(t))
	r.opts.OrderWait = 300 * time.Millisecond
	end := r.follow(t)
	want := inOrder("s", parts)
	eventually(t, "all is written", func() bool { return r.count() == len(want) })
	checkOrder(t, r.sink.all(), want)
	old := kafkatest.Record{Partition: 0, Time: firstTime, Value: []byte("late")}
	clusters[0].Produce(topic, kafkatest.Record{Partition: 1, Value: []byte("new")})
	eventually(t, "a new one is written", func() bool { return r.count() == len(want)+1 })
	clusters[0].AddPartitions(topic, 4)
	clusters[1].Produce(topic, old)
	eventually(t, "a late one is written", func() bool { return r.count() == len(want)+2 })
	stats, _ := end()
	if stats.Late != 0 || stats.Back == 0 { // its own partition holds it behind later ones
		t.Errorf("%d late, %d back", stats.Late, stats.Back)
	}
}

func TestTheLastRecordsAreThoseOfTheWholeOrder(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		topic := rig.Name("straight")
		rng := rand.New(rand.NewPCG(3, 4))
		var clusters []*kafkatest.Cluster
		parts := map[record.Split][]kafkatest.Record{}
		for _, name := range []string{"east", "west"} {
			c := rig.Cluster(name)
			clusters = append(clusters, c)
			c.CreateTopic(topic, 4, nil)
			for p := range int32(3) {
				records := timed(rng, p, 300, firstTime, 3)
				slices.SortStableFunc(records, func(a, b kafkatest.Record) int { return cmp.Compare(a.Time, b.Time) })
				c.Produce(topic, records...)
				parts[record.Split{Cluster: name, Topic: topic, Partition: p}] = records
			}
		}
		want := inOrder("s", parts)
		for _, n := range []int{1, 10, 599, 1800, 5000} {
			r := newRun(t, clusters, stream("s", topic, "east", "west")).bounded().tail(int64(n))
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkOrder(t, r.sink.all(), want[max(0, len(want)-n):])
		}
	})
}

func TestTheLastRecordsGoOnWithoutLossOrRepeat(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		for _, order := range []source.Order{source.OrderNone, source.OrderTimestamp} {
			clusters := []*kafkatest.Cluster{rig.Cluster("east"), rig.Cluster("west")}
			topic := rig.Name("last-" + string(order))
			for _, c := range clusters {
				c.CreateTopic(topic, 2, nil)
				c.Produce(topic, values("old", 0, 30)...)
				c.Produce(topic, values("old", 1, 30)...)
			}
			r := newRun(t, clusters, stream("s", topic, "east", "west")).tail(12)
			r.opts.Order, r.opts.OrderWait = order, 200*time.Millisecond
			end := r.follow(t)
			eventually(t, "the last ones", func() bool { return r.count() >= 12 })
			for i := range 20 {
				for _, c := range clusters {
					c.Produce(topic, kafkatest.Record{Partition: int32(i % 2), Value: fmt.Appendf(nil, "new%d", i)})
				}
			}
			eventually(t, "all", func() bool { return r.count() >= 52 })
			stats, _ := end()
			seen := map[string]bool{}
			for _, line := range r.sink.all() {
				if seen[line] {
					t.Errorf("twice: %s", line)
				}
				seen[line] = true
			}
			if len(seen) != 52 || stats.Records != 52 {
				t.Errorf("%d records, want 52", len(seen))
			}
		}
	})
}

// TestTheLastRecordsAreRecords has transactions, whose markers take offsets, and a
// log that begins late.
func TestTheLastRecordsAreRecords(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("tx")
		c.CreateTopic(topic, 2, nil)
		c.Produce(topic, values("gone", 0, 5)...)
		c.DeleteRecords(topic, 0, 5)
		c.Produce(topic, values("kept", 0, 2)...)
		for i := range 12 {
			tx := c.Begin(rig.Name(fmt.Sprintf("tx%d", i)))
			kind := "aborted"
			if i%3 == 0 {
				kind = "committed"
			}
			tx.Produce(topic, kafkatest.Record{Partition: 0, Value: fmt.Appendf(nil, "%s%d", kind, i)})
			if i%3 == 0 {
				tx.Commit()
			} else {
				tx.Abort()
			}
		}
		for n, want := range map[int64][]string{
			1:  {"committed9"},
			3:  {"committed3", "committed6", "committed9"},
			5:  {"kept1", "committed0", "committed3", "committed6", "committed9"},
			50: {"kept0", "kept1", "committed0", "committed3", "committed6", "committed9"},
		} {
			r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded().tail(n)
			r.opts.Wants[0].Committed = true
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkValues(t, r.sink.all(), want)
		}
		r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded().tail(3)
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkValues(t, r.sink.all(), []string{"committed9", "aborted10", "aborted11"})
	})
}

// checkValues compares the last word of lines.
func checkValues(t *testing.T, lines, want []string) {
	t.Helper()
	var got []string
	for _, line := range lines {
		_, value, _ := cutLast(line)
		got = append(got, value)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func cutLast(line string) (before, after string, found bool) {
	for i := len(line) - 1; i >= 0; i-- {
		if line[i] == ' ' {
			return line[:i], line[i+1:], true
		}
	}
	return line, "", false
}

func TestTheLastRecordsOfADeadClusterAreNotWaitedForByAFollow(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.ProduceWith("orders", []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}, values("v", 0, 9)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("s", "orders", "east", "dead")).tail(2)
	r.addCluster(t, "dead", deadAddress(t))
	r.follow(t)
	eventually(t, "the last ones", func() bool { return r.count() == 2 })
	checkLines(t, r.sink.all(), []string{"s east/orders/0@7 v7", "s east/orders/0@8 v8"})
}

// TestOrderGoesOnWithWhatWasReadOfALostCluster loses one while it is merged.
func TestOrderGoesOnWithWhatWasReadOfALostCluster(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	parts := map[record.Split][]kafkatest.Record{}
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("orders", 1, nil)
		for batch := range 40 {
			var records []kafkatest.Record
			for i := range 100 {
				records = append(records, kafkatest.Record{Time: firstTime + int64(batch*100+i), Value: fmt.Appendf(nil, "%01000d", i)})
			}
			c.Produce("orders", records...)
			split := record.Split{Cluster: c.Name(), Topic: "orders"}
			parts[split] = append(parts[split], records...)
		}
	}
	r := newRun(t, []*kafkatest.Cluster{east, west}, stream("s", "orders", "east", "west")).bounded().ordered()
	r.opts.Memory, r.opts.GiveUp = 1<<20, 2*time.Second
	r.sink.first = func() { west.Kill9(west.FirstNode()) }
	if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v", err)
	}
	got := r.sink.all()
	n := 0
	for _, line := range got {
		if line[:len("s west")] == "s west" {
			n++
		}
	}
	if n == 0 || n == 4000 {
		t.Fatalf("%d records of west", n)
	}
	split := record.Split{Cluster: "west", Topic: "orders"}
	parts[split] = parts[split][:n]
	checkOrder(t, got, inOrder("s", parts))
}
