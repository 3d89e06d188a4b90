package source_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
)

// An hour in which the metadata changes every minute or so, brokers answer with
// errors and fall silent, and records come all the time: each of them is
// delivered once and in order. KCM_SOAK=1 tries many such hours.
func TestAnHourOfChanges(t *testing.T) {
	seeds := []uint64{17}
	if os.Getenv("KCM_SOAK") != "" {
		for seed := range uint64(40) {
			seeds = append(seeds, 100+seed)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { anHour(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func anHour(t *testing.T, rnd *rand.Rand) {
	kafkatest.Virtual(t, kafkatest.Options{}, func(t *testing.T, rig *kafkatest.Rig) {
		names := []string{"east", "west", "north"}
		var clusters []*kafkatest.Cluster
		written := map[string]int{} // by cluster/topic/partition
		silent := map[string]time.Time{}
		for _, name := range names {
			c := rig.Cluster(name)
			for _, topic := range []string{"a", "b"} {
				c.CreateTopic(topic, 2, nil)
			}
			clusters = append(clusters, c)
		}
		produce := func() {
			for _, c := range clusters {
				if time.Now().Before(silent[c.Name()]) {
					continue // it would not take them
				}
				topic, p, n := []string{"a", "b"}[rnd.IntN(2)], int32(rnd.IntN(2)), 1+rnd.IntN(20)
				key := fmt.Sprintf("%s/%s/%d", c.Name(), topic, p)
				c.Produce(topic, more("v", p, written[key], n)...)
				written[key] += n
			}
		}
		f := newFollowing(t, nil)
		f.dial = clusters[0].Dial // one network for all
		f.opts.Refresh = 10 * time.Second
		for _, c := range clusters {
			f.redefine(c.Name(), c.Bootstrap())
		}
		end := f.follow(t)
		all := &metadata.Stream{Name: "s"}
		for _, name := range names {
			all.Sources = append(all.Sources, metadata.Source{Cluster: name, Topics: []metadata.Topic{metadata.Named("a"), metadata.Named("b")}})
		}
		for began := time.Now(); time.Since(began) < time.Hour; {
			if rnd.IntN(4) == 0 {
				c := clusters[rnd.IntN(3)]
				if until := time.Now().Add(disturb(c, rnd)); until.After(silent[c.Name()]) {
					silent[c.Name()] = until
				}
			}
			if rnd.IntN(5) == 0 {
				c := clusters[rnd.IntN(3)]
				f.redefine(c.Name(), c.Bootstrap())
			}
			f.plan(some(all, rnd))
			for range 1 + rnd.IntN(8) {
				produce()
				time.Sleep(time.Duration(rnd.IntN(60_000)) * time.Millisecond)
			}
		}
		for _, c := range clusters {
			c.Continue(c.FirstNode())
		}
		time.Sleep(2 * time.Minute)
		f.plan(all)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		var want []string
		for split, n := range written {
			want = append(want, lines("s", split, "v", n)...)
		}
		checkLines(t, f.sink.all(), bySplit(want))
		_, _ = end()
	})
}

// some leaves out some sources of a stream and some topics of others.
func some(all *metadata.Stream, rnd *rand.Rand) *metadata.Stream {
	s := &metadata.Stream{Name: all.Name}
	for _, src := range all.Sources {
		if rnd.IntN(4) == 0 {
			src.Topics = src.Topics[:1]
		}
		if rnd.IntN(3) > 0 {
			s.Sources = append(s.Sources, src)
		}
	}
	return s
}

// disturb has a cluster answer wrongly a few times, or not at all for a while,
// which it returns.
func disturb(c *kafkatest.Cluster, rnd *rand.Rand) (silence time.Duration) {
	switch rnd.IntN(3) {
	case 0:
		c.Pause(c.FirstNode())
		after := time.Duration(1+rnd.IntN(60)) * time.Second
		time.AfterFunc(after, func() { c.Continue(c.FirstNode()) })
		return after + time.Second
	case 1:
		c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets}, Err: kerr.NotLeaderForPartition, Count: 1 + rnd.IntN(3)})
	default:
		c.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.LeaderNotAvailable, Count: 1 + rnd.IntN(3)})
	}
	return 0
}

// Nothing is left behind by clusters that come and go.
func TestManyRoundsLeaveNothingBehind(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("orders", 2, nil)
		c.Produce("orders", values("v", 0, 1)...)
	}
	f := newFollowing(t, []*kafkatest.Cluster{east, west}, stream("orders", "orders", "east"))
	f.follow(t)
	f.awaitLines(1)
	rounds := func(n int) {
		for range n {
			was := len(f.told(source.Added)) + len(f.told(source.Drained))
			f.plan(stream("orders", "orders", "east", "west"))
			eventually(t, "west comes", func() bool { return len(f.told(source.Added))+len(f.told(source.Drained)) > was })
			f.plan(stream("orders", "orders", "east"))
			eventually(t, "west goes", func() bool { return len(f.told(source.Added))+len(f.told(source.Drained)) > was+1 })
		}
	}
	rounds(3)
	before := settledGoroutines(t, 0)
	rounds(200)
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before+2 })
	checkLines(t, f.sink.all(), slices.Concat(
		lines("orders", "east/orders/0", "v", 1), lines("orders", "west/orders/0", "v", 1)))
}

// settledGoroutines returns the number of goroutines once it stands still.
func settledGoroutines(t *testing.T, last int) int {
	t.Helper()
	same := 0
	eventually(t, "the number of goroutines stands still", func() bool {
		n := runtime.NumGoroutine()
		if same++; n != last {
			last, same = n, 0
		}
		return same > 100
	})
	return last
}

func TestADrainWaitsForTransactionsUpToALimit(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, other := rig.Name("orders"), rig.Name("other")
		east.CreateTopic(topic, 1, nil)
		east.CreateTopic(other, 1, nil)
		east.Produce(topic, values("v", 0, 3)...)
		committed := stream("orders", topic, "east")
		committed.Sources[0].Isolation = metadata.ReadCommitted
		keep := stream("other", other, "east")
		f := newFollowing(t, []*kafkatest.Cluster{east}, keep)
		f.opts.DrainTimeout = 500 * time.Millisecond
		f.follow(t)
		f.plan(keep, committed)
		f.awaitLines(3)
		tx := east.Begin(rig.Name("tx"))
		tx.Produce(topic, more("v", 0, 3, 1)...)
		east.Produce(topic, more("v", 0, 4, 5)...)
		f.plan(keep)
		var id int64
		var ends string
		eventually(t, "the drain is given up", func() bool {
			for _, text := range f.told(source.Removed) {
				head := fmt.Sprintf("- east/%s not drained: 6 offsets behind an open transaction (producer id ", topic)
				if rest, ok := strings.CutPrefix(text, head); ok {
					_, _ = fmt.Sscanf(rest, "%d", &id)
					_, ends, _ = strings.Cut(rest, "; ")
					return true
				}
			}
			return false
		})
		if ends != "left at 0:3, for orders" {
			t.Errorf("ends %q", ends)
		}
		tx.Commit()
		f.plan(keep, committed)
		f.awaitLines(9)
		f.plan(keep)
		f.awaitLine(source.Drained, fmt.Sprintf("- east/%s drained at 0:10, for orders", topic))
		want := lines("orders", "east/"+topic+"/0", "v", 9)
		checkLines(t, f.sink.all(), want)
	})
}

// The end of a run waits for no cluster, whatever its reader is doing.
func TestTheEndWaitsForNobody(t *testing.T) {
	kafkatest.EachWith(t, kafkatest.Options{Brokers: 1}, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Start("east", kafkatest.Options{Brokers: 1})
		topic := rig.Name("orders")
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 3)...)
		f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := f.run.run(ctx)
			done <- err
		}()
		f.awaitLines(3)
		east.Pause(east.FirstNode())
		f.plan(stream("orders", topic, "east"), stream("more", rig.Name("more"), "east"))
		begun := time.Now()
		cancel()
		if err := <-done; err == nil {
			t.Error("it ended as if it had come to its end")
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
