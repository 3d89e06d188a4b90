package cmd

import (
	"context"
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// loopGuard refuses to write to what is read: a run would feed itself. It goes by
// the id of the physical cluster, whatever its name is in the metadata.
type loopGuard struct {
	id, name string // of the target
	planner  *planner
	narrow   func(topic string) bool // nil takes all

	mu      sync.Mutex
	read    map[string]string // topics of the target cluster that are read, and under which name of it
	same    map[string]bool   // names that stand for the target cluster
	targets map[string]bool   // topics that are written to
}

// admit notes which topics of a cluster are read.
func (g *loopGuard) admit(clusterID, name string, topics []cluster.Topic) error {
	if name != g.name && (clusterID == "" || clusterID != g.id) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.read == nil {
		g.read, g.same = map[string]string{}, map[string]bool{}
	}
	g.same[name] = true
	for _, t := range topics {
		g.read[t.Name] = name
	}
	for t := range g.targets {
		if err := g.check(t); err != nil {
			return err
		}
	}
	return nil
}

// target notes that a topic is written to.
func (g *loopGuard) target(topic string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.targets[topic] {
		return nil
	}
	if g.targets == nil {
		g.targets = map[string]bool{}
	}
	g.targets[topic] = true
	return g.check(topic)
}

// check refuses a target that is read, or would be as soon as it is there.
func (g *loopGuard) check(topic string) error {
	by, reads := g.read[topic]
	if !reads {
		by, reads = g.selects(topic)
	}
	if !reads {
		return nil
	}
	where := g.name + "/" + topic
	if by != g.name {
		where += " (which is " + by + "/" + topic + ")"
	}
	return fault.New(fault.Refused, "--to: %s is read by this run as well, so that it would copy what it has written", where).On(g.name).
		WithHint("name another topic with --to %s/TOPIC, or narrow what is read with -c or -t", g.name)
}

// selects reports whether what is wanted of the target cluster takes a topic of
// that name.
func (g *loopGuard) selects(topic string) (by string, takes bool) {
	if g.narrow != nil && !g.narrow(topic) {
		return "", false
	}
	for _, w := range g.planner.wanted() {
		name := w.Source.Cluster
		if name != g.name && !g.same[name] {
			continue
		}
		for _, entry := range w.Source.Topics {
			if source.Takes(entry, cluster.Topic{Name: topic}) {
				return name, true
			}
		}
	}
	return "", false
}

// wanted is what the newest plan wants.
func (p *planner) wanted() []source.Want {
	if list := p.newest.Load(); list != nil {
		return *list
	}
	return nil
}

// admit is asked by the engine before a cluster is read. Topics that are to be
// made are made here, so that those are there too that get no record.
func (t *target) admit(ctx context.Context) func(clusterID, name string, topics []cluster.Topic) error {
	return func(clusterID, name string, topics []cluster.Topic) error {
		if err := t.guard.admit(clusterID, name, topics); err != nil {
			return err
		}
		for _, topic := range topics {
			for _, to := range t.namesFor(name, topic) {
				if err := t.admitTo(ctx, to, topic); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// admitTo is asked for a topic of the target that gets what is in another.
func (t *target) admitTo(ctx context.Context, to string, from cluster.Topic) error {
	if err := t.guard.target(to); err != nil {
		return err
	}
	if err := t.stillThere(ctx, to); err != nil {
		return err
	}
	if t.o.to.create {
		_, _ = t.writer.Topic(ctx, to, len(from.Partitions)) // whoever has a record for it tells what fails
	}
	return nil
}

// namesFor are the topics that records of a topic go to.
func (t *target) namesFor(clusterName string, topic cluster.Topic) (names []string) {
	for _, w := range t.guard.planner.wanted() {
		takes := func(e cluster.Topic) bool {
			for _, entry := range w.Source.Topics {
				if source.Takes(entry, e) {
					return true
				}
			}
			return false
		}
		if w.Source.Cluster != clusterName || !takes(topic) {
			continue
		}
		for _, p := range topic.Partitions {
			name := t.o.to.topic.of(w.Stream.NameFor(topic.Name), record.Split{Cluster: clusterName, Topic: topic.Name, Partition: p.ID})
			if checkTopicName(name) == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
