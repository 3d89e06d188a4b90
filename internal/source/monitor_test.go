package source_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// await takes snapshots until one is as it should be.
func await(t *testing.T, m *source.Monitor, what string, ok func(source.Snapshot) bool) source.Snapshot {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		snap := m.Snapshot(time.Now())
		if ok(snap) {
			return snap
		}
		if time.Now().After(deadline) {
			t.Fatalf("never %s: %+v", what, snap)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAMonitorShowsWhatWasReadFromWhere(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 2, nil)
		west.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("v", 0, 30)...)
		east.Produce(topic, values("v", 1, 10)...)
		west.Produce(topic, values("v", 0, 5)...)
		m := new(source.Monitor)
		r := newRun(t, []*kafkatest.Cluster{east, west}, stream("a", topic, "east", "west"), stream("b", topic, "east")).bounded()
		r.opts.Monitor = m
		before := m.Snapshot(time.Now())
		stats, err := r.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before.Total.Lag != -1 || before.Total.Behind != -1 || len(before.Flows) != 0 {
			t.Errorf("before the run: %+v", before)
		}
		snap := m.Snapshot(time.Now())
		done := func(splits int, records, bytes int64) source.Progress {
			return source.Progress{Splits: splits, Records: records, Bytes: bytes}
		}
		var got, want []source.FlowProgress
		for _, f := range snap.Flows {
			if f.Bytes <= 0 {
				t.Errorf("no bytes of %+v", f)
			}
			f.Bytes = 0
			got = append(got, f)
		}
		want = []source.FlowProgress{
			{Cluster: "east", Topic: topic, Stream: "a", Progress: done(2, 40, 0)},
			{Cluster: "east", Topic: topic, Stream: "b", Progress: done(2, 40, 0)},
			{Cluster: "west", Topic: topic, Stream: "a", Progress: done(1, 5, 0)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if snap.Total != done(3, 85, stats.Bytes) || snap.Offsets != 45 || snap.Endless {
			t.Errorf("total %+v, stats %+v, %d offsets", snap.Total, stats, snap.Offsets)
		}
		for name, c := range snap.Clusters {
			if c.State != source.ClusterDone || c.Lag != 0 || c.Behind != 0 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if n := snap.Clusters["east"].Splits; n != 2 {
			t.Errorf("east has %d splits", n)
		}
	})
}

func TestAMonitorShowsWhatIsStillToCome(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 2, nil)
		old := values("v", 0, 100)
		for i := range old {
			old[i].Time = time.Now().Add(-time.Hour).UnixMilli()
		}
		east.Produce(topic, old...)
		m := new(source.Monitor)
		r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east"))
		r.opts.Monitor = m
		r.sink.block = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := r.run(ctx)
			ended <- err
		}()
		snap := await(t, m, "behind", func(s source.Snapshot) bool { return s.Total.Lag == 100 && s.Total.Splits == 2 })
		if f := snap.Flows[0]; f.Lag != 100 || f.Behind != -1 || f.Splits != 2 || f.Records != 0 || !snap.Endless {
			t.Errorf("nothing is written yet: %+v", f)
		}
		if c := snap.Clusters["east"]; c.State != source.ClusterReading || c.Lag != 100 {
			t.Errorf("east: %+v", c)
		}
		close(r.sink.block)
		await(t, m, "done", func(s source.Snapshot) bool { return s.Total.Records == 100 && s.Total.Lag == 0 && s.Total.Behind == 0 })
		east.Produce(topic, kafkatest.Record{Partition: 0, Value: []byte("new")})
		snap = await(t, m, "read on", func(s source.Snapshot) bool { return s.Total.Records == 101 })
		if snap.Total.Lag != 0 {
			t.Errorf("at the end: %+v", snap.Total)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// held lets one write through and then waits.
type held struct {
	*collector
	wrote  chan struct{}
	resume chan struct{}
}

func (h held) Write(blocks []source.Block) error {
	err := h.collector.Write(blocks)
	h.wrote <- struct{}{}
	<-h.resume
	return err
}

func TestLagIsOldByTheLastRecordWritten(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	record := func(v string) kafkatest.Record {
		return kafkatest.Record{Value: []byte(v), Time: at.UnixMilli()}
	}
	east.Produce("orders", record("a"))
	m := new(source.Monitor)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	h := held{r.sink, make(chan struct{}), make(chan struct{})}
	r.opts.Monitor, r.opts.Sink = m, h
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { _, _ = r.run(ctx); close(ended) }()
	<-h.wrote
	h.resume <- struct{}{}
	await(t, m, "written", func(s source.Snapshot) bool { return s.Total.Records == 1 && s.Total.Lag == 0 })
	east.Produce("orders", record("b"))
	<-h.wrote // and stands still
	snap := await(t, m, "behind", func(s source.Snapshot) bool { return s.Total.Lag == 1 })
	if b := snap.Total.Behind; b < time.Hour || b > time.Hour+time.Minute {
		t.Errorf("behind by %s", b)
	}
	if b := m.Snapshot(at.Add(-time.Second)).Total.Behind; b != 0 {
		t.Errorf("a clock that is behind the records gives %s", b)
	}
	cancel()
	h.resume <- struct{}{}
	<-ended
}

func TestAMonitorKnowsLostClustersAndBounds(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("v", 0, 100)...)
	m := new(source.Monitor)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east", "west"))
	r.addCluster(t, "west", "127.0.0.1:1")
	offsets, err := spec.ParseOffsets([]string{"10:20"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.opts.Monitor, r.opts.Offsets, r.opts.Bounded, r.opts.GiveUp = m, offsets, true, 300*time.Millisecond
	r.sink.block = make(chan struct{})
	ended := make(chan struct{})
	go func() { _, _ = r.run(t.Context()); close(ended) }()
	snap := await(t, m, "bounded and lost", func(s source.Snapshot) bool {
		return s.Total.Lag == 10 && s.Clusters["west"].State == source.ClusterLost
	})
	if snap.Endless || snap.Clusters["west"].Lag != -1 || snap.Clusters["west"].Splits != 0 {
		t.Errorf("%+v", snap)
	}
	close(r.sink.block)
	<-ended
	snap = m.Snapshot(time.Now())
	if snap.Clusters["west"].State != source.ClusterLost || snap.Clusters["east"].State != source.ClusterDone || snap.Total.Records != 10 || snap.Total.Lag != 0 {
		t.Errorf("at the end: %+v", snap)
	}
}

// What was known of the ends of a cluster that is lost says nothing about its lag.
func TestTheLagOfALostClusterIsUnknown(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("orders", 1, nil)
		c.Produce("orders", values("v", 0, 10)...)
	}
	m := new(source.Monitor)
	r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", "orders", "east", "west"))
	r.opts.Monitor = m
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _, _ = r.run(ctx); close(ended) }()
	await(t, m, "all read", func(s source.Snapshot) bool { return s.Total.Records == 20 && s.Total.Lag == 0 })
	west.Fake().Close()
	await(t, m, "lost", func(s source.Snapshot) bool {
		return s.Clusters["west"].State == source.ClusterLost && s.Clusters["west"].Lag == -1 && s.Clusters["east"].Lag == 0 && s.Total.Lag == -1
	})
	cancel()
	<-ended
}
