package source_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
)

// inGroup makes a run one of a member of a group.
func (r *run) inGroup(group string) *run {
	r.opts.Group, r.opts.OnGap = group, source.GapStop
	return r
}

func TestAGroupCommitsExactlyWhatIsWritten(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 3, nil)
		want := 0
		for p := range int32(2) {
			east.Produce(topic, values(fmt.Sprintf("p%d-", p), p, 20)...)
			want += 20
		}
		var got []string
		for range 6 {
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).bounded().inGroup(group)
			r.opts.Limit = 7
			stats, err := r.run(t.Context())
			if err != nil || stats.Uncommitted != nil {
				t.Fatal(err, stats.Uncommitted)
			}
			got = append(got, r.sink.all()...)
			if n := max(east.Committed(group, topic, 0), 0) + max(east.Committed(group, topic, 1), 0); n != int64(len(got)) {
				t.Fatalf("%d records are written, the commits are of %d", len(got), n)
			}
		}
		checkLines(t, got, slices.Concat(lines("orders", "east/"+topic+"/0", "p0-", 20), lines("orders", "east/"+topic+"/1", "p1-", 20)))
		if at := east.Committed(group, topic, 2); at != 0 {
			t.Errorf("the empty partition has commit %d", at)
		}
	})
}

func TestAMemberTakesOverFromAnotherWithoutALoss(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		east := rig.Cluster("east")
		topic, group := rig.Name("orders"), rig.Name("g")
		east.CreateTopic(topic, 4, nil)
		begin := func() (*run, func() source.Stats) {
			r := newRun(t, []*kafkatest.Cluster{east}, stream("orders", topic, "east")).inGroup(group)
			ctx, stop := contextOf(t)
			done := make(chan source.Stats, 1)
			go func() {
				stats, _ := r.run(ctx)
				done <- stats
			}()
			return r, func() source.Stats { stop(); return <-done }
		}
		written := 0
		produce := func() {
			for p := range int32(4) {
				east.Produce(topic, values(fmt.Sprintf("%d-", written), p, 5)...)
			}
			written += 20
		}
		a, stopA := begin()
		produce()
		waitUntil(t, "all of it", func() bool { return len(a.sink.all()) == written })
		b, stopB := begin()
		waitUntil(t, "records for the second", func() bool { produce(); return len(b.sink.all()) > 0 })
		stopA()
		waitUntil(t, "everything", func() bool {
			produce()
			return len(distinct(a.sink.all(), b.sink.all())) == written
		})
		stopB()
		var committed int64
		for p := range int32(4) {
			committed += east.Committed(group, topic, p)
		}
		if n := len(distinct(a.sink.all(), b.sink.all())); n != written || committed != int64(written) {
			t.Errorf("%d of %d records, commits of %d", n, written, committed)
		}
		if all := len(a.sink.all()) + len(b.sink.all()); all != written {
			t.Errorf("%d lines for %d records", all, written)
		}
	})
}

func distinct(lists ...[]string) []string {
	all := slices.Sorted(slices.Values(slices.Concat(lists...)))
	return slices.Compact(all)
}

func waitUntil(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("no %s", what)
		}
	}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	return ctx, stop
}
