package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/settings"
)

// withoutSettings is the annotation of commands that run whatever state the
// config file is in.
const withoutSettings = "kcm_without_settings"

// prepare settles the flags of cmd from the environment and the config file.
// It runs before every command.
func prepare(env *Env, cmd *cobra.Command) error {
	if cmd.Annotations[withoutSettings] != "" || !cmd.HasParent() {
		return nil
	}
	s, err := settings.Load(settings.Options{
		Flags:      describeFlags(cmd),
		ConfigFile: env.run.globals.config,
		Getenv:     env.Getenv,
		GOOS:       env.GOOS,
	})
	if err != nil {
		return err
	}
	env.run.settings = s
	if err := apply(s, cmd); err != nil {
		return err
	}
	g := &env.run.globals
	if err := oneOf("--color", g.color, "auto", "always", "never"); err != nil {
		return err
	}
	if g.giveUp < 0 {
		return fault.New(fault.Usage, "%s %s is not allowed: a time is 0 or more", placeOf(env, cmd, "give-up"), g.giveUp)
	}
	settleLoudness(env, cmd)
	env.run.notices.style = noticeStyle{
		json:      styleOf(cmd, nil) == errorProgress,
		quiet:     g.quiet,
		verbosity: g.verbosity,
	}
	return nil
}

// describeFlags puts every flag of every command in neutral words: the file is
// checked as a whole, whichever command runs.
func describeFlags(cmd *cobra.Command) []settings.Flag {
	var list []settings.Flag
	root := cmd.Root()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { list = appendFlag(list, "", f, true) })
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				list = appendFlag(list, settingsPath(sub), f, sub == cmd)
			})
			walk(sub)
		}
	}
	walk(root)
	return list
}

// sharesSettings is the annotation of commands whose flags are the same setting
// as those of their parent.
const sharesSettings = "kcm_shares_settings"

// settingsPath is the path under which the settings of a command's flags are
// known.
func settingsPath(cmd *cobra.Command) string {
	if cmd.Annotations[sharesSettings] != "" {
		return commandPath(cmd.Parent())
	}
	return commandPath(cmd)
}

// commandPath is the command's words without kcm.
func commandPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

func appendFlag(list []settings.Flag, command string, f *pflag.Flag, running bool) []settings.Flag {
	if f.Hidden || f.Name == "help" || f.Name == "version" || command == "" && f.Name == "config" {
		return list
	}
	fl := settings.Flag{
		Command: command,
		Name:    f.Name,
		Given:   running && f.Changed,
		Default: f.DefValue,
		Type:    f.Value.Type(),
		Address: command == "" && slices.Contains([]string{"metadata", "bootstrap", "registry"}, f.Name),
	}
	values, isList := f.Value.(pflag.SliceValue)
	if isList {
		fl.Shape = shapeOf(command, f)
		fl.Default = strings.Trim(f.DefValue, "[]")
	}
	if fl.Given {
		if fl.Values = []string{f.Value.String()}; isList {
			fl.Values = values.GetSlice()
		}
	}
	return merge(list, fl, running)
}

// merge appends a flag, unless another command shares the setting: then that of
// the running one stands for both.
func merge(list []settings.Flag, fl settings.Flag, running bool) []settings.Flag {
	same := func(other settings.Flag) bool { return other.Command == fl.Command && other.Name == fl.Name }
	switch i := slices.IndexFunc(list, same); {
	case i < 0:
		return append(list, fl)
	case running:
		list[i] = fl
	}
	return list
}

// shapeOf says how a list is written in a file or variable.
func shapeOf(command string, f *pflag.Flag) settings.Shape {
	switch {
	case command == "" && f.Name == "properties":
		return settings.Pairs
	case command == "" && (f.Name == "bootstrap" || f.Name == "registry"):
		return settings.Named
	case f.Value.Type() == "stringArray":
		return settings.Repeated
	default:
		return settings.Commas
	}
}

// apply puts what environment and file say into the flags of cmd. It leaves
// their Changed alone, which goes on to mean the command line; see given.
func apply(s *settings.Settings, cmd *cobra.Command) error {
	for _, st := range s.All() {
		f := lookup(cmd, st.Flag)
		if f == nil || (st.Flag.Shape != settings.Pairs && (st.Source() == settings.Default || st.Source() == settings.CommandLine)) {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			if err := list.Replace(st.Texts()); err != nil {
				return badValue(st, f)
			}
			continue
		}
		if err := f.Value.Set(st.Text()); err != nil {
			return badValue(st, f)
		}
	}
	return nil
}

func lookup(cmd *cobra.Command, fl settings.Flag) *pflag.Flag {
	if fl.Command == "" {
		return cmd.Root().PersistentFlags().Lookup(fl.Name)
	}
	if fl.Command != settingsPath(cmd) {
		return nil
	}
	return cmd.Flags().Lookup(fl.Name)
}

func badValue(st settings.Setting, f *pflag.Flag) error {
	value := st.Mask(st.Values[len(st.Values)-1])
	return fault.New(fault.Usage, "%s: %s %s is no %s", st.Origin(), st.Flag.Label(), value, typeName(f))
}

// given tells which source a flag's value came from; settings.Default when
// nobody set it. Commands use it in place of pflag's Changed.
func given(env *Env, cmd *cobra.Command, name string) settings.Source {
	if st, ok := settingOf(env, cmd, name); ok {
		return st.Source()
	}
	if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
		return settings.CommandLine
	}
	return settings.Default
}

// settingOf is the setting of a flag of cmd; false before they are loaded.
func settingOf(env *Env, cmd *cobra.Command, name string) (settings.Setting, bool) {
	command := settingsPath(cmd)
	if cmd.Root().PersistentFlags().Lookup(name) != nil {
		command = ""
	}
	if env.run.settings == nil {
		return settings.Setting{}, false
	}
	return env.run.settings.Get(command, name)
}

// oneOf checks that a flag's value is one of the words it may be.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fault.New(fault.Usage, "%s %s is not allowed", flag, value).
		WithHint("%s is %s", flag, joinWords(words))
}
