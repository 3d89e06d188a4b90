package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/settings"
)

// rival is one of two flags that contradict each other and are both set.
type rival struct {
	name  string // the long one
	typed string // how people type it
	off   func() // makes it as if nobody had set it
}

// settleRivals lets that of two rivals hold which was set nearer to the command
// line. Both from one place is an error.
func settleRivals(env *Env, cmd *cobra.Command, a, b rival) error {
	switch at, bt := given(env, cmd, a.name), given(env, cmd, b.name); {
	case at > bt:
		b.off()
	case bt > at:
		a.off()
	case at == settings.CommandLine:
		return fault.New(fault.Usage, "%s and %s exclude each other", a.typed, b.typed)
	default:
		one, _ := settingOf(env, cmd, a.name)
		other, _ := settingOf(env, cmd, b.name)
		return fault.New(fault.Usage, "%s and %s exclude each other (%s and %s)", a.typed, b.typed, one.Origin(), other.Origin())
	}
	return nil
}

// settle decides between consume's flags that contradict each other. Words are
// the arguments.
func (f *consumeFlags) settle(env *Env, cmd *cobra.Command, words []string) error {
	if err := noneEmpty(cmd); err != nil {
		return err
	}
	off := func(flag *bool) func() { return func() { *flag = false } }
	var err error
	// A pair is looked at when those before it are settled.
	add := func(both bool, a, b rival) {
		if err == nil && both {
			err = settleRivals(env, cmd, a, b)
		}
	}
	add(f.exitAtEnd && f.follow,
		rival{"exit-at-end", "-e", off(&f.exitAtEnd)}, rival{"follow", "--follow", off(&f.follow)})
	add(f.committed && f.uncommitted,
		rival{"read-committed", "--read-committed", off(&f.committed)}, rival{"read-uncommitted", "--read-uncommitted", off(&f.uncommitted)})
	add(f.json && f.format != "" && f.format != output.FormatJSON,
		rival{"json", "-J", off(&f.json)}, rival{"format", "-f " + f.format, func() { f.format = "" }})
	f.unlimit(env, cmd)
	f.boundRivals(add)
	f.fileRivals(add)
	if err != nil {
		return err
	}
	if len(words) > 0 && given(env, cmd, "all") != settings.CommandLine {
		f.all = false
	}
	return nil
}

// meaningful are the flags of consume that an empty value would take away, with
// what the user meant by them: a script has a variable that is not set.
var meaningful = []string{"to", "state", "replay", "cluster", "topic", "partitions", "since", "until", "rotate-size", "metrics", "format", "columns"}

// noneEmpty refuses flags that were typed with nothing behind them.
func noneEmpty(cmd *cobra.Command) error {
	for _, name := range meaningful {
		f := cmd.Flags().Lookup(name)
		if v := f.Value.String(); f.Changed && (v == "" || v == "[]") {
			return fault.New(fault.Usage, "%s is empty", flagName(f)).WithHint("leave the flag out, or give it a value")
		}
	}
	return nil
}

// settleLoudness decides between -q and -v.
func settleLoudness(env *Env, cmd *cobra.Command) {
	g := &env.run.globals
	switch quiet, verbose := given(env, cmd, "quiet"), given(env, cmd, "verbose"); {
	case !g.quiet || g.verbosity == 0:
	case quiet > verbose:
		g.verbosity = 0
	case verbose > quiet:
		g.quiet = false
	}
}

// placeOf names a setting where it was set: as a flag, or by its place and key.
func placeOf(env *Env, cmd *cobra.Command, name string) string {
	st, ok := settingOf(env, cmd, name)
	if !ok || st.Source() == settings.CommandLine || st.Source() == settings.Default {
		return flagName(cmd.Flags().Lookup(name))
	}
	return st.Origin() + ": " + st.Flag.Label()
}
