package cmd

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/spec"
)

// resetGoal is where a reset puts groups.
type resetGoal struct {
	to                        []string
	earliest, latest, current bool
	offset, shift             int64
	datetime, duration        string

	specs spec.Offsets    // of --to
	one   *offsets.Target // of another flag
}

func (g *resetGoal) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&g.to, "to", nil, "where to, such as `SPEC` start, end, 2000, end-100, @-1h or group:NAME; [CLUSTER/][TOPIC:]PARTITION=SPEC for one partition (repeatable)")
	fs.BoolVar(&g.earliest, "to-earliest", false, "to the start")
	fs.BoolVar(&g.latest, "to-latest", false, "to the end")
	fs.BoolVar(&g.current, "to-current", false, "to where the group is; to the end where it has no commit")
	fs.Int64Var(&g.offset, "to-offset", 0, "to the offset `N`")
	fs.Int64Var(&g.shift, "shift-by", 0, "by `N` offsets from where the group is, backwards if below zero")
	fs.StringVar(&g.datetime, "to-datetime", "", "to the first record of that `TIME` or later; without a zone it is UTC")
	fs.StringVar(&g.duration, "by-duration", "", "to the first record of so long ago or later, such as `D` 1h or PT1H")
}

// goalFlags are the flags of which one has to be there.
var goalFlags = []string{"to", "to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file"}

func (g *resetGoal) set(env *Env, cmd *cobra.Command, file string) (err error) {
	var some []string
	for _, name := range goalFlags {
		if given(env, cmd, name) != settings.Default && (name != "from-file" || file != "") {
			some = append(some, name)
		}
	}
	switch {
	case len(some) == 0:
		return fault.New(fault.Usage, "nothing says where to").WithHint("--to SPEC, such as --to end or --to @-1h; see kcm help specs")
	case len(some) > 1:
		return fault.New(fault.Usage, "--%s and --%s exclude each other", some[0], some[1])
	}
	return g.interpret(env.Now(), some[0])
}

func (g *resetGoal) interpret(now time.Time, flag string) (err error) {
	one := offsets.Target{}
	switch flag {
	case "to":
		return g.parse(now)
	case "from-file":
		return nil
	case "to-earliest":
		one.Kind = offsets.ToStart
		err = mustBeTrue(flag, g.earliest)
	case "to-latest":
		one.Kind = offsets.ToEnd
		err = mustBeTrue(flag, g.latest)
	case "to-current":
		one.Kind = offsets.ToCurrent
		err = mustBeTrue(flag, g.current)
	case "to-offset":
		one = offsets.Target{Kind: offsets.ToOffset, N: g.offset}
		if g.offset < 0 {
			err = fault.New(fault.Usage, "--to-offset %d is no offset", g.offset).WithHint("--to end-N counts from the end; --shift-by N from where the group is")
		}
	case "shift-by":
		one = offsets.Target{Kind: offsets.ToShifted, N: g.shift}
	case "to-datetime":
		one.Kind = offsets.ToTime
		one.N, err = spec.ParseTime(g.datetime, now)
	case "by-duration":
		var d time.Duration
		d, err = spec.ParseDuration(g.duration)
		one = offsets.Target{Kind: offsets.ToTime, N: now.Add(-d).UnixMilli()}
	}
	g.one = &one
	return err
}

func mustBeTrue(flag string, value bool) error {
	if !value {
		return fault.New(fault.Usage, "--%s=false says nothing", flag)
	}
	return nil
}

func (g *resetGoal) parse(now time.Time) (err error) {
	if g.specs, err = spec.ParseOffsets(g.to, now); err != nil {
		if slices.Contains(g.to, "current") {
			return fault.New(fault.Usage, "%w", err).WithHint("--to-current")
		}
		return err
	}
	if a, b, clash := g.specs.Clash(); clash {
		return fault.New(fault.Usage, "--to %s and --to %s exclude each other", a, b)
	}
	for _, r := range g.specs.Ranges() {
		if r.Stop.Given() {
			return fault.New(fault.Usage, "%q is a range; --to takes one place", r.String()).
				WithHint("start, end, start+N, end-N, +N, -N, N, @T, stored or group:NAME")
		}
	}
	return nil
}

// fromCommits reports whether the goal is measured from a group's own commits.
func (g *resetGoal) fromCommits() bool {
	own := func(t offsets.Target) bool { return t.Kind == offsets.ToCurrent || t.Kind == offsets.ToShifted }
	if g.one != nil {
		return own(*g.one)
	}
	return slices.ContainsFunc(g.specs.Ranges(), func(r spec.Range) bool { return own(targetOf(r.Start)) })
}

// target is where a partition is put; false if no --to speaks of it.
func (g *resetGoal) target(cluster string, at offsets.Partition) (offsets.Target, bool) {
	if g.one != nil {
		return *g.one, true
	}
	r, ok := g.specs.For(record.Split{Cluster: cluster, Topic: at.Topic, Partition: at.Partition})
	return targetOf(r.Start), ok
}

func targetOf(b spec.Bound) offsets.Target {
	kind := map[spec.Kind]offsets.TargetKind{
		spec.Start: offsets.ToStart, spec.End: offsets.ToEnd, spec.Stored: offsets.ToCurrent,
		spec.Group: offsets.ToGroup, spec.Offset: offsets.ToOffset, spec.Time: offsets.ToTime,
	}[b.Kind]
	return offsets.Target{Kind: kind, N: b.N, Name: b.Name}
}

// used refuses a --to for a partition that is not among those that are reset.
func (g *resetGoal) used(wishes [][]offsets.Wish, parts []part) error {
	var splits []record.Split
	for i, list := range wishes {
		for _, w := range list {
			splits = append(splits, record.Split{Cluster: parts[i].Name(), Topic: w.Topic, Partition: w.Partition.Partition})
		}
	}
	if unused := g.specs.Unused(splits); len(unused) > 0 {
		return fault.New(fault.Usage, "--to %s is about no partition that is reset", unused[0])
	}
	return nil
}
