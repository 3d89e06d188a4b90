package cmd

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/source"
)

// respondent is a cluster that is asked something.
type respondent struct {
	*cluster.Cluster
	// meet connects to it, unless that has been done, and says what it is.
	meet func(context.Context) (cluster.Info, error)
}

// reply is what came of asking a cluster.
type reply[A any] struct {
	answer  A
	present bool             // there is an answer, with or without an error
	err     error            // the first trouble
	cluster *cluster.Cluster // nil when its settings are wrong
}

// inquirer asks clusters: once, or round after round.
type inquirer interface {
	// each puts a question to every named cluster at once. The replies are in
	// the order of names. The error is about settings that are wrong for one
	// cluster: then none has been asked.
	each(ctx context.Context, view *metadata.View, names []string, ask func(context.Context, respondent) (any, error)) ([]reply[any], error)
}

// eachCluster is inquirer.each with answers of a known type.
func eachCluster[A any](ctx context.Context, o *describeOptions, view *metadata.View, names []string, ask func(context.Context, respondent) (A, error)) ([]reply[A], error) {
	list, err := o.inquirer.each(ctx, view, names, func(ctx context.Context, r respondent) (any, error) { return ask(ctx, r) })
	if err != nil {
		return nil, err
	}
	replies := make([]reply[A], len(list))
	for i, r := range list {
		answer, ok := r.answer.(A)
		replies[i] = reply[A]{answer, ok, r.err, r.cluster}
	}
	return replies, nil
}

// troubles are the errors among replies.
func troubles[A any](replies []reply[A]) (errs []error) {
	for _, r := range replies {
		if r.err != nil {
			errs = append(errs, r.err)
		}
	}
	return errs
}

// once asks every cluster once and waits for all of them.
type once struct{ env *Env }

func (a once) each(ctx context.Context, view *metadata.View, names []string, ask func(context.Context, respondent) (any, error)) ([]reply[any], error) {
	replies := make([]reply[any], len(names))
	defer func() {
		for _, r := range replies {
			if r.cluster != nil {
				r.cluster.Close()
			}
		}
	}()
	for i, name := range names {
		c, err := connect(a.env, view.Cluster(name))
		if err != nil {
			return nil, err
		}
		replies[i].cluster = c
	}
	var wg sync.WaitGroup
	for i := range replies {
		r := &replies[i]
		wg.Go(func() {
			r.answer, r.err = ask(ctx, respondent{r.cluster, func(ctx context.Context) (cluster.Info, error) { return meet(ctx, a.env, r.cluster) }})
		})
	}
	wg.Wait()
	return replies, nil
}

// meet connects to a cluster, and tells those who gave -v about it.
func meet(ctx context.Context, env *Env, c *cluster.Cluster) (cluster.Info, error) {
	n := env.run.notices
	n.Verbosef(1, "%s: trying %s", c.Name(), strings.Join(c.Bootstrap(), ", "))
	info, err := c.Connect(ctx)
	if err == nil {
		n.Verbosef(1, "%s: %s", c.Name(), source.Connected(info))
	}
	return info, err
}

// partitionDoc is one partition of a topic.
type partitionDoc struct {
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
	Role        *string `json:"role,omitempty"` // of its source, when a stream is shown
	Leader      *int32  `json:"leader"`
	LeaderEpoch *int32  `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Offline     []int32 `json:"offline"`
	Start       *int64  `json:"start"`
	Stable      *int64  `json:"stable"`
	End         *int64  `json:"end"`
	Error       *string `json:"error"`
}

// describePartitions asks for the offsets of topics and puts all that is known
// of their partitions together. What is wrong with a partition stands there;
// the returned error is the first of them.
func describePartitions(ctx context.Context, c *cluster.Cluster, topics []cluster.Topic) ([]partitionDoc, error) {
	var of []cluster.TopicPartition
	for _, t := range topics {
		for _, p := range t.Partitions {
			of = append(of, cluster.TopicPartition{Topic: t.Name, Partition: p.ID})
		}
	}
	offsets, err := c.Offsets(ctx, of, cluster.Start(), cluster.Stable(), cluster.End())
	if err != nil {
		return nil, err
	}
	var docs []partitionDoc
	var first error
	for _, t := range topics {
		for _, p := range t.Partitions {
			d, err := describePartition(t.Name, p, offsets[cluster.TopicPartition{Topic: t.Name, Partition: p.ID}])
			if first == nil {
				first = err
			}
			docs = append(docs, d)
		}
	}
	return docs, first
}

// lessen turns an error about a part of a cluster into one of kind Partial if
// other parts gave what they should.
func lessen(err error, gave bool) error {
	if err == nil || !gave {
		return err
	}
	return fault.New(fault.Partial, "%w", err)
}

// gave reports whether something is known of a partition.
func gave(parts []partitionDoc) bool {
	return slices.ContainsFunc(parts, func(p partitionDoc) bool { return p.Error == nil })
}

func describePartition(topic string, p cluster.Partition, offsets []cluster.Offset) (partitionDoc, error) {
	d := partitionDoc{Topic: topic, Partition: p.ID, Replicas: p.Replicas, ISR: p.ISR, Offline: p.Offline}
	d.Leader, d.LeaderEpoch = known(p.Leader), known(p.LeaderEpoch)
	err := p.Err
	for i, at := range []**int64{&d.Start, &d.Stable, &d.End} {
		switch {
		case i >= len(offsets):
		case offsets[i].Err != nil:
			err = offsets[i].Err
		default:
			*at = known(offsets[i].Offset)
		}
	}
	d.Error = errorOf(err)
	return d, err
}

// known is nil for a negative number, which stands for "unknown".
func known[T int32 | int64](n T) *T {
	if n < 0 {
		return nil
	}
	return &n
}

func errorOf(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}

// records is how many offsets lie between a partition's start and end: the
// number of its records if there are no holes.
func (d partitionDoc) records() *int64 {
	if d.Start == nil || d.End == nil {
		return nil
	}
	n := *d.End - *d.Start
	return &n
}

// sum adds up what is known; nil if nothing is.
func sum(docs []partitionDoc) *int64 {
	var total int64
	found := len(docs) == 0
	for _, d := range docs {
		if n := d.records(); n != nil {
			total, found = total+*n, true
		}
	}
	if !found {
		return nil
	}
	return &total
}

// number shows a number, or - for one that is not known.
func number[T int32 | int64 | int](n *T) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}

func ids(list []int32) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(int(n))
	}
	return strings.Join(texts, ",")
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// trouble is the cell of an error.
func trouble(err *string) output.Cell {
	if err == nil {
		return output.Cell{}
	}
	return output.Cell{Text: *err, Tone: output.Bad}
}

// partitionTable shows partitions; those of a stream have a role.
func partitionTable(wide bool, rows []partitionRow) output.Table {
	t := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "TOPIC"}, {Header: "PARTITION", Right: true}}}
	roles := slices.ContainsFunc(rows, func(r partitionRow) bool { return r.Role != nil })
	if roles {
		t.Columns = append(t.Columns, output.Column{Header: "ROLE"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "LEADER", Right: true}, output.Column{Header: "START", Right: true},
		output.Column{Header: "END", Right: true}, output.Column{Header: "OFFSETS", Right: true})
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "STABLE", Right: true}, output.Column{Header: "OPEN", Right: true},
			output.Column{Header: "EPOCH", Right: true}, output.Column{Header: "REPLICAS"}, output.Column{Header: "ISR"}, output.Column{Header: "OFFLINE"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for _, r := range rows {
		row := output.Text(r.cluster, r.Topic, strconv.Itoa(int(r.Partition)))
		if roles {
			row = append(row, roleCell(text(r.Role)))
		}
		row = append(row, output.Text(number(r.Leader), number(r.Start), number(r.End), number(r.records()))...)
		if wide {
			row = append(row, output.Text(number(r.Stable), number(r.open()), number(r.LeaderEpoch), ids(r.Replicas), ids(r.ISR), dash(ids(r.Offline)))...)
		}
		t.Rows = append(t.Rows, append(row, trouble(r.Error)))
	}
	return t
}

// roleCell shows a source's role: one that drains is on its way out.
func roleCell(role string) output.Cell {
	tones := map[string]output.Tone{string(metadata.Draining): output.Warn, string(metadata.Standby): output.Faint}
	return output.Cell{Text: role, Tone: tones[role]}
}

// open is how many offsets lie behind the last stable one: they wait for
// transactions to end, and a drain with read_committed waits for them.
func (d partitionDoc) open() *int64 {
	if d.Stable == nil || d.End == nil {
		return nil
	}
	return new(max(*d.End-*d.Stable, 0))
}

type partitionRow struct {
	cluster string
	partitionDoc
}

// mustCluster says that a name is not one of the metadata's clusters.
func mustCluster(view *metadata.View, name string) error {
	if view.Cluster(name) == nil {
		return unknownCluster(view, name)
	}
	return nil
}

// notFound is the error of a topic that no asked cluster has.
func notFound(topic string, near []string) error {
	err := fault.New(fault.Failed, "there is no topic %s", topic)
	if len(near) > 0 {
		return err.WithHint("did you mean %s?", joinWords(near))
	}
	return err
}
