package cmd

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
)

const offsetsLong = `offsets shows where streams begin and end, and how far consumer groups have come in
them, on all their clusters at once; and it changes that. Each change is a plan first,
carried out with --execute, and leaves a snapshot from which it can be undone.`

func newOffsetsCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "offsets",
		Short: "Show the offsets of streams and of consumer groups, and change them",
		Long:  offsetsLong,
		Example: `  kcm offsets list orders                where a stream begins and ends
  kcm offsets list orders --at -1h       and where it was an hour ago
  kcm offsets lag -g billing             how far a group is behind, everywhere
  kcm offsets lag -g billing orders      in one stream
  kcm offsets translate --from east --to west -g billing
  kcm offsets export -g billing -c east > billing.csv
  kcm offsets reset -g billing orders --to @-1h
  kcm offsets reset -g billing orders --to @-1h --execute
  kcm offsets rollback kcm-offsets-20260303T140005Z.json --execute`,
		Args: offsetsArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newOffsetsListCmd(env), newOffsetsLagCmd(env), newOffsetsTranslateCmd(env),
		newOffsetsExportCmd(env), newOffsetsImportCmd(env),
		newOffsetsResetCmd(env), newOffsetsDeleteCmd(env), newOffsetsRollbackCmd(env),
	)
	return cmd
}

// offsetsArgs refuses words that are no verb.
func offsetsArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fault.New(fault.Usage, "there is no command offsets %s", args[0])
	if verb := offsetsVerbs[args[0]]; verb != "" {
		return err.WithHint("kcm offsets %s", verb)
	}
	if near := fault.Nearest(args[0], commandNames(cmd)); near != "" {
		return err.WithHint("did you mean kcm offsets %s?", near)
	}
	return err.WithHint("kcm offsets %s", joinWords(commandNames(cmd)))
}

// scopeFlags say what a verb of offsets is about, as they were typed.
type scopeFlags struct {
	regex, all                   bool
	clusters, topics, partitions []string
}

func (f *scopeFlags) add(env *Env, cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.regex, "regex", "r", false, "STREAM is a regular expression over whole stream names")
	fs.BoolVarP(&f.all, "all", "a", false, "every stream")
	fs.StringSliceVarP(&f.clusters, "cluster", "c", nil, "only on these `CLUSTERS`")
	fs.StringSliceVarP(&f.topics, "topic", "t", nil, "only these `TOPICS`")
	fs.StringSliceVarP(&f.partitions, "partitions", "p", nil, "only these partitions, such as `0,2-4`")
	cmd.ValidArgsFunction = completeStreams(env)
	completeFlags(cmd, map[string]completeFunc{"cluster": completeClusters(env), "topic": completeTopicNames(env)})
}

// groupSelection are the flags that choose groups.
type groupSelection struct {
	names []string
	all   bool
	regex string
}

// addNames adds -g, and addPatterns what lag and export have beside it.
func (f *groupSelection) addNames(env *Env, cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.names, "group", "g", nil, "the consumer group `NAME` (repeatable)")
	completeFlags(cmd, map[string]completeFunc{"group": completeGroups(env)})
}

func (f *groupSelection) addPatterns(fs *pflag.FlagSet) {
	fs.BoolVar(&f.all, "all-groups", false, "every group there is")
	fs.StringVar(&f.regex, "group-regex", "", "the groups whose whole names match the regular expression `RE`")
}

// offsetsOptions are what every verb of offsets has.
type offsetsOptions struct {
	describeOptions
	scope  scope
	groups groupChoice
}

// addOutput adds -o, and settles nothing yet.
func (o *offsetsOptions) addOutput(cmd *cobra.Command) {
	o.formats = []string{"table", "json", "yaml", "csv"}
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "`table`, json, yaml or csv")
	completeFlags(cmd, map[string]completeFunc{"output": oneOfWords(o.formats...)})
	o.interval = defaultInterval
}

// csvDocument is a document that has a form in CSV: lines of fields, the first
// of which names them unless it is a form of other tools.
type csvDocument interface{ csv() [][]string }

// now is the time of the run.
func (o *offsetsOptions) now() time.Time { return o.env.Now() }

func (o *describeOptions) checkOutput() error {
	formats := o.formats
	if formats == nil {
		formats = []string{"table", "wide", "json", "yaml"}
	}
	return oneOf("--output", o.output, formats...)
}

// appendCSV appends a document as CSV (RFC 4180, with \n as its line end).
func appendCSV(buf []byte, doc document) ([]byte, error) {
	lines, ok := doc.(csvDocument)
	if !ok {
		return buf, fault.New(fault.Usage, "-o csv is not for this")
	}
	return output.AppendCSV(buf, lines.csv()), nil
}

func sortedUnique(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
