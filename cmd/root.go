package cmd

import (
	"io"
	"time"

	"github.com/spf13/cobra"
)

// globals are the values of the global flags once the settings are applied.
type globals struct {
	metadata   []string
	bootstrap  []string
	registry   []string
	properties []string
	config     string
	quiet      bool
	verbosity  int
	color      string
	giveUp     time.Duration
}

func newRootCmd(env *Env) *cobra.Command {
	env.run = &run{notices: newNotices(env, noticeStyle{}), hurry: make(chan struct{})}
	g := &env.run.globals
	var version bool
	root := &cobra.Command{
		Use:   "kcm",
		Short: "Read and describe streams that live on several Kafka clusters",
		Long: `kcm reads streams that live on several Kafka clusters as if they were one,
and shows what is behind them.

A stream is a name that the metadata maps to topics on clusters; with -b a
stream is simply a topic. kcm sandbox starts clusters to try things on.`,
		Example: `  kcm consume orders                         follow a stream, on all its clusters
  kcm consume orders -o start -e -f json     everything that is there now, as JSON
  kcm consume -b localhost:9092 orders       without a metadata file
  kcm describe                               what streams there are`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(env, "text")
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWords(cmd, args); err != nil {
				return err
			}
			return prepare(env, cmd)
		},
	}
	fs := root.PersistentFlags()
	fs.StringSliceVarP(&g.metadata, "metadata", "m", nil, "read clusters and streams from `SOURCE`: a file, a directory, - or an http(s) address (repeatable)")
	fs.StringArrayVarP(&g.bootstrap, "bootstrap", "b", nil, "do without metadata: a cluster's `[NAME=]HOST:PORT,…` (repeatable)")
	fs.StringArrayVar(&g.registry, "registry", nil, "schema registry at `[CLUSTER=]URL` (repeatable)")
	fs.StringArrayVarP(&g.properties, "properties", "X", nil, "client property `[CLUSTER:]KEY=VALUE`, in Java's or librdkafka's words (repeatable)")
	fs.StringVar(&g.config, "config", "", "read settings from `FILE`")
	fs.BoolVarP(&g.quiet, "quiet", "q", false, "no notices on stderr; warnings and errors stay")
	fs.CountVarP(&g.verbosity, "verbose", "v", "tell details on stderr; -vv tells more")
	fs.StringVar(&g.color, "color", "auto", "colour: `auto`, always or never")
	fs.DurationVar(&g.giveUp, "give-up", 15*time.Second, "give a cluster up after `DURATION` without contact")
	completeFlags(root, map[string]completeFunc{"color": oneOfWords("auto", "always", "never")})
	root.Flags().BoolVar(&version, "version", false, "print the version")

	root.SetIn(env.Stdin)
	// cobra writes deprecation notices to "out" as well; what belongs on stdout
	// is written there by the commands themselves.
	root.SetOut(env.Stderr)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(env, cmd) })
	help := newHelpCmd(env)
	root.SetHelpCommand(help)
	markStart(env, help)
	root.AddCommand(newConsumeCmd(env), newDescribeCmd(env), newOffsetsCmd(env), newSandboxCmd(env),
		newConfigCmd(env), newCompletionCmd(env), newVersionCmd(env), newManCmd())
	markStart(env, root)
	return root
}

// markStart makes every command note that its own code has begun: an error
// before that moment is one of usage, whatever its type.
func markStart(env *Env, cmd *cobra.Command) {
	if own := cmd.RunE; own != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			env.run.started = true
			return own(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		markStart(env, sub)
	}
}

// writeHelp prints a command's help as data: it was asked for.
func writeHelp(env *Env, cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	if text != "" {
		text += "\n\n"
	}
	text += cmd.UsageString()
	if !cmd.HasParent() {
		text += "\nTopics, read with kcm help TOPIC:\n" + topicList()
	}
	_, env.run.unshown = io.WriteString(env.Stdout, text)
}
