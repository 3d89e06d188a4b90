package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

type deleteOptions struct {
	planOptions
	scope changeScope
}

func newOffsetsDeleteCmd(env *Env) *cobra.Command {
	o := &deleteOptions{}
	o.env = env
	var f scopeFlags
	var groups groupSelection
	cmd := &cobra.Command{
		Use:   "delete -g GROUP (STREAM… | --all-topics)",
		Short: "Remove commits of consumer groups",
		Long: `delete removes what consumer groups have committed, on all clusters of the streams at
once: they begin anew there, where their auto.offset.reset says. It prints what it
would remove, and changes nothing without --execute.

A group with members is refused, and so is all of the plan with it. A group without
commits and members is soon forgotten by the brokers. --execute first keeps what was
there in a file, from which kcm offsets rollback brings it back.`,
		Example: `  kcm offsets delete -g billing orders
  kcm offsets delete -g billing east/orders -p 0 --execute
  kcm offsets delete -g billing --all-topics -c east --execute`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.groups, err = groups.choice(); err != nil {
				return err
			}
			if o.scope.scope, err = f.scope(args); err != nil {
				return err
			}
			if err := o.scope.check(); err != nil {
				return err
			}
			return o.change(cmd, o.scope.names, o.plan)
		},
	}
	f.add(env, cmd)
	groups.addNames(env, cmd)
	groups.addPatterns(cmd.Flags())
	cmd.Flags().BoolVar(&o.scope.commits, "all-topics", false, "all that the groups have committed")
	o.add(cmd, "")
	o.addOutput(cmd)
	completeFlags(cmd, map[string]completeFunc{"group-regex": completeNothing})
	return cmd
}

func (o *deleteOptions) plan(ctx context.Context, r *reached) (changes []offsets.Change, err error) {
	var parts []part
	var trouble error
	err = o.scope.eachReached(r, func(c *cluster.Cluster, cs clusterScope) error {
		p, err := involved(ctx, c, cs, o.groups)
		if err != nil {
			return err
		}
		if err := o.tellLacking(ctx, c, cs); err != nil {
			return err
		}
		parts = append(parts, p)
		changes = append(changes, offsets.Removal(c, p.groups, cs.selects)...)
		for _, g := range p.groups {
			trouble = cmpError(trouble, g.Err)
		}
		return nil
	})
	if err = cmpError(err, trouble); err != nil {
		return nil, err
	}
	names, near := absent(ctx, parts, o.groups.Names)
	if len(names) > 0 {
		return nil, noGroup(names, partClusters(parts), near)
	}
	if len(changes) > 0 {
		o.tellUntouched(changes)
	}
	if r.lacking, err = o.commitless(ctx, parts, changes); err != nil {
		return nil, err
	}
	if len(changes) == 0 && len(r.lacking) > 0 {
		return nil, r.lacking[0]
	}
	if len(changes) == 0 {
		return nil, fault.New(fault.Failed, "there is nothing to delete: no such group has committed anything of that on %s", strings.Join(partClusters(parts), ", "))
	}
	return changes, nil
}

// tellUntouched tells of partitions that were named and on which nothing is committed.
func (o *deleteOptions) tellUntouched(changes []offsets.Change) {
	touched := selected{each: func(yield func(offsets.Partition) bool) {
		for i := range changes {
			if !yield(changes[i].Partition) {
				return
			}
		}
	}}
	if err := o.scope.narrow.unmatched("nothing is committed there", []selected{touched}); err != nil {
		o.env.run.notices.Warnf("%v", err)
	}
}

// tellLacking tells what of the scope is not there: commits that groups have on it
// all the same are removed.
func (o *deleteOptions) tellLacking(ctx context.Context, c *cluster.Cluster, cs clusterScope) error {
	_, lacking, err := cs.entries().find(ctx, c)
	for _, miss := range lacking {
		o.env.run.notices.Warnf("%v", miss)
	}
	return err
}

// commitless are refusals for named groups that keep no commits; and where there is
// nothing to delete at all, for those that are in use.
func (o *deleteOptions) commitless(ctx context.Context, parts []part, changes []offsets.Change) (list []error, err error) {
	for _, p := range parts {
		why, err := offsets.InUse(ctx, p.Cluster, o.groups.Names)
		if err != nil {
			return nil, err
		}
		for _, g := range p.groups {
			has := slices.ContainsFunc(changes, func(c offsets.Change) bool { return c.Cluster == p.Name() && c.Group == g.Name })
			if w := why[g.Name]; w != nil && !has && (g.Kind == cluster.ShareGroup || len(changes) == 0) {
				list = append(list, w)
			}
		}
	}
	return list, nil
}
