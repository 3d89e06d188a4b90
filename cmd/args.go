package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
)

// takesNone refuses arguments.
func takesNone(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes no argument such as %s", cmd.CommandPath(), args[0]).
		WithHint("%s --help", cmd.CommandPath())
}

// takesOne wants exactly one argument: what it is, and how the usage line calls
// it.
func takesOne(noun, word string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fault.New(fault.Usage, "%s needs %s", cmd.CommandPath(), noun).
				WithHint("%s %s", cmd.CommandPath(), word)
		}
		return takesAtMostOne(word)(cmd, args)
	}
}

// takesAtMostOne refuses a second argument.
func takesAtMostOne(word string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return fault.New(fault.Usage, "%s takes one %s, and %s is a second", cmd.CommandPath(), word, args[1]).
			WithHint("%s --help", cmd.CommandPath())
	}
}
