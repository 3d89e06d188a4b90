package cmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// exportOptions are the flags of offsets export.
type exportOptions struct{ offsetsOptions }

const exportLong = `export writes what groups have committed, for import and for kafka-consumer-groups
--from-file: lines of topic,partition,offset for one group that is named with -g, or
of group,topic,partition,offset for several, without a line that names the fields.
Without STREAM it is whatever the groups have commits on. Nothing is made up for a
partition that was never committed: it is left out.

CSV has no place for the cluster: with more than one, choose with -c, or take -o json,
which has the metadata of the commits too.`

func newOffsetsExportCmd(env *Env) *cobra.Command {
	o := &exportOptions{}
	o.env = env
	var f scopeFlags
	var g groupSelection
	cmd := &cobra.Command{
		Use:   "export -g GROUP… [STREAM…]",
		Short: "Write the commits of groups to standard output, as CSV or JSON",
		Long:  exportLong,
		Example: `  kcm offsets export -g billing -c east > billing.csv
  kcm offsets export -g billing -c east orders
  kcm offsets export --all-groups -o json > commits.json
  kcm offsets export --group-regex 'billing-.*' -c east`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.scope, err = f.scope(args); err != nil {
				return err
			}
			if o.groups, err = g.choice(); err != nil {
				return err
			}
			return o.run(cmd, o.find)
		},
	}
	g.addNames(env, cmd)
	g.addPatterns(cmd.Flags())
	f.add(env, cmd)
	o.addOutput(cmd)
	out := cmd.Flags().Lookup("output")
	o.output, out.DefValue, out.Usage = "csv", "csv", "`csv`, as Kafka's own tools read it, json, yaml or table"
	completeFlags(cmd, map[string]completeFunc{"group-regex": completeNothing})
	return cmd
}

// exportAnswer is what a cluster says about groups.
type exportAnswer struct {
	reached bool
	groups  []offsets.Group // their commits narrowed to what is wanted
	lacking []error         // topics that are not there
	near    []string
}

// find reads the commits of all clusters.
func (o *exportOptions) find(ctx context.Context, view *metadata.View) (document, []error, error) {
	scopes, err := o.scope.on(view)
	if err != nil {
		return nil, nil, err
	}
	if o.output == "csv" && len(scopes) > 1 {
		return nil, nil, fault.New(fault.Usage, "CSV has no place for clusters, and these are %s: %s", count(int64(len(scopes)), "cluster"), strings.Join(scopeNames(scopes), ", ")).
			WithHint("-c CLUSTER chooses one; -o json has all of them")
	}
	replies, err := eachScope(ctx, &o.describeOptions, view, scopes, o.ask)
	if err != nil {
		return nil, nil, err
	}
	doc := newExportDoc(o, scopes, replies)
	failed := troubles(replies)
	err = o.nothing(doc, scopes, replies)
	if err != nil && len(failed) > 0 || err != nil && doc.rows > 0 {
		err = withFailures(err, failed)
	}
	if doc.rows == 0 { // an empty file would look like an answer
		return nil, nil, cmp.Or(err, partial(failed, doc))
	}
	doc.lacking = err
	if o.output == "yaml" {
		doc.fill()
	}
	return doc, failed, nil
}

// ask reads the commits of the selected groups on one cluster.
func (o *exportOptions) ask(ctx context.Context, r respondent, cs clusterScope) (a exportAnswer, err error) {
	if _, err := r.meet(ctx); err != nil {
		return a, err
	}
	found, lacking, err := cs.find(ctx, r.Cluster)
	if err != nil {
		return a, err
	}
	groups, listErr := offsets.Groups(ctx, r.Cluster, o.groups.Selection, offsets.Detail{Commits: true})
	if listErr != nil && len(groups) == 0 {
		return a, listErr
	}
	a.reached, a.lacking = true, lacking
	for _, g := range groups {
		if slices.Contains(o.groups.Names, g.Name) && g.Kind != cluster.NoGroup && g.Err == nil {
			o.tellUncommitted(cs, g, found)
		}
	}
	offsets.Narrow(groups, func(at offsets.Partition) bool { _, ok := cs.selects(at); return ok })
	a.groups = groups
	if slices.ContainsFunc(groups, func(g offsets.Group) bool { return g.Kind == cluster.NoGroup && g.Err == nil }) {
		a.near, _ = r.Groups(ctx) // for a hint only
	}
	return a, a.trouble(listErr)
}

// tellUncommitted tells which partitions of a stream a group has no commit for.
func (o *exportOptions) tellUncommitted(cs clusterScope, g offsets.Group, found offsets.Scope) {
	missing := map[string]int{}
	for _, at := range found.Partitions() {
		if _, ok := g.Commits[at]; !ok {
			missing[at.Topic]++
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(missing)) {
		o.env.run.notices.Notef("%s/%s: %s has no commit in %s: left out", cs.cluster, topic, g.Name, count(int64(missing[topic]), "partition"))
	}
}

// trouble is the first error among the answers.
func (a *exportAnswer) trouble(first error) error {
	some := false
	note := func(err error) {
		if err != nil && first == nil {
			first = err
		}
		some = some || err == nil
	}
	for _, err := range a.lacking {
		note(err)
	}
	for _, g := range a.groups {
		if g.Err != nil {
			note(g.Err)
		}
		for _, c := range g.Commits {
			note(c.Err)
		}
	}
	return lessen(first, some)
}

// nothing is about groups that are nowhere or have committed nothing that is wanted,
// where clusters have answered; nil if each that was named has, or something else
// tells why not.
func (o *exportOptions) nothing(doc *exportDoc, scopes []clusterScope, replies []reply[exportAnswer]) error {
	var living, near []string
	lacking := false // topics
	for i, r := range replies {
		lacking = lacking || len(r.answer.lacking) > 0
		if r.answer.reached {
			living, near = append(living, scopes[i].cluster), append(near, r.answer.near...)
		}
	}
	if len(living) == 0 {
		return nil
	}
	absent, idle := o.fruitless(doc, replies)
	if len(absent) > 0 {
		return noGroup(absent, living, near)
	}
	if lacking {
		return nil
	}
	where := "on " + strings.Join(living, ", ")
	if words := o.scope.said(); words != "" {
		where = "in " + words + " " + where
	}
	switch {
	case len(idle) > 0:
		return fault.New(fault.Failed, "there is nothing to export: %s has no commit %s", strings.Join(idle, ", "), where)
	case doc.rows == 0 && len(o.groups.Names) == 0:
		return fault.New(fault.Failed, "there is nothing to export: no group that is meant has a commit %s", where)
	}
	return nil
}

// fruitless are the named groups that are nowhere, and those that have committed
// nothing that is wanted.
func (o *exportOptions) fruitless(doc *exportDoc, replies []reply[exportAnswer]) (absent, idle []string) {
	for _, name := range o.groups.Names {
		exists, failed := false, false
		for _, r := range replies {
			for _, g := range r.answer.groups {
				exists = exists || g.Name == name && g.Kind != cluster.NoGroup
				failed = failed || g.Name == name && g.Err != nil
			}
		}
		switch {
		case doc.has[name] || failed:
		case exists:
			idle = append(idle, name)
		default:
			absent = append(absent, name)
		}
	}
	return absent, idle
}

// said are the words that narrow a scope, for a message.
func (s scope) said() string {
	return strings.Join(append(slices.Clone(s.words), s.narrow.topics...), ", ")
}
