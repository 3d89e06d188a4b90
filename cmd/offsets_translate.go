package cmd

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// translateOptions are the flags of offsets translate.
type translateOptions struct {
	offsetsOptions
	from, to     string
	via          string
	policy       string
	allowPartial bool
	allowRewind  bool
	changeFlags
}

const translateLong = `translate says where groups that read topics on one cluster go on in the copies of
these topics on another, and with --execute commits that there.

For each partition it takes the most exact way that there is: kcm's own map; the
offset syncs of MirrorMaker 2, all that their topic still has; its checkpoints; and
as the last resort the time of the group's next record. No offset lies beyond a
record that the group has not read. Each row says how sure it is:

  exact     the group goes on where it was
  bounded   it reads records again, at most as many as BOUND says
  pending   it cannot be said yet: nothing has been mirrored, or no checkpoint written
  unmapped  it cannot be said, and NOTE says why

With pending or unmapped rows the exit code is 3; --execute commits the others all the
same. A group that is further on the target stays there, unless --allow-rewind lets it
be moved back.

mirror: in the metadata says by which alias and separator MirrorMaker 2 knows a
cluster; without it the alias is the cluster's name.`

func newOffsetsTranslateCmd(env *Env) *cobra.Command {
	o := &translateOptions{}
	o.env = env
	var f scopeFlags
	var groups groupSelection
	cmd := &cobra.Command{
		Use:   "translate --from CLUSTER --to CLUSTER (-g GROUP | --group-regex RE) [STREAM…]",
		Short: "Say where groups go on in the copies of their topics on another cluster",
		Long:  translateLong,
		Example: `  kcm offsets translate --from east --to west -g billing
  kcm offsets translate --from east --to west --group-regex 'bill.*' orders -o json
  kcm offsets translate --from east --to west -g billing --via checkpoints
  kcm offsets translate --from east --to west -g billing --execute`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.groups, err = groups.choice(); err != nil {
				return err
			}
			if err := o.set(f, args); err != nil {
				return err
			}
			defer o.sparing()()
			return o.run(cmd, o.find)
		},
	}
	f.add(env, cmd)
	groups.addNames(env, cmd)
	groups.addPatterns(cmd.Flags())
	fs := cmd.Flags()
	fs.StringVar(&o.from, "from", "", "the `CLUSTER` that the groups read on")
	fs.StringVar(&o.to, "to", "", "the `CLUSTER` that has the copies")
	fs.StringVar(&o.via, "via", "auto", "only by `WAY`: auto, map, checkpoints, syncs or timestamp")
	fs.StringVar(&o.policy, "policy", "auto", "how MirrorMaker 2 names copies: `auto`, default or identity")
	fs.BoolVar(&o.allowPartial, "allow-partial", false, "take what could be read of a topic of MirrorMaker 2 that cannot be read to its end")
	fs.BoolVar(&o.allowRewind, "allow-rewind", false, "move groups back that are further on the target")
	o.add(cmd, "refuse offsets outside the target's range, which are otherwise moved to its start or end")
	o.addOutput(cmd)
	completeFlags(cmd, map[string]completeFunc{
		"from": completeClusters(env), "to": completeClusters(env),
		"via": oneOfWords("auto", "map", "checkpoints", "syncs", "timestamp"), "policy": oneOfWords("auto", "default", "identity"),
	})
	return cmd
}

// translateGCPercent is GOGC for a run that holds an entry for every partition of
// every group and makes little else: it is over soon.
const translateGCPercent = 50

// sparing has the garbage collector spare memory, unless the user has decided.
func (o *translateOptions) sparing() (done func()) {
	if o.env.Getenv("GOGC") != "" || o.env.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent := debug.SetGCPercent(translateGCPercent)
	return func() { debug.SetGCPercent(percent) }
}

func (o *translateOptions) set(f scopeFlags, args []string) (err error) {
	switch {
	case o.from == "" || o.to == "":
		return fault.New(fault.Usage, "offsets translate needs two clusters").WithHint("--from CLUSTER --to CLUSTER")
	case o.from == o.to:
		return fault.New(fault.Usage, "--from and --to are both %s", o.from)
	case len(f.clusters) > 0 && !slices.Equal(f.clusters, []string{o.from}):
		return fault.New(fault.Usage, "-c is %s here, the cluster of --from", o.from)
	}
	if err := oneOf("--via", o.via, "auto", "map", "checkpoints", "syncs", "timestamp"); err != nil {
		return err
	}
	if err := oneOf("--policy", o.policy, "auto", "default", "identity"); err != nil {
		return err
	}
	if err := o.checkSnapshot(); err != nil {
		return err
	}
	f.clusters = []string{o.from}
	o.scope, err = f.scope(args)
	return err
}

// ends are the two clusters of a translation.
type ends struct {
	from, to *cluster.Cluster
	lost     error // why the source cannot be asked
}

func (e ends) close() {
	for _, c := range []*cluster.Cluster{e.from, e.to} {
		if c != nil {
			c.Close()
		}
	}
}

// reach connects to both clusters. The target has to answer.
func (o *translateOptions) reach(ctx context.Context, view *metadata.View) (e ends, err error) {
	for _, name := range []string{o.from, o.to} {
		if err := mustCluster(view, name); err != nil {
			return e, err
		}
	}
	if e.from, err = connect(o.env, view.Cluster(o.from)); err != nil {
		return e, err
	}
	if e.to, err = connect(o.env, view.Cluster(o.to)); err != nil {
		return e, err
	}
	var both sync.WaitGroup
	both.Go(func() { _, e.lost = meet(ctx, o.env, e.from) })
	both.Go(func() { _, err = meet(ctx, o.env, e.to) })
	both.Wait()
	if e.lost != nil && fault.KindOf(e.lost) != fault.Unreachable && err == nil {
		err = e.lost // to be left out it would have to be gone
	}
	return e, err
}

func (o *translateOptions) find(ctx context.Context, view *metadata.View) (document, []error, error) {
	e, err := o.reach(ctx, view)
	defer e.close()
	if err != nil {
		return nil, nil, err
	}
	t := &offsets.Translator{
		Flow: flowOf(view, e), Groups: o.groups.Selection, Via: offsets.Via(o.via), Partial: o.allowPartial, Patience: o.env.run.globals.giveUp,
	}
	t.Fixed, t.Policy.Identity = o.policy != "auto", o.policy == "identity"
	if t.Takes, err = o.selector(ctx, view, e); err != nil {
		return nil, nil, err
	}
	got, err := t.Translate(ctx)
	if err != nil {
		return nil, nil, err
	}
	doc := newTranslationDoc(o, got)
	if err := doc.compare(ctx, e.to); err != nil {
		return nil, nil, err
	}
	if o.executes() {
		doc.carry(ctx, e.to)
	}
	o.tell(got)
	doc.tellDone()
	if o.output == "yaml" {
		doc.Groups = slices.Collect(doc.groups)
	}
	return doc, nil, nil
}

// selector says which partitions of the source are meant, and by which stream. It
// works without the source, but one that answers has to have the topics.
func (o *translateOptions) selector(ctx context.Context, view *metadata.View, e ends) (func(offsets.Partition) (string, bool), error) {
	scopes, err := o.scope.on(view)
	if err != nil {
		return nil, err
	}
	cs := scopes[0]
	if e.lost == nil {
		_, lacking, err := cs.find(ctx, e.from)
		if err != nil {
			return nil, err
		}
		if len(lacking) > 0 {
			return nil, lacking[0]
		}
	}
	return cs.selects, nil
}

// tell tells what the answer does not say.
func (o *translateOptions) tell(got *offsets.Translation) {
	for _, err := range got.Warnings {
		o.env.run.notices.Warnf("%v", err)
		if hint := fault.HintOf(err); hint != "" {
			o.env.run.notices.Notef("hint: %s", hint)
		}
	}
}

// flowOf describes the flow between two clusters by what the metadata says of them.
func flowOf(view *metadata.View, e ends) offsets.Flow {
	f := offsets.Flow{From: e.from, To: e.to, Lost: e.lost}
	from, to := view.Cluster(e.from.Name()), view.Cluster(e.to.Name())
	f.Source, f.Target = aliasOf(from), aliasOf(to)
	f.Policy = policyOf(to, from)
	return f
}

// aliasOf is how MirrorMaker 2 calls a cluster.
func aliasOf(c *metadata.Cluster) string {
	if c.Mirror != nil && c.Mirror.Alias != "" {
		return c.Mirror.Alias
	}
	return c.Name
}

// policyOf is how copies are named, by the first cluster whose metadata says it.
func policyOf(clusters ...*metadata.Cluster) (p offsets.Policy) {
	for _, c := range clusters {
		if c.Mirror != nil {
			p.Separator, p.DotInternal = c.Mirror.Separator, !c.Mirror.InternalSeparator
			return p
		}
	}
	return p
}
