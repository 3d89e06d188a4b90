package cmd

import (
	"bytes"
	"context"
	"slices"
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
	Outcome      *string `json:"outcome"` // of --execute: changed, unchanged or unknown; null: it was not tried

	outside bool
}

// translatedGroupDoc is a group.
type translatedGroupDoc struct {
	Group      string          `json:"group"`
	Partitions []translatedDoc `json:"partitions"`

	name string // as it is
}

// translationDoc is what offsets translate finds out. There may be very many
// partitions: they are made into documents when they are written, group by group.
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

	o     *translateOptions
	got   *offsets.Translation
	prior map[string]offsets.Group // on the target

	done   map[string]map[offsets.Partition]*offsets.Change // by group: what --execute came to
	moved  int64                                            // commits that it was about
	failed error                                            // why they were not all made
}

func newTranslationDoc(o *translateOptions, got *offsets.Translation) *translationDoc {
	d := &translationDoc{o: o, got: got, From: o.from, To: o.to, Via: string(got.Via), Complete: got.Complete, Missing: got.Missing, prior: map[string]offsets.Group{}}
	for _, err := range got.Warnings {
		d.Warnings = append(d.Warnings, err.Error())
	}
	return d
}

// groups gives one document after the other.
func (d *translationDoc) groups(yield func(translatedGroupDoc) bool) {
	for _, g := range d.got.Groups {
		gd := translatedGroupDoc{Group: strings.ToValidUTF8(g.Group, "\ufffd"), name: g.Group, Partitions: make([]translatedDoc, len(g.Partitions))}
		prior := d.prior[g.Group]
		for i, t := range g.Partitions {
			gd.Partitions[i] = newTranslatedDoc(t)
			gd.Partitions[i].compare(prior, d.o)
			if c := d.done[g.Group][t.Partition]; c != nil {
				gd.Partitions[i].carried(c)
			}
		}
		if !yield(gd) {
			return
		}
	}
}

// writeJSON implements streamed.
func (d *translationDoc) writeJSON(write func([]byte) error, line bool) error {
	if line {
		d.Groups = slices.Collect(d.groups)
		text, err := output.AppendJSONLine(nil, d)
		if err != nil {
			return err
		}
		return write(text)
	}
	return d.writeFrame(write)
}

// writeFrame writes the groups, each as it is made, into the JSON of all the rest.
func (d *translationDoc) writeFrame(write func([]byte) error) error {
	frame, err := output.AppendJSON(nil, d)
	if err != nil {
		return err
	}
	const place = `"groups": []`
	head, tail, _ := bytes.Cut(frame, []byte(place))
	buf := append(bytes.Clone(head), place[:len(place)-1]...)
	some := false
	for g := range d.groups {
		if some {
			buf = append(buf, ',')
		}
		some = true
		text, err := output.AppendJSON(nil, g)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			buf = append(buf, "\n    "...)
			buf = append(buf, bytes.TrimSuffix(line, []byte("\n"))...)
		}
		if len(buf) > jsonPiece {
			if err := write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	if some {
		buf = append(buf, "\n  "...)
	}
	return write(append(append(buf, ']'), tail...))
}

func newTranslatedDoc(t offsets.Translated) translatedDoc {
	d := translatedDoc{
		Topic: optional(t.Topic), Partition: t.Partition.Partition, SourceTopic: t.SourceTopic, SourceOffset: t.SourceOffset,
		Offset: t.Offset, Metadata: strings.ToValidUTF8(t.Metadata, "\ufffd"), Status: string(t.Status),
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
	if len(d.got.Groups) == 0 {
		return nil
	}
	for round := 1; ; round++ {
		groups, err := offsets.Groups(ctx, to, d.o.groups.Selection, offsets.Detail{Commits: true, Stable: true})
		if err != nil {
			return err
		}
		settled := true
		for _, g := range groups {
			d.prior[g.Name] = g
			settled = settled && fault.KindOf(g.Err) != fault.Unreachable
		}
		// A cluster that has had no group yet takes a moment for its first one.
		if settled || round == mostCompares || ctx.Err() != nil {
			return nil
		}
	}
}

// mostCompares is how often coordinators are asked that are not there yet.
const mostCompares = 4

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
		p.Note = also(p.Note, "the group is further on "+o.to+" and stays there; --allow-rewind moves it back")
	}
	if p.outside && o.strict && p.Error == nil {
		p.Error = new("the offset lies outside the range on " + o.to)
	}
}

// carried says what became of the commit.
func (p *translatedDoc) carried(c *offsets.Change) {
	p.Outcome = optional(c.Outcome.String())
	if c.Err != nil {
		p.Error = errorOf(c.Err)
	}
}

// verdict says how a run ends that has shown its answer.
func (d *translationDoc) verdict() error {
	if d.failed != nil {
		return d.failed
	}
	open, rows, err := d.open()
	switch {
	case err != nil:
		return err
	case len(d.Missing) > 0:
		return d.missing(rows > 0)
	case rows == 0:
		return fault.New(fault.Failed, "there is nothing to translate: no group that is meant has committed anything on %s, or has a checkpoint on %s", d.From, d.To)
	case open > 0 && d.Executed:
		return fault.New(fault.Partial, "%d of %s not translated: pending or unmapped; the rest was committed", open, count(int64(rows), "partition"))
	case open > 0:
		return fault.New(fault.Partial, "%d of %s not translated: pending or unmapped", open, count(int64(rows), "partition"))
	case !d.Complete:
		return fault.New(fault.Partial, "the answer is not complete: a topic could not be read to its end")
	case !d.got.Asked && d.Via == string(offsets.ViaAuto):
		return fault.New(fault.Partial, "%s was not asked: only checkpoints say where groups stand", d.From)
	}
	return nil
}

// open counts the rows, and those that have no offset; the error is about one that
// --strict refuses.
func (d *translationDoc) open() (open, rows int, err error) {
	for g := range d.groups {
		for _, p := range g.Partitions {
			rows++
			if p.Error != nil && p.outside && d.o.strict {
				return open, rows, fault.New(fault.Refused, "%s/%s: partition %d: %s", d.To, text(p.Topic), p.Partition, *p.Error).On(d.To)
			}
			if p.Offset == nil || p.Error != nil {
				open++
			}
		}
	}
	return open, rows, nil
}

// missing is the error of groups that nobody knows.
func (d *translationDoc) missing(others bool) error {
	kind := fault.Failed
	if others {
		kind = fault.Partial
	}
	if !d.got.Asked {
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
	for g := range d.groups {
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

// writeCSV implements streamedCSV. What is not known is empty.
func (d *translationDoc) writeCSV(write func([]byte) error) error {
	buf := output.AppendCSV(nil, [][]string{{
		"group", "source_topic", "partition", "source_offset", "topic", "offset", "prior", "delta", "status", "bound", "via", "note", "error",
	}})
	lines := make([][]string, 1)
	for g := range d.groups {
		for _, p := range g.Partitions {
			lines[0] = append(
				lines[0][:0],
				g.name, p.SourceTopic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.SourceOffset, 10), orEmpty(p.Topic),
				digits(p.Offset), digits(p.Prior), digits(p.Delta), p.Status, digits(p.Bound), orEmpty(p.Via), p.Note, orEmpty(p.Error),
			)
			buf = output.AppendCSV(buf, lines)
		}
		if len(buf) > jsonPiece {
			if err := write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return write(buf)
}
