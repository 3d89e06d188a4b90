package cmd

import (
	"context"
	"errors"
	"strconv"

	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// planRowDoc is a change of a plan.
type planRowDoc struct {
	Cluster   string  `json:"cluster"`
	Group     string  `json:"group"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Prior     *int64  `json:"prior"`
	New       *int64  `json:"new"`
	Delta     *int64  `json:"delta"`
	Note      string  `json:"note"`
	Error     *string `json:"error"`
	Stream    *string `json:"stream"`
	Outcome   *string `json:"outcome"` // changed, unchanged or unknown; null: it was not tried
}

func newPlanRow(c *offsets.Change) planRowDoc {
	d := planRowDoc{
		Cluster: c.Cluster, Group: output.Exact(c.Group), Topic: output.Exact(c.Topic), Partition: c.Partition.Partition, Note: output.Exact(c.Note),
		Error: errorOf(c.Err), Stream: optional(c.Stream), Outcome: optional(c.Outcome.String()),
	}
	if d.Error != nil {
		*d.Error = output.Exact(*d.Error)
	}
	if errors.Is(c.Err, context.Canceled) {
		d.Error = new("the run was cut short before")
	}
	if c.Prior != nil {
		d.Prior = &c.Prior.Offset
	}
	if c.New != nil {
		d.New = &c.New.Offset
	}
	if n, ok := c.Delta(); ok {
		d.Delta = &n
	}
	if c.New == nil && c.Prior != nil && c.Err == nil && c.Note == "" {
		d.Note = "removed"
	}
	return d
}

// planDoc is a plan to change offsets, carried out or not.
type planDoc struct {
	Executed bool         `json:"executed"`
	Snapshot *string      `json:"snapshot"`
	Rows     []planRowDoc `json:"rows"`
	Failed   []failedDoc  `json:"failed"`

	clusters int
}

func newPlanDoc(changes []offsets.Change, done carried) *planDoc {
	d := &planDoc{Executed: done.executed, Snapshot: done.snapshot, Rows: make([]planRowDoc, len(changes))}
	for i := range changes {
		d.Rows[i] = newPlanRow(&changes[i])
	}
	return d
}

// asked implements asked.
func (d *planDoc) asked() int { return d.clusters }

func (d *planDoc) tables(bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "GROUP"},
		{Header: "CLUSTER"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "PRIOR", Right: true},
		{Header: "NEW", Right: true},
		{Header: "DELTA", Right: true},
		{Header: "NOTE"},
		{Header: "ERROR"},
	}}
	for _, r := range d.Rows {
		row := output.Text(r.Group, r.Cluster, r.Topic, partitionText(r.Partition), number(r.Prior), number(r.New), number(r.Delta))
		t.Rows = append(t.Rows, append(row, output.Cell{Text: r.Note, Tone: output.Faint}, trouble(r.Error)))
	}
	for _, f := range d.Failed {
		row := output.Text("-", f.Cluster, "-", "-", "-", "-", "-", "")
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	return []output.Table{t}
}

// csv implements csvDocument. What is not known is empty.
func (d *planDoc) csv() [][]string {
	lines := [][]string{{"cluster", "group", "topic", "partition", "prior", "new", "delta", "note", "error"}}
	for _, r := range d.Rows {
		lines = append(lines, []string{
			r.Cluster, r.Group, r.Topic, partitionText(r.Partition), digits(r.Prior), digits(r.New), digits(r.Delta), r.Note, orEmpty(r.Error),
		})
	}
	for _, f := range d.Failed {
		lines = append(lines, []string{f.Cluster, "", "", "", "", "", "", "", f.Error})
	}
	return lines
}

func partitionText(p int32) string { return strconv.Itoa(int(p)) }
