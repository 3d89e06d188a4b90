package cmd

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// scope is what a verb of offsets is about, in the words of the command line.
type scope struct {
	words      []string // streams, patterns or CLUSTER/TOPIC; none is whatever groups have to do with
	regex, all bool
	narrow     narrow
}

func (f scopeFlags) scope(words []string) (s scope, err error) {
	s = scope{words: words, regex: f.regex, all: f.all, narrow: narrow{clusters: f.clusters, topics: f.topics}}
	if s.narrow.partitions, err = spec.ParsePartitions(f.partitions); err != nil {
		return s, err
	}
	if s.regex && len(words) == 0 {
		return s, fault.New(fault.Usage, "-r needs a STREAM, which is the pattern")
	}
	for _, w := range words {
		if strings.HasPrefix(w, "/") {
			return s, fault.New(fault.Usage, "%s names no cluster before the /", w).
				WithHint("CLUSTER/TOPIC; a pattern is given with -r, without slashes around it")
		}
	}
	return s, nil
}

// whole reports whether no stream is named: then it is about whatever groups have
// to do with.
func (s scope) whole() bool { return len(s.words) == 0 && !s.all }

// clusterScope is what a scope is about on one cluster.
type clusterScope struct {
	cluster string
	wants   []scopeWant // none: whatever groups have to do with
	narrow  narrow
	view    *metadata.View
}

// scopeWant is what one stream takes from the cluster.
type scopeWant struct {
	stream string // empty: each topic is its own
	source *metadata.Source
}

// on finds which clusters a scope is about, in the order of the view. A scope that
// selects nothing is a fault.Usage.
func (s scope) on(view *metadata.View) ([]clusterScope, error) {
	streams, err := s.streams(view)
	if err != nil {
		return nil, err
	}
	var list []clusterScope
	for _, c := range view.Clusters {
		if len(s.narrow.clusters) > 0 && !slices.Contains(s.narrow.clusters, c.Name) {
			continue
		}
		cs := clusterScope{cluster: c.Name, wants: s.wantsOf(c.Name, streams), narrow: s.narrow, view: view}
		if s.whole() || len(cs.wants) > 0 {
			list = append(list, cs)
		}
	}
	if len(list) == 0 {
		return nil, fault.New(fault.Usage, "no selected stream lives on %s", s.narrow.where())
	}
	return list, nil
}

// eachScope asks all clusters of scopes at once, each about its own; the replies
// stand as the scopes do.
func eachScope[A any](ctx context.Context, o *describeOptions, view *metadata.View, scopes []clusterScope, ask func(context.Context, respondent, clusterScope) (A, error)) ([]reply[A], error) {
	byName := map[string]clusterScope{}
	for _, cs := range scopes {
		byName[cs.cluster] = cs
	}
	return eachCluster(ctx, o, view, scopeNames(scopes), func(ctx context.Context, r respondent) (A, error) {
		return ask(ctx, r, byName[r.Name()])
	})
}

// streams are those that are named, and checks the narrowing.
func (s scope) streams(view *metadata.View) ([]*metadata.Stream, error) {
	for _, name := range s.narrow.clusters {
		if err := mustCluster(view, name); err != nil {
			return nil, err
		}
	}
	if s.whole() {
		return nil, nil
	}
	sel, err := view.Select(s.words, s.regex, s.all)
	if err != nil {
		return nil, err
	}
	if err := sel.Err(); err != nil {
		return nil, err
	}
	return sel.Streams, s.narrow.check(sel.Streams)
}

func (s scope) wantsOf(name string, streams []*metadata.Stream) (wants []scopeWant) {
	for _, st := range streams {
		for i := range st.Sources {
			if src := &st.Sources[i]; src.Cluster == name && s.narrow.takes(src) {
				wants = append(wants, scopeWant{streamName(st), src})
			}
		}
	}
	return wants
}

// streamName is what a stream is called in results; one that is a topic of the
// command line has the names of its topics.
func streamName(st *metadata.Stream) string {
	if st.ByTopic {
		return ""
	}
	return st.Name
}

func scopeNames(list []clusterScope) []string {
	names := make([]string, len(list))
	for i, cs := range list {
		names[i] = cs.cluster
	}
	return names
}

// takes reports whether -t and -p let a partition in.
func (cs clusterScope) takes(at offsets.Partition) bool {
	n := cs.narrow
	return (len(n.topics) == 0 || slices.Contains(n.topics, at.Topic)) && n.partitions.Has(at.Partition)
}

// find looks the topics of a scope up; nil for one that is whatever groups have to
// do with. Each partition is there once, under the first stream that has it. The
// errors are about topics that are missing or may not be seen, and patterns that
// match nothing; the last is about the cluster as a whole.
func (cs clusterScope) find(ctx context.Context, c *cluster.Cluster) (found offsets.Scope, lacking []error, err error) {
	if len(cs.wants) == 0 {
		return nil, nil, nil
	}
	all, err := c.Topics(ctx, cs.topicNames()...)
	if err != nil {
		return nil, nil, err
	}
	found = offsets.Scope{}
	have := map[string]bool{}
	for _, w := range cs.wants {
		for _, t := range all {
			if have[t.Name] || !w.takes(t) || len(cs.narrow.topics) > 0 && !slices.Contains(cs.narrow.topics, t.Name) {
				continue
			}
			have[t.Name] = true
			if t.Err != nil {
				lacking = append(lacking, topicError(c, t))
				continue
			}
			found = append(found, cs.scoped(w, t))
		}
		if miss := w.unmatched(c, cs.narrow.topics, all); miss != nil {
			lacking = append(lacking, miss)
		}
	}
	slices.SortFunc(found, func(a, b offsets.ScopedTopic) int { return strings.Compare(a.Topic, b.Topic) })
	return found, lacking, nil
}

func (cs clusterScope) scoped(w scopeWant, t cluster.Topic) offsets.ScopedTopic {
	st := offsets.ScopedTopic{Stream: w.stream, Topic: t.Name}
	if st.Stream == "" {
		st.Stream = t.Name
	}
	for _, p := range t.Partitions {
		if cs.narrow.partitions.Has(p.ID) {
			st.Partitions = append(st.Partitions, p.ID)
		}
	}
	return st
}

// topicNames are the topics to ask for; none, which asks for all, with a pattern.
func (cs clusterScope) topicNames() (names []string) {
	for _, w := range cs.wants {
		for _, t := range w.source.Topics {
			if t.Regexp != nil {
				return nil
			}
			if len(cs.narrow.topics) == 0 || slices.Contains(cs.narrow.topics, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (w scopeWant) takes(t cluster.Topic) bool {
	return slices.ContainsFunc(w.source.Topics, func(e metadata.Topic) bool { return source.Takes(e, t) })
}

// unmatched is about the first entry of a source that takes none of all topics;
// with only, other topics do not matter.
func (w scopeWant) unmatched(c *cluster.Cluster, only []string, all []cluster.Topic) error {
	for _, e := range w.source.Topics {
		switch {
		case len(only) > 0 && !slices.ContainsFunc(only, e.Matches):
		case slices.ContainsFunc(all, func(t cluster.Topic) bool { return source.Takes(e, t) }):
		case e.Regexp != nil:
			return fault.New(fault.Failed, "%s: no topic matches %s", c.Name(), e).On(c.Name())
		default:
			return noTopic(c.Name(), e.Name)
		}
	}
	return nil
}

// streamOf names the stream that a topic of the cluster belongs to: that of the
// metadata, or without metadata the topic. Empty is none.
func (cs clusterScope) streamOf(topic string) string {
	if cs.view.AdHoc {
		return topic
	}
	for _, st := range cs.view.Streams {
		for _, src := range st.Sources {
			if src.Cluster == cs.cluster && slices.ContainsFunc(src.Topics, func(t metadata.Topic) bool { return t.Matches(topic) }) {
				return st.Name
			}
		}
	}
	return ""
}

// groupChoice is which groups a verb is about.
type groupChoice struct{ offsets.Selection }

// choice interprets the flags. The groups of a verb are named: none is a
// fault.Usage.
func (f groupSelection) choice() (groupChoice, error) {
	sel := offsets.Selection{Names: sortedUnique(f.names), All: f.all}
	if slices.Contains(sel.Names, "") {
		return groupChoice{}, fault.New(fault.Usage, "-g is empty: a group has a name")
	}
	if f.regex != "" {
		if _, err := regexp.Compile(f.regex); err != nil {
			return groupChoice{}, fault.New(fault.Usage, "--group-regex %s is no regular expression: %w", f.regex, err)
		}
		sel.Match = regexp.MustCompile(`\A(?:` + f.regex + `)\z`)
	}
	if f.all && (len(f.names) > 0 || f.regex != "") {
		return groupChoice{}, fault.New(fault.Usage, "--all-groups and single groups exclude each other")
	}
	if len(sel.Names) == 0 && sel.Match == nil && !sel.All {
		return groupChoice{}, fault.New(fault.Usage, "no group is named").WithHint("-g GROUP")
	}
	return groupChoice{sel}, nil
}
