package source

import (
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/spec"
)

// remade is a topic that has been made again since the run first met its name.
type remade struct {
	id    [16]byte
	told  bool                             // or its old one's partitions have told it
	stale map[cluster.TopicPartition]int64 // up to where a commit may be of the old one
}

// meet notes which topics have the names now: positions of another one mean
// nothing for them. It belongs to the reader's goroutine.
func (r *reader) meet(found []match) {
	for _, m := range found {
		t := m.topic
		if t.Err != nil || t.ID == [16]byte{} {
			continue
		}
		ids := r.ids[t.Name]
		if slices.Contains(ids, t.ID) { // a broker may not have heard of the newest yet
			continue
		}
		r.ids[t.Name] = append(ids, t.ID)
		if len(ids) == 0 {
			continue
		}
		r.remade[t.Name] = &remade{id: t.ID, told: r.restarted[t.Name], stale: r.group.before(t.Name, t.ID)}
		delete(r.restarted, t.Name)
		for at := range r.familiar {
			if at.topic == t.Name {
				delete(r.familiar, at)
			}
		}
	}
}

// remadeOf returns the remade topic that a split is of; nil if it is of the first
// one of its name.
func (r *reader) remadeOf(s *split) *remade {
	if m := r.remade[s.Topic]; m != nil && (s.topic.ID == m.id || s.topic.ID == [16]byte{}) {
		return m
	}
	return nil
}

// afresh begins a delivery of a topic that was made again, if that is to be at
// the new one's start or not at all: what was resolved or committed for the old
// one means nothing. Somebody may have committed for the new one by now.
func (r *reader) afresh(s *split, d *delivery, end int64) bool {
	m := r.remadeOf(s)
	if m == nil || r.group == nil && r.e.OnRecreate != RecreateStop {
		return false
	}
	stop := r.e.OnRecreate == RecreateStop
	if at, some := r.group.commitOf(s.at()); some && at <= end && !stop {
		return false
	}
	if d.from, d.how, s.tailed = s.logStart, "its start", false; !r.e.Exit {
		d.until, d.wish, d.window, d.cuts = spec.Open, spec.Open, always, nil
	}
	if stop {
		d.until, d.how = d.from, notRead
	}
	if !m.told {
		m.told = true
		r.madeAnew(s, d)
	}
	return true
}

// heardAnew notes that the partitions of a topic's old one have told that it was
// made again.
func (r *reader) heardAnew(s *split) {
	if m := r.remade[s.Topic]; m != nil && m.id != s.position().TopicID {
		m.told = true
		return
	}
	r.restarted[s.Topic] = true
}

// before is up to where commits for a topic's partitions may be of the old one of
// its name: those that were there at the last look, and what this run has read.
func (g *grouping) before(topic string, id [16]byte) map[cluster.TopicPartition]int64 {
	if g == nil {
		return nil
	}
	stale := map[cluster.TopicPartition]int64{}
	note := func(p cluster.TopicPartition, at int64) {
		if last, some := stale[p]; p.Topic == topic && (!some || last < at) {
			stale[p] = at
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, at := range g.commits {
		if !g.m.provenFor(p, id) {
			note(p, at)
		}
	}
	for of, at := range g.reached {
		if of.topicID != id {
			note(of.TopicPartition, at)
		}
	}
	for p := range g.ends {
		if p.Topic == topic {
			delete(g.ends, p)
		}
	}
	return stale
}

// isStale reports whether a commit may be of the topic that had its name before.
func (g *grouping) isStale(p cluster.TopicPartition, at int64) bool {
	m := g.r.remade[p.Topic]
	if m == nil {
		return false
	}
	last, some := m.stale[p]
	return some && at <= last && !g.member().provenFor(p, m.id)
}

// commitOf is the group's commit at the last look.
func (g *grouping) commitOf(p cluster.TopicPartition) (at int64, some bool) {
	if g == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, some = g.commits[p]
	return at, some
}

// reached is a partition of one topic of a name.
type reached struct {
	cluster.TopicPartition
	topicID [16]byte
}
