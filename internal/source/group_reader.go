package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// What the reader's goroutine does for its group.

const (
	groupPause    = 300 * time.Millisecond // between looks at a group that has not settled
	joinPatience  = 4 * time.Second        // before it is told that joining takes its time
	givenPatience = time.Second            // before nothing that was given counts as nothing
)

// regroup clears up what has been taken away and reports whether there is
// something new to begin.
func (r *reader) regroup() (changed bool) {
	g := r.group
	if g == nil {
		return false
	}
	g.mu.Lock()
	dropped := g.dropped
	changed = g.changed
	g.dropped, g.changed = nil, false
	g.mu.Unlock()
	for _, s := range dropped {
		r.clear(s)
	}
	return changed
}

// clear forgets a split that has been taken away.
func (r *reader) clear(s *split) {
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	if f != nil {
		f.forget(s)
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(w *split) bool { return w == s })
	for _, w := range s.wants {
		at := s.place(w)
		d := r.live[at]
		if d == nil || d.split != s {
			continue
		}
		if l := d.leave; l != nil {
			delete(l.rest, d)
			l.ends[at.partition] = s.left(d)
			d.leave = nil
		}
		r.e.Monitor.left(d)
		delete(r.live, at)
		r.origins[at] = d.origin
	}
}

// giveBack ends a split that was about to begin when it was taken away.
func (r *reader) giveBack(s *split) {
	s.disowned.Store(true)
	if s.retire() {
		r.mu.Lock()
		r.open--
		r.mu.Unlock()
	}
	r.clear(s)
}

// subscribe tells the group which topics are read, and how many partitions they
// have: those that are wanted, and those that are on their way out.
func (r *reader) subscribe(found []match) {
	g := r.group
	if g == nil {
		return
	}
	parts := map[string]int{}
	for _, m := range found {
		if m.topic.Err == nil && len(m.topic.Partitions) > 0 {
			parts[m.topic.Name] = len(m.topic.Partitions)
		}
	}
	topics := sortedKeys(parts)
	for at := range r.live {
		if !slices.Contains(topics, at.topic) {
			topics = append(topics, at.topic)
		}
	}
	g.mu.Lock()
	grown := false
	for t, n := range parts {
		grown = grown || g.parts[t] > 0 && n > g.parts[t]
		g.parts[t] = n
	}
	m := g.m
	g.mu.Unlock()
	m.subscribe(topics)
	if grown {
		m.grown()
	}
}

// note notes a partition that there is to be given, and how it came.
func (g *grouping) note(m match, partition int32) {
	if g == nil {
		return
	}
	g.found[record.Split{Cluster: g.r.name, Topic: m.topic.Name, Partition: partition}] = true
	for _, w := range m.wants {
		if at := (place{w.key(), m.topic.Name, partition}); g.r.live[at] == nil {
			g.r.originOf(w, at)
		}
	}
}

// noteEnds looks up, once, where the logs end when the run begins: partitions are
// given a while later.
func (r *reader) noteEnds(ctx context.Context, found []match) error {
	g := r.group
	if g == nil || g.ends != nil || r.e.Exit || r.e.Start.Kind != spec.End && !r.e.Offsets.Starts() {
		return nil
	}
	var of []cluster.TopicPartition
	for _, m := range found {
		for _, p := range m.topic.Partitions {
			of = append(of, cluster.TopicPartition{Topic: m.topic.Name, Partition: p.ID})
		}
	}
	offsets, err := r.cluster.Offsets(ctx, of, cluster.End(), cluster.Stable())
	if err != nil {
		return err
	}
	g.ends = map[cluster.TopicPartition][2]int64{}
	for at, o := range offsets {
		if len(o) == 2 && o[0].Err == nil && o[1].Err == nil {
			g.ends[at] = [2]int64{o[0].Offset, o[1].Offset}
		}
	}
	return nil
}

// endOf returns where the log ended when the run began, of what was there then.
func (g *grouping) endOf(s *split, o origin) (end int64, known bool) {
	if g == nil || g.r.lates || o != initial {
		return 0, false
	}
	ends, known := g.ends[s.at()]
	if s.committed {
		return ends[1], known
	}
	return ends[0], known
}

// truncated stops a split whose log has lost records that were read: what has
// been committed of it is not there any more.
func (f *feed) truncated(s *split, ev fetch.Truncated) {
	f.abandon(s, fault.New(fault.Partial, "%s: truncated from %d to %d by an unclean leader election: records that were read are no longer in the log", s, ev.From, ev.To).On(f.r.name))
}

// standing looks up the group's commits.
func (g *grouping) standing(ctx context.Context) error {
	if g == nil {
		return nil
	}
	commits, err := g.r.commits(kadm.RequireStable(ctx), g.r.e.Group)
	if err != nil {
		return err
	}
	known := map[cluster.TopicPartition]int64{}
	var unstable error
	commits.Each(func(o kadm.OffsetResponse) {
		switch {
		case errors.Is(o.Err, kerr.UnstableOffsetCommit):
			unstable = fault.New(fault.Unreachable, "%s: the commits of group %s are being changed by a transaction", g.r.name, g.r.e.Group).On(g.r.name)
		case o.Err == nil && o.At >= 0:
			known[cluster.TopicPartition{Topic: o.Topic, Partition: o.Partition}] = o.At
		}
	})
	if unstable != nil {
		return unstable
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.commits = known
	return nil
}

// atCommit begins a delivery at the group's commit, which may lie outside of the
// log.
func (r *reader) atCommit(s *split, d *delivery, at, end int64) {
	d.from, d.how = at, "the commits of group "+r.e.Group
	d.window = window(ranges{source: spec.Range{Stop: d.stop}})
	r.group.member().found(s.at(), committed{offset: at, epoch: -1})
	switch {
	case at > end:
		r.beyond(s, d, at, end)
	case at < s.logStart && at >= d.until: // nothing would be fetched that shows it
		d.from = d.until
	}
}

// beyond deals with a commit that lies behind the end of the log: the topic was
// made again, or has lost records.
func (r *reader) beyond(s *split, d *delivery, at, end int64) {
	text := fmt.Sprintf("%s: group %s is at offset %d and the log ends at %d: its topic was made again or has lost records", s, r.e.Group, at, end)
	d.from = end
	switch r.e.OnGap {
	case GapStop:
		d.from, d.until, d.how = at, at, notRead
		r.fail(fault.New(fault.Partial, "%s; not read", text).On(r.name).WithHint("--on-gap skip goes on at the end"))
	case GapFail:
		d.from, d.until, d.how = at, at, notRead
		r.e.stop(fault.New(fault.Failed, "%s", text).On(r.name))
	default:
		r.event(Event{Kind: Gap, Split: s.Split, Text: text + "; going on at " + fmt.Sprint(end)})
	}
}

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
	return since.IsZero() && !slow || n == 0 && !since.IsZero() && !idle
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
	case len(m.wanted()) == 0:
		return r.e.Exit
	case !r.e.Exit:
		return r.e.PerSplit > 0 && n > 0
	case since.IsZero():
		return false
	case n == 0 && time.Since(since) < givenPatience:
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

// joining reports whether the group has yet to say which partitions it gives.
func (g *grouping) joining() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	m, changed, failed := g.m, g.changed, g.failure != nil
	g.mu.Unlock()
	since, _ := m.given()
	return !failed && (changed || since.IsZero())
}
