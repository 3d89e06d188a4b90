package source_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// eventually fails the test if what does not become true within 20 s.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond) // between two looks at a deadline
	}
	t.Fatalf("not within 20 s: %s", what)
}

// follow runs the engine in the background and returns what ends and awaits it.
func (r *run) follow(t *testing.T) (end func() (source.Stats, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		stats source.Stats
		err   error
	}
	done := make(chan result, 1)
	go func() {
		stats, err := r.run(ctx)
		done <- result{stats, err}
	}()
	var res *result
	end = func() (source.Stats, error) {
		cancel()
		if res == nil {
			select {
			case got := <-done:
				res = &got
			case <-time.After(time.Minute):
				t.Fatal("the run does not end")
			}
		}
		return res.stats, res.err
	}
	t.Cleanup(func() { _, _ = end() })
	return end
}

func (r *run) count() int { return len(r.sink.all()) }

// told returns the texts of all events of a kind, without the minor ones.
func (r *run) told(kind source.EventKind) (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range r.events {
		if ev.Kind == kind && (ev.Depth == 0 || kind == source.Begun) {
			texts = append(texts, ev.Text)
		}
	}
	return texts
}

// hint returns the hint of the first event of a kind.
func (r *run) hint(kind source.EventKind) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range r.events {
		if ev.Kind == kind {
			return ev.Hint
		}
	}
	return ""
}

// deadAddress is an address on which nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestLimitWritesThatManyAndNoMore(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 100)...)
	for _, limit := range []int64{1, 7, 99, 100} {
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
		r.opts.Limit = limit
		stats, err := r.run(t.Context())
		if err != nil || stats.Records != limit {
			t.Errorf("limit %d: %d records, %v", limit, stats.Records, err)
		}
		checkLines(t, r.sink.all(), lines("orders", "east/orders/0", "v", int(limit)))
	}
}

func TestLimitCutsBetweenTheStreamsOfOneRecord(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 3)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("a", "orders", "east"), stream("b", "orders", "east"))
	r.opts.Limit = 3
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "a east/orders/0@0 v0|b east/orders/0@0 v0|a east/orders/0@1 v1"
	if got := strings.Join(r.sink.all(), "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTwoNamesForOneClusterAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values("v", 0, 10)...)
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east", "again")).bounded()
		r.addCluster(t, "again", c.Bootstrap())
		_, err := r.run(t.Context())
		if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "the same cluster") {
			t.Errorf("error %v of kind %d, want a refusal", err, fault.KindOf(err))
		}
		if n := r.count(); n != 0 {
			t.Errorf("%d records were written", n)
		}
	})
}

func TestTwoNamesForOneClusterMayReadDifferentTopics(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	for _, topic := range []string{"a", "b"} {
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values(topic, 0, 1)...)
	}
	r := newRun(t, []*kafkatest.Cluster{c}, stream("s", "a", "east"), stream("s", "b", "again"))
	r.addCluster(t, "again", c.Bootstrap())
	r.bounded()
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLines(t, r.sink.all(), []string{"s again/b/0@0 b0", "s east/a/0@0 a0"})
}

func TestDeadClusterIsToldAndTheOthersAreRead(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 10)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east", "dead")).bounded()
	r.addCluster(t, "dead", deadAddress(t))
	r.opts.GiveUp = time.Second
	_, err := r.run(t.Context())
	if fault.KindOf(err) != fault.Partial {
		t.Errorf("error %v of kind %d, want partial", err, fault.KindOf(err))
	}
	checkLines(t, r.sink.all(), lines("orders", "east/orders/0", "v", 10))
	if told := r.told(source.Lost); len(told) != 1 || !strings.HasPrefix(told[0], "dead: ") {
		t.Errorf("told %q, want one line about dead", told)
	}
}

func TestAllClustersDead(t *testing.T) {
	for _, bounded := range []bool{true, false} {
		r := newRun(t, nil, stream("orders", "orders", "one", "two"))
		r.addCluster(t, "one", deadAddress(t))
		r.addCluster(t, "two", deadAddress(t))
		r.opts.GiveUp = time.Second
		r.opts.Exit, r.opts.Bounded = bounded, bounded
		if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Unreachable {
			t.Errorf("bounded %v: error %v of kind %d, want unreachable", bounded, err, fault.KindOf(err))
		}
	}
}

func TestFailFastEndsTheRunAtTheFirstDeadCluster(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east", "dead"))
	r.addCluster(t, "dead", deadAddress(t))
	r.opts.FailFast, r.opts.GiveUp = true, time.Hour
	if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v of kind %d, want partial", err, fault.KindOf(err))
	}

	r = newRun(t, nil, stream("orders", "orders", "one", "two"))
	r.addCluster(t, "one", deadAddress(t))
	r.addCluster(t, "two", deadAddress(t))
	r.opts.FailFast, r.opts.GiveUp = true, time.Hour
	if _, err := r.run(t.Context()); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("ended with %v of kind %d, want unreachable", err, fault.KindOf(err))
	}
}

func TestAGroupThatNobodyKnowsHasNoCommits(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values("v", 0, 3)...)
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east")).bounded()
		r.opts.Start = spec.Bound{Kind: spec.Group, Name: rig.Name("nobody")}
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkLines(t, r.sink.all(), lines("orders", "east/"+topic+"/0", "v", 3))
	})
}

func TestMissingTopicEndsABoundedRunAndNamesTheNearest(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		typo := topic + "x"
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", typo, "east")).bounded()
		_, err := r.run(t.Context())
		if fault.KindOf(err) != fault.Failed {
			t.Errorf("error %v of kind %d, want failed", err, fault.KindOf(err))
		}
		told := r.told(source.Failed)
		if len(told) != 1 || told[0] != "east/"+typo+": no such topic" || !strings.Contains(r.hint(source.Failed), topic) {
			t.Errorf("told %q, hint %q", told, r.hint(source.Failed))
		}
		if c.HasTopic(typo) {
			t.Error("looking for the topic has created it")
		}
	})
}

func TestFollowWaitsForAMissingTopicAndReadsItFromItsStart(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.opts.Start = spec.Bound{Kind: spec.End}
	end := r.follow(t)
	eventually(t, "the missing topic is told", func() bool { return len(r.told(source.Note)) == 1 })
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 5)...)
	eventually(t, "all records are read", func() bool { return r.count() == 5 })
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestFollowFromTheEndSeesWhatComes(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 2, nil)
		c.Produce(topic, values("old", 0, 50)...)
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", topic, "east"))
		r.opts.Start = spec.Bound{Kind: spec.End}
		end := r.follow(t)
		// The first new record may be written before the end was looked up:
		// write until one arrives, then count from there.
		n := 0
		eventually(t, "a record arrives", func() bool {
			c.Produce(topic, kafkatest.Record{Partition: 1, Value: fmt.Appendf(nil, "new%d", n)})
			n++
			return r.count() > 0
		})
		first := n
		for ; n < first+20; n++ {
			c.Produce(topic, kafkatest.Record{Partition: 1, Value: fmt.Appendf(nil, "new%d", n)})
		}
		eventually(t, "the last record arrives", func() bool {
			all := r.sink.all()
			return strings.HasSuffix(all[len(all)-1], fmt.Sprintf(" new%d", n-1))
		})
		_, _ = end()
		all := r.sink.all()
		for i, line := range all {
			if want := fmt.Sprintf("@%d new%d", n-len(all)+i, n-len(all)+i); !strings.HasSuffix(line, want) {
				t.Fatalf("line %d of %d is %q, want …%s", i, len(all), line, want)
			}
		}
	})
}

func TestSinkErrorEndsTheRunWithThatError(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 10)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	broken := errors.New("no space left")
	r.sink.fail = broken
	if _, err := r.run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
}

func TestBoundsAndSourceStops(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 2, nil)
		var records []kafkatest.Record
		for i := range 10 {
			records = append(records, kafkatest.Record{Value: fmt.Appendf(nil, "v%d", i), Time: int64(1000 + i)})
		}
		c.Produce(topic, records...)
		c.Commit(rig.Name("g"), topic, 0, 8)
		for _, tt := range []struct {
			offsets     []string
			stop        string
			first, last int // of the records of partition 0; last exclusive
		}{
			{nil, "", 0, 10},
			{[]string{"3"}, "", 3, 10},
			{[]string{"3:6"}, "", 3, 6},
			{[]string{":6"}, "", 0, 6},
			{[]string{"7:end"}, "", 7, 10},
			{[]string{"end-2"}, "", 8, 10},
			{[]string{"-2"}, "", 8, 10},
			{[]string{"start+4"}, "", 4, 10},
			{[]string{"+4"}, "", 4, 10},
			{[]string{"end"}, "", 10, 10},
			{[]string{"0:5000"}, "", 0, 10},
			{[]string{"5000"}, "", 10, 10},
			{[]string{"group:" + rig.Name("g")}, "", 8, 10},
			{[]string{"@1970-01-01T00:00:01.004"}, "", 4, 10},
			{[]string{"@1970-01-01T00:00:01.004:1970-01-01T00:00:01.006"}, "", 4, 6},
			{[]string{"@:1970-01-01T00:00:01.002"}, "", 0, 2},
			{[]string{"@2100-01-01"}, "", 10, 10},
			{[]string{"start"}, "5", 0, 5},
			{[]string{"0:8"}, "5", 0, 5},
			{[]string{"0=4", "1=0"}, "", 4, 10},
			{[]string{"start", topic + ":0=9"}, "", 9, 10},
		} {
			t.Run(strings.Join(tt.offsets, " ")+" stop "+tt.stop, func(t *testing.T) {
				s := stream("orders", topic, "east")
				if tt.stop != "" {
					b, err := spec.Parse(":"+tt.stop, time.Now())
					if err != nil {
						t.Fatal(err)
					}
					s.Sources[0].Stop = &metadata.Spec{Bound: b.Stop}
				}
				r := newRun(t, []*kafkatest.Cluster{c}, s).bounded()
				var err error
				if r.opts.Offsets, err = spec.ParseOffsets(tt.offsets, time.Now()); err != nil {
					t.Fatal(err)
				}
				if _, err := r.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				checkLines(t, r.sink.all(), lines("orders", "east/"+topic+"/0", "v", 10)[tt.first:tt.last])
			})
		}
	})
}

func TestPartitionsThatDoNotExistAreAFailure(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 2, nil)
	c.Produce("orders", values("v", 1, 3)...)
	for partitions, want := range map[string]struct {
		code fault.Kind
		text string
	}{
		"1":     {0, ""},
		"0-9":   {0, ""},
		"2":     {fault.Failed, "east/orders: no partition 2; it has 2, from 0 on"},
		"1,7":   {fault.Partial, "east/orders: no partition 7; it has 2, from 0 on"},
		"5-9":   {fault.Failed, "east/orders: no partition 5-9; it has 2, from 0 on"},
		"0,5-9": {0, ""},
	} {
		r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
		var err error
		if r.opts.Partitions, err = spec.ParsePartitions([]string{partitions}); err != nil {
			t.Fatal(err)
		}
		_, err = r.run(t.Context())
		if (err == nil) != (want.code == 0) || err != nil && fault.KindOf(err) != want.code {
			t.Errorf("partitions %s: %v", partitions, err)
		}
		if told := strings.Join(r.told(source.Failed), "|"); told != want.text {
			t.Errorf("partitions %s: told %q, want %q", partitions, told, want.text)
		}
	}
}

func TestFollowReadsAddedPartitionsAndTopicsFromTheirStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c := rig.Cluster("east")
		topic := rig.Name("orders")
		c.CreateTopic(topic, 1, nil)
		c.Produce(topic, values("old", 0, 5)...)
		pattern, err := metadata.Pattern(topic + ".*")
		if err != nil {
			t.Fatal(err)
		}
		s := &metadata.Stream{Name: "s", Sources: []metadata.Source{{Cluster: "east", Topics: []metadata.Topic{pattern}}}}
		r := newRun(t, []*kafkatest.Cluster{c}, s)
		r.opts.Start = spec.Bound{Kind: spec.End}
		quick, err := cluster.New(cluster.Config{
			Name: "east", Bootstrap: strings.Split(c.Bootstrap(), ","),
			Properties: []cluster.Property{{Key: "metadata.max.age.ms", Value: "200"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(quick.Close)
		r.opts.Clusters["east"] = quick
		end := r.follow(t)
		eventually(t, "the follow has begun", func() bool { return len(r.told(source.Begun)) == 1 })
		c.AddPartitions(topic, 3)
		c.Produce(topic, append(values("p", 1, 4), values("q", 2, 4)...)...)
		c.CreateTopic(topic+"-more", 1, nil)
		c.Produce(topic+"-more", values("m", 0, 4)...)
		eventually(t, "what was added is read", func() bool { return r.count() == 12 })
		_, _ = end()
		want := lines("s", "east/"+topic+"-more/0", "m", 4)
		want = append(want, lines("s", "east/"+topic+"/1", "p", 4)...)
		checkLines(t, r.sink.all(), append(want, lines("s", "east/"+topic+"/2", "q", 4)...))
	})
}

func TestASinkThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 1, nil)
	c.Produce("orders", values("v", 0, 3)...)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east"))
	r.sink.block = make(chan struct{})
	defer close(r.sink.block)
	m := new(source.Monitor)
	r.opts.Monitor = m
	end := r.follow(t)
	eventually(t, "the sink is reached", r.blocked)
	if m.Snapshot(time.Now()).Least {
		t.Error("the write may still end")
	}
	began := time.Now()
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("ended after %s", took)
	}
	if snap := m.Snapshot(time.Now()); !snap.Least || snap.Total.Records != 0 {
		t.Errorf("some of 3 records may have been written: %+v", snap)
	}
}

func TestNotesOnManyPartitionsAreCutShort(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("orders", 30, nil)
	r := newRun(t, []*kafkatest.Cluster{c}, stream("orders", "orders", "east")).bounded()
	var err error
	if r.opts.Offsets, err = spec.ParseOffsets([]string{"0:500"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := r.told(source.Note)
	if len(told) != 11 || told[10] != "east: the same of more partitions; -v tells which" {
		t.Errorf("%d notes, the last %q", len(told), told[len(told)-1])
	}
}
