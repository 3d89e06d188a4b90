package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/spec"
)

type rollbackOptions struct {
	planOptions
	file     string
	since    bool
	snapshot *offsets.Snapshot
	only     []string // -c
	names    []string // of the groups of -g
	topics   []string // -t
	parts    spec.Partitions
	view     *metadata.View
}

func newOffsetsRollbackCmd(env *Env) *cobra.Command {
	o := &rollbackOptions{}
	o.env = env
	var parts []string
	cmd := &cobra.Command{
		Use:   "rollback FILE",
		Short: "Undo a change of offsets from its snapshot",
		Long: `rollback brings commits back to what they were before a change that kcm offsets made,
to the byte, and removes those that there were none of. FILE is the snapshot that the
change has written. It is a plan like any other: it changes nothing without --execute,
and then writes a snapshot of its own.

It refuses groups that have members, clusters that are not the ones of the snapshot,
topics that were made again, and commits that are not what the change left behind:
the group was used since. --allow-changed takes those back as well. -c, -g, -t and -p
leave out what is in the way of the rest.`,
		Example: `  kcm offsets rollback kcm-offsets-20260303T140000Z.json
  kcm offsets rollback kcm-offsets-20260303T140000Z.json -t orders -p 0 --execute
  kcm offsets rollback kcm-offsets-20260303T140000Z.json -c east --execute`,
		Args:              takesOne("a snapshot", "FILE"),
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.file = args[0]
			if o.parts, err = spec.ParsePartitions(parts); err != nil {
				return err
			}
			if o.snapshot, err = offsets.ReadSnapshot(o.file); err != nil {
				return err
			}
			return o.change(cmd, o.clusters, o.plan)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&o.only, "cluster", "c", nil, "only on these `CLUSTERS`")
	fs.StringArrayVarP(&o.names, "group", "g", nil, "only the consumer group `NAME` (repeatable)")
	fs.StringSliceVarP(&o.topics, "topic", "t", nil, "only these `TOPICS`")
	fs.StringSliceVarP(&parts, "partitions", "p", nil, "only these partitions, such as `0,2-4`")
	fs.BoolVar(&o.since, "allow-changed", false, "also take back commits that were changed since")
	o.add(cmd, "refuse offsets that lie outside the log by now")
	o.addOutput(cmd)
	completeFlags(cmd, map[string]completeFunc{"cluster": completeClusters(env), "group": completeGroups(env), "topic": completeNothing})
	return cmd
}

// completeFiles lets the shell offer files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// chosen are the changes of the snapshot that are meant, of one cluster, or of all.
func (o *rollbackOptions) chosen(cluster string) (list []offsets.SnapshotChange) {
	for i := range o.snapshot.Changes {
		c := &o.snapshot.Changes[i]
		if (cluster == "" || c.Cluster == cluster) && among(o.only, c.Cluster) && among(o.names, c.Group) &&
			among(o.topics, c.Topic) && o.parts.Has(c.Partition.Partition) {
			list = append(list, *c)
		}
	}
	return list
}

// clusters are those of the snapshot.
func (o *rollbackOptions) clusters(view *metadata.View) ([]string, error) {
	o.view = view
	for _, name := range o.only {
		if err := mustCluster(view, name); err != nil {
			return nil, err
		}
	}
	if err := o.known(); err != nil {
		return nil, err
	}
	var names []string
	for _, c := range o.chosen("") {
		names = append(names, c.Cluster)
	}
	names = sortedUnique(names)
	if len(names) == 0 {
		return nil, fault.New(fault.Usage, "%s has nothing of that", o.file)
	}
	for _, name := range names {
		if view.Cluster(name) == nil {
			return nil, fault.New(fault.Usage, "%s is about cluster %s, which the metadata does not have", o.file, name).
				WithHint("-m FILE or -b %s=HOST:PORT names it", name)
		}
	}
	return names, nil
}

func (o *rollbackOptions) plan(ctx context.Context, r *reached) (changes []offsets.Change, err error) {
	for name := range r.clusters {
		for _, c := range o.chosen(name) {
			if id := r.infos[name].ClusterID; c.ClusterID != id {
				return nil, fault.New(fault.Refused, "%s is of another cluster than %s: its id is %q, that of %s is %q: nothing was changed", o.file, name, c.ClusterID, name, id).On(name)
			}
		}
	}
	for name, c := range r.clusters {
		own, err := offsets.Rollback{Since: o.since, Strict: o.strict}.Plan(ctx, c, o.chosen(name))
		if err != nil {
			return nil, err
		}
		for i := range own {
			own[i].Stream = clusterScope{cluster: name, view: o.view}.streamOf(own[i].Topic)
		}
		changes = append(changes, own...)
	}
	hintOthers(changes)
	return changes, nil
}

// known refuses groups and topics that the snapshot has nothing about.
func (o *rollbackOptions) known() error {
	for _, name := range o.names {
		if !slices.ContainsFunc(o.snapshot.Changes, func(c offsets.SnapshotChange) bool { return c.Group == name }) {
			return fault.New(fault.Usage, "%s has nothing for the group %s", o.file, name)
		}
	}
	for _, name := range o.topics {
		if !slices.ContainsFunc(o.snapshot.Changes, func(c offsets.SnapshotChange) bool { return c.Topic == name }) {
			return fault.New(fault.Usage, "%s has nothing for the topic %s", o.file, name)
		}
	}
	return nil
}

// hintOthers gives those changes that cannot be because of their topics a hint which
// flag takes the others back, if there are such.
func hintOthers(changes []offsets.Change) {
	isLost := func(c *offsets.Change) bool { return errors.Is(c.Err, offsets.ErrOtherTopic) }
	lostTopics, lostClusters := map[string]bool{}, map[string]bool{}
	for i := range changes {
		if c := &changes[i]; isLost(c) {
			lostTopics[c.Topic], lostClusters[c.Cluster] = true, true
		}
	}
	var topics, clusters []string
	for i := range changes {
		c := &changes[i]
		if !lostTopics[c.Topic] {
			topics = append(topics, c.Topic)
		}
		if !lostClusters[c.Cluster] {
			clusters = append(clusters, c.Cluster)
		}
	}
	hint := ""
	switch {
	case len(topics) > 0:
		hint = "-t " + strings.Join(sortedUnique(topics), ",") + " takes the others back"
	case len(clusters) > 0:
		hint = "-c " + strings.Join(sortedUnique(clusters), ",") + " takes the others back"
	}
	for i := range changes {
		if e, ok := errors.AsType[*fault.Error](changes[i].Err); ok && isLost(&changes[i]) {
			e.Hint = hint
		}
	}
}
