package cmd

import (
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/spec"
)

// narrow leaves out what the streams select; empty lists leave out nothing.
type narrow struct {
	clusters   []string
	topics     []string
	partitions spec.Partitions
}

func (o *consumeOptions) setNarrow(f consumeFlags) (err error) {
	o.narrow.clusters, o.narrow.topics = f.clusters, f.topics
	o.narrow.partitions, err = spec.ParsePartitions(f.partitions)
	return err
}

func unknownCluster(view *metadata.View, name string) error {
	err := fault.New(fault.Usage, "there is no cluster %s", name)
	var names []string
	for _, c := range view.Clusters {
		names = append(names, c.Name)
	}
	if strings.Trim(name, "0123456789") == "" {
		return err.WithHint("-c narrows to a cluster; the number of records is -n %s", name)
	}
	if near := fault.Nearest(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("clusters are %s", joinWords(names))
}

func (n narrow) where() string {
	if len(n.clusters) == 0 {
		return "any cluster"
	}
	return joinWords(n.clusters)
}

// takes reports whether a source may have one of the topics.
func (n narrow) takes(s *metadata.Source) bool {
	return len(n.topics) == 0 || slices.ContainsFunc(s.Topics, func(t metadata.Topic) bool {
		return slices.ContainsFunc(n.topics, t.Matches)
	})
}

// check refuses topics that no selected stream has.
func (n narrow) check(streams []*metadata.Stream) error {
	for _, name := range n.topics {
		var names []string
		known := false
		for _, s := range streams {
			for _, src := range s.Sources {
				for _, t := range src.Topics {
					known = known || t.Matches(name)
					names = append(names, t.String())
				}
			}
		}
		if known {
			continue
		}
		err := fault.New(fault.Usage, "no selected stream has the topic %s", name)
		if near := fault.Nearest(name, names); near != "" {
			err = err.WithHint("did you mean %s?", near)
		}
		return err
	}
	return nil
}

// reads reports whether a source is read: standby is only shown.
func (o *consumeOptions) reads(s *metadata.Source) bool {
	if s.Role == metadata.Standby {
		return false
	}
	return len(o.narrow.clusters) == 0 || slices.Contains(o.narrow.clusters, s.Cluster)
}

func (o *consumeOptions) commits(s *metadata.Source) bool {
	switch o.isolation {
	case isolationCommitted:
		return true
	case isolationUncommitted:
		return false
	default:
		return s.Isolation == metadata.ReadCommitted
	}
}

// useColor reports whether what goes to stdout is coloured.
func useColor(env *Env) bool {
	switch env.run.globals.color {
	case "always":
		// The variable is nearer than the config file, but not than a flag or a
		// variable of kcm's own.
		st, _ := env.run.settings.Get("", "color")
		return st.Source() != settings.File || env.Getenv("NO_COLOR") == ""
	case "never":
		return false
	default:
		return env.StdoutTerminal && env.Getenv("NO_COLOR") == ""
	}
}
