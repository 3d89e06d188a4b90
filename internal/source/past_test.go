package source_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// archive is a Past in memory: for each place, by stream and split, the offsets
// that it has. Values are old0, old1 and so on.
type archive struct {
	places []source.PastPlace
	has    [][]int64
	block  int           // records in a block; 0 is 7
	broken int64         // offset of a damaged record; 0 is none
	gate   chan struct{} // when not nil, each block waits for a token
	reads  int
}

func (a *archive) add(stream, topic string, partition int32, from, to int64) {
	cluster, topic, _ := strings.Cut(topic, "/")
	var list []int64
	for o := from; o < to; o++ {
		list = append(list, o)
	}
	a.places = append(a.places, source.PastPlace{Stream: stream, Split: record.Split{Cluster: cluster, Topic: topic, Partition: partition}})
	a.has = append(a.has, list)
}

func (a *archive) Places() []source.PastPlace { return a.places }

func (a *archive) Find(stream string, s record.Split) (source.PastPart, bool) {
	id := slices.Index(a.places, source.PastPlace{Stream: stream, Split: s})
	if id < 0 {
		return source.PastPart{}, false
	}
	list := a.has[id]
	return source.PastPart{ID: id, First: list[0], Next: list[len(list)-1] + 1}, true
}

var errBroken = fault.New(fault.Failed, "old.json:12: damaged")

func (a *archive) Read(ctx context.Context, from map[int]int64, give func(source.PastBlock) error) error {
	a.reads++
	size := a.block
	if size == 0 {
		size = 7
	}
	for id := range a.places {
		at, wanted := from[id]
		if !wanted {
			continue
		}
		next := at
		for part := range slices.Chunk(a.has[id], size) {
			if part[len(part)-1] < at {
				continue
			}
			if a.gate != nil {
				select {
				case <-a.gate:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			b := source.PastBlock{ID: id, First: next, Next: part[len(part)-1] + 1, Size: 100, Records: a.records(part)}
			next = b.Next
			if err := give(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *archive) records(offsets []int64) func(func(*record.Record) bool) error {
	return func(yield func(*record.Record) bool) error {
		for _, o := range offsets {
			if o == a.broken && o > 0 {
				return errBroken
			}
			if !yield(&record.Record{Offset: o, Timestamp: 1_700_000_000_000 + o, Value: fmt.Appendf(nil, "old%d", o)}) {
				return nil
			}
		}
		return nil
	}
}

// part are lines of a split for some offsets, the value being the prefix and the
// offset.
func part(stream, split, prefix string, from, to int) (list []string) {
	for o := from; o < to; o++ {
		list = append(list, fmt.Sprintf("%s %s@%d %s%d", stream, split, o, prefix, o))
	}
	return list
}

func TestTheLogFollowsOnThePast(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east, west := rig.Cluster("east"), rig.Cluster("west")
		topic := rig.Name("orders")
		for _, c := range []*kafkatest.Cluster{east, west} {
			c.CreateTopic(topic, 3, nil)
			for p := range int32(3) {
				c.Produce(topic, values("new", p, 100)...)
			}
		}
		e, w := "east/"+topic, "west/"+topic
		a := &archive{}
		a.add("orders", "east/"+topic, 0, 0, 60)
		a.add("orders", "east/"+topic, 1, 0, 100) // all of it
		a.add("orders", "west/"+topic, 2, 30, 31)
		a.add("orders", "gone/"+topic, 2, 0, 10)
		want := slices.Concat(
			part("orders", e+"/0", "old", 0, 60), part("orders", e+"/0", "new", 60, 100),
			part("orders", e+"/1", "old", 0, 100), part("orders", e+"/2", "new", 0, 100),
			part("orders", w+"/0", "new", 0, 100), part("orders", w+"/1", "new", 0, 100),
			part("orders", w+"/2", "old", 30, 31), part("orders", w+"/2", "new", 31, 100))
		r := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west")).bounded()
		r.opts.Past = a
		stats, err := r.run(t.Context())
		if err != nil || a.reads != 1 {
			t.Fatalf("ended with %v after %d reads", err, a.reads)
		}
		checkLines(t, r.sink.all(), want)
		if stats.Records != int64(len(want)) || stats.Clusters["east"].Splits != 3 {
			t.Errorf("stats %+v", stats)
		}
		follow := newRun(t, []*kafkatest.Cluster{east, west}, stream("orders", topic, "east", "west"))
		follow.opts.Past = a
		end := follow.follow(t)
		eventually(t, "all lines", func() bool { return follow.count() == len(want) })
		east.Produce(topic, more("new", 1, 100, 5)...)
		eventually(t, "the new lines", func() bool { return follow.count() == len(want)+5 })
		if _, err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		want = slices.Insert(want, 200, part("orders", e+"/1", "new", 100, 105)...)
		checkLines(t, follow.sink.all(), want)
	})
}

func TestBoundsHoldForThePastToo(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	records := values("new", 0, 100)
	for i := range records {
		records[i].Time = 1_700_000_000_000 + int64(i)
	}
	east.Produce("orders", records...)
	old := func(from, to int) []string { return part("orders", "east/orders/0", "old", from, to) }
	log := func(from, to int) []string { return part("orders", "east/orders/0", "new", from, to) }
	for _, tt := range []struct {
		name  string
		spec  string
		limit int64
		each  int64
		want  []string
	}{
		{name: "an offset in the past", spec: "20", limit: -1, want: slices.Concat(old(20, 50), log(50, 100))},
		{name: "an offset behind it", spec: "70", limit: -1, want: log(70, 100)},
		{name: "a stop in the past", spec: ":30", limit: -1, want: old(10, 30)},
		{name: "a stop before it", spec: ":5", limit: -1, want: log(0, 5)},
		{name: "a stop behind it", spec: "45:60", limit: -1, want: slices.Concat(old(45, 50), log(50, 60))},
		{name: "the log's end says nothing about where the past begins", spec: "end", limit: -1, want: slices.Concat(old(10, 50), log(50, 100))},
		{name: "a window", spec: "@1700000000030:1700000000045", limit: -1, want: old(30, 45)},
		{name: "a window beyond the past", spec: "@1700000000045:1700000000055", limit: -1, want: slices.Concat(old(45, 50), log(50, 55))},
		{name: "a limit in the past", limit: 13, want: old(10, 23)},
		{name: "a limit behind it", limit: 45, want: slices.Concat(old(10, 50), log(50, 55))},
		{name: "a limit of each partition", limit: -1, each: 12, want: old(10, 22)},
		{name: "one of each partition behind the past", limit: -1, each: 44, want: slices.Concat(old(10, 50), log(50, 54))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &archive{}
			a.add("orders", "east/orders", 0, 10, 50)
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
			r.opts.Past, r.opts.Limit, r.opts.PerSplit = a, tt.limit, tt.each
			if tt.spec != "" {
				offsets, err := spec.ParseOffsets([]string{tt.spec}, r.opts.Started)
				if err != nil {
					t.Fatal(err)
				}
				r.opts.Offsets = offsets
			}
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkLines(t, r.sink.all(), tt.want)
		})
	}
}

func TestWhatIsMissingBetweenThePastAndTheLogIsToldByPolicy(t *testing.T) {
	const gap = "east/orders/0: offsets 50 to 79 are gone from the log (retention or deleted records)"
	const beyond = "east/orders/0: the files go on to offset 149, the log ends at 100: it is another one, or a restored one"
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 100)...)
	east.DeleteRecords("orders", 0, 80)
	all := func(to int, log bool) []string {
		list := part("orders", "east/orders/0", "old", 0, to)
		if log {
			list = append(list, part("orders", "east/orders/0", "new", 80, 100)...)
		}
		return list
	}
	for _, tt := range []struct {
		name   string
		to     int64
		policy source.GapPolicy
		want   []string // nil: not looked at
		told   []string
		failed []string
		kind   fault.Kind
	}{
		{name: "a gap that is passed over", to: 50, policy: source.GapSkip, want: all(50, true), told: []string{gap + "; going on at 80"}},
		{name: "a gap that stops the split", to: 50, policy: source.GapStop, want: all(50, false), failed: []string{gap}, kind: fault.Partial},
		{name: "a gap that ends the run", to: 50, policy: source.GapFail, want: all(50, false), kind: fault.Failed},
		{name: "another log", to: 150, policy: source.GapSkip, want: all(150, true), told: []string{beyond + "; behind the files it is read from its start"}},
		{name: "another log stops the split", to: 150, policy: source.GapStop, want: all(150, false), failed: []string{beyond}, kind: fault.Partial},
		{name: "another log ends the run", to: 150, policy: source.GapFail, kind: fault.Failed},
		{name: "no gap at all", to: 80, policy: source.GapFail, want: all(80, true)},
		{name: "nothing new", to: 100, policy: source.GapFail, want: all(100, false)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &archive{}
			a.add("orders", "east/orders", 0, 0, tt.to)
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
			r.opts.Past, r.opts.OnGap = a, tt.policy
			_, err := r.run(t.Context())
			if err != nil && fault.KindOf(err) != tt.kind || err == nil && tt.kind != 0 {
				t.Errorf("ended with %v", err)
			}
			if got := r.sink.all(); tt.want != nil && !slices.Equal(got, tt.want) {
				t.Errorf("got %d lines, want %d", len(got), len(tt.want))
			}
			if told, failed := r.told(source.Gap), r.told(source.Failed); !slices.Equal(told, tt.told) || !slices.Equal(failed, tt.failed) {
				t.Errorf("told %q and %q, want %q and %q", told, failed, tt.told, tt.failed)
			}
		})
	}
}

func TestPositionsAreKeptInThePast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 100)...)
	a, kept := &archive{}, &shelf{}
	a.add("orders", "east/orders", 0, 0, 60)
	var got []string
	for n := int64(9); n < 110; n += 9 {
		r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
		r.opts.Past, r.opts.Keeper, r.opts.Limit = a, kept, 9
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.sink.all()...)
		if at := kept.at()["east/orders/0"]; at != min(n, 100) {
			t.Fatalf("%d lines are written, the position is %d", len(got), at)
		}
	}
	if want := slices.Concat(part("orders", "east/orders/0", "old", 0, 60), part("orders", "east/orders/0", "new", 60, 100)); !slices.Equal(got, want) {
		t.Errorf("got %d lines %q, want %d", len(got), got, len(want))
	}
}

func TestTwoStreamsHaveTheirOwnPast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 30)...)
	a := &archive{}
	a.add("one", "east/orders", 0, 0, 10)
	a.add("two", "east/orders", 0, 5, 30)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("one", "orders", "east"), stream("two", "orders", "east"), stream("three", "orders", "east")).bounded()
	r.opts.Past = a
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLines(t, r.sink.all(), slices.Concat(
		part("one", "east/orders/0", "old", 0, 10), part("one", "east/orders/0", "new", 10, 30),
		part("three", "east/orders/0", "new", 0, 30), part("two", "east/orders/0", "old", 5, 30)))
}

func TestADamagedRecordEndsTheRun(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 100)...)
	a := &archive{broken: 20}
	a.add("orders", "east/orders", 0, 0, 50)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	r.opts.Past = a
	if _, err := r.run(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("ended with %v", err)
	}
	if got := r.sink.all(); !slices.Equal(got, part("orders", "east/orders/0", "old", 0, 20)) {
		t.Errorf("got %q", got)
	}
}

func TestWhatLeavesWhileItsPastIsReadIsDrained(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	for _, topic := range []string{"orders", "other"} {
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("new", 0, 40)...)
	}
	a := &archive{gate: make(chan struct{}, 1000)}
	a.add("orders", "east/orders", 0, 0, 21)
	f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"), stream("other", "other", "east"))
	f.opts.Past, f.opts.DrainTimeout = a, 0
	end := f.follow(t)
	a.gate <- struct{}{}
	f.awaitLines(47)
	f.plan(stream("other", "other", "east"))
	a.gate <- struct{}{}
	a.gate <- struct{}{}
	f.awaitLine(source.Drained, "- east/orders drained at 0:40")
	f.plan(stream("orders", "orders", "east"), stream("other", "other", "east"))
	f.awaitLine(source.Added, "+ east/orders (1 partition), from where it was left")
	east.Produce("orders", more("new", 0, 40, 3)...)
	f.awaitLines(83)
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	checkLines(t, f.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", 0, 21), part("orders", "east/orders/0", "new", 21, 43),
		part("other", "east/other/0", "new", 0, 40)))
}

// What is let go at once goes on in the past when it comes back.
func TestWhatIsStoppedInItsPastGoesOnThere(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	for _, topic := range []string{"orders", "other"} {
		east.CreateTopic(topic, 1, nil)
		east.Produce(topic, values("new", 0, 40)...)
	}
	a := &archive{gate: make(chan struct{}, 1000)}
	a.add("orders", "east/orders", 0, 0, 21)
	f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"), stream("other", "other", "east"))
	f.opts.Past, f.opts.OnRemove = a, source.RemoveStop
	end := f.follow(t)
	a.gate <- struct{}{}
	f.awaitLines(47)
	f.plan(stream("other", "other", "east"))
	f.awaitLine(source.Removed, "- east/orders left at 0:7")
	for range 10 {
		a.gate <- struct{}{}
	}
	f.plan(stream("orders", "orders", "east"), stream("other", "other", "east"))
	f.awaitLines(80)
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	checkLines(t, f.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", 0, 21), part("orders", "east/orders/0", "new", 21, 40),
		part("other", "east/other/0", "new", 0, 40)))
}

// A cluster that comes while the run goes on brings its past.
func TestALaterClusterBringsItsPast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("orders", 1, nil)
		c.Produce("orders", values("new", 0, 10)...)
	}
	a := &archive{}
	a.add("orders", "east/orders", 0, 0, 5)
	a.add("orders", "west/orders", 0, 0, 8)
	f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	f.redefine("west", west.Bootstrap())
	f.opts.Past = a
	end := f.follow(t)
	f.awaitLines(10)
	f.plan(stream("orders", "orders", "east", "west"))
	f.awaitLine(source.Added, "+ west/orders (1 partition), from the files on")
	f.awaitLines(20)
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	checkLines(t, f.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", 0, 5), part("orders", "east/orders/0", "new", 5, 10),
		part("orders", "west/orders/0", "old", 0, 8), part("orders", "west/orders/0", "new", 8, 10)))
}

func TestThePastGoesToAnotherClusterToo(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 2, nil)
	east.Produce("orders", values("new", 0, 1000)...)
	east.Produce("orders", values("new", 1, 1000)...)
	a, kept := &archive{}, &shelf{}
	a.add("orders", "east/orders", 0, 0, 700)
	a.add("orders", "east/orders", 1, 0, 900)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
	r.opts.Past, r.opts.Keeper, r.opts.Sink = a, kept, &remote{collector: r.sink}
	r.opts.Memory = 4000 // so that the past has to wait for the answers
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.sink.all()
	offset := func(line string) (n int) { // which the fake answers in any order
		_, _ = fmt.Sscanf(line[strings.Index(line, "@"):], "@%d", &n)
		return n
	}
	slices.SortFunc(got, func(a, b string) int { return offset(a) - offset(b) })
	checkLines(t, got, slices.Concat(part("orders", "east/orders/0", "old", 0, 700), part("orders", "east/orders/0", "new", 700, 1000),
		part("orders", "east/orders/1", "old", 0, 900), part("orders", "east/orders/1", "new", 900, 1000)))
	if at := kept.at(); at["east/orders/0"] != 1000 || at["east/orders/1"] != 1000 {
		t.Errorf("positions %v", at)
	}
}

// What the files have of a cluster that cannot be reached is there all the same.
func TestAClusterThatIsGoneHasItsPast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 10)...)
	a := &archive{}
	a.add("orders", "east/orders", 0, 0, 5)
	a.add("orders", "gone/orders", 0, 3, 40)
	a.add("orders", "gone/orders", 2, 0, 9)
	a.add("orders", "gone/other", 0, 0, 9)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east", "gone")).bounded()
	r.addCluster(t, "gone", "127.0.0.1:1")
	r.opts.Past, r.opts.GiveUp = a, 300*time.Millisecond
	_, err := r.run(t.Context())
	if fault.KindOf(err) != fault.Partial {
		t.Errorf("ended with %v", err)
	}
	checkLines(t, r.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", 0, 5), part("orders", "east/orders/0", "new", 5, 10),
		part("orders", "gone/orders/0", "old", 3, 40), part("orders", "gone/orders/2", "old", 0, 9)))
	if want := "gone: what the files have is delivered; what follows in the log is missing"; !slices.Contains(r.told(source.Note), want) {
		t.Errorf("told %q", r.told(source.Note))
	}
}

func TestThePastAloneNeedsNoCluster(t *testing.T) {
	for _, tt := range []struct {
		name        string
		spec        string
		limit, each int64
		want        [2][]int64 // from and to of the two partitions
	}{
		{name: "all", limit: -1, want: [2][]int64{{0, 60}, {30, 40}}},
		{name: "a range", spec: "35:38", limit: -1, want: [2][]int64{{35, 38}, {35, 38}}},
		{name: "the last ones", spec: "-4", limit: -1, want: [2][]int64{{56, 60}, {36, 40}}},
		{name: "a window", spec: "@1700000000035:1700000000037", limit: -1, want: [2][]int64{{35, 37}, {35, 37}}},
		{name: "a limit", limit: 10, want: [2][]int64{{0, 10}, {0, 0}}},
		{name: "a limit of each", limit: -1, each: 5, want: [2][]int64{{0, 5}, {30, 35}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, kept := &archive{}, &shelf{}
			a.add("orders", "east/orders", 0, 0, 60)
			a.add("orders", "west/orders", 1, 30, 40)
			r := newRun(t, nil).bounded()
			r.opts.Past, r.opts.Keeper, r.opts.Limit, r.opts.PerSplit = a, kept, tt.limit, tt.each
			if tt.spec != "" {
				offsets, err := spec.ParseOffsets([]string{tt.spec}, r.opts.Started)
				if err != nil {
					t.Fatal(err)
				}
				r.opts.Offsets = offsets
			}
			for range 2 { // the second time nothing is left
				if _, err := source.RunPast(t.Context(), r.opts, a.places); err != nil {
					t.Fatal(err)
				}
				if tt.limit >= 0 || tt.each > 0 {
					break
				}
			}
			for p := range kept.marks {
				if p.ClusterID != "/"+p.Cluster {
					t.Errorf("a position is kept for %+v", p)
				}
			}
			checkLines(t, r.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", int(tt.want[0][0]), int(tt.want[0][1])),
				part("orders", "west/orders/1", "old", int(tt.want[1][0]), int(tt.want[1][1]))))
		})
	}
}
