package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// grouped looks after the membership: it tells what takes its time, and returns
// why there will be none.
func (r *reader) grouped(ctx context.Context) error {
	g := r.group
	if g == nil {
		return nil
	}
	g.mu.Lock()
	m, err, slow, idle, gave, changed := g.m, g.failure, g.slow, g.idle, g.gave, g.changed
	g.mu.Unlock()
	if err != nil {
		return err
	}
	since, n := m.given()
	joining := m.joiningSince()
	if !since.IsZero() && !changed {
		r.e.begun.arrive(r)
	}
	switch {
	case !joining.IsZero() && !slow && time.Since(joining) > joinPatience:
		g.mu.Lock()
		g.slow = true
		g.mu.Unlock()
		r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: still waiting to be let into group %s%s", r.name, r.e.Group, r.groupState(ctx))})
	case n == 0 && !since.IsZero() && !idle && !r.e.Exit && time.Since(since) > joinPatience && len(m.wanted()) > 0:
		r.tellIdle(ctx, gave)
	}
	return nil
}

// tellIdle tells that nothing is left for this run, unless somebody is about to
// give something back.
func (r *reader) tellIdle(ctx context.Context, gave bool) {
	g := r.group
	if time.Since(g.asked) < joinPatience/4 {
		return
	}
	g.asked = time.Now()
	call, done := r.calling(ctx)
	defer done()
	if info, err := r.cluster.DescribeGroup(call, r.e.Group); err != nil || !info.Settled() {
		return
	}
	if _, n := g.member().given(); n > 0 {
		return
	}
	g.mu.Lock()
	g.idle = true
	g.mu.Unlock()
	what := "gives this run no partition"
	if gave {
		what = "leaves this run no partition"
	}
	r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s %s: its other members have them all; waiting", r.name, r.e.Group, what)})
}

// groupState says, for people, what a group is busy with.
func (r *reader) groupState(ctx context.Context) string {
	call, done := r.calling(ctx)
	defer done()
	info, err := r.cluster.DescribeGroup(call, r.e.Group)
	if err != nil || info.Kind == cluster.NoGroup {
		return ""
	}
	return fmt.Sprintf(": %s, %s", info.State, membersAre(len(info.Members)))
}

// restless reports whether the group has to be looked at again soon.
func (r *reader) restless() bool {
	g := r.group
	if g == nil {
		return false
	}
	g.mu.Lock()
	m, idle, slow := g.m, g.idle, g.slow
	g.mu.Unlock()
	since, n := m.given()
	if r.e.Exit {
		return true
	}
	return since.IsZero() && !slow || n == 0 && !since.IsZero() && !idle || r.finishes() && r.shareStopped()
}

// shareStopped reports whether something was stopped, and the group has given this
// run nothing that is still read, or is still to be begun.
func (r *reader) shareStopped() bool {
	r.mu.Lock()
	stopped := len(r.reasons) > 0
	r.mu.Unlock()
	held := r.group.member().held()
	if !stopped || len(held) == 0 {
		return false
	}
	over := map[cluster.TopicPartition]bool{}
	for at, d := range r.live {
		p := cluster.TopicPartition{Topic: at.topic, Partition: at.partition}
		was, some := over[p]
		over[p] = d.state != reading && (was || !some)
	}
	return !slices.ContainsFunc(held, func(p cluster.TopicPartition) bool { return !over[p] })
}

// hasShare reports whether all that the group gives this run has been given, so
// that a run with an end may end.
func (r *reader) hasShare(ctx context.Context) bool {
	g := r.group
	if g == nil {
		return true
	}
	m := g.member()
	since, n := m.given()
	switch {
	case !r.e.Exit && !r.shareStopped():
		return r.e.PerSplit > 0 && n > 0 && len(m.wanted()) > 0
	case len(m.wanted()) == 0:
		return r.e.Exit
	case since.IsZero(), n == 0 && time.Since(since) < givenPatience:
		return false
	}
	g.mu.Lock()
	changed := g.changed
	g.mu.Unlock()
	if changed {
		return false
	}
	call, done := r.calling(ctx)
	defer done()
	info, err := r.cluster.DescribeGroup(call, r.e.Group)
	if err != nil || !info.Settled() {
		return time.Since(since) > max(r.e.GiveUp, 5*time.Second)
	}
	if again, left := m.given(); again != since || left != n {
		return false
	}
	if n == 0 {
		r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s gives this run no partition: its other members have them all", r.name, r.e.Group)})
	}
	return true
}

// trouble implements memberHandler.
func (g *grouping) trouble(err error, final bool) {
	if err != nil && !final && (g.leaves() || errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed)) {
		return // of its own end
	}
	g.mu.Lock()
	before := g.told
	switch {
	case err == nil:
		g.told, g.slow = "", false
	case final:
		g.failure = err
	default:
		g.told = err.Error()
	}
	g.mu.Unlock()
	switch {
	case final:
		g.r.poke()
	case err == nil && before != "":
		g.r.event(Event{Kind: Back, Text: fmt.Sprintf("%s: back in group %s", g.r.name, g.r.e.Group)})
	case err != nil && before != err.Error():
		g.r.event(Event{Kind: Lost, Text: err.Error() + "; trying again", Hint: fault.HintOf(err)})
	}
}

// retire ends the membership of a reader that has ended while the run goes on.
func (g *grouping) retire(ctx context.Context) {
	if g != nil {
		g.r.e.begun.arrive(g.r)
		g.r.e.reading.Go(func() { g.leaveEarly(ctx) })
	}
}

// refused reports whether there is no membership and will be none.
func (g *grouping) refused() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure != nil
}

// leaveEarly ends the membership of a reader that has nothing more to read, while
// the run goes on: others may have its partitions.
func (g *grouping) leaveEarly(ctx context.Context) {
	g.mu.Lock()
	var list []*split
	for _, splits := range g.splits {
		list = append(list, splits...)
	}
	g.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, commitLimit)
	defer cancel()
	g.r.e.pipe.settled(limited, list)
	if ctx.Err() == nil {
		g.failed = g.leave()
	}
}

// firstShare reports whether deliveries are what this run begins with: it has
// been told what it was given.
func (g *grouping) firstShare(come []*delivery) bool {
	if g == nil || g.begun || g.r.late || len(come) == 0 {
		return false
	}
	g.begun = true
	return true
}

// allSplits are the partitions that there are to be given.
func (g *grouping) allSplits() (list []record.Split) {
	if g == nil {
		return nil
	}
	for s := range g.found {
		list = append(list, s)
	}
	return list
}
