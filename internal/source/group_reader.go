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
			if p := (cluster.TopicPartition{Topic: o.Topic, Partition: o.Partition}); !g.isStale(p, o.At) {
				known[p] = o.At
			}
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
