package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/settings"
)

type offsetsLagOptions struct {
	offsetsOptions
	maxLag  int64 // -1: any
	metrics string
}

// anyLag is the --max-lag that allows all.
const anyLag = -1

func newOffsetsLagCmd(env *Env) *cobra.Command {
	o := &offsetsLagOptions{}
	o.env = env
	var f scopeFlags
	var g groupSelection
	cmd := &cobra.Command{
		Use:   "lag -g GROUP… [STREAM…]",
		Short: "Show how far consumer groups are behind",
		Long: `lag shows the committed offset of each partition, the first and the end offset of its
log and how many offsets lie between, with the member that reads it, on all
clusters; then the totals. Without STREAM it is about whatever the groups have
committed or are assigned; with STREAM about all partitions of these streams.

What is not known is shown as -, and null in JSON: a group has no lag where it never
committed, and a topic that was deleted has none. Totals leave such partitions out,
and count them.

--max-lag ends with exit code 1 if the lag of a group, over all its clusters, is
larger; with 3 if it may be, because some of it is not known.

With --watch it is asked again and again: a terminal is redrawn in place, a pipe gets
a JSON document a line. With --metrics the lags are served to Prometheus instead,
until a signal comes; with both they are shown as well.`,
		Example: `  kcm offsets lag -g billing
  kcm offsets lag -g billing orders -c east
  kcm offsets lag --all-groups -o json
  kcm offsets lag --group-regex 'billing-.*' --max-lag 1000
  kcm offsets lag -g billing --watch --interval 5s
  kcm offsets lag --all-groups --metrics :9090`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.scope, err = f.scope(args); err != nil {
				return err
			}
			if o.groups, err = g.choice(); err != nil {
				return err
			}
			if err := o.settle(cmd); err != nil {
				return err
			}
			unserve, err := serveMetrics(cmd.Context(), env, o.metrics)
			if err != nil {
				return err
			}
			defer unserve()
			return o.run(cmd, o.find)
		},
	}
	g.addNames(env, cmd)
	g.addPatterns(cmd.Flags())
	f.add(env, cmd)
	o.addOutput(cmd)
	cmd.Flags().Int64Var(&o.maxLag, "max-lag", anyLag, "exit 1 if the lag of a group is above `N`; -1 allows any")
	addWatchFlags(cmd, &o.describeOptions)
	cmd.Flags().StringVar(&o.metrics, "metrics", "", "serve the lags to Prometheus at `ADDR`, such as :9090, under /metrics, until a signal ends it")
	completeFlags(cmd, map[string]completeFunc{"metrics": completeNothing, "group-regex": completeNothing, "max-lag": completeNothing})
	return cmd
}

// settle checks how the flags fit together.
func (o *offsetsLagOptions) settle(cmd *cobra.Command) error {
	if o.maxLag < anyLag {
		return fault.New(fault.Usage, "%s %d is not allowed: a lag is 0 or more", placeOf(o.env, cmd, "max-lag"), o.maxLag)
	}
	if o.metrics != "" && !o.watch {
		o.watch, o.silent = true, true
	}
	if !o.watch {
		return nil
	}
	switch {
	case o.maxLag > anyLag && given(o.env, cmd, "max-lag") == settings.CommandLine:
		return fault.New(fault.Usage, "--max-lag answers once: it is not for --watch and --metrics")
	case o.silent:
	case o.output == "csv":
		return fault.New(fault.Usage, "-o csv is one table: it is not for --watch").WithHint("-o json writes a document a line")
	case !o.env.StdoutTerminal && given(o.env, cmd, "output") == settings.Default:
		o.output = "json"
	}
	return nil
}

// troublesome is how long clusters of which some brokers do not answer may take
// altogether.
const troublesome = 4700 * time.Millisecond

// lagAnswer is what a cluster says about groups.
type lagAnswer struct {
	id      string // of the cluster
	reached bool   // what went wrong since is told with the parts
	groups  []offsets.GroupLag
	lacking []error // topics that are not there
	near    []string
}

// ask finds the lag of the selected groups on one cluster.
func (o *offsetsLagOptions) ask(ctx context.Context, r respondent, cs clusterScope) (a lagAnswer, err error) {
	began := time.Now()
	info, err := r.meet(ctx)
	if err != nil {
		return a, err
	}
	a.id = info.ClusterID
	found, lacking, err := cs.find(ctx, r.Cluster)
	if err != nil {
		return a, err
	}
	groups, listErr := offsets.Groups(ctx, r.Cluster, o.groups.Selection, offsets.Detail{Members: true, Commits: true})
	if listErr != nil && len(groups) == 0 {
		return a, listErr
	}
	if len(cs.narrow.topics)+len(cs.narrow.partitions) > 0 {
		offsets.Narrow(groups, cs.takes)
	}
	if listErr != nil || slices.ContainsFunc(groups, func(g offsets.Group) bool { return g.Err != nil }) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(troublesome-time.Since(began), 700*time.Millisecond))
		defer cancel()
	}
	lags, err := offsets.Lags(ctx, r.Cluster, groups, found)
	if err != nil {
		return a, err
	}
	a.reached, a.lacking = true, lacking
	a.groups = slices.DeleteFunc(lags, func(g offsets.GroupLag) bool { return o.leavesOut(cs, g) })
	for i := range a.groups {
		a.groups[i].Commits = nil // the lags have them
	}
	cs.nameStreams(a.groups)
	if !o.watch && slices.ContainsFunc(a.groups, func(g offsets.GroupLag) bool { return g.Kind == cluster.NoGroup && g.Err == nil }) {
		a.near, _ = r.Groups(ctx) // for a hint only
	}
	return a, a.trouble(listErr)
}

// each goes over the partitions of all groups.
func (a *lagAnswer) each(yield func(offsets.Partition) bool) {
	for i := range a.groups {
		for j := range a.groups[i].Lags {
			if !yield(a.groups[i].Lags[j].Partition) {
				return
			}
		}
	}
}

// leavesOut reports whether a group that was not named has nothing to do with what
// was asked for.
func (o *offsetsLagOptions) leavesOut(cs clusterScope, g offsets.GroupLag) bool {
	narrowed := len(cs.wants)+len(cs.narrow.topics)+len(cs.narrow.partitions) > 0
	return narrowed && g.Err == nil && !slices.Contains(o.groups.Names, g.Name) && !g.Touched()
}

// nameStreams fills in the streams of a scope that does not name them.
func (cs clusterScope) nameStreams(groups []offsets.GroupLag) {
	if len(cs.wants) > 0 {
		return
	}
	known := map[string]string{}
	for i := range groups {
		for j := range groups[i].Lags {
			l := &groups[i].Lags[j]
			name, ok := known[l.Topic]
			if !ok {
				name = cs.streamOf(l.Topic)
				known[l.Topic] = name
			}
			l.Stream = name
		}
	}
}

// trouble is the first error among the answers. That a topic was deleted is none:
// it is only shown.
func (a *lagAnswer) trouble(first error) error {
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
		note(g.Err)
		for i := range g.Lags {
			if err := g.Lags[i].Err; !cluster.IsMissing(err) {
				note(err)
			}
		}
	}
	return lessen(first, some)
}

func (o *offsetsLagOptions) find(ctx context.Context, view *metadata.View) (document, []error, error) {
	scopes, err := o.scope.on(view)
	if err != nil {
		return nil, nil, err
	}
	replies, err := eachScope(ctx, &o.describeOptions, view, scopes, o.ask)
	if err != nil {
		return nil, nil, err
	}
	doc := newLagDoc(o, scopes, replies)
	failed := troubles(replies)
	if err := o.check(scopes, replies, len(failed) == 0); err != nil {
		return nil, nil, err
	}
	if !o.watch {
		if err := o.unknown(scopes, replies); err != nil && len(failed) == 0 && !doc.any() {
			return nil, nil, err
		} else if err != nil {
			doc.lacking = withFailures(err, failed)
		}
	}
	o.env.run.metrics.Lags(doc.metrics(scopes, replies))
	return doc, failed, nil
}

// check refuses what is counted twice and, in a run that asks once and has asked
// every cluster, what selects nothing.
func (o *offsetsLagOptions) check(scopes []clusterScope, replies []reply[lagAnswer], whole bool) error {
	all := make([]selected, len(replies))
	groups := 0
	for i, r := range replies {
		all[i] = selected{cluster: scopes[i].cluster, id: r.answer.id, each: r.answer.each}
		groups += len(r.answer.groups)
	}
	if err := twins(all); err != nil || o.watch || !whole {
		return err
	}
	if groups == 0 && !o.groups.All {
		return fault.New(fault.Failed, "no group that is meant is on %s", strings.Join(scopeNames(scopes), ", ")).
			WithHint("kcm describe groups lists them")
	}
	if err := o.unknown(scopes, replies); err != nil {
		return nil // which tells more
	}
	return o.scope.narrow.unmatched(o.scope.sought(), all)
}

// withFailures is an error about what is not there, when some clusters failed or
// something else is.
func withFailures(err error, failed []error) error {
	out := fault.New(fault.Partial, "%w", err)
	if len(failed) > 0 {
		out = fault.New(fault.Partial, "%w; %w", err, someFailed(failed))
	}
	if hint := fault.HintOf(err); hint != "" {
		return out.WithHint("%s", hint)
	}
	return out
}

// unknown is about the groups that were named and are on none of the clusters that
// answered; nil if there is none, or no cluster answered.
func (o *offsetsLagOptions) unknown(scopes []clusterScope, replies []reply[lagAnswer]) error {
	var lacking, living, near []string
	for i, r := range replies {
		if r.answer.reached {
			living = append(living, scopes[i].cluster)
			near = append(near, r.answer.near...)
		}
	}
	if len(living) == 0 {
		return nil
	}
	for _, name := range o.groups.Names {
		is := func(g offsets.GroupLag) bool { return g.Name == name && (g.Kind != cluster.NoGroup || g.Err != nil) }
		if !slices.ContainsFunc(replies, func(r reply[lagAnswer]) bool { return slices.ContainsFunc(r.answer.groups, is) }) {
			lacking = append(lacking, name)
		}
	}
	return noGroup(lacking, living, near)
}

// noGroup is the error of groups that clusters do not have; nil for none.
func noGroup(names, clusters, near []string) error {
	if len(names) == 0 {
		return nil
	}
	what := "group"
	if len(names) > 1 {
		what = "groups"
	}
	err := fault.New(fault.Failed, "there is no %s %s on %s", what, strings.Join(names, ", "), strings.Join(clusters, ", "))
	if like := fault.Nearest(names[0], sortedUnique(near)); like != "" {
		return err.WithHint("did you mean %s?", like)
	}
	return err.WithHint("kcm describe groups lists them")
}
