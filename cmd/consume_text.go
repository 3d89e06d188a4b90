package cmd

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/settings"
)

// textFlags are consume's flags about how text looks, as they were typed.
type textFlags struct {
	pretty  bool
	columns []string
}

func (t *textFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&t.pretty, "pretty", false, "a record over several lines, in text and json")
	fs.StringSliceVar(&t.columns, "columns", nil, "what text shows: a `LIST` of "+joinWords(output.Columns()))
}

// set puts the flags into the options of a format. What the environment or the
// config file says counts for the formats that know it; on the command line it
// is a mistake beside another.
func (t *textFlags) set(opt *output.Options, env *Env, cmd *cobra.Command, format string) error {
	typed := func(name string) bool { return given(env, cmd, name) == settings.CommandLine }
	if typed("pretty") || format == output.FormatText || format == output.FormatJSON {
		opt.Pretty = t.pretty
	}
	if typed("columns") || format == output.FormatText {
		for _, c := range t.columns {
			opt.Columns = append(opt.Columns, strings.TrimSpace(c))
		}
	}
	if len(opt.Columns) > 0 && format != output.FormatText {
		return fault.New(fault.Usage, "--columns is for the format text, and this is %s", format).WithHint("-f text --columns %s", strings.Join(opt.Columns, ","))
	}
	opt.Colors256 = strings.Contains(env.Getenv("TERM"), "256color") || env.Getenv("COLORTERM") != ""
	opt.Align = env.StdoutTerminal
	return nil
}

// completeColumns completes the last name of a list of columns with those that
// are not in it.
func completeColumns(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	var lists []string
	for _, c := range output.Columns() {
		if !strings.Contains(","+before, ","+c+",") {
			lists = append(lists, before+c)
		}
	}
	return beginning(word, lists), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
