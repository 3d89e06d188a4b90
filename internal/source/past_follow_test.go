package source_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
)

// Changed settings do not disturb the past; another cluster under the name has
// none, and is read by the rules for what comes later.
func TestThePastIsThatOfOneCluster(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("orders", 1, nil)
		c.Produce("orders", values(c.Name(), 0, 30)...)
	}
	a := &archive{gate: make(chan struct{}, 1000)}
	a.add("orders", "east/orders", 0, 0, 21)
	f := newFollowing(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	f.opts.Past = a
	end := f.follow(t)
	a.gate <- struct{}{}
	f.awaitLines(7)
	f.redefine("east", east.Bootstrap())
	f.plan(stream("orders", "orders", "east"))
	f.awaitLine(source.Note, "east: connected anew with the changed settings")
	for range 100 {
		a.gate <- struct{}{}
	}
	f.awaitLines(30)
	f.redefine("east", west.Bootstrap())
	f.plan(stream("orders", "orders", "east"))
	f.awaitLines(60)
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if want := slices.Concat(part("orders", "east/orders/0", "old", 0, 21), part("orders", "east/orders/0", "east", 21, 30), part("orders", "east/orders/0", "west", 0, 30)); !slices.Equal(f.sink.all(), want) {
		t.Errorf("got %q", f.sink.all())
	}
}

// A draining source is not left before its past is read.
func TestADrainingSourceIsReadFromItsPast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 10)...)
	a := &archive{gate: make(chan struct{}, 1000)}
	a.add("orders", "east/orders", 0, 0, 28) // which goes on behind the end of the log
	s := stream("orders", "orders", "east")
	s.Sources[0].Role = metadata.Draining
	f := newFollowing(t, []*kafkatest.Cluster{east}, s)
	f.opts.Past, f.opts.Refresh = a, 50*time.Millisecond
	end := f.follow(t)
	for range 2 {
		a.gate <- struct{}{}
	}
	f.awaitLines(14)
	eventually(t, "some refreshes", func() bool { return time.Since(f.opts.Started) > 400*time.Millisecond })
	for range 2 {
		a.gate <- struct{}{}
	}
	f.awaitLines(38)
	f.awaitLine(source.Drained, "- east/orders drained at 0:10")
	if _, err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	checkLines(t, f.sink.all(), slices.Concat(part("orders", "east/orders/0", "old", 0, 28), part("orders", "east/orders/0", "new", 0, 10)))
}

// A past that takes its time is no reason to end for want of records.
func TestThePastIsWaitedFor(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	east.Produce("orders", values("new", 0, 7)...)
	a := &archive{gate: make(chan struct{}, 1000)}
	a.add("orders", "east/orders", 0, 0, 7)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	r.opts.Past, r.opts.Timeout = a, 100*time.Millisecond
	time.AfterFunc(400*time.Millisecond, func() { a.gate <- struct{}{} })
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLines(t, r.sink.all(), part("orders", "east/orders/0", "old", 0, 7))
}

// Many files, a slow sink and a small limit: nothing hangs, nothing is held.
func TestTheRunEndsInTheMiddleOfThePast(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east := rig.Cluster("east")
	east.CreateTopic("orders", 1, nil)
	a := &archive{block: 1}
	a.add("orders", "east/orders", 0, 0, 5000)
	r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	r.opts.Past, r.opts.Limit = a, 3
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLines(t, r.sink.all(), part("orders", "east/orders/0", "old", 0, 3))
	r = newRun(t, []*kafkatest.Cluster{east}, stream("orders", "orders", "east"))
	r.opts.Past, r.sink.block = a, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, stop)
	if _, err := r.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	close(r.sink.block)
}
