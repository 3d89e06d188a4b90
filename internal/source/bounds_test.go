package source_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

func TestPerSplitGivesThatManyOfEachSplitAndStream(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 4, nil)
			for p := range int32(3) { // the fourth stays empty
				c.Produce(topic, values("v", p, []int{2, 7, 100}[p])...)
			}
		}
		for _, each := range []int64{1, 2, 7, 50} {
			for _, workers := range []int{0, 1} {
				r := newRun(t, []*kafkatest.Cluster{east, west}, stream("a", topic, "east", "west"), stream("b", topic, "east")).bounded()
				r.opts.PerSplit, r.opts.Workers = each, workers
				stats, err := r.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, from := range []string{"a east", "a west", "b east"} {
					s, c, _ := strings.Cut(from, " ")
					for p, n := range []int64{2, 7, 100} {
						want = append(want, lines(s, fmt.Sprintf("%s/%s/%d", c, topic, p), "v", int(min(n, each)))...)
					}
				}
				checkLines(t, r.sink.all(), want)
				if stats.Records != int64(len(want)) {
					t.Errorf("%d of each: %d records, want %d", each, stats.Records, len(want))
				}
			}
		}
	})
}

// TestPerSplitFollowEndsWhenEverySplitHasGivenItsShare also has a split that
// gets its records while the others are finished, over a draining source, which
// would be looked at for ever.
func TestPerSplitFollowEndsWhenEverySplitHasGivenItsShare(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 2, nil)
		c.Produce(topic, values("v", 0, 50)...)
		s := stream("orders", topic, "east")
		s.Sources[0].Role = metadata.Draining
		r := newRun(t, []*kafkatest.Cluster{c}, s)
		r.opts.PerSplit = 5
		end := r.follow(t)
		eventually(t, "the first partition has given its share", func() bool { return r.count() == 5 })
		c.Produce(topic, values("w", 1, 3)...)
		eventually(t, "the second partition is read", func() bool { return r.count() == 8 })
		if r.ended.Load() {
			t.Fatal("ended before the second partition had given its share")
		}
		c.Produce(topic, values("x", 0, 3)...)
		c.Produce(topic, values("w", 1, 3)...)
		eventually(t, "the run ends", r.ended.Load)
		if _, err := end(); err != nil {
			t.Errorf("ended with %v", err)
		}
		split := fmt.Sprintf("orders east/%s/1@", topic)
		want := append(lines("orders", "east/"+topic+"/0", "v", 5), split+"0 w0", split+"1 w1", split+"2 w2", split+"3 w0", split+"4 w1")
		checkLines(t, r.sink.all(), want)
	})
}

func TestPerSplitAndLimitTogether(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 2, nil)
	c.Produce("orders", append(values("v", 0, 50), values("v", 1, 50)...)...)
	for limit, want := range map[int64]int64{3: 3, 9: 9, 10: 10, 11: 10} {
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
		r.opts.PerSplit, r.opts.Limit = 5, limit
		stats, err := r.run(t.Context())
		if err != nil || stats.Records != want || int64(r.count()) != want {
			t.Errorf("limit %d: %d records, %d lines, %v; want %d", limit, stats.Records, r.count(), err, want)
		}
		for _, line := range r.sink.all() {
			if !strings.Contains("0 1 2 3 4", line[len(line)-1:]) {
				t.Errorf("limit %d: %s is beyond the partition's share", limit, line)
			}
		}
	}
}

// TestPerSplitStopsFetchingWhatHasGivenItsShare has a log that is truncated
// afterwards, which a reader of it would tell.
func TestPerSplitStopsFetchingWhatHasGivenItsShare(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 2, nil)
	c.Produce("orders", values("v", 0, 50)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.opts.PerSplit, r.opts.OnGap = 5, source.GapFail
	end := r.follow(t)
	eventually(t, "the first partition has given its share", func() bool { return r.count() == 5 })
	c.Produce("orders", values("v", 0, 50)...)
	c.DeleteRecords("orders", 0, 100)
	c.Produce("orders", values("w", 1, 5)...)
	eventually(t, "the run ends", r.ended.Load)
	if _, err := end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestPerSplitCountsWhatIsLeftAndComesBack takes a stream away and gives it back.
func TestPerSplitCountsWhatIsLeftAndComesBack(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 2, nil)
	c.CreateTopic("other", 1, nil)
	c.Produce("orders", append(values("v", 0, 5), values("v", 1, 2)...)...)
	s, other := stream("orders", "orders", "east"), stream("other", "other", "east")
	r := newRun(t, []*kafkatest.Cluster{c}, s, other)
	all := r.opts.Wants
	updates := make(chan source.Plan)
	r.opts.PerSplit, r.opts.Updates = 3, updates
	end := r.follow(t)
	eventually(t, "both partitions are read", func() bool { return r.count() == 5 })
	updates <- source.Plan{Wants: all[1:], Clusters: r.opts.Clusters}
	eventually(t, "the topic has left", func() bool { return len(r.told(source.Drained)) == 1 })
	c.Produce("orders", append(values("w", 0, 5), values("w", 1, 5)...)...)
	updates <- source.Plan{Wants: all, Clusters: r.opts.Clusters}
	eventually(t, "the second partition goes on", func() bool { return r.count() == 6 })
	c.Produce("other", values("o", 0, 3)...)
	eventually(t, "the run ends", r.ended.Load)
	if _, err := end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	want := lines("orders", "east/orders/0", "v", 3)
	want = append(want, "orders east/orders/1@0 v0", "orders east/orders/1@1 v1", "orders east/orders/1@2 w0")
	checkLines(t, r.sink.all(), append(want, lines("other", "east/other/0", "o", 3)...))
}

func TestTimeoutEndsARunToWhichNothingComes(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 2, nil)
		c.Produce(topic, values("v", 0, 5)...)
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east"))
		r.opts.Timeout = 500 * time.Millisecond
		began := time.Now()
		stats, err := r.run(t.Context())
		if err != nil || stats.Records != 5 {
			t.Errorf("%d records, %v", stats.Records, err)
		}
		if took := time.Since(began); took < r.opts.Timeout || took > time.Minute {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestTimeoutBeginsAnewWithEachRecord(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.opts.Timeout = 1500 * time.Millisecond
	began := time.Now()
	end := r.follow(t)
	n := 0
	eventually(t, "records have come for twice as long", func() bool {
		c.Produce("orders", values("v", 0, 1)...)
		n++
		return time.Since(began) > 2*r.opts.Timeout
	})
	last := time.Now()
	eventually(t, "the run ends", r.ended.Load)
	if took := time.Since(last); took < time.Second {
		t.Errorf("ended %s after the last record", took)
	}
	if stats, err := end(); err != nil || stats.Records != int64(n) {
		t.Errorf("%d records of %d, %v", stats.Records, n, err)
	}
}

// TestTimeoutDoesNotCountWhileTheSinkIsBusy has a sink that takes longer than
// the run is to wait.
func TestTimeoutDoesNotCountWhileTheSinkIsBusy(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 1)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.opts.Timeout = 200 * time.Millisecond
	r.sink.block = make(chan struct{})
	end := r.follow(t)
	eventually(t, "the sink is reached", r.blocked)
	c.Produce("orders", values("w", 0, 1)...)
	began := time.Now()
	eventually(t, "the sink has taken long", func() bool { return time.Since(began) > 4*r.opts.Timeout })
	if r.ended.Load() {
		t.Fatal("the run ended while the sink was busy")
	}
	close(r.sink.block)
	eventually(t, "the run ends", r.ended.Load)
	if stats, err := end(); err != nil || stats.Records != 2 {
		t.Errorf("%d records, %v", stats.Records, err)
	}
}

func TestTimeoutTellsWhatGaveNoContact(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 5)...)
	for _, bounded := range []bool{true, false} {
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east", "dead"))
		r.addCluster(t, "dead", deadAddress(t))
		r.opts.Timeout, r.opts.GiveUp, r.opts.Bounded = 500*time.Millisecond, time.Hour, bounded
		stats, err := r.run(t.Context())
		if fault.KindOf(err) != fault.Partial || stats.Records != 5 {
			t.Errorf("bounded %v: %d records, %v of kind %d, want partial", bounded, stats.Records, err, fault.KindOf(err))
		}

		r = newRun(t, nil, stream("orders", "orders", "dead"))
		r.addCluster(t, "dead", deadAddress(t))
		r.opts.Timeout, r.opts.GiveUp, r.opts.Bounded = 500*time.Millisecond, time.Hour, bounded
		if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Unreachable {
			t.Errorf("bounded %v: %v of kind %d, want unreachable", bounded, err, fault.KindOf(err))
		}
	}
}

// TestTimeoutBeforeTheEnds has a broker that answers no fetch.
func TestTimeoutBeforeTheEnds(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 5)...)
	over := make(chan struct{})
	defer close(over)
	c.Fake().ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		c.Fake().SleepControl(func() { <-over })
		return nil, nil, false
	})
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
	r.opts.Timeout = 500 * time.Millisecond
	if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v of kind %d, want partial", err, fault.KindOf(err))
	}
	if told := strings.Join(r.told(source.Failed), "|"); told != "east: nothing came for 500ms, and 1 partition is not read to the end" {
		t.Errorf("told %q", told)
	}
}

// TestLateLooksBehindTheWindow has records that were written after its end.
func TestLateLooksBehindTheWindow(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		for _, ms := range []int64{1000, 2000, 3000, 1500, 5000, 1600, 9000} {
			c.Produce(topic, kafkatest.Record{Value: fmt.Append(nil, ms), Time: ms})
		}
		for late, want := range map[int64]string{
			0: "1000 2000", 1000: "1000 2000 1500", 2501: "1000 2000 1500 1600", 100_000: "1000 2000 1500 1600",
		} {
			r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east")).bounded()
			offsets, err := spec.ParseOffsets([]string{"@:1970-01-01T00:00:02.500Z"}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			r.opts.Offsets, _ = offsets.WithLate(late)
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range r.sink.all() {
				_, value, _ := strings.Cut(line, "@")
				got = append(got, strings.Fields(value)[1])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%d ms late: %v, want %s", late, got, want)
			}
		}
	})
}

// TestWindowWithoutAStartLeavesItToTheSource has sources that say where to begin.
func TestWindowWithoutAStartLeavesItToTheSource(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	for ms := range int64(10) {
		c.Produce("orders", kafkatest.Record{Value: fmt.Append(nil, "v", ms), Time: 1000 + ms})
	}
	s := stream("orders", "orders", "east")
	s.Sources[0].Start = &metadata.Spec{Bound: spec.Bound{Kind: spec.Offset, N: 3}}
	r := newRun(t, []*kafkatest.Cluster{c}, s).bounded()
	r.opts.Offsets = spec.Offsets{}.WithDefault(spec.Range{Stop: spec.Bound{Kind: spec.Time, N: 1006}})
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLines(t, r.sink.all(), lines("orders", "east/orders/0", "v", 10)[3:6])
}
