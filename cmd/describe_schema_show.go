package cmd

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/protobuf"
	"github.com/kcm-cli/kcm/internal/output"
)

// schemaDocs is a schema in every registry that has it.
type schemaDocs struct {
	Schemas []schemaDoc `json:"schemas"`
	Failed  []failedDoc `json:"failed"`
	Error   *string     `json:"error"` // no registry that answered has it

	query   schemaQuery
	count   int
	lacks   []lack // registries without it, if there are only such and failures
	lacking error
}

func (d *schemaDocs) verdict() error { return d.lacking }

func (d *schemaDocs) asked() int { return d.count }

func (d *schemaDocs) tables(wide bool) []output.Table {
	tables := []output.Table{d.head(wide)}
	refs := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "REFERENCE"}, {Header: "SUBJECT"}, {Header: "VERSION", Right: true}}}
	subjects := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "ID", Right: true}, {Header: "SUBJECT"}, {Header: "VERSION", Right: true}}}
	for _, s := range d.Schemas {
		for _, r := range s.References {
			refs.Rows = append(refs.Rows, output.Text(s.Cluster, r.Name, r.Subject, strconv.Itoa(r.Version)))
		}
		for _, u := range s.Subjects {
			subjects.Rows = append(subjects.Rows, output.Text(s.Cluster, number(s.ID), u.Subject, strconv.Itoa(u.Version)))
		}
	}
	for _, t := range []output.Table{subjects, refs} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	for _, s := range d.Schemas {
		if wide {
			for _, r := range s.References {
				tables = append(tables, schemaText(s.Cluster+" "+r.Subject+"@"+strconv.Itoa(r.Version)+", "+r.Name, s.Type, r.Schema))
			}
		}
		tables = append(tables, schemaText(s.title(), s.Type, s.Schema))
	}
	return tables
}

// head has a row for each registry.
func (d *schemaDocs) head(wide bool) output.Table {
	t := output.Table{Columns: []output.Column{
		{Header: "CLUSTER"}, {Header: "SUBJECT"}, {Header: "VERSION", Right: true}, {Header: "ID", Right: true}, {Header: "TYPE"}, {Header: "COMPATIBILITY"},
	}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "VERSIONS"}, output.Column{Header: "GUID"}, output.Column{Header: "DELETED"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for _, s := range d.Schemas {
		row := output.Text(s.Cluster, text(s.Subject), number(s.Version), number(s.ID), s.Type, s.compatibility())
		if wide {
			row = append(row, output.Text(dash(versionsShown(s.Versions, true)), text(s.GUID), yesNo(s.Deleted))...)
		}
		t.Rows = append(t.Rows, append(row, trouble(s.Error)))
	}
	for _, f := range d.without() {
		row := output.Text(f.Cluster, dash(d.query.subject), "-", d.query.shownID(), "-", "-")
		if wide {
			row = append(row, output.Text("-", "-", "-")...)
		}
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	return t
}

// without are the clusters that gave nothing, and why.
func (d *schemaDocs) without() (list []failedDoc) {
	for _, l := range d.lacks {
		list = append(list, failedDoc{l.cluster, l.err.Error()})
	}
	if d.Error != nil && len(d.lacks) == 0 {
		list = append(list, failedDoc{"-", *d.Error})
	}
	return append(list, d.Failed...)
}

// shownID is the number that was asked for as an id; - if it may be a version.
func (q schemaQuery) shownID() string {
	if q.subject == "" && q.id.Number != 0 {
		return strconv.FormatInt(q.id.Number, 10)
	}
	return "-"
}

// compatibility is the level, and whether it is the registry's.
func (s schemaDoc) compatibility() string {
	if s.Compatibility != nil && s.Own != nil && !*s.Own {
		return *s.Compatibility + " (global)"
	}
	return text(s.Compatibility)
}

func (s schemaDoc) title() string {
	if s.Subject == nil {
		if s.ID != nil {
			return s.Cluster + " schema " + number(s.ID)
		}
		return s.Cluster + " schema " + text(s.GUID)
	}
	return s.Cluster + " " + *s.Subject + "@" + number(s.Version)
}

// schemaText shows a text line by line.
func schemaText(title, kind, schema string) output.Table {
	if kind != string(codec.Protobuf) {
		var pretty bytes.Buffer
		if json.Indent(&pretty, []byte(schema), "", "  ") == nil {
			schema = pretty.String()
		}
	} else if text, made := protobuf.Text(schema); made {
		schema, title = text, title+" (stored as a descriptor)"
	}
	t := output.Table{Columns: []output.Column{{Header: title}}}
	schema = strings.ReplaceAll(strings.TrimRight(schema, "\r\n"), "\r\n", "\n")
	for line := range strings.SplitSeq(schema, "\n") {
		t.Rows = append(t.Rows, output.Text(strings.ReplaceAll(line, "\t", "    ")))
	}
	return t
}

// versionsShown lists versions; those that are deleted only if all are wanted.
func versionsShown(versions []versionDoc, all bool) string {
	var words []string
	for _, v := range versions {
		switch {
		case !v.Deleted:
			words = append(words, strconv.Itoa(v.Version))
		case all:
			words = append(words, strconv.Itoa(v.Version)+" (deleted)")
		}
	}
	return dash(strings.Join(words, ","))
}

// versionsText says which versions there are.
func versionsText(versions []versionDoc) string {
	list := versionsShown(versions, true)
	if len(versions) == 1 {
		return "version " + list
	}
	return "versions " + strings.ReplaceAll(list, ",", ", ")
}
