package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/record"
)

// grouping is one reader's part in the run's consumer group: which partitions it
// may read, where it begins to, and what it commits. A nil grouping may read
// everything and commits nothing.
type grouping struct {
	r         *reader
	clusterID string

	changing sync.Mutex // of the member

	mu      sync.Mutex
	m       *member
	splits  map[cluster.TopicPartition][]*split        // under way
	marks   map[cluster.TopicPartition]map[string]Mark // how far each stream has come
	commits map[cluster.TopicPartition]int64           // of the group, at the last look
	dropped []*split                                   // taken away, and not cleared up yet
	changed bool                                       // there is something new to begin or to clear up
	failure error                                      // why there is and will be no membership
	failed  error                                      // why the last commit failed, of a reader that has left early
	told    string                                     // what is the matter, as it has been told
	shared  bool                                       // it had members when it was joined
	gave    bool                                       // partitions have been given once
	idle    bool                                       // it has been told that others have all of them
	slow    bool                                       // it has been told that joining takes its time
	reached map[reached]int64                          // up to where this run has read
	found   map[record.Split]bool                      // what there is to be given
	parts   map[string]int                             // of topics
	ends    map[cluster.TopicPartition][2]int64        // of the reader's goroutine: high watermark and stable end when the run began; nil until they are known
	begun   bool                                       // of the reader's goroutine: reading has begun
	asked   time.Time                                  // of the reader's goroutine: when the group was last asked whether it has settled
}

// joinGroup makes a reader that has contact a member of the run's group.
func (r *reader) joinGroup() {
	if r.e.Group == "" {
		return
	}
	g := &grouping{
		r: r, clusterID: r.id, splits: map[cluster.TopicPartition][]*split{}, marks: map[cluster.TopicPartition]map[string]Mark{},
		reached: map[reached]int64{}, found: map[record.Split]bool{}, parts: map[string]int{},
	}
	g.m = newMember(r.ctx, r.cluster, r.e.Group, r.e.GroupProtocol, g)
	r.group = g
	r.e.groups.add(g)
}

// rejoin makes the reader's new client the group's member in place of the old one.
func (g *grouping) rejoin() {
	if g == nil {
		return
	}
	c := g.r.cluster
	g.r.running.Go(func() {
		g.changing.Lock() // one after the other, or one of two members would be forgotten
		defer g.changing.Unlock()
		old := g.member()
		_ = old.leave(false) // what it has not committed is read again
		proven := old.proofs()
		n := newMember(g.r.ctx, c, g.r.e.Group, g.r.e.GroupProtocol, g)
		g.mu.Lock()
		g.m = n
		n.believe(proven)
		g.mu.Unlock()
		n.subscribe(old.wanted())
		g.r.poke()
	})
}

func (g *grouping) member() *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.m
}

// owns reports whether a partition may be read.
func (g *grouping) owns(topic string, partition int32) bool {
	return g == nil || g.member().owns(cluster.TopicPartition{Topic: topic, Partition: partition})
}

// enter makes a split one of those under way, unless its partition has been taken
// away meanwhile.
func (g *grouping) enter(s *split) bool {
	if g == nil {
		return true
	}
	m := g.member()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !m.owns(s.at()) {
		g.changed = true
		g.r.poke()
		return false
	}
	g.splits[s.at()] = append(g.splits[s.at()], s)
	return true
}

// assigned implements memberHandler.
func (g *grouping) assigned(parts []cluster.TopicPartition) {
	g.mu.Lock()
	first := !g.gave && g.shared // later ones are told as what has come
	g.gave = g.gave || len(parts) > 0
	g.changed, g.idle = true, g.idle && len(parts) == 0
	g.mu.Unlock()
	if len(parts) > 0 {
		depth := 1
		if first {
			depth = 0
		}
		g.r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s gives this run %s", g.r.name, g.r.e.Group, g.partsText(parts)), Depth: depth})
	}
	g.r.poke()
}

// revoked implements memberHandler. The splits end at once; what is being written
// is waited for.
func (g *grouping) revoked(parts []cluster.TopicPartition, patience time.Duration) map[cluster.TopicPartition]committed {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.r.e.ctx), patience)
	defer cancel()
	list := g.disown(parts)
	g.r.e.pipe.settled(ctx, list)
	last := map[cluster.TopicPartition]committed{}
	for _, p := range parts {
		if at, some := g.least(p); some {
			last[p] = at
		}
	}
	g.forget(parts, list)
	if !g.leaves() {
		g.r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: group %s takes %s from this run", g.r.name, g.r.e.Group, g.partsText(parts))})
	}
	return last
}

// lost implements memberHandler.
func (g *grouping) lost(parts []cluster.TopicPartition) {
	g.forget(parts, g.disown(parts))
	if !g.leaves() {
		g.r.event(Event{Kind: Lost, Text: fmt.Sprintf("%s: group %s has lost this run, and others may have %s now; joining again", g.r.name, g.r.e.Group, g.partsText(parts))})
	}
}

// leaves reports whether the membership ends with the run, or with what it reads of
// the cluster.
func (g *grouping) leaves() bool { return g.r.e.ctx.Err() != nil || g.member().leaves() }

// disown ends the reading of partitions: nothing more of them is written, but for
// a write that has begun.
func (g *grouping) disown(parts []cluster.TopicPartition) (list []*split) {
	g.mu.Lock()
	for _, p := range parts {
		list = append(list, g.splits[p]...)
		delete(g.splits, p)
	}
	g.dropped = append(g.dropped, list...)
	g.changed = true
	g.mu.Unlock()
	for _, s := range list {
		s.disowned.Store(true)
		s.pause()
	}
	return list
}

// forget discards what is written of splits from now on: a write that took too
// long counts for nothing.
func (g *grouping) forget(parts []cluster.TopicPartition, list []*split) {
	for _, s := range list {
		g.r.e.pipe.ledger.forget(s)
		if s.retire() {
			g.r.mu.Lock()
			g.r.open--
			g.r.mu.Unlock()
		}
	}
	g.mu.Lock()
	for _, p := range parts {
		delete(g.marks, p)
	}
	g.mu.Unlock()
	g.r.poke()
}

// keep notes marks, and has what is new committed.
func (g *grouping) keep(marks []Mark) {
	news := map[cluster.TopicPartition]committed{}
	g.mu.Lock()
	for _, k := range marks {
		p := cluster.TopicPartition{Topic: k.Topic, Partition: k.Partition}
		if !g.m.commits(p) {
			continue
		}
		if g.marks[p] == nil {
			g.marks[p] = map[string]Mark{}
		}
		for stream, other := range g.marks[p] {
			if other.TopicID != k.TopicID && other.TopicID != [16]byte{} && k.TopicID != [16]byte{} {
				delete(g.marks[p], stream) // its topic was made again
			}
		}
		g.marks[p][k.Stream] = k
		of := reached{p, k.TopicID}
		g.reached[of] = max(g.reached[of], k.Offset)
		news[p] = committed{}
	}
	m := g.m
	g.mu.Unlock()
	for p := range news {
		if at, some := g.least(p); some {
			news[p] = at
		} else {
			delete(news, p)
		}
	}
	m.keep(news)
}

// least is the position up to which all the streams of a partition have come. One
// that is not read any more counts only if it is the last.
func (g *grouping) least(p cluster.TopicPartition) (at committed, some bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var of *Mark
	for _, k := range g.marks[p] {
		if of == nil || of.Left && !k.Left || of.Left == k.Left && k.Offset < of.Offset {
			of = &k
		}
	}
	if of == nil {
		return committed{}, false
	}
	return committed{offset: of.Offset, epoch: of.Epoch, topicID: of.TopicID}, true
}
