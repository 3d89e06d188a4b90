package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// shelf keeps positions in memory, from one run to the next.
type shelf struct {
	mu    sync.Mutex
	marks map[source.Place]source.Mark
	fail  error
}

func (s *shelf) Find(p source.Place) (source.Mark, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.marks[p]
	return m, ok, nil
}

func (s *shelf) Keep(marks []source.Mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks == nil {
		s.marks = map[source.Place]source.Mark{}
	}
	for _, m := range marks {
		s.marks[m.Place] = m
	}
	return s.fail
}

// at are the offsets of the marks, by split.
func (s *shelf) at() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]int64{}
	for p, m := range s.marks {
		list[p.String()] = m.Offset
	}
	return list
}

func TestARunGoesOnWhereTheLastOneStopped(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic := rig.Name("orders")
		east.CreateTopic(topic, 2, nil)
		east.Produce(topic, values("v", 0, 100)...)
		east.Produce(topic, values("w", 1, 100)...)
		kept := &shelf{}
		var got []string
		for n := 0; n < 230; n += 23 {
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).bounded()
			r.opts.Keeper, r.opts.Limit = kept, 23
			if _, err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, r.sink.all()...)
			if written := kept.at()["east/"+topic+"/0"] + kept.at()["east/"+topic+"/1"]; written != int64(len(got)) {
				t.Fatalf("%d lines are written, the positions are %v", len(got), kept.at())
			}
		}
		checkLines(t, got, slices.Concat(lines("orders", "east/"+topic+"/0", "v", 100), lines("orders", "east/"+topic+"/1", "w", 100)))
		// A partition that has no position, of a topic that has others, is new.
		east.AddPartitions(topic, 3)
		east.Produce(topic, values("x", 2, 5)...)
		r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).bounded()
		r.opts.Keeper, r.opts.Start = kept, spec.Bound{Kind: spec.End}
		if _, err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkLines(t, r.sink.all(), lines("orders", "east/"+topic+"/2", "x", 5))
	})
}

// reader takes some of what is written to a pipe and goes.
type reader struct {
	*collector
	out *output.Stdout
}

func (r reader) Write(blocks []source.Block) error {
	for _, b := range blocks {
		if _, err := r.out.Write(b.Data); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) Taken(end bool) int64 { return r.out.Taken(end) }

func TestOnlyWhatTheReaderOfAPipeTookIsKept(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("v", 0, 60000)...) // more than the pipe holds
	for _, take := range []int{0, 1, 40, 1000, 5000, 150000} {
		t.Run(fmt.Sprint(take), func(t *testing.T) {
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
			kept := &shelf{}
			r.opts.Keeper, r.opts.Sink = kept, reader{r.sink, output.NewStdout(out)}
			taken := make(chan string, 1)
			go func() {
				text := make([]byte, take)
				for n := 0; n < take; {
					m, _ := in.Read(text[n:])
					n += m
				}
				_ = in.Close()
				taken <- string(text)
			}()
			if _, err := r.run(t.Context()); !errors.Is(err, output.ErrClosedPipe) {
				t.Fatalf("ended with %v", err)
			}
			whole := int64(strings.Count(<-taken, "\n"))
			if at := kept.at()["east/orders/0"]; at != whole {
				t.Errorf("%d records were taken, the position is %d", whole, at)
			}
		})
	}
}

func TestARunEndsWhenPositionsCannotBeKept(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("v", 0, 10)...)
	broken := errors.New("no space left")
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	r.opts.Keeper, r.opts.Limit = &shelf{}, 10
	r.opts.Keeper.(*shelf).fail = broken
	if _, err := r.run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
}

// durable is a sink whose writes are durable after Sync only. Its second write
// hangs.
type durable struct {
	*collector
	next   func() // called when the first write is done
	writes int
	hung   chan struct{} // closed when the second has begun
	end    chan struct{} // closed to let it go
	synced int64         // records
}

func (d *durable) Write(blocks []source.Block) error {
	if d.writes++; d.writes == 2 {
		close(d.hung)
		<-d.end
		return nil
	}
	defer d.next()
	return d.collector.Write(blocks)
}

func (d *durable) Sync() error {
	d.synced = int64(len(d.all()))
	return nil
}

func TestNothingIsKeptOfAWriteThatHangsBeforeItIsDurable(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("v", 0, 5)...)
	kept := &shelf{}
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	d := &durable{collector: r.sink, hung: make(chan struct{}), end: make(chan struct{})}
	d.next = func() { east.Produce("orders", values("w", 0, 5)...) }
	defer close(d.end)
	r.opts.Keeper, r.opts.Sink = kept, d
	end := r.follow(t)
	<-d.hung
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if at := kept.at()["east/orders/0"]; at != d.synced || len(r.sink.all()) != 5 {
		t.Errorf("%d records are durable, %d written, the position is %d", d.synced, len(r.sink.all()), at)
	}
}

// remote is a Forwarder that answers later, backwards over the splits, and
// refuses one record.
type remote struct {
	*collector
	mu      sync.Mutex
	later   []func()
	refused string
}

func (f *remote) Forward(blocks []source.Block, done func(i int, b source.Block, err error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, b := range blocks {
		f.later = append([]func(){func() {
			before, _, bad := strings.Cut(string(b.Data), f.refused)
			if f.refused == "" || !bad {
				_ = f.Write([]source.Block{b})
				done(i, b, nil)
				return
			}
			n := strings.LastIndex(before, "\n") + 1
			b.Data = b.Data[:n]
			_ = f.Write([]source.Block{b})
			b.Written = strings.Count(string(b.Data), "\n")
			b.Next = int64(b.Written)
			done(i, b, errors.New("refused"))
		}}, f.later...)
	}
	go f.answer()
}

func (f *remote) answer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, do := range f.later {
		do()
	}
	f.later = nil
}

func TestPositionsFollowWhatHasArrived(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 3, nil)
	for p := range int32(3) {
		east.Produce("orders", values(fmt.Sprintf("v%d.", p), p, 1000)...)
	}
	kept := &shelf{}
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east")).bounded()
	m := new(source.Monitor)
	r.opts.Monitor, r.opts.Keeper, r.opts.Sink = m, kept, &remote{collector: r.sink, refused: "@500 v1."}
	stats, err := r.run(context.Background())
	if fault.KindOf(err) != fault.Partial || !slices.Equal(r.told(source.Failed), []string{"east/orders/1: refused"}) {
		t.Errorf("ended with %v, told %q", err, r.told(source.Failed))
	}
	checkLines(t, r.sink.all(), slices.Concat(lines("orders", "east/orders/0", "v0.", 1000),
		lines("orders", "east/orders/1", "v1.", 500), lines("orders", "east/orders/2", "v2.", 1000)))
	if n := int64(len(strings.Join(r.sink.all(), "\n")) + 1); stats.Bytes != n || m.Snapshot(time.Now()).Total.Bytes != n {
		t.Errorf("%d bytes, %d arrived", stats.Bytes, n)
	}
	if snap := m.Snapshot(time.Now()); snap.Total.Lag != 500 || snap.Clusters["east"].State != source.ClusterLost || !snap.Short || snap.Flows[0].Lag != 500 {
		t.Errorf("a split was stopped: %+v", snap)
	}
	if at := kept.at(); at["east/orders/0"] != 1000 || at["east/orders/1"] != 500 || at["east/orders/2"] != 1000 || stats.Records != 2500 {
		t.Errorf("positions %v, %d records", at, stats.Records)
	}
}
