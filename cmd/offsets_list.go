package cmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/spec"
)

// splitDoc is a partition of a stream with its offsets.
type splitDoc struct {
	Stream    string  `json:"stream"`
	Cluster   string  `json:"cluster"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Start     *int64  `json:"start"`
	Stable    *int64  `json:"stable"`
	End       *int64  `json:"end"`
	AtOffset  *int64  `json:"at_offset"`
	Error     *string `json:"error"`
}

// splitsDoc is what offsets list finds out.
type splitsDoc struct {
	Splits []splitDoc  `json:"splits"`
	Failed []failedDoc `json:"failed"`

	at    bool // the offset for a time was asked for
	count int
}

func (d *splitsDoc) asked() int { return d.count }

type offsetsListOptions struct {
	offsetsOptions
	at *int64 // ms; nil: not asked for
}

func newOffsetsListCmd(env *Env) *cobra.Command {
	o := &offsetsListOptions{}
	o.env = env
	var f scopeFlags
	var at string
	cmd := &cobra.Command{
		Use:   "list STREAM…",
		Short: "Show where each partition begins and ends",
		Long: `list shows the first offset, the last stable offset and the end of each partition of
streams, on all their clusters. A STREAM may also be CLUSTER/TOPIC. Roles do not
matter: what is standby or draining is shown as well.

With --at there is also the offset of the first record of that time or later; after
the last record it is the end.`,
		Example: `  kcm offsets list orders
  kcm offsets list orders --at 2026-03-03T14:00 -o json
  kcm offsets list east/orders -p 0-3`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.scope, err = f.scope(args); err != nil {
				return err
			}
			if o.scope.whole() {
				return fault.New(fault.Usage, "offsets list needs a STREAM").
					WithHint("kcm describe lists the streams; -a takes all of them")
			}
			if at != "" {
				ms, err := spec.ParseTime(at, o.now())
				if err != nil {
					return err
				}
				o.at = &ms
			}
			return o.run(cmd, o.find)
		},
	}
	f.add(env, cmd)
	cmd.Flags().StringVar(&at, "at", "", "also the offset of the first record at `TIME` or later")
	completeFlags(cmd, map[string]completeFunc{"at": completeNothing})
	o.addOutput(cmd)
	return cmd
}

func (o *offsetsListOptions) find(ctx context.Context, view *metadata.View) (document, []error, error) {
	scopes, err := o.scope.on(view)
	if err != nil {
		return nil, nil, err
	}
	replies, err := eachScope(ctx, &o.describeOptions, view, scopes, o.ask)
	if err != nil {
		return nil, nil, err
	}
	if err := o.check(scopes, replies); err != nil {
		return nil, nil, err
	}
	doc := &splitsDoc{at: o.at != nil, count: len(scopes)}
	for i, r := range replies {
		doc.Splits = append(doc.Splits, r.answer.splits...)
		for _, err := range r.answer.lacking {
			doc.Failed = append(doc.Failed, failedDoc{scopes[i].cluster, err.Error()})
		}
		if r.err != nil && !r.answer.reached {
			doc.Failed = append(doc.Failed, failedDoc{scopes[i].cluster, r.err.Error()})
		}
	}
	return doc, troubles(replies), nil
}

// check refuses what selects nothing or the same thing twice, once all clusters
// have answered.
func (o *offsetsListOptions) check(scopes []clusterScope, replies []reply[splitsAnswer]) error {
	all := make([]selected, len(replies))
	whole := true
	for i, r := range replies {
		whole = whole && r.err == nil
		all[i] = selected{cluster: scopes[i].cluster, id: r.answer.id, each: r.answer.each}
	}
	if err := twins(all); err != nil || !whole {
		return err
	}
	return narrow{partitions: o.scope.narrow.partitions}.unmatched(o.scope.sought(), all)
}

// splitsAnswer is what a cluster says about its part of a scope.
type splitsAnswer struct {
	id      string // of the cluster
	reached bool   // what went wrong since is told with the parts
	splits  []splitDoc
	lacking []error
}

// each goes over the partitions.
func (a *splitsAnswer) each(yield func(offsets.Partition) bool) {
	for i := range a.splits {
		if !yield(offsets.Partition{Topic: a.splits[i].Topic, Partition: a.splits[i].Partition}) {
			return
		}
	}
}

func (o *offsetsListOptions) ask(ctx context.Context, r respondent, cs clusterScope) (a splitsAnswer, err error) {
	info, err := r.meet(ctx)
	if err != nil {
		return a, err
	}
	a.id = info.ClusterID
	found, lacking, err := cs.find(ctx, r.Cluster)
	if err != nil {
		return a, err
	}
	points := []cluster.Point{cluster.Start(), cluster.Stable(), cluster.End()}
	if o.at != nil {
		points = append(points, cluster.AtTime(*o.at))
	}
	known, err := r.Offsets(ctx, found.Partitions(), points...)
	if err != nil {
		return a, err
	}
	a.reached, a.lacking = true, lacking
	var first error
	if len(lacking) > 0 {
		first = lacking[0]
	}
	some := false
	for _, t := range found {
		for _, p := range t.Partitions {
			d := splitDoc{Stream: t.Stream, Cluster: r.Name(), Topic: t.Topic, Partition: p}
			if err := d.fill(known[cluster.TopicPartition{Topic: t.Topic, Partition: p}]); err == nil {
				some = true
			} else if first == nil {
				first = err
			}
			a.splits = append(a.splits, d)
		}
	}
	return a, lessen(first, some)
}

// fill puts the offsets in; a time after the last record is the end.
func (d *splitDoc) fill(list []cluster.Offset) (err error) {
	for i, to := range []**int64{&d.Start, &d.Stable, &d.End, &d.AtOffset} {
		switch {
		case i >= len(list):
		case list[i].Err != nil:
			err = list[i].Err
		case list[i].Offset >= 0:
			*to = new(list[i].Offset)
		case i == 3:
			*to = d.End
		}
	}
	d.Error = errorOf(err)
	return err
}

func (d *splitsDoc) tables(bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "STREAM"},
		{Header: "CLUSTER"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "START", Right: true},
		{Header: "STABLE", Right: true},
		{Header: "END", Right: true},
	}}
	if d.at {
		t.Columns = append(t.Columns, output.Column{Header: "AT", Right: true})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for _, s := range d.Splits {
		row := output.Text(s.Stream, s.Cluster, s.Topic, strconv.Itoa(int(s.Partition)), number(s.Start), number(s.Stable), number(s.End))
		if d.at {
			row = append(row, output.Cell{Text: number(s.AtOffset)})
		}
		t.Rows = append(t.Rows, append(row, trouble(s.Error)))
	}
	for _, f := range d.Failed {
		row := output.Text("-", f.Cluster, "-", "-", "-", "-", "-")
		if d.at {
			row = append(row, output.Cell{Text: "-"})
		}
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	return []output.Table{t}
}

// csv implements csvDocument. What is not known is empty.
func (d *splitsDoc) csv() [][]string {
	lines := [][]string{{"stream", "cluster", "topic", "partition", "start", "stable", "end", "at_offset", "error"}}
	for _, s := range d.Splits {
		lines = append(lines, []string{
			s.Stream, s.Cluster, s.Topic, strconv.Itoa(int(s.Partition)),
			digits(s.Start), digits(s.Stable), digits(s.End), digits(s.AtOffset), orEmpty(s.Error),
		})
	}
	for _, f := range d.Failed {
		lines = append(lines, []string{"", f.Cluster, "", "", "", "", "", "", f.Error})
	}
	return lines
}

// digits and orEmpty make fields of CSV, empty for what is not known.
func digits(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
