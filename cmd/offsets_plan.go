package cmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// changeFlags are what every verb that changes offsets has: the plan is the same
// with and without --execute.
type changeFlags struct {
	execute, apply bool
	strict         bool
	snapshot       string
}

func (f *changeFlags) add(cmd *cobra.Command, strict string) {
	fs := cmd.Flags()
	fs.BoolVar(&f.execute, "execute", false, "carry the plan out; without it nothing is changed")
	fs.BoolVar(&f.apply, "apply", false, "the same as --execute")
	_ = fs.MarkHidden("apply") // it is there
	if strict != "" {
		fs.BoolVar(&f.strict, "strict", false, strict)
	}
	fs.StringVar(&f.snapshot, "snapshot", "", "where --execute keeps what was before, for rollback; a `FILE` that does not exist (default ./kcm-offsets-UTC.json)")
}

func (f *changeFlags) executes() bool { return f.execute || f.apply }

// carried is what became of a plan.
type carried struct {
	executed bool
	snapshot *string // the file that undoes it
	err      error   // how the run ends; nil: well
}

// carry looks whether changes may be made and, with --execute, writes the snapshot
// and makes them. They are in the order of offsets.SortChanges, and get their errors
// and outcomes. Nothing is changed anywhere if anything is refused anywhere. The
// clusters are by name, and have been met.
func (f *changeFlags) carry(ctx context.Context, env *Env, clusters map[string]*cluster.Cluster, changes []offsets.Change) (done carried) {
	groups, err := check(ctx, clusters, changes)
	if err != nil {
		return carried{err: err}
	}
	if err := refused(changes); err != nil {
		return carried{err: err}
	}
	if !f.executes() || !slices.ContainsFunc(changes, func(c offsets.Change) bool { return !c.Keep }) {
		return carried{}
	}
	path, err := f.keep(ctx, env, clusters, changes)
	if err != nil {
		return carried{err: err}
	}
	if _, err = check(ctx, clusters, changes); err == nil {
		err = refused(changes)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = os.Remove(path) // nothing was changed: it is of no use
		return carried{err: err}
	}
	env.run.notices.Notef("the snapshot is %s: kcm offsets rollback %s undoes the change", path, pasted(path, env.GOOS))
	onEach(clusters, changes, func(c *cluster.Cluster, own []offsets.Change) { offsets.Apply(ctx, c, own) })
	done = carried{executed: true, snapshot: &path, err: applied(ctx, env, changes)}
	tellEmptied(env, groups, changes)
	return done
}

// onEach calls use for the changes of every cluster, all at once.
func onEach(clusters map[string]*cluster.Cluster, changes []offsets.Change, use func(*cluster.Cluster, []offsets.Change)) {
	var all sync.WaitGroup
	for len(changes) > 0 {
		name := changes[0].Cluster
		n := slices.IndexFunc(changes, func(c offsets.Change) bool { return c.Cluster != name })
		if n < 0 {
			n = len(changes)
		}
		own := changes[:n]
		all.Go(func() { use(clusters[name], own) })
		changes = changes[n:]
	}
	all.Wait()
}

// check asks all clusters whether changes may be made. The groups are by cluster.
func check(ctx context.Context, clusters map[string]*cluster.Cluster, changes []offsets.Change) (map[string]map[string]offsets.Group, error) {
	var mu sync.Mutex
	var first error
	groups := map[string]map[string]offsets.Group{}
	onEach(clusters, changes, func(c *cluster.Cluster, own []offsets.Change) {
		found, err := offsets.Check(ctx, c, own)
		mu.Lock()
		defer mu.Unlock()
		groups[c.Name()] = found
		first = cmpError(first, err)
	})
	return groups, first
}

func cmpError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// keep writes the snapshot.
func (f *changeFlags) keep(ctx context.Context, env *Env, clusters map[string]*cluster.Cluster, changes []offsets.Change) (path string, err error) {
	ids := map[string]string{}
	for name, c := range clusters {
		info, err := c.Connect(ctx)
		if err != nil {
			return "", err
		}
		ids[name] = info.ClusterID
	}
	s := offsets.NewSnapshot(env.Now(), changes, ids)
	if f.snapshot != "" {
		return f.snapshot, s.Write(f.snapshot)
	}
	for n := 1; ; n++ { // another run may have begun in the same second
		path = "./kcm-offsets-" + env.Now().UTC().Format("20060102T150405Z")
		if n > 1 {
			path += "-" + strconv.Itoa(n)
		}
		path += ".json"
		if err := s.Write(path); n == mostNames || !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// mostNames is how many default names of one second are tried.
const mostNames = 100

// refused is the error of a plan of which something cannot be carried out; nil if
// all can.
func refused(changes []offsets.Change) error {
	var first error
	bad, kind := 0, fault.Refused
	for i := range changes {
		err := changes[i].Err
		if err == nil {
			continue
		}
		bad++
		if first == nil || fault.KindOf(first) != fault.Refused && fault.KindOf(err) == fault.Refused {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	// Nobody could do anything of the plan: that is told as elsewhere.
	if bad == len(changes) && (fault.KindOf(first) == fault.Auth || fault.KindOf(first) == fault.Unreachable) {
		kind = fault.KindOf(first)
	}
	return fault.New(kind, "%w: nothing was changed", first).On(clusterOf(first))
}

// applied is how a run ends that has carried its plan out.
func applied(ctx context.Context, env *Env, changes []offsets.Change) error {
	n := map[offsets.Outcome]int64{}
	var first error
	for i := range changes {
		if c := &changes[i]; !c.Keep {
			n[c.Outcome]++
			first = cmpError(first, c.Err)
		}
	}
	lost := n[offsets.Unchanged] + n[offsets.Unknown]
	switch {
	case lost == 0:
		return nil
	case ctx.Err() != nil:
		env.run.notices.Warnf("cut short: %s changed, %d not, %d not known", count(n[offsets.Changed], "commit"), n[offsets.Unchanged], n[offsets.Unknown])
		return ctx.Err()
	case n[offsets.Changed]+n[offsets.Unknown] == 0:
		return fault.New(fault.KindOf(first), "%w: nothing was changed", first).On(clusterOf(first))
	}
	return fault.New(fault.Partial, "%s changed, %d not, %d not known; first: %w",
		count(n[offsets.Changed], "commit"), n[offsets.Unchanged], n[offsets.Unknown], first)
}

// tellEmptied tells which groups have no commits any more.
func tellEmptied(env *Env, groups map[string]map[string]offsets.Group, changes []offsets.Change) {
	left := map[[2]string]int{}
	told := 0
	for i := range changes {
		c := &changes[i]
		key := [2]string{c.Cluster, c.Group}
		if _, seen := left[key]; !seen {
			left[key] = len(groups[c.Cluster][c.Group].Commits)
		}
		if c.Outcome == offsets.Changed && c.New == nil && c.Prior != nil {
			if left[key]--; left[key] > 0 {
				continue
			}
			if told++; told <= mostGroupsTold {
				env.run.notices.Notef("%s: group %s has no commits left; brokers forget such a group", c.Cluster, c.Group)
			}
		}
	}
	if told > mostGroupsTold {
		env.run.notices.Notef("and so it is with %s more", count(int64(told-mostGroupsTold), "group"))
	}
}

// planOptions are the options of a verb that makes a plan of its own.
type planOptions struct {
	offsetsOptions
	changeFlags
}

// reached are the clusters of a plan.
type reached struct {
	clusters map[string]*cluster.Cluster
	infos    map[string]cluster.Info
	failed   []failedDoc
	errs     []error // of the failed ones
	lacking  []error // why a plan has to be refused that has no row for it
}

func (r *reached) close() {
	for _, c := range r.clusters {
		c.Close()
	}
}

// reach connects to clusters, all at once. Those that cannot be had are among the
// failed ones; the error is about settings that are wrong.
func reach(ctx context.Context, env *Env, view *metadata.View, names []string) (*reached, error) {
	r := &reached{clusters: map[string]*cluster.Cluster{}, infos: map[string]cluster.Info{}}
	all := make([]*cluster.Cluster, len(names))
	for i, name := range names {
		c, err := connect(env, view.Cluster(name))
		if err != nil {
			r.close()
			return nil, err
		}
		all[i], r.clusters[name] = c, c
	}
	infos, errs := make([]cluster.Info, len(names)), make([]error, len(names))
	var meeting sync.WaitGroup
	for i, c := range all {
		meeting.Go(func() { infos[i], errs[i] = meet(ctx, env, c) })
	}
	meeting.Wait()
	for i, name := range names {
		if errs[i] != nil {
			all[i].Close()
			delete(r.clusters, name)
			r.errs = append(r.errs, errs[i])
			r.failed = append(r.failed, failedDoc{name, errs[i].Error()})
			continue
		}
		r.infos[name] = infos[i]
	}
	return r, nil
}

// planFunc makes the changes of a verb on the clusters that could be reached.
type planFunc func(ctx context.Context, r *reached) ([]offsets.Change, error)

// change makes a plan, carries it out with --execute, and shows it.
func (o *planOptions) change(cmd *cobra.Command, names func(*metadata.View) ([]string, error), plan planFunc) error {
	if err := cmpError(o.checkOutput(), o.checkSnapshot()); err != nil {
		return err
	}
	ctx := cmd.Context()
	view, err := loadView(ctx, o.env)
	if err != nil {
		return err
	}
	on, err := names(view)
	if err != nil {
		return err
	}
	r, err := reach(ctx, o.env, view, on)
	if err != nil {
		return err
	}
	defer r.close()
	if len(r.clusters) == 0 {
		return partial(r.errs, &planDoc{clusters: len(on)})
	}
	changes, err := plan(ctx, r)
	if err != nil {
		return err
	}
	offsets.SortChanges(changes)
	done := o.settle(ctx, r, changes)
	doc := newPlanDoc(changes, done)
	doc.Failed, doc.clusters = r.failed, len(on)
	for _, err := range r.lacking {
		doc.Failed = append(doc.Failed, failedDoc{clusterOf(err), err.Error()})
	}
	printed := o.print(doc)
	if done.err == nil && (printed == nil || !done.executed) {
		o.tellDone(changes, done)
	}
	if err := done.ended(o.env.run.notices, printed, moves(changes)); err != nil {
		return err
	}
	return partial(r.errs, doc)
}

// settle carries a plan out whose clusters all answer and are different ones.
func (o *planOptions) settle(ctx context.Context, r *reached, changes []offsets.Change) carried {
	if err := twice(r.infos, changes); err != nil {
		return carried{err: err}
	}
	if len(r.failed) > 0 && o.executes() {
		err := r.errs[0]
		return carried{err: fault.New(fault.Refused, "%w: nothing was changed", err).On(clusterOf(err)).WithHint("-c leaves clusters out")}
	}
	if len(r.lacking) > 0 {
		return refuseLacking(ctx, r.clusters, changes, r.lacking[0])
	}
	return o.carry(ctx, o.env, r.clusters, changes)
}

// twice refuses a plan that has a commit twice because two clusters are one.
func twice(infos map[string]cluster.Info, changes []offsets.Change) error {
	type place struct {
		id, group string
		at        offsets.Partition
	}
	seen := map[place]string{}
	for i := range changes {
		c := &changes[i]
		p := place{infos[c.Cluster].ClusterID, c.Group, c.Partition}
		if p.id == "" {
			continue
		}
		if other, ok := seen[p]; ok && other != c.Cluster {
			return fault.New(fault.Refused, "%s and %s are the same cluster (%s): %s would be changed twice: nothing was changed", other, c.Cluster, p.id, c.Topic).
				WithHint("-c %s chooses one of them", other)
		}
		seen[p] = c.Cluster
	}
	return nil
}

// tellDone tells on stderr how it stands with the plan.
func (o *planOptions) tellDone(changes []offsets.Change, done carried) {
	n := o.env.run.notices
	switch rest := moves(changes); {
	case rest == 0:
		n.Notef("there is nothing to change")
	case !o.executes():
		n.Notef("nothing was changed; --execute carries the plan out")
	case done.executed:
		n.Notef("%s changed, and read back", count(rest, "commit"))
	}
}
