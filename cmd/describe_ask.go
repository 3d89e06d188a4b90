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

// eachCluster calls ask for every named cluster at once and returns the errors
// in the order of names. Settings that are wrong for one cluster are the second
// error: then none has been asked.
func eachCluster(env *Env, view *metadata.View, names []string, ask func(i int, c *cluster.Cluster) error) ([]error, error) {
	clusters := make([]*cluster.Cluster, 0, len(names))
	defer func() {
		for _, c := range clusters {
			c.Close()
		}
	}()
	for _, name := range names {
		c, err := connect(env, view.Cluster(name))
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, c)
	}
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, c := range clusters {
		wg.Go(func() { errs[i] = ask(i, c) })
	}
	wg.Wait()
	return errs, nil
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

// present returns the errors that are some.
func present(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
}

// partitionDoc is one partition of a topic.
type partitionDoc struct {
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
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

// partitionTable shows partitions; cluster is the name for each, or nil.
func partitionTable(wide bool, rows []partitionRow) output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "LEADER", Right: true},
		{Header: "START", Right: true},
		{Header: "END", Right: true},
		{Header: "OFFSETS", Right: true},
		{Header: "ERROR"},
	}}
	if wide {
		t.Columns = slices.Insert(t.Columns, 7, output.Column{Header: "STABLE", Right: true}, output.Column{Header: "EPOCH", Right: true},
			output.Column{Header: "REPLICAS"}, output.Column{Header: "ISR"}, output.Column{Header: "OFFLINE"})
	}
	for _, r := range rows {
		row := output.Text(r.cluster, r.Topic, strconv.Itoa(int(r.Partition)), number(r.Leader),
			number(r.Start), number(r.End), number(r.records()))
		if wide {
			row = append(row, output.Text(number(r.Stable), number(r.LeaderEpoch), ids(r.Replicas), ids(r.ISR), dash(ids(r.Offline)))...)
		}
		t.Rows = append(t.Rows, append(row, trouble(r.Error)))
	}
	return t
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
