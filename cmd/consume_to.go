package cmd

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/produce"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/settings"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/state"
)

// toFlags are the flags that send records to another cluster.
type toFlags struct {
	to           string
	create       bool
	registryCopy bool
}

func (f *toFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.to, "to", "", "write the records to a topic of another cluster instead of stdout: `CLUSTER[/TOPIC]`, as they are stored")
	fs.BoolVar(&f.create, "create", false, "with --to: make missing topics, with as many partitions as the source has")
	fs.BoolVar(&f.registryCopy, "registry-copy", false, "with --to: copy the schemas of framed keys and values to the target's registry, and replace their ids")
}

// toOptions say where records go and what of them is changed on the way.
type toOptions struct {
	cluster string
	topic   topicName
	create  bool
	// encoded says that values become what the format shows of their records.
	encoded bool
	// decodedKey and decodedValue say what becomes the text of its decoded form.
	decodedKey, decodedValue bool
	copiesSchemas            bool // ids become those of the target's registry

	reached *target // once it is
}

// asStored reports whether records are left as they are.
func (t *toOptions) asStored() bool { return !t.encoded && !t.decodedKey && !t.decodedValue }

// setTo interprets --to, and what else changes with it.
func (o *consumeOptions) setTo(cmd *cobra.Command, f consumeFlags) (err error) {
	if f.to.to == "" {
		return o.lacksTo(cmd, f)
	}
	if onCommandLine(cmd, "out") {
		return fault.New(fault.Usage, "--to and -O exclude each other").WithHint("records go to a cluster or into files; two runs do both")
	}
	if f.order.tail > 0 {
		return fault.New(fault.Usage, "--to and --tail exclude each other").WithHint("-o end-N takes the last N of each partition")
	}
	to := &toOptions{create: f.to.create}
	name, topic, found := strings.Cut(f.to.to, "/")
	if name == "" || found && topic == "" {
		return fault.New(fault.Usage, "--to %s names no %s", f.to.to, missingPart(name)).WithHint("--to CLUSTER or --to CLUSTER/TOPIC")
	}
	to.cluster = name
	if to.topic, err = parseTopicName(topic); err != nil {
		return err
	}
	if !o.promised && !o.startsSomewhere(cmd, f) {
		return fault.New(fault.Usage, "--to without an end needs a place to go on from: a copy that begins anew at each start repeats or leaves out records").
			WithHint("-g GROUP or --state FILE keep the position; -o SPEC says where to begin; -e copies what there is")
	}
	o.to = to
	if given(o.env, cmd, "on-gap") == settings.Default {
		o.onGap = source.GapStop
	}
	if o.isolation == isolationUnsaid {
		o.isolation = isolationCommitted
	}
	o.setEncoding(cmd, f)
	return o.setRegistryCopy(f.to.registryCopy)
}

// lacksTo refuses what only --to gives a meaning. In a file it may wait for that.
func (o *consumeOptions) lacksTo(cmd *cobra.Command, f consumeFlags) error {
	switch {
	case f.to.create && given(o.env, cmd, "create") == settings.CommandLine:
		return fault.New(fault.Usage, "--create makes the topics of --to, which is missing").WithHint("--to CLUSTER[/TOPIC]")
	case f.to.registryCopy && given(o.env, cmd, "registry-copy") == settings.CommandLine:
		return fault.New(fault.Usage, "--registry-copy is about the schemas of what --to copies, which is missing").WithHint("--to CLUSTER[/TOPIC]")
	}
	return nil
}

func missingPart(name string) string {
	if name == "" {
		return "cluster"
	}
	return "topic behind the /"
}

// onCommandLine reports whether a flag, which need not exist, is on the command line.
func onCommandLine(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed
}

// startsSomewhere reports whether the next run knows where this one began or
// ended.
func (o *consumeOptions) startsSomewhere(cmd *cobra.Command, f consumeFlags) bool {
	return len(f.offsets) > 0 || f.bounds.since != "" || onCommandLine(cmd, "group") || onCommandLine(cmd, "state")
}

// setEncoding decides what is changed. Only what is typed counts: a format that
// a file sets is for reading.
func (o *consumeOptions) setEncoding(cmd *cobra.Command, f consumeFlags) {
	switch {
	case onCommandLine(cmd, "json") && f.json, onCommandLine(cmd, "format") && f.format != output.FormatRaw:
		o.to.encoded = true
	case onCommandLine(cmd, "decode"):
		o.to.decodedKey, o.to.decodedValue = o.decode.Key != "", o.decode.Value != ""
	}
}

// topicName is the topic of --to: text and placeholders in turn.
type topicName struct {
	parts []string // placeholders with their braces
	fixed bool     // there are no placeholders
}

var (
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
	legalTopic  = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
)

// toPlaceholders are what a topic of --to may be made of.
var toPlaceholders = []string{"{stream}", "{cluster}", "{topic}", "{partition}"}

func parseTopicName(text string) (topicName, error) {
	if text == "" {
		text = "{topic}"
	}
	n := topicName{fixed: true}
	for at := 0; at < len(text); {
		next := placeholder.FindStringIndex(text[at:])
		if next == nil {
			n.parts = append(n.parts, text[at:])
			break
		}
		word := text[at+next[0] : at+next[1]]
		if !slices.Contains(toPlaceholders, word) {
			return n, fault.New(fault.Usage, "--to: there is no %s", word).WithHint("%s stand for where a record comes from", joinWords(toPlaceholders))
		}
		n.parts = append(n.parts, text[at:at+next[0]], word)
		n.fixed = false
		at += next[1]
	}
	example := n.of("x", record.Split{Cluster: "x", Topic: "x"})
	if err := checkTopicName(example); err != nil {
		return n, fault.New(fault.Usage, "--to: %q is no topic", text).WithHint("topic names have letters, digits, . _ and -, at most 249 of them")
	}
	return n, nil
}

func checkTopicName(name string) error {
	if !legalTopic.MatchString(name) || name == "." || name == ".." {
		return fault.New(fault.Failed, "%q is no legal name of a topic", name).
			WithHint("topic names have letters, digits, . _ and -, at most 249 of them")
	}
	return nil
}

// of is the name for records of a split that are delivered as a stream's.
func (n topicName) of(stream string, s record.Split) string {
	var b strings.Builder
	for _, p := range n.parts {
		switch p {
		case "{stream}":
			p = stream
		case "{cluster}":
			p = s.Cluster
		case "{topic}":
			p = s.Topic
		case "{partition}":
			p = strconv.Itoa(int(s.Partition))
		}
		b.WriteString(p)
	}
	return b.String()
}

// readBy is what a reader may close; nil if nothing is written there.
func (o *consumeOptions) readBy() io.Writer {
	if o.to != nil || o.files.template != nil {
		return nil
	}
	return o.env.Stdout
}

// target is the cluster that a run writes to.
type target struct {
	o       *consumeOptions
	cluster *cluster.Cluster
	writer  *produce.Writer
	guard   *loopGuard
	schemas *schemaCopies // nil: records keep their ids
	id      string        // of the physical cluster
	state   *state.File   // nil is none
	there   sync.Map      // topics that the state counts on, by name, once they have been looked for
}

// redirect has a run write to the cluster of --to, which must be there: nothing
// is read before. Done ends that; it is never nil.
func (p *planner) redirect(ctx context.Context, view *metadata.View, opts *source.Options) (done func(), err error) {
	o := p.o
	if o.to == nil {
		return func() {}, nil
	}
	described := view.Cluster(o.to.cluster)
	if described == nil {
		return func() {}, fault.New(fault.Usage, "--to: %w", unknownCluster(view, o.to.cluster))
	}
	schemas, err := p.copySchemas(view, described)
	if err != nil {
		return func() {}, err
	}
	c, err := connect(o.env, described)
	if err != nil {
		return func() {}, err
	}
	t := &target{o: o, cluster: c, schemas: schemas}
	o.to.reached = t
	info, err := t.reach(ctx)
	if err != nil {
		c.Close()
		return func() {}, err
	}
	t.id = info.ClusterID
	t.guard = &loopGuard{id: info.ClusterID, name: o.to.cluster, planner: p, narrow: opts.Topic}
	// What is on its way when a signal comes is still waited for.
	if t.writer, err = produce.New(context.WithoutCancel(ctx), produce.Config{
		Cluster: c, GiveUp: t.giveUp(), Create: o.to.create, Event: t.event,
	}); err != nil {
		c.Close()
		return func() {}, err
	}
	if err := t.checkFixed(ctx); err != nil {
		t.writer.Close()
		c.Close()
		return func() {}, err
	}
	opts.Sink = newToSink(ctx, p.sink, t)
	opts.Admit = t.admit(ctx)
	return func() {
		t.writer.Close()
		c.Close()
		schemas.close()
		t.tellCounts()
	}, nil
}

// giveUp is how long the target may take nothing: for ever if nobody waits for an
// end.
func (t *target) giveUp() time.Duration {
	if t.o.bounded {
		return t.o.env.run.globals.giveUp
	}
	return 0
}

// reach makes contact with the target. Without any within the time of --give-up
// there is nothing that a run could do.
func (t *target) reach(ctx context.Context) (cluster.Info, error) {
	giveUp := t.o.env.run.globals.giveUp
	since, told := time.Now(), false
	for {
		info, err := t.cluster.Connect(ctx)
		switch {
		case err == nil:
			return info, nil
		case ctx.Err() != nil:
			return info, context.Cause(ctx)
		case fault.KindOf(err) != fault.Unreachable:
			return info, err
		case time.Since(since) >= giveUp && told:
			return info, fault.New(fault.Unreachable, "%s: given up after %s without contact", t.cluster.Name(), giveUp).On(t.cluster.Name())
		case time.Since(since) >= giveUp || t.o.failFast:
			return info, err
		}
		if !told {
			told = true
			t.event(produce.Event{Kind: produce.Lost, Partition: -1, Text: err.Error() + "; trying again", Hint: fault.HintOf(err)})
		}
		select {
		case <-time.After(min(500*time.Millisecond, max(0, giveUp-time.Since(since)))):
		case <-ctx.Done():
			return info, context.Cause(ctx)
		}
	}
}

// event tells what happens at the target.
func (t *target) event(ev produce.Event) {
	kind := source.Note
	switch ev.Kind {
	case produce.Lost:
		kind = source.Lost
	case produce.Back:
		kind = source.Back
	}
	s := record.Split{Cluster: t.cluster.Name(), Topic: ev.Topic, Partition: ev.Partition}
	t.o.event(source.Event{Kind: kind, Split: s, Text: ev.Text, Hint: ev.Hint})
}

// mostTold is how many topics are told one by one.
const mostTold = 5

// tellCounts tells how much has gone where.
func (t *target) tellCounts() {
	counts := t.writer.Counts()
	var topics []string
	total := int64(0)
	for name, n := range counts.Topics {
		topics = append(topics, name)
		total += n
	}
	slices.Sort(topics)
	n := t.o.env.run.notices
	n.Verbosef(1, "%s: %d batches as they were stored, %d made anew", t.cluster.Name(), counts.Raw, counts.Built)
	if counts.Renewed > 0 {
		n.Verbosef(1, "%s: it lost track of what was written %d times; what it had not acknowledged was written again", t.cluster.Name(), counts.Renewed)
	}
	if len(topics) == 0 {
		n.Notef("nothing was written to %s", t.cluster.Name())
		return
	}
	if len(topics) > mostTold {
		n.Notef("%s written to %d topics of %s", countText(total), len(topics), t.cluster.Name())
		return
	}
	for _, name := range topics {
		n.Notef("%s written to %s/%s", countText(counts.Topics[name]), t.cluster.Name(), name)
	}
}

// completeTarget completes CLUSTER and, behind a slash, its topics.
func completeTarget(env *Env) completeFunc {
	return completing(env, func(ctx context.Context, view *metadata.View, word string) []string {
		if name, _, ok := strings.Cut(word, "/"); ok {
			return prefixed(name+"/", topicNames(ctx, env, view, name))
		}
		return allClusters(view)
	})
}
