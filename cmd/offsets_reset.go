package cmd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

type resetOptions struct {
	planOptions
	scope  changeScope
	goal   resetGoal
	file   string
	into   string // --to-group
	listed *offsets.Listing
}

const resetLong = `reset puts consumer groups at other offsets, on all clusters of the streams at once.
It prints what it would change, and changes nothing without --execute.

--to takes what -o of kcm consume takes: start, end, start+N (+N), end-N (-N), an offset,
@TIME, group:NAME for where another group is, and stored for where the group itself
is; [CLUSTER/][TOPIC:]PARTITION=SPEC is for one partition. The flags of
kafka-consumer-groups do the same. A time after the last record is the end.

An offset outside the log is moved to its start or end, which NOTE tells; --strict
refuses it. A group with members is refused, and so is all of the plan with it. The
metadata of a commit is cleared where its offset changes. A group that does not exist
is made.

--execute first keeps what was before in a file, from which kcm offsets rollback
brings it back; then it looks again whether the groups are empty, commits, and reads
the commits back.`

func newOffsetsResetCmd(env *Env) *cobra.Command {
	o := &resetOptions{}
	o.env = env
	var f scopeFlags
	var groups groupSelection
	cmd := &cobra.Command{
		Use:   "reset -g GROUP (STREAM… | --all-topics) --to SPEC",
		Short: "Put consumer groups at other offsets",
		Long:  resetLong,
		Example: `  kcm offsets reset -g billing orders --to end
  kcm offsets reset -g billing orders --to @-1h --execute
  kcm offsets reset -g billing east/orders -p 0 --to 2000 --strict
  kcm offsets reset -g billing orders --to 0=start --to 1=end-10
  kcm offsets reset -g billing --all-topics --shift-by -100
  kcm offsets reset -g billing orders --to-current --to-group billing-2`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.groups, err = groups.choice(); err != nil {
				return err
			}
			if o.scope.scope, err = f.scope(args); err != nil {
				return err
			}
			if err := o.set(cmd); err != nil {
				return err
			}
			return o.change(cmd, o.scope.names, o.plan)
		},
	}
	f.add(env, cmd)
	groups.addNames(env, cmd)
	groups.addPatterns(cmd.Flags())
	fs := cmd.Flags()
	fs.BoolVar(&o.scope.commits, "all-topics", false, "whatever the groups have committed")
	o.goal.add(fs)
	fs.StringVar(&o.file, "from-file", "", "to the offsets of `FILE`: CSV as kafka-consumer-groups writes it, or JSON of kcm offsets export")
	fs.StringVar(&o.into, "to-group", "", "change the group `NAME`, not the one of -g, which says where from")
	o.add(cmd, "refuse offsets outside the log, which are otherwise moved to its start or end")
	o.addOutput(cmd)
	completeFlags(cmd, map[string]completeFunc{
		"to-group": completeGroups(env), "to": oneOfWords("start", "end", "stored", "group:", "@"), "group-regex": completeNothing,
		"to-datetime": completeNothing, "by-duration": completeNothing, "to-offset": completeNothing, "shift-by": completeNothing,
	})
	return cmd
}

// set checks how the flags fit together.
func (o *resetOptions) set(cmd *cobra.Command) (err error) {
	if err := o.goal.set(o.env, cmd, o.file); err != nil {
		return err
	}
	if o.into != "" {
		switch {
		case o.groups.All || o.groups.Match != nil || len(o.groups.Names) != 1:
			return fault.New(fault.Usage, "--to-group takes from one group").WithHint("-g GROUP, once")
		case o.groups.Names[0] == o.into:
			return fault.New(fault.Usage, "--to-group %s is the group of -g itself", o.into)
		}
	}
	if o.file == "" {
		return o.scope.check()
	}
	if o.scope.commits {
		return fault.New(fault.Usage, "--all-topics and --from-file exclude each other: the file says which partitions")
	}
	if o.listed, err = readListing(o.file); err == nil {
		warnOfPart(o.env, o.listed)
	}
	return err
}

// plan makes the wishes of each cluster, and their changes.
func (o *resetOptions) plan(ctx context.Context, r *reached) (changes []offsets.Change, err error) {
	planner := offsets.Planner{Strict: o.strict}
	if o.into != "" {
		planner.From = o.groups.Names[0]
	}
	if o.listed != nil {
		if err := o.oneCluster(); err != nil {
			return nil, err
		}
	}
	var parts []part
	var wishes [][]offsets.Wish
	err = o.scope.eachReached(r, func(c *cluster.Cluster, cs clusterScope) error {
		p, lacking, err := o.part(ctx, c, cs)
		r.lacking = append(r.lacking, lacking...)
		parts, wishes = append(parts, p), append(wishes, o.wishes(p))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := o.slips(ctx, parts, wishes, len(r.lacking) == 0); err != nil {
		return nil, err
	}
	for i, p := range parts {
		own, err := planner.Plan(ctx, p.Cluster, wishes[i])
		if err != nil {
			return nil, err
		}
		changes = append(changes, own...)
	}
	switch {
	case len(changes) == 0 && len(r.lacking) > 0:
		return nil, r.lacking[0]
	case len(changes) == 0:
		return nil, fault.New(fault.Failed, "there is nothing to reset: %s", o.emptiness())
	}
	return changes, nil
}

func (o *resetOptions) emptiness() string {
	switch {
	case o.listed != nil:
		return "no line of " + o.file + " is about these groups and partitions"
	case o.scope.commits:
		return "the groups have committed nothing of that"
	case len(o.groups.Names) == 0:
		return "no such group has committed anything there"
	default:
		return "no partition is selected"
	}
}

// part is what the scope comes to on a cluster, and what of it is not there.
func (o *resetOptions) part(ctx context.Context, c *cluster.Cluster, cs clusterScope) (p part, lacking []error, err error) {
	if p, err = involved(ctx, c, cs, o.groups); err != nil || o.scope.commits || o.listed != nil || len(cs.wants) == 0 {
		return p, nil, err
	}
	p.found, lacking, err = cs.entries().find(ctx, c)
	return p, lacking, err
}

// wishes are those of the groups of a cluster.
func (o *resetOptions) wishes(p part) (list []offsets.Wish) {
	if o.listed != nil {
		return o.listedWishes(p)
	}
	for _, g := range p.groups {
		into := g.Name
		if o.into != "" {
			into = o.into
		}
		for at, stream := range p.partitions(g) {
			if to, ok := o.goal.target(p.Name(), at); ok {
				list = append(list, offsets.Wish{Group: into, Stream: stream, Partition: at, Target: to, IfThere: p.found == nil})
			}
		}
	}
	return list
}

// listedWishes are those of a file: it says which partitions, as far as the scope
// allows. A file that names no groups is for all that were chosen.
func (o *resetOptions) listedWishes(p part) (list []offsets.Wish) {
	for _, g := range p.groups {
		into := g.Name
		if o.into != "" {
			into = o.into
		}
		for i := range o.listed.Entries {
			e := &o.listed.Entries[i]
			stream, ok := p.scope.selects(e.Partition)
			if !ok || o.listed.Grouped && e.Group != g.Name || e.Cluster != "" && e.Cluster != p.Name() {
				continue
			}
			w := offsets.Wish{Group: into, Stream: stream, Partition: e.Partition, Target: offsets.Target{Kind: offsets.ToOffset, N: e.Offset}}
			if o.listed.JSON {
				w.Metadata = &e.Metadata
			}
			list = append(list, w)
		}
	}
	return list
}

// oneCluster makes sure that a file that names no clusters is about one.
func (o *resetOptions) oneCluster() error {
	names := make([]string, 0, len(o.scope.byName))
	for name := range o.scope.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	silent := slices.ContainsFunc(o.listed.Entries, func(e offsets.ListedOffset) bool { return e.Cluster == "" })
	if silent && len(names) > 1 {
		return fault.New(fault.Usage, "%s does not say of which cluster it is: %s", o.file, strings.Join(names, ", ")).WithHint("-c CLUSTER")
	}
	return nil
}

// mostGroupsTold is how many groups are told each by itself.
const mostGroupsTold = 5

// lacking tells of groups that do not exist. That one is made is allowed: it may be
// a slip all the same.
func (o *resetOptions) lacking(ctx context.Context, parts []part) error {
	names, near := absent(ctx, parts, o.groups.Names)
	if len(names) == 0 {
		return nil
	}
	// Its own commits are what these are about: there are none.
	if o.scope.commits || o.into != "" && o.goal.fromCommits() {
		return noGroup(names, partClusters(parts), near)
	}
	if o.into != "" {
		return nil
	}
	for i, name := range names {
		if i == mostGroupsTold && len(names) > i+1 {
			o.env.run.notices.Warnf("and %d groups more do not exist yet", len(names)-i)
			break
		}
		like := ""
		if near := fault.Nearest(name, sortedUnique(near)); near != "" {
			like = "; did you mean " + near + "?"
		}
		o.env.run.notices.Warnf("there is no group %s on %s yet: committing makes it%s", name, strings.Join(partClusters(parts), ", "), like)
	}
	return nil
}

// slips are words that mean nothing that there is; of partitions that is known
// only if the whole scope was found.
func (o *resetOptions) slips(ctx context.Context, parts []part, wishes [][]offsets.Wish, whole bool) error {
	if err := o.lacking(ctx, parts); err != nil {
		return err
	}
	if err := lackingModels(ctx, parts, wishes); err != nil || !whole {
		return err
	}
	return cmp.Or(o.unmatched(parts), o.goal.used(wishes, parts))
}

// unmatched is about partitions and a group of --to that are nowhere.
func (o *resetOptions) unmatched(parts []part) error {
	if o.listed != nil {
		return nil // the file says which
	}
	all := make([]selected, len(parts))
	for i, p := range parts {
		all[i].each = p.each
	}
	return narrow{partitions: o.scope.narrow.partitions}.unmatched(o.scope.sought(), all)
}

// lackingModels is about groups of --to group:NAME that are on none of the clusters.
func lackingModels(ctx context.Context, parts []part, wishes [][]offsets.Wish) error {
	var names []string
	for _, list := range wishes {
		for i := range list {
			if list[i].Kind == offsets.ToGroup {
				names = append(names, list[i].Name)
			}
		}
	}
	if names = sortedUnique(names); len(names) == 0 {
		return nil
	}
	models := make([]part, len(parts))
	for i, p := range parts {
		groups, err := offsets.Groups(ctx, p.Cluster, offsets.Selection{Names: names}, offsets.Detail{})
		if err != nil {
			return err
		}
		models[i] = part{Cluster: p.Cluster, groups: groups}
	}
	lacking, near := absent(ctx, models, names)
	return noGroup(lacking, partClusters(models), near)
}
