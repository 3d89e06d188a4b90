package cmd

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/filter"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// consumeFlags are the flags of consume as they were typed.
type consumeFlags struct {
	regex, all  bool
	clusters    []string
	topics      []string
	partitions  []string
	offsets     []string
	exitAtEnd   bool
	follow      bool
	num         int64
	bounds      boundFlags
	order       orderFlags
	committed   bool
	uncommitted bool
	failFast    bool
	wait        bool
	format      string
	json        bool
	decode      []string
	onDecode    string
	null        string
	delimiter   string
	onGap       string
	onRecreate  string
	onRemove    string
	drain       time.Duration
	retain      time.Duration
	refresh     time.Duration
	failures    int
	maxBatch    string
	progress    string
	metrics     string
	filter      filterFlags
	replay      string
	text        textFlags
	schemas     schemaFlags
	group       groupFlags
	to          toFlags
	files       fileFlags
}

// consumeOptions are what a run of consume needs, interpreted.
type consumeOptions struct {
	env       *Env
	words     []string // streams, patterns or CLUSTER/TOPIC
	regex     bool
	all       bool
	narrow    narrow
	offsets   spec.Offsets
	start     spec.Bound
	exit      bool // stop at the ends
	bounded   bool // the run has an end, so that a cluster is given up after a while
	promised  bool // the run has an end of some sort: a signal cuts it short
	limit     int64
	bounds    boundOptions
	order     orderOptions
	isolation isolationChoice
	failFast  bool
	wait      bool
	format    output.Format
	decode    codec.Choice
	onDecode  string
	schemas   *schemas
	filter    *filter.Filter // nil is none
	group     groupOptions
	onGap     source.GapPolicy
	gapSaid   bool // somebody chose it: it holds for starts as well
	changes   changeOptions
	maxBatch  int64
	files     fileOptions
	replay    replayOptions
	started   time.Time
	progress  string
	metrics   string     // where to listen for Prometheus; "" is nowhere
	to        *toOptions // nil: stdout
}

// noLimit is the number of records of a run that stops at none.
const noLimit = -1

// isolationChoice is what the command line says about the isolation level.
type isolationChoice uint8

const (
	isolationUnsaid isolationChoice = iota // the stream's source decides
	isolationCommitted
	isolationUncommitted
)

func newConsumeCmd(env *Env) *cobra.Command {
	var f consumeFlags
	cmd := &cobra.Command{
		Use:   "consume STREAM…",
		Short: "Read streams from all their clusters and print their records",
		Long: `consume reads the records of streams, from all the clusters that they live on,
and prints them. It follows them until it is stopped, from the moment it began,
unless -e, -n, --timeout, --until or a spec such as 10:20 give the run an end; then
it begins at the start. A STREAM may also be CLUSTER/TOPIC.

While it runs it follows the metadata: clusters, topics and partitions come and
go without a restart, each told on stderr. What is removed is read to its end
first, and read on where it stopped if it comes back. With -e what is read is
fixed at the start.

With -g the run is a member of a consumer group on each cluster: it reads the
partitions that it is given from the group's commits on, and commits exactly what
it has written.

Records go to stdout, everything else to stderr. The order within a partition is
kept; --order timestamp merges partitions and clusters by time.`,
		Example: `  kcm consume orders                     follow a stream
  kcm consume orders -e | jq .value      everything up to now
  kcm consume orders --since -1h -e      the last hour
  kcm consume orders --tail 10 -e        the last ten records of all partitions
  kcm consume orders -n 5 -f '%c %k\n'   five records, cluster and key
  kcm consume orders -G v:needle         those with needle in their value
  kcm consume orders -w '.value.id > 7'  those for which a jq expression holds
  kcm consume orders -O '{topic}-{partition}.json.gz' --state s  files; run again to go on
  kcm consume orders -g billing          as a member of a consumer group
  kcm consume east/orders -e --to west   copy to another cluster
  kcm consume -b localhost:9092 orders   a topic, without metadata`,
		ValidArgsFunction: completeStreams(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := newConsumeOptions(env, cmd, f, args)
			if err != nil {
				return err
			}
			return runConsume(cmd.Context(), o)
		},
	}
	addConsumeFlags(cmd, &f)
	completeFlags(cmd, map[string]completeFunc{
		"cluster": completeClusters(env), "topic": completeTopicNames(env),
		"grep": completeGrep, "where": completeNothing, "to": completeTarget(env),
		"format":          oneOfWords(output.FormatJSON, output.FormatText, output.FormatRaw, output.FormatKcatJSON),
		"decode":          oneOfWords(codec.Names()...),
		"on-decode-error": oneOfWords("raw", "skip", "fail"), "on-gap": oneOfWords("skip", "stop", "fail"),
		"on-recreate": oneOfWords("start", "stop", "fail"), "on-remove": oneOfWords("drain", "stop"),
		"progress": oneOfWords("auto", "json", "off"), "columns": completeColumns, "replay": completePaths,
		"metrics":        completeNothing,
		"order":          oneOfWords(string(source.OrderNone), string(source.OrderTimestamp)),
		"group-protocol": oneOfWords("classic", "consumer"), "group": completeGroups(env),
	})
	return cmd
}

func addConsumeFlags(cmd *cobra.Command, f *consumeFlags) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&f.regex, "regex", "r", false, "STREAM is a regular expression over whole stream names")
	fs.BoolVarP(&f.all, "all", "a", false, "every stream")
	fs.StringSliceVarP(&f.clusters, "cluster", "c", nil, "only from these `CLUSTERS`")
	fs.StringSliceVarP(&f.topics, "topic", "t", nil, "only these `TOPICS`")
	fs.StringSliceVarP(&f.partitions, "partitions", "p", nil, "only these partitions, such as `0,2-4`")
	fs.StringArrayVarP(&f.offsets, "offset", "o", nil, "where to begin and end: a `SPEC`, or [CLUSTER/][TOPIC:]PARTITION=SPEC; see kcm help specs")
	fs.BoolVarP(&f.exitAtEnd, "exit-at-end", "e", false, "stop at the ends seen at start-up")
	fs.BoolVar(&f.follow, "follow", false, "go on when the end is reached (the default)")
	fs.Int64VarP(&f.num, "num", "n", noLimit, "stop after `N` records; -1 is no limit")
	addBoundFlags(fs, &f.bounds)
	addOrderFlags(fs, &f.order)
	f.filter.add(fs)
	f.group.add(fs)
	f.to.add(fs)
	addFileFlags(fs, &f.files)
	fs.BoolVar(&f.committed, "read-committed", false, "no records of open or aborted transactions")
	fs.BoolVar(&f.uncommitted, "read-uncommitted", false, "all records, whatever the metadata says")
	fs.BoolVar(&f.failFast, "fail-fast", false, "end the run when a cluster cannot be reached")
	fs.BoolVar(&f.wait, "wait", false, "wait for topics that do not exist")
	fs.StringVarP(&f.format, "format", "f", "", "json, text, raw, kcat-json or a template: `FORMAT`; see kcm help formats")
	fs.BoolVarP(&f.json, "json", "J", false, "the same as -f json")
	fs.StringArrayVarP(&f.decode, "decode", "s", nil, "decode with `[key=|value=]NAME`: "+joinWords(codec.Names()))
	fs.StringVar(&f.onDecode, "on-decode-error", "raw", "a record that cannot be decoded: `raw`, skip or fail")
	fs.StringVar(&f.null, "null", "", "what stands for null in text, raw and templates: `TEXT`")
	fs.StringVar(&f.delimiter, "delimiter", `\n`, "what ends a record in text, raw and templates: `TEXT`")
	f.text.add(fs)
	f.schemas.add(fs)
	fs.StringVar(&f.onGap, "on-gap", "skip", "when the log's start has passed the position: `skip`, stop or fail")
	fs.StringVar(&f.onRecreate, "on-recreate", "start", "when a topic was deleted and made again: read it from its `start`, stop or fail")
	fs.StringVar(&f.onRemove, "on-remove", "drain", "what the metadata no longer has: `drain` reads it to its end, stop leaves it")
	fs.DurationVar(&f.drain, "drain-timeout", 0, "how long draining may take: `TIME` (default 30s, 90s with read_committed)")
	fs.DurationVar(&f.retain, "retain", 24*time.Hour, "how long positions of what was removed are kept: `TIME`; 0 forgets at once")
	fs.DurationVar(&f.refresh, "refresh", metadata.DefaultRefresh, "how often metadata and topics are looked at without news: `TIME`")
	fs.IntVar(&f.failures, "max-refresh-failures", 0, "end the run when the metadata is bad `N` times in a row; 0 is never")
	fs.StringVar(&f.replay, "replay", "", "first the records of `PATH`, files that -f json wrote, then what follows them in the logs; without STREAM only these")
	fs.StringVar(&f.maxBatch, "max-batch", "512MiB", "stop a split at a batch larger than `SIZE` when decompressed")
	fs.StringVar(&f.progress, "progress", "auto", "progress and a summary on stderr: `auto`, json or off")
	fs.StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics at `ADDR`, such as :9090, under /metrics")
}

func newConsumeOptions(env *Env, cmd *cobra.Command, f consumeFlags, args []string) (*consumeOptions, error) {
	if err := f.settle(env, cmd, args); err != nil {
		return nil, err
	}
	o := &consumeOptions{
		env: env, words: args, regex: f.regex, all: f.all, limit: f.num, failFast: f.failFast, wait: f.wait,
		onDecode: f.onDecode, onGap: source.GapPolicy(f.onGap), started: env.Now(), progress: f.progress, metrics: f.metrics,
		replay: replayOptions{path: f.replay},
	}
	o.gapSaid = given(env, cmd, "on-gap") != settings.Default
	for _, step := range []func() error{
		o.checkWords,
		func() error { return oneOf("--on-decode-error", f.onDecode, "raw", "skip", "fail") },
		func() error { return oneOf("--on-gap", f.onGap, "skip", "stop", "fail") },
		func() error { return oneOf("--progress", f.progress, "auto", "json", "off") },
		func() error { return o.setChanges(cmd, f) },
		func() error { return o.setNarrow(f) },
		func() error { return o.setFiles(cmd, f) },
		func() error { return o.setGroup(cmd, f) },
		func() error { return o.setBounds(cmd, f) },
		func() error { return o.setReplay(cmd, f) },
		func() error { o.setIsolation(f); return nil },
		func() error { return o.setFormat(cmd, f) },
		func() error { return o.setTo(cmd, f) },
		func() error { return o.setSchemas(cmd, f.schemas) },
		func() error { return o.setOrder(cmd, f) },
		func() (err error) { o.filter, err = f.filter.compile(o.env, cmd); return err },
		func() (err error) { o.maxBatch, err = parseSize("--max-batch", f.maxBatch); return err },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *consumeOptions) checkWords() error {
	if len(o.words) == 0 && !o.all && !o.onlyFiles() {
		return fault.New(fault.Usage, "consume needs a STREAM").
			WithHint("kcm describe lists the streams; -a takes all of them")
	}
	for _, w := range o.words {
		if strings.HasPrefix(w, "/") {
			return fault.New(fault.Usage, "%s names no cluster before the /", w).
				WithHint("CLUSTER/TOPIC; a pattern is given with -r, without slashes around it")
		}
	}
	return nil
}

func (o *consumeOptions) setIsolation(f consumeFlags) {
	switch {
	case f.committed:
		o.isolation = isolationCommitted
	case f.uncommitted:
		o.isolation = isolationUncommitted
	}
}

func (o *consumeOptions) setFormat(cmd *cobra.Command, f consumeFlags) (err error) {
	env := o.env
	name := f.format
	switch {
	case f.json:
		name = output.FormatJSON
	case name == "" && env.StdoutTerminal && o.files.template == nil:
		name = output.FormatText
	case name == "":
		name = output.FormatJSON
	}
	color := useColor(env) && f.to.to == "" && (o.files.template == nil || env.run.globals.color == "always")
	opt := output.Options{Color: color}
	if given(env, cmd, "null") != settings.Default {
		opt.Null = &f.null
	}
	if given(env, cmd, "delimiter") != settings.Default {
		opt.Delimiter = &f.delimiter
	}
	if err := f.text.set(&opt, env, cmd, name); err != nil {
		return err
	}
	if o.format, err = output.NewFormat(name, opt); err != nil {
		return err
	}
	o.files.setFormat(name, opt.Delimiter)
	o.decode, err = codec.ParseChoice(f.decode)
	return err
}

// runConsume reads until the end, the limit or a signal.
func runConsume(ctx context.Context, o *consumeOptions) error {
	defer o.schemas.open(ctx)()
	if err := o.openReplay(ctx); err != nil {
		return o.ending(ctx, source.Stats{}, err)
	}
	if o.onlyFiles() {
		return runFiles(ctx, o)
	}
	in, err := findInputs(o.env)
	if err != nil {
		return err
	}
	unserve, err := serveMetrics(ctx, o.env, o.metrics)
	if err != nil {
		return err
	}
	defer unserve()
	watching := in.watch(ctx, o.env, watchOptions{
		refresh: o.changes.refresh, maxFailures: o.changes.failures, read: o.env.run.metrics.Refreshed,
	})
	view, err := watching.load(ctx)
	if err != nil {
		return o.ending(ctx, source.Stats{}, err)
	}
	p := &planner{o: o, waits: watching.changes() && !o.bounded}
	opts, err := p.options(view)
	if err != nil {
		return err
	}
	defer p.close()
	if o.writesNothing() {
		return o.enough(source.Stats{}, nil)
	}
	o.tellAhead()
	written, err := p.redirect(ctx, view, &opts)
	if err != nil {
		return o.ending(ctx, source.Stats{}, err)
	}
	defer written()
	ended, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := &outputs{o: o}
	if err := out.open(&opts, p.sink, end); err != nil {
		return err
	}
	watched, done := whileRead(ended, o.readBy())
	defer done()
	if watching.changes() {
		stop := p.follow(watched, watching, &opts, end)
		defer stop()
	}
	defer o.sparing()()
	shown := o.showProgress(&opts)
	stats, err := source.Run(watched, opts)
	err = out.finish(ctx, stats, err)
	if shown.stop(); !isClosed(err) && !out.torn {
		defer shown.summary()
	}
	return o.ending(ctx, stats, err)
}

// whileRead returns a context that ends when nobody reads stdout any more: a
// stream may be quiet for hours, in which no write would tell.
func whileRead(ctx context.Context, stdout io.Writer) (watched context.Context, done func()) {
	watched, stop := context.WithCancelCause(ctx)
	if f, ok := stdout.(*os.File); ok {
		go func() {
			if output.Closed(watched, f) {
				stop(output.ErrClosedPipe)
			}
		}()
	}
	return watched, func() { stop(nil) }
}

// ending turns the way a run ended into its error and last words.
func (o *consumeOptions) ending(ctx context.Context, stats source.Stats, err error) error {
	if stats.Undone > 0 && o.onDecode != "fail" { // with fail the error itself tells
		o.env.run.notices.Warnf("%s", o.undone(stats))
	}
	o.tellOrder(stats)
	if stats.Failed > 0 {
		o.env.run.notices.Warnf("%s", failures(stats))
	}
	switch _, signaled := stoppedBy(ctx); {
	case stats.Uncommitted != nil && (err == nil || isClosed(err) || signaled):
		return stats.Uncommitted
	case isClosed(err):
		return nil
	case o.stoppedAsItShould(ctx, err):
		return o.enough(stats, stats.Stopped())
	case err == nil:
		o.tellEmpty(stats)
	}
	return o.enough(stats, err)
}

// undone sums up the records that could not be decoded.
func (o *consumeOptions) undone(stats source.Stats) string {
	text := count(stats.Undone, "record") + " could not be decoded"
	if o.schemas.flags.validate {
		text += " or " + map[bool]string{true: "is", false: "are"}[stats.Undone == 1] + " not valid by the schema"
	}
	if stats.Dropped > 0 {
		text += ", " + grouped(stats.Dropped) + " left out"
	}
	if stats.Flaw != "" {
		text += ", first " + stats.Flaw
	}
	return text
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}

// loadView reads the metadata that the global flags name.
func loadView(ctx context.Context, env *Env) (*metadata.View, error) {
	in, err := findInputs(env)
	if err != nil {
		return nil, err
	}
	return in.load(ctx, env)
}
