package cmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/spec"
)

// importOptions are the flags of offsets import.
type importOptions struct {
	planOptions
	names    []string // of groups
	clusters []string
	topics   []string
	parts    spec.Partitions

	file    *offsets.Listing
	entries map[string][]offsets.ListedOffset // that are meant, by cluster
	view    *metadata.View
}

const importLong = `import puts groups to the offsets of a file: lines of topic,partition,offset, or of
group,topic,partition,offset, as kcm offsets export and kafka-consumer-groups --export
write them, or the JSON of export. FILE may be -, which is standard input.

A file with three fields names no group: -g does. With others -g chooses groups. CSV
names no cluster: -c does; with JSON -c chooses clusters.

It shows what would be changed, and changes it with --execute.`

func newOffsetsImportCmd(env *Env) *cobra.Command {
	o := &importOptions{}
	o.env = env
	var g groupSelection
	var parts []string
	cmd := &cobra.Command{
		Use:   "import [-g GROUP] -c CLUSTER FILE",
		Short: "Put groups to the offsets of a file, as export or kafka-consumer-groups wrote it",
		Long:  importLong,
		Example: `  kcm offsets import -g billing -c east billing.csv
  kcm offsets import -g billing -c east billing.csv --execute
  kcm offsets import commits.json -g billing --strict`,
		Args:              takesOne("a file of offsets", "FILE"),
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.parts, err = spec.ParsePartitions(parts); err != nil {
				return err
			}
			if o.names = sortedUnique(g.names); slices.Contains(o.names, "") {
				return fault.New(fault.Usage, "-g is empty: a group has a name")
			}
			if err := o.read(cmd.Context(), args[0]); err != nil {
				return err
			}
			return o.change(cmd, o.choose, o.plan)
		},
	}
	g.addNames(env, cmd)
	fs := cmd.Flags()
	fs.StringSliceVarP(&o.clusters, "cluster", "c", nil, "the `CLUSTER` that CSV is about; of JSON only these")
	fs.StringSliceVarP(&o.topics, "topic", "t", nil, "only these `TOPICS`")
	fs.StringSliceVarP(&parts, "partitions", "p", nil, "only these partitions, such as `0,2-4`")
	o.add(cmd, "refuse offsets outside the log, which are otherwise moved to its start or end")
	o.addOutput(cmd)
	completeFlags(cmd, map[string]completeFunc{"cluster": completeClusters(env), "topic": completeNothing})
	return cmd
}

// read reads the file. Nothing has been contacted when it is no good.
func (o *importOptions) read(ctx context.Context, path string) (err error) {
	if path != "-" {
		o.file, err = readListing(path)
		return err
	}
	in, err := findInputs(o.env)
	if err != nil {
		return err
	}
	if slices.Contains(in.Sources, "-") {
		return fault.New(fault.Usage, "standard input cannot be the metadata and the offsets")
	}
	o.file, err = offsets.ReadListing(interruptible{ctx.Done(), o.env.Stdin}, "standard input")
	if _, signaled := stoppedBy(ctx); signaled && err != nil {
		return context.Cause(ctx)
	}
	return err
}

// choose says which clusters are meant, and takes from the file what is.
func (o *importOptions) choose(view *metadata.View) ([]string, error) {
	o.view, o.entries = view, map[string][]offsets.ListedOffset{}
	warnOfPart(o.env, o.file)
	for _, name := range o.clusters {
		if err := mustCluster(view, name); err != nil {
			return nil, err
		}
	}
	group, err := o.theGroup()
	if err != nil {
		return nil, err
	}
	missing := map[named]bool{}
	for _, name := range o.names {
		missing[named{"group", name}] = true
	}
	for _, name := range o.topics {
		missing[named{"topic", name}] = true
	}
	for _, l := range o.file.Entries {
		if l.Group == "" {
			l.Group = group
		}
		if l.Cluster, err = o.clusterOf(view, l); err != nil {
			return nil, err
		}
		if !among(o.clusters, l.Cluster) || !among(o.names, l.Group) {
			continue
		}
		delete(missing, named{"group", l.Group})
		if among(o.topics, l.Topic) && o.parts.Has(l.Partition.Partition) {
			delete(missing, named{"topic", l.Topic})
			o.entries[l.Cluster] = append(o.entries[l.Cluster], l)
		}
	}
	return o.chosen(view, missing)
}

// among reports whether a name is one of those that are wanted; none is all.
func among(wanted []string, name string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, name)
}

// named is a group or a topic that the command line names.
type named struct{ what, name string }

// chosen are the clusters that something is meant of; a name that nothing is meant
// of is an error.
func (o *importOptions) chosen(view *metadata.View, missing map[named]bool) (names []string, err error) {
	for _, c := range view.Clusters {
		if len(o.entries[c.Name]) > 0 {
			names = append(names, c.Name)
		}
	}
	on := ""
	if len(o.clusters) > 0 {
		on = " on " + joinWords(o.clusters)
	}
	for _, n := range slices.SortedFunc(maps.Keys(missing), func(a, b named) int {
		return cmp.Or(strings.Compare(a.what, b.what), strings.Compare(a.name, b.name))
	}) {
		return nil, fault.New(fault.Usage, "%s has nothing for the %s %s%s", o.file.Name, n.what, n.name, on)
	}
	for _, name := range o.clusters {
		if !slices.Contains(names, name) {
			return nil, fault.New(fault.Usage, "%s has nothing for what is chosen on %s", o.file.Name, name)
		}
	}
	if len(names) == 0 {
		return nil, fault.New(fault.Usage, "%s has nothing for what is chosen", o.file.Name)
	}
	return names, nil
}

// theGroup is the one that a file is about which names none.
func (o *importOptions) theGroup() (string, error) {
	switch {
	case o.file.Grouped:
		return "", nil
	case len(o.names) == 0:
		return "", fault.New(fault.Usage, "%s names no group: its lines are topic,partition,offset", o.file.Name).WithHint("-g GROUP")
	case len(o.names) > 1:
		return "", fault.New(fault.Usage, "%s is about one group: its lines are topic,partition,offset; -g names %d", o.file.Name, len(o.names))
	}
	return o.names[0], nil
}

// clusterOf is the cluster that an entry is about.
func (o *importOptions) clusterOf(view *metadata.View, l offsets.ListedOffset) (string, error) {
	switch {
	case l.Cluster != "" && view.Cluster(l.Cluster) == nil && (len(o.clusters) == 0 || slices.Contains(o.clusters, l.Cluster)):
		return "", fault.New(fault.Usage, "%s:%d: %w", o.file.Name, l.Line, unknownCluster(view, l.Cluster))
	case l.Cluster != "":
		return l.Cluster, nil
	case len(o.clusters) == 1:
		return o.clusters[0], nil
	case len(o.clusters) > 1:
		return "", fault.New(fault.Usage, "%s is about one cluster, and -c names %d", o.file.Name, len(o.clusters))
	case len(view.Clusters) == 1:
		return view.Clusters[0].Name, nil
	}
	return "", fault.New(fault.Usage, "%s does not say which cluster is meant", o.file.Name).WithHint("-c %s", joinWords(allClusters(view)))
}

// plan makes the changes of what the file has for the clusters.
func (o *importOptions) plan(ctx context.Context, r *reached) (all []offsets.Change, err error) {
	for name, c := range r.clusters {
		cs := clusterScope{cluster: name, view: o.view}
		wishes := make([]offsets.Wish, len(o.entries[name]))
		streams := map[string]string{}
		for i := range wishes {
			l := &o.entries[name][i]
			if _, known := streams[l.Topic]; !known {
				streams[l.Topic] = cs.streamOf(l.Topic)
			}
			w := offsets.Wish{Group: l.Group, Stream: streams[l.Topic], Partition: l.Partition, Target: offsets.Target{Kind: offsets.ToOffset, N: l.Offset}}
			if o.file.JSON {
				w.Metadata = &l.Metadata
			}
			wishes[i] = w
		}
		changes, err := offsets.Planner{Strict: o.strict}.Plan(ctx, c, wishes)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}
