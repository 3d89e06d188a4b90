package metadata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// merger collects the parts of all documents into one view.
type merger struct {
	view     *View
	clusters map[string]int  // index in view.Clusters
	defined  map[string]bool // clusters that a clusters: mapping holds, not only Flink's form
	streams  map[string]*Stream
}

func newMerger() *merger {
	return &merger{view: &View{}, clusters: map[string]int{}, defined: map[string]bool{}, streams: map[string]*Stream{}}
}

func wrong(at Origin, format string, args ...any) error {
	return fault.New(fault.Usage, "%s: %s", at, fmt.Sprintf(format, args...))
}

// add merges one document's part.
func (m *merger) add(p part) error {
	for _, c := range p.clusters {
		if err := m.define(c); err != nil {
			return err
		}
	}
	for _, c := range p.mentions {
		if err := m.mention(c); err != nil {
			return err
		}
	}
	for _, s := range p.streams {
		if first, ok := m.streams[s.Name]; ok {
			return wrong(s.Origin, "stream %q is defined twice; the other place is %s", s.Name, first.Origin)
		}
		m.streams[s.Name] = s
		m.view.Streams = append(m.view.Streams, s)
	}
	return nil
}

// define takes a cluster of kcm's own form. One that Flink's form mentioned is
// completed by it.
func (m *merger) define(c *Cluster) error {
	i, ok := m.clusters[c.Name]
	if !ok {
		m.clusters[c.Name] = len(m.view.Clusters)
		m.defined[c.Name] = true
		m.view.Clusters = append(m.view.Clusters, c)
		return nil
	}
	known := m.view.Clusters[i]
	if m.defined[c.Name] {
		return wrong(c.Origin, "cluster %q is defined twice; the other place is %s", c.Name, known.Origin)
	}
	if err := agree(c, known); err != nil {
		return err
	}
	if len(c.Bootstrap) == 0 {
		c.Bootstrap = known.Bootstrap
	}
	m.defined[c.Name] = true
	m.view.Clusters[i] = c
	return nil
}

// mention takes a cluster that Flink's form names.
func (m *merger) mention(c *Cluster) error {
	i, ok := m.clusters[c.Name]
	if !ok {
		m.clusters[c.Name] = len(m.view.Clusters)
		m.view.Clusters = append(m.view.Clusters, c)
		return nil
	}
	known := m.view.Clusters[i]
	if err := agree(c, known); err != nil {
		return err
	}
	if len(known.Bootstrap) == 0 {
		known.Bootstrap = c.Bootstrap
	}
	return nil
}

// agree refuses two places that give one cluster different addresses.
func agree(c, known *Cluster) error {
	if len(c.Bootstrap) == 0 || len(known.Bootstrap) == 0 || sameSet(c.Bootstrap, known.Bootstrap) {
		return nil
	}
	return wrong(c.Origin, "cluster %q has other bootstrap addresses than at %s", c.Name, known.Origin)
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// finish checks what only the whole can tell.
func (m *merger) finish() (*View, error) {
	for _, c := range m.view.Clusters {
		if len(c.Bootstrap) == 0 && len(c.Properties) == 0 && c.PropertiesFile == "" {
			return nil, wrong(c.Origin, "cluster %q has no bootstrap", c.Name)
		}
	}
	for _, s := range m.view.Streams {
		for _, src := range s.Sources {
			if _, ok := m.clusters[src.Cluster]; !ok {
				return nil, m.unknown(src.clusterAt, s, src.Cluster)
			}
			if src.Cutover == nil {
				continue
			}
			if _, ok := m.clusters[src.Cutover.From]; !ok {
				return nil, m.unknown(src.Cutover.Origin, s, src.Cutover.From)
			}
		}
	}
	return m.view, nil
}

func (m *merger) unknown(at Origin, s *Stream, cluster string) error {
	names := m.view.clusterNames()
	advice := didYouMean(cluster, names)
	switch {
	case advice != "":
	case len(names) == 0:
		advice = "; no source defines any"
	default:
		advice = "; there are " + strings.Join(names[:min(len(names), 10)], ", ")
	}
	return wrong(at, "stream %q names cluster %q, which no source defines%s", s.Name, cluster, advice)
}
