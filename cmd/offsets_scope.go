package cmd

import (
	"context"
	"maps"
	"slices"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// changeScope is the scope of a verb that changes commits: it has to be given.
type changeScope struct {
	scope
	commits bool // --all-topics: whatever the groups have committed
	byName  map[string]clusterScope
}

func (s *changeScope) check() error {
	switch {
	case s.commits && !s.whole():
		return fault.New(fault.Usage, "--all-topics and STREAM exclude each other")
	case s.whole() && !s.commits && len(s.narrow.topics) > 0:
		return fault.New(fault.Usage, "nothing says which topics are meant: -t only narrows a scope").
			WithHint("name the STREAM, or CLUSTER/%s", s.narrow.topics[0])
	case s.whole() && !s.commits:
		return fault.New(fault.Usage, "nothing says which topics are meant").
			WithHint("STREAM or CLUSTER/TOPIC; --all-topics takes all that the groups have committed")
	}
	return nil
}

// names are the clusters of the scope.
func (s *changeScope) names(view *metadata.View) ([]string, error) {
	scopes, err := s.on(view)
	if err != nil {
		return nil, err
	}
	s.byName = map[string]clusterScope{}
	for _, cs := range scopes {
		s.byName[cs.cluster] = cs
	}
	return scopeNames(scopes), nil
}

// part is what a scope comes to on one cluster.
type part struct {
	*cluster.Cluster
	scope  clusterScope
	groups []offsets.Group // that are meant
	found  offsets.Scope   // the topics; nil: whatever the groups have committed
}

// involved are the groups that are meant, and those of them that exist.
func involved(ctx context.Context, c *cluster.Cluster, cs clusterScope, choice groupChoice) (p part, err error) {
	p = part{Cluster: c, scope: cs}
	p.groups, err = offsets.Involved(ctx, c, choice.Selection, func(at offsets.Partition) bool {
		_, ok := cs.selects(at)
		return ok
	})
	return p, err
}

// partitions are those of a group that are meant, with their streams.
func (p part) partitions(g offsets.Group) map[offsets.Partition]string {
	all := map[offsets.Partition]string{}
	if p.found != nil {
		for _, t := range p.found {
			for _, id := range t.Partitions {
				all[offsets.Partition{Topic: t.Topic, Partition: id}] = t.Stream
			}
		}
		return all
	}
	for at := range g.Commits {
		if stream, ok := p.scope.selects(at); ok {
			all[at] = stream
		}
	}
	return all
}

// each goes over the partitions that are meant, which may come more than once.
func (p part) each(yield func(offsets.Partition) bool) {
	if p.found != nil {
		for _, at := range p.found.Partitions() {
			if !yield(at) {
				return
			}
		}
		return
	}
	for _, g := range p.groups {
		for at := range p.partitions(g) {
			if !yield(at) {
				return
			}
		}
	}
}

// absent are the named groups that are on none of the clusters, with names of groups
// there that may be meant.
func absent(ctx context.Context, parts []part, names []string) (lacking, near []string) {
	for _, name := range names {
		is := func(g offsets.Group) bool { return g.Name == name && (g.Kind != cluster.NoGroup || g.Err != nil) }
		if !slices.ContainsFunc(parts, func(p part) bool { return slices.ContainsFunc(p.groups, is) }) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		for _, p := range parts {
			some, _ := p.Groups(ctx) // for a hint only
			near = append(near, some...)
		}
	}
	return lacking, near
}

func partClusters(parts []part) (names []string) {
	for _, p := range parts {
		names = append(names, p.Name())
	}
	return names
}

// eachReached goes over the clusters, one after the other in order.
func (s *changeScope) eachReached(r *reached, use func(*cluster.Cluster, clusterScope) error) error {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		if err := use(r.clusters[name], s.byName[name]); err != nil {
			return err
		}
	}
	return nil
}

// entries is the scope with each topic and pattern of its sources by itself: then
// each that is not there is told, not only the first of a source.
func (cs clusterScope) entries() clusterScope {
	var wants []scopeWant
	for _, w := range cs.wants {
		for _, e := range w.source.Topics {
			one := *w.source
			one.Topics = []metadata.Topic{e}
			wants = append(wants, scopeWant{w.stream, &one})
		}
	}
	cs.wants = wants
	return cs
}
