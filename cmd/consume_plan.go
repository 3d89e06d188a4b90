package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
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

// wants are what the selected streams take from the selected clusters.
func (o *consumeOptions) wants(view *metadata.View) ([]source.Want, error) {
	for _, c := range slices.Concat(o.narrow.clusters, o.offsets.Clusters()) {
		if view.Cluster(c) == nil {
			return nil, unknownCluster(view, c)
		}
	}
	sel, err := view.Select(o.words, o.regex, o.all)
	if err != nil {
		return nil, err
	}
	if err := sel.Err(); err != nil {
		return nil, err
	}
	var wants []source.Want
	for _, s := range sel.Streams {
		for i := range s.Sources {
			if src := &s.Sources[i]; o.reads(src) && o.narrow.takes(src) {
				wants = append(wants, source.Want{Stream: s, Source: src, Committed: o.commits(src)})
			}
		}
	}
	if err := o.narrow.check(sel.Streams); err != nil {
		return nil, err
	}
	if len(wants) == 0 {
		return nil, fault.New(fault.Usage, "nothing to read: no selected stream has an active source on %s", o.narrow.where()).
			WithHint("kcm describe shows what the streams are made of")
	}
	return wants, o.checkSpecs(wants)
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

// sourceOptions puts everything together for the engine; stop closes what was
// made for it.
func (o *consumeOptions) sourceOptions(view *metadata.View, wants []source.Want) (source.Options, func(), error) {
	clusters := map[string]*cluster.Cluster{}
	stop := func() {
		for _, c := range clusters {
			c.Close()
		}
	}
	for _, w := range wants {
		name := w.Source.Cluster
		if clusters[name] != nil {
			continue
		}
		c, err := connect(o.env, view.Cluster(name))
		if err != nil {
			stop()
			return source.Options{}, nil, err
		}
		clusters[name] = c
	}
	for i, w := range wants {
		if o.isolation == isolationUnsaid && w.Source.Isolation == "" {
			wants[i].Committed = clusters[w.Source.Cluster].Tuning().Isolation == string(metadata.ReadCommitted)
		}
	}
	sink, err := newConsumeSink(o, wants)
	if err != nil {
		stop()
		return source.Options{}, nil, err
	}
	opts := source.Options{
		Wants: wants, Clusters: clusters,
		Partitions: o.narrow.partitions, Offsets: o.offsets, Start: o.start, Exit: o.exit, Bounded: o.bounded, Limit: o.limit,
		WaitTopics: o.wait || (!o.bounded && !view.AdHoc), FailFast: o.failFast, OnGap: o.onGap, GiveUp: o.env.run.globals.giveUp,
		MaxBatch: o.maxBatch, Started: o.started, Sink: sink, Event: o.event,
	}
	if o.format.Needs().Sequence {
		opts.Workers = 1
	}
	if len(o.narrow.topics) > 0 {
		opts.Topic = func(t string) bool { return slices.Contains(o.narrow.topics, t) }
	}
	return opts, stop, nil
}

// event shows what the engine tells.
func (o *consumeOptions) event(ev source.Event) {
	n := o.env.run.notices
	if ev.Kind == source.Begun && !o.bounded && o.limit < 0 && !o.env.StdoutTerminal {
		n.Notef("following; -e stops at the end")
		return
	}
	if ev.Depth > n.Verbosity() {
		return
	}
	if n.JSON() {
		fields := []Field{{"cluster", ev.Split.Cluster}}
		if ev.Split.Topic != "" {
			fields = append(fields, Field{"topic", ev.Split.Topic}, Field{"partition", ev.Split.Partition})
		}
		n.Event(string(ev.Kind), ev.Text, append(fields, Field{"message", ev.Text})...)
		return
	}
	switch ev.Kind {
	case source.Note, source.Back:
		n.Notef("%s", ev.Text)
	default:
		n.tellf("%s", ev.Text)
	}
	if ev.Hint != "" {
		n.tellf("hint: %s", ev.Hint)
	}
}

// tellf tells what must be known even with -q, in the form of an error.
func (n *Notices) tellf(format string, args ...any) {
	n.line("error", fmt.Sprintf(format, args...))
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
