package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
)

// describeOptions are the flags that every describe command has.
type describeOptions struct {
	env      *Env
	output   string
	offline  bool
	watch    bool
	interval time.Duration
	silent   bool     // a watch that writes nothing
	formats  []string // that -o takes; nil: those of describe
	inquirer inquirer
}

// document is what a describe command found out: its JSON form by tags, and the
// tables that show it to people.
type document interface {
	tables(wide bool) []output.Table
}

const describeLong = `describe shows what streams there are and where they live; clusters with their
brokers; topics with their partitions; groups with their members and lag; schemas.
Without more it lists the streams, and with a lone NAME it shows that stream. All
clusters are asked at once; one that does not answer is shown with its error, and
the exit code is 3.

With --watch everything is read and asked again, the metadata too, until a signal
ends it with exit code 0. A terminal is redrawn in place. In a pipe tables are
written when they have changed, behind an empty line; JSON is one document a line
and YAML one document behind ---, each time.`

func newDescribeCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe [NAME]",
		Short: "Show streams, clusters, topics, groups and schemas",
		Long:  describeLong,
		Example: `  kcm describe                          the streams
  kcm describe orders                   a stream, partition by partition
  kcm describe cluster east             a cluster and its brokers
  kcm describe topic east/orders -o json
  kcm describe schema orders-value      the latest version of a subject
  kcm describe schema east/orders-value@3
  kcm describe schema east/@7           the schema of an id
  kcm describe group billing            a group, on all clusters that have it
  kcm describe streams --offline        without contacting a cluster
  kcm describe orders --watch           again every 2 seconds
  kcm describe orders --watch --interval 10s -o json`,
		Args: takesAtMostOne("NAME"),
	}
	o := addDescribeFlags(env, cmd)
	cmd.ValidArgsFunction = completeStreams(env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return o.run(cmd, func(ctx context.Context, view *metadata.View) (document, []error, error) {
				return describeStream(ctx, o, view, args[0])
			})
		}
		return o.run(cmd, func(ctx context.Context, view *metadata.View) (document, []error, error) {
			return describeStreams(ctx, o, view)
		})
	}
	cmd.AddCommand(
		describeSub(env, describeWords{use: "streams", short: "List the streams and where they live"}, takesNone,
			func(ctx context.Context, o *describeOptions, view *metadata.View, _ []string) (document, []error, error) {
				return describeStreams(ctx, o, view)
			}, nil),
		describeSub(env, describeWords{use: "stream NAME", short: "Show a stream, partition by partition"}, takesOne("the name of a stream", "NAME"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeStream(ctx, o, view, args[0])
			}, completeStreams(env)),
		describeSub(env, describeWords{use: "clusters", short: "List the clusters"}, takesNone,
			func(ctx context.Context, o *describeOptions, view *metadata.View, _ []string) (document, []error, error) {
				return describeClusters(ctx, o, view)
			}, nil),
		describeSub(env, describeWords{use: "cluster NAME", short: "Show a cluster and its brokers"}, takesOne("the name of a cluster", "NAME"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeCluster(ctx, o, view, args[0])
			}, completeClusters(env)),
		describeSub(env, describeWords{use: "topics [CLUSTER]", short: "List the topics of every cluster, or of one"}, takesAtMostOne("CLUSTER"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeTopics(ctx, o, view, args)
			}, completeClusters(env)),
		describeSub(env, describeWords{use: "topic [CLUSTER/]NAME", short: "Show a topic, on every cluster that has it or on one"}, takesOne("the name of a topic", "[CLUSTER/]NAME"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeTopic(ctx, o, view, args[0])
			}, completeTopics(env)),
		newDescribeMirrorsCmd(env),
	)
	cmd.AddCommand(describeSchemaCmds(env)...)
	cmd.AddCommand(describeGroupCmds(env)...)
	return cmd
}

// describeWords are how a command is called and what it says of itself.
type describeWords struct{ use, short string }

// finder finds out. The errors in the list are those of single clusters, which
// the document shows too; the last one is about the command as a whole. What is
// not there, any more, may be both: an error, and a document that says so.
type finder func(context.Context, *metadata.View) (document, []error, error)

// describeFunc is a finder with its arguments.
type describeFunc func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error)

func describeSub(env *Env, words describeWords, args cobra.PositionalArgs, find describeFunc, complete completeFunc) *cobra.Command {
	cmd := &cobra.Command{
		Use: words.use, Short: words.short, Args: args, ValidArgsFunction: complete,
		Annotations: map[string]string{sharesSettings: "yes"},
	}
	o := addDescribeFlags(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return o.run(cmd, func(ctx context.Context, view *metadata.View) (document, []error, error) {
			return find(ctx, o, view, args)
		})
	}
	return cmd
}

func addDescribeFlags(env *Env, cmd *cobra.Command) *describeOptions {
	o := &describeOptions{env: env}
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "`table`, wide, json or yaml")
	completeFlags(cmd, map[string]completeFunc{"output": oneOfWords("table", "wide", "json", "yaml")})
	cmd.Flags().BoolVar(&o.offline, "offline", false, "show the metadata only; contact no cluster")
	addWatchFlags(cmd, o)
	return o
}

// run finds out and prints. It ends with Partial when some clusters failed.
func (o *describeOptions) run(cmd *cobra.Command, find finder) error {
	if err := o.checkOutput(); err != nil {
		return err
	}
	if err := o.checkWatch(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	if o.watch {
		return o.follow(ctx, find)
	}
	view, err := loadView(ctx, o.env)
	if err != nil {
		return err
	}
	o.inquirer = once{o.env}
	doc, failed, err := find(ctx, view)
	if err != nil {
		return err
	}
	if err := o.print(doc); err != nil {
		if d, ok := doc.(interface{ unprinted(err error) error }); ok {
			return d.unprinted(err)
		}
		return err
	}
	if v, ok := doc.(interface{ verdict() error }); ok && v.verdict() != nil {
		return v.verdict()
	}
	return partial(failed, doc)
}

// asked is implemented by documents that know how many clusters were asked.
type asked interface{ asked() int }

// partial says how a command ends of which some clusters failed: with Partial
// when others gave something, with the common kind when none did, and with
// Failed when they failed in different ways. It is the rule of consume.
func partial(failed []error, doc document) error {
	if len(failed) == 0 {
		return nil
	}
	kind := fault.KindOf(failed[0])
	same, gave := true, false
	for _, err := range failed {
		same = same && fault.KindOf(err) == kind
		gave = gave || fault.KindOf(err) == fault.Partial
	}
	a, ok := doc.(asked)
	switch {
	case gave || !ok || len(failed) < a.asked():
		return someFailed(failed)
	case len(failed) == 1:
		return failed[0]
	case !same:
		return fault.New(fault.Failed, "no cluster gave a result, first: %w", failed[0])
	}
	switch kind {
	case fault.Auth:
		return fault.New(kind, "every cluster refused access, first: %w", failed[0])
	case fault.Unreachable:
		return fault.New(kind, "no cluster could be reached, first: %w", failed[0])
	default:
		return fault.New(kind, "no cluster gave a result, first: %w", failed[0])
	}
}

// someFailed is the error of a command that shows what the other clusters gave.
func someFailed(failed []error) error {
	if len(failed) == 1 {
		return fault.New(fault.Partial, "%w", failed[0])
	}
	return fault.New(fault.Partial, "%d clusters failed, first: %w", len(failed), failed[0])
}

func (o *describeOptions) print(doc document) (err error) {
	if s, ok := doc.(streamed); ok && o.output == "json" {
		return o.printStreamed(func(write func([]byte) error) error { return s.writeJSON(write, false) })
	}
	if s, ok := doc.(streamedCSV); ok && o.output == "csv" {
		return o.printStreamed(s.writeCSV)
	}
	var buf []byte
	switch o.output {
	case "json":
		buf, err = output.AppendJSON(buf, doc)
	case "yaml":
		buf, err = output.AppendYAML(buf, doc)
	case "csv":
		buf, err = appendCSV(buf, doc)
	default:
		buf = o.appendTables(buf, doc)
	}
	if err != nil {
		return err
	}
	_, err = output.NewStdout(o.env.Stdout).Write(buf)
	if isClosed(err) {
		return nil
	}
	return err
}

// streamedCSV is a csvDocument that is written piece by piece.
type streamedCSV interface {
	writeCSV(write func(piece []byte) error) error
}

func (o *describeOptions) printStreamed(to func(write func([]byte) error) error) error {
	out := output.NewStdout(o.env.Stdout)
	err := to(func(piece []byte) error { _, err := out.Write(piece); return err })
	if isClosed(err) {
		return nil
	}
	return err
}

func (o *describeOptions) appendTables(buf []byte, doc document) []byte {
	for i, t := range doc.tables(o.output == "wide") {
		if i > 0 {
			buf = append(buf, '\n')
		}
		buf = t.Append(buf, useColor(o.env))
	}
	return buf
}
