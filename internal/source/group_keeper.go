package source

import (
	"errors"
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// groups are the groupings of a run's readers, and its Keeper.
type groups struct {
	mu   sync.Mutex
	list []*grouping
}

func (gs *groups) add(g *grouping) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.list = append(gs.list, g)
}

// of returns the grouping that a place belongs to.
func (gs *groups) of(p Place) *grouping {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, g := range slices.Backward(gs.list) {
		if g.r.name == p.Cluster && g.clusterID == p.ClusterID {
			return g
		}
	}
	return nil
}

// Find implements Keeper: the group's commits, as they were at the last look.
func (gs *groups) Find(p Place) (Mark, bool, error) {
	g := gs.of(p)
	if g == nil {
		return Mark{}, false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, some := g.commits[cluster.TopicPartition{Topic: p.Topic, Partition: p.Partition}]
	return Mark{Place: p, Offset: at, Epoch: -1}, some, nil
}

// Keep implements Keeper: marks go to the members whose partitions they are of.
func (gs *groups) Keep(marks []Mark) error {
	by := map[*grouping][]Mark{}
	for _, k := range marks {
		if g := gs.of(k.Place); g != nil {
			by[g] = append(by[g], k)
		}
	}
	for g, list := range by {
		g.keep(list)
	}
	return nil
}

// leave has every member commit and leave, all at once. The error is why the last
// commits of some clusters failed, or of all.
func (gs *groups) leave() error {
	if gs == nil {
		return nil
	}
	gs.mu.Lock()
	list := gs.list
	gs.mu.Unlock()
	errs := make([]error, len(list))
	var leaving sync.WaitGroup
	for i, g := range list {
		leaving.Go(func() { errs[i] = g.leave() })
	}
	leaving.Wait()
	return outcomeOf(errs)
}

func outcomeOf(errs []error) error {
	failed := 0
	var first error
	for _, err := range errs {
		if err != nil {
			failed++
			first = errors.Join(first, err)
		}
	}
	switch {
	case failed == 0:
		return nil
	case failed < len(errs):
		return fault.New(fault.Partial, "not everything that was written has been committed on every cluster: it is read again")
	default:
		return fault.New(fault.Failed, "not everything that was written has been committed: it is read again")
	}
}

// leave ends the membership and tells what was not committed.
func (g *grouping) leave() error {
	g.mu.Lock()
	m, failed := g.m, g.failed
	g.mu.Unlock()
	if failed != nil {
		return failed // which has been told
	}
	err := m.leave(g.r.dead())
	if err != nil {
		g.r.event(Event{Kind: Failed, Text: "the last commit failed: " + err.Error(), Hint: fault.HintOf(err)})
	}
	return err
}
