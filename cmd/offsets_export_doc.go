package cmd

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// exportRowDoc is a commit.
type exportRowDoc struct {
	Stream           *string `json:"stream"`
	Topic            string  `json:"topic"`
	Partition        int32   `json:"partition"`
	Offset           int64   `json:"offset"`
	Metadata         string  `json:"metadata"`
	MetadataEncoding *string `json:"metadata_encoding,omitempty"`
}

// exportGroupDoc is a group on one cluster. What is not UTF-8 is written in base64.
type exportGroupDoc struct {
	Cluster       string         `json:"cluster"`
	Group         string         `json:"group"`
	GroupEncoding *string        `json:"group_encoding,omitempty"`
	Partitions    []exportRowDoc `json:"partitions"`
	Error         *string        `json:"error"`

	group    offsets.Group
	commits  []offsets.Partition // in order
	streamOf func(offsets.Partition) (string, bool)
}

// exportDoc is what offsets export finds out. There may be a million commits: they
// are made into documents when they are written.
type exportDoc struct {
	Groups []exportGroupDoc `json:"groups"`
	Failed []failedDoc      `json:"failed"`

	grouped bool // more than one group may be meant
	rows    int
	has     map[string]bool // groups of which there is something
	count   int
	lacking error
}

func newExportDoc(o *exportOptions, scopes []clusterScope, replies []reply[exportAnswer]) *exportDoc {
	d := &exportDoc{grouped: len(o.groups.Names) != 1 || o.groups.Match != nil || o.groups.All, count: len(scopes), has: map[string]bool{}}
	for i, r := range replies {
		told := len(r.answer.lacking) > 0
		for _, err := range r.answer.lacking {
			d.Failed = append(d.Failed, failedDoc{scopes[i].cluster, err.Error()})
		}
		for _, g := range r.answer.groups {
			gd := newExportGroupDoc(scopes[i], g)
			told = told || gd.Error != nil
			if len(gd.commits) > 0 || gd.Error != nil {
				d.Groups = append(d.Groups, gd)
			}
			d.rows += len(gd.commits)
			d.has[g.Name] = d.has[g.Name] || len(gd.commits) > 0
		}
		if r.err != nil && !told {
			d.Failed = append(d.Failed, failedDoc{scopes[i].cluster, r.err.Error()})
		}
	}
	slices.SortStableFunc(d.Groups, func(a, b exportGroupDoc) int {
		switch {
		case a.group.Name < b.group.Name:
			return -1
		case a.group.Name > b.group.Name:
			return 1
		default:
			return 0
		}
	})
	return d
}

func newExportGroupDoc(cs clusterScope, g offsets.Group) exportGroupDoc {
	d := exportGroupDoc{Cluster: cs.cluster, Error: errorOf(g.Err), group: g, streamOf: cs.selects}
	d.Group, d.GroupEncoding = exactText(g.Name)
	for _, at := range slices.SortedFunc(maps.Keys(g.Commits), offsets.ComparePartitions) {
		if err := g.Commits[at].Err; err == nil {
			d.commits = append(d.commits, at)
		} else if d.Error == nil {
			d.Error = errorOf(err)
		}
	}
	return d
}

// exactText is a text for JSON; one that is not UTF-8 is written in base64, which
// the encoding says.
func exactText(s string) (text string, encoding *string) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), new("base64")
}

// each gives the commits of a group.
func (d *exportGroupDoc) each(yield func(exportRowDoc) bool) {
	for _, at := range d.commits {
		c := d.group.Commits[at]
		stream, _ := d.streamOf(at)
		row := exportRowDoc{Stream: optional(stream), Topic: at.Topic, Partition: at.Partition, Offset: c.Offset}
		row.Metadata, row.MetadataEncoding = exactText(c.Metadata)
		if !yield(row) {
			return
		}
	}
}

func (d *exportDoc) asked() int { return d.count }

// verdict implements what run asks about: the errors that are about no cluster.
func (d *exportDoc) verdict() error { return d.lacking }

// writeCSV implements streamedCSV: the lines are those of Kafka's own tools.
func (d *exportDoc) writeCSV(write func([]byte) error) error {
	var buf []byte
	for i := range d.Groups {
		g := &d.Groups[i].group
		for _, at := range d.Groups[i].commits {
			buf = offsets.AppendCSV(buf, &offsets.ListedOffset{Group: g.Name, Partition: at, Offset: g.Commits[at].Offset}, d.grouped)
			if len(buf) > jsonPiece {
				if err := write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
	}
	return write(buf)
}

// writeJSON implements streamed.
func (d *exportDoc) writeJSON(write func([]byte) error, line bool) error {
	w := jsonWriter{line: line, write: write}
	w.open('{')
	w.key("groups")
	w.open('[')
	for i := range d.Groups {
		w.next()
		d.Groups[i].writeJSON(&w)
	}
	w.close(']')
	return w.ended(d.Failed)
}

func (d *exportGroupDoc) writeJSON(w *jsonWriter) {
	w.open('{')
	w.text("cluster", &d.Cluster)
	w.text("group", &d.Group)
	if d.GroupEncoding != nil {
		w.text("group_encoding", d.GroupEncoding)
	}
	w.key("partitions")
	w.open('[')
	for r := range d.each {
		w.next()
		w.open('{')
		w.text("stream", r.Stream)
		w.text("topic", &r.Topic)
		w.key("partition")
		w.int(int64(r.Partition))
		w.key("offset")
		w.int(r.Offset)
		w.text("metadata", &r.Metadata)
		if r.MetadataEncoding != nil {
			w.text("metadata_encoding", r.MetadataEncoding)
		}
		w.close('}')
		w.flush(jsonPiece)
	}
	w.close(']')
	w.text("error", d.Error)
	w.close('}')
}

// fill makes the rows, for what writes the document as a whole.
func (d *exportDoc) fill() {
	for i := range d.Groups {
		d.Groups[i].Partitions = slices.Collect(d.Groups[i].each)
	}
}

func (d *exportDoc) tables(bool) []output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "GROUP"},
		{Header: "CLUSTER"},
		{Header: "STREAM"},
		{Header: "TOPIC"},
		{Header: "PARTITION", Right: true},
		{Header: "OFFSET", Right: true},
		{Header: "METADATA"},
		{Header: "ERROR"},
	}}
	for i := range d.Groups {
		g := &d.Groups[i]
		for r := range g.each {
			t.Rows = append(t.Rows, output.Text(g.group.Name, g.Cluster, text(r.Stream), r.Topic, strconv.Itoa(int(r.Partition)),
				strconv.FormatInt(r.Offset, 10), g.group.Commits[offsets.Partition{Topic: r.Topic, Partition: r.Partition}].Metadata))
		}
		if g.Error != nil {
			t.Rows = append(t.Rows, append(output.Text(g.group.Name, g.Cluster, "-", "-", "-", "-", "-"), trouble(g.Error)))
		}
	}
	for _, f := range d.Failed {
		t.Rows = append(t.Rows, append(output.Text("-", f.Cluster, "-", "-", "-", "-", "-"), trouble(&f.Error)))
	}
	return []output.Table{t}
}
