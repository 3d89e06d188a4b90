package cmd

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.txt
var helpTexts embed.FS

// topics are the help topics that are no commands, with what they are about.
var topics = []struct{ name, about string }{
	{"specs", "where to start and stop: offsets, times, windows"},
	{"formats", "how records are written"},
	{"filters", "which records to keep: patterns, jq expressions"},
	{"exit-codes", "what the exit codes mean"},
	{"environment", "config file and environment variables"},
	{"metadata", "the file that names clusters and streams"},
	{"from-kcat", "kcm for hands that know kcat"},
}

func newHelpCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND|TOPIC]",
		Short:       "Help about a command or a topic",
		Long:        "Help about a command or one of these topics:\n\n" + topicList(),
		Annotations: map[string]string{withoutSettings: "yes"},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var list []cobra.Completion
			for _, t := range topics {
				list = append(list, cobra.CompletionWithDesc(t.name, t.about))
			}
			for _, sub := range cmd.Root().Commands() {
				if sub.IsAvailableCommand() {
					list = append(list, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return showHelp(env, cmd.Root(), args) },
	}
}

func showHelp(env *Env, root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	if len(args) == 1 && slices.ContainsFunc(topics, func(t struct{ name, about string }) bool { return t.name == args[0] }) {
		text, err := helpTexts.ReadFile("help/" + args[0] + ".txt")
		if err == nil {
			_, err = env.Stdout.Write(text)
		}
		return err
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root || len(rest) > 0 {
		return unknownCommand(root, strings.Join(args, " "))
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

func topicList() string {
	var b strings.Builder
	for _, t := range topics {
		fmt.Fprintf(&b, "  %-12s %s\n", t.name, t.about)
	}
	return b.String()
}
