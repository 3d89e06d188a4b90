package cmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// translatedDoc is a partition of a group.
type translatedDoc struct {
	Topic        *string `json:"topic"` // on the target; null: there is none
	Partition    int32   `json:"partition"`
	SourceTopic  string  `json:"source_topic"`
	SourceOffset int64   `json:"source_offset"`
	Offset       *int64  `json:"offset"`
	Metadata     string  `json:"metadata"`
	Status       string  `json:"status"`
	Via          *string `json:"via"`
	Note         string  `json:"note"`
	Bound        *int64  `json:"bound"` // records that may be read again at most
	Stream       *string `json:"stream"`
	Prior        *int64  `json:"prior"` // what the group has committed on the target
	Delta        *int64  `json:"delta"`
	Error        *string `json:"error"`

	metadata string // as it is, which need not be UTF-8
	outside  bool
	rewinds  bool
}

// translatedGroupDoc is a group.
type translatedGroupDoc struct {
	Group      string          `json:"group"`
	Partitions []translatedDoc `json:"partitions"`

	name string // as it is
}

// translationDoc is what offsets translate finds out.
type translationDoc struct {
	From     string               `json:"from"`
	To       string               `json:"to"`
	Via      string               `json:"via"`
	Complete bool                 `json:"complete"`
	Groups   []translatedGroupDoc `json:"groups"`
	Missing  []string             `json:"missing"`
	Warnings []string             `json:"warnings"`
	Executed bool                 `json:"executed"`
	Snapshot *string              `json:"snapshot"`

	o    *translateOptions
	lost bool
}

func newTranslationDoc(o *translateOptions, got *offsets.Translation) *translationDoc {
	d := &translationDoc{o: o, From: o.from, To: o.to, Via: string(got.Via), Complete: got.Complete, Missing: got.Missing, lost: !got.Asked}
	for _, err := range got.Warnings {
		d.Warnings = append(d.Warnings, err.Error())
	}
	for _, g := range got.Groups {
		gd := translatedGroupDoc{Group: strings.ToValidUTF8(g.Group, "\ufffd"), name: g.Group}
		for _, t := range g.Partitions {
			gd.Partitions = append(gd.Partitions, newTranslatedDoc(t))
		}
		d.Groups = append(d.Groups, gd)
	}
	return d
}

func newTranslatedDoc(t offsets.Translated) translatedDoc {
	d := translatedDoc{
		Topic: optional(t.Topic), Partition: t.Partition.Partition, SourceTopic: t.SourceTopic, SourceOffset: t.SourceOffset,
		Offset: t.Offset, Metadata: strings.ToValidUTF8(t.Metadata, "\ufffd"), metadata: t.Metadata, Status: string(t.Status),
		Via: optional(string(t.Via)), Note: t.Note, Bound: t.Bound, Stream: optional(t.Stream), outside: t.Outside(),
	}
	if t.Checkpointed {
		d.Note = also(d.Note, "what the source has now is not known: its offset is the checkpoint's")
	}
	return d
}

func also(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// compare looks what the groups have committed on the target.
func (d *translationDoc) compare(ctx context.Context, to *cluster.Cluster) error {
	names := make([]string, len(d.Groups))
	for i, g := range d.Groups {
		names[i] = g.name
	}
	if len(names) == 0 {
		return nil
	}
	groups, err := offsets.Groups(ctx, to, offsets.Selection{Names: names}, offsets.Detail{Members: true, Commits: true, Stable: true})
	if err != nil {
		return err
	}
	byName := map[string]offsets.Group{}
	for _, g := range groups {
		byName[g.Name] = g
	}
	for i := range d.Groups {
		g := byName[d.Groups[i].name]
		for j := range d.Groups[i].Partitions {
			d.Groups[i].Partitions[j].compare(g, d.o)
		}
	}
	return nil
}

func (p *translatedDoc) compare(g offsets.Group, o *translateOptions) {
	if g.Err != nil {
		p.Error = errorOf(g.Err)
		return
	}
	if p.Topic == nil {
		return
	}
	c, ok := g.Commits[offsets.Partition{Topic: *p.Topic, Partition: p.Partition}]
	switch {
	case !ok:
	case c.Err != nil:
		p.Error = errorOf(c.Err)
	default:
		p.Prior = &c.Offset
	}
	if p.Prior != nil && p.Offset != nil {
		p.Delta = new(*p.Offset - *p.Prior)
	}
	if p.Delta != nil && *p.Delta < 0 && !o.allowRewind {
		p.rewinds = true
		p.Note = also(p.Note, "the group is further on "+o.to+" and stays there; --allow-rewind moves it back")
	}
	if p.outside && o.strict && p.Error == nil {
		p.Error = new("the offset lies outside the range on " + o.to)
	}
}

// verdict says how a run ends that has shown its answer.
func (d *translationDoc) verdict() error {
	open, rows := 0, 0
	for _, g := range d.Groups {
		for _, p := range g.Partitions {
			rows++
			if p.Error != nil && p.outside && d.o.strict {
				return fault.New(fault.Refused, "%s/%s: partition %d: %s", d.To, text(p.Topic), p.Partition, *p.Error).On(d.To)
			}
			if p.Offset == nil || p.Error != nil {
				open++
			}
		}
	}
	switch {
	case len(d.Missing) > 0:
		return d.missing(rows > 0)
	case rows == 0:
		return fault.New(fault.Failed, "there is nothing to translate: no group that is meant has committed anything on %s, or has a checkpoint on %s", d.From, d.To)
	case open > 0:
		return fault.New(fault.Partial, "%d of %s not translated: pending or unmapped", open, count(int64(rows), "partition"))
	case !d.Complete:
		return fault.New(fault.Partial, "the answer is not complete: a topic could not be read to its end")
	case d.lost && d.Via == string(offsets.ViaAuto):
		return fault.New(fault.Partial, "%s was not asked: only checkpoints say where groups stand", d.From)
	}
	return nil
}

// missing is the error of groups that nobody knows.
func (d *translationDoc) missing(others bool) error {
	kind := fault.Failed
	if others {
		kind = fault.Partial
	}
	if d.lost {
		return fault.New(kind, "%s has no checkpoint of the group %s", d.To, joinWords(d.Missing))
	}
	return fault.New(kind, "there is no group %s on %s that has committed anything, and no checkpoint of it on %s", joinWords(d.Missing), d.From, d.To)
}

func (d *translationDoc) tables(bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "GROUP"},
		{Header: "SOURCE TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "COMMITTED", Right: true},
		{Header: "TOPIC"},
		{Header: "OFFSET", Right: true},
		{Header: "PRIOR", Right: true},
		{Header: "DELTA", Right: true},
		{Header: "STATUS"},
		{Header: "BOUND", Right: true},
		{Header: "VIA"},
		{Header: "NOTE"},
	}}
	for _, g := range d.Groups {
		for _, p := range g.Partitions {
			note := output.Cell{Text: p.Note, Tone: output.Faint}
			if p.Error != nil {
				note = trouble(p.Error)
			}
			row := output.Text(g.name, p.SourceTopic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.SourceOffset, 10),
				text(p.Topic), number(p.Offset), number(p.Prior), number(p.Delta))
			t.Rows = append(t.Rows, append(row, p.statusCell(), output.Cell{Text: number(p.Bound)}, output.Cell{Text: text(p.Via)}, note))
		}
	}
	return []output.Table{t}
}

func (p translatedDoc) statusCell() output.Cell {
	tones := map[string]output.Tone{string(offsets.Pending): output.Warn, string(offsets.Unmapped): output.Bad}
	return output.Cell{Text: p.Status, Tone: tones[p.Status]}
}

// csv implements csvDocument. What is not known is empty.
func (d *translationDoc) csv() [][]string {
	lines := [][]string{{
		"group", "source_topic", "partition", "source_offset", "topic", "offset", "prior", "delta", "status", "bound", "via", "note", "error",
	}}
	for _, g := range d.Groups {
		for _, p := range g.Partitions {
			lines = append(lines, []string{
				g.name, p.SourceTopic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.SourceOffset, 10), orEmpty(p.Topic),
				digits(p.Offset), digits(p.Prior), digits(p.Delta), p.Status, digits(p.Bound), orEmpty(p.Via), p.Note, orEmpty(p.Error),
			})
		}
	}
	return lines
}
