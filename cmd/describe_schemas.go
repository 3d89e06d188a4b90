package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/output"
)

func describeSchemaCmds(env *Env) []*cobra.Command {
	return []*cobra.Command{
		describeSub(env, describeWords{use: "schemas [CLUSTER]", short: "List the subjects of every schema registry, or of one"}, takesAtMostOne("CLUSTER"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeSchemas(ctx, o, view, args)
			}, completeClusters(env)),
		describeSub(env, describeWords{use: "schema [CLUSTER/]SUBJECT[@VERSION|@ID]", short: "Show a schema, of every registry that has it or of one"},
			takesOne("the name of a subject", "[CLUSTER/]SUBJECT[@VERSION|@ID]"),
			func(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
				return describeSchema(ctx, o, view, args[0])
			}, completeSubjects(env)),
	}
}

// subjectDoc is a subject of one registry.
type subjectDoc struct {
	Cluster  string       `json:"cluster"`
	Subject  string       `json:"subject"`
	Deleted  bool         `json:"deleted"` // all its versions are
	Versions []versionDoc `json:"versions"`
	// Of the latest version; null if all are deleted.
	ID    *int64  `json:"id"`
	Type  *string `json:"type"`
	Error *string `json:"error"`
}

// subjectsDoc lists subjects.
type subjectsDoc struct {
	Subjects []subjectDoc `json:"subjects"`
	Failed   []failedDoc  `json:"failed"`

	count int
}

func (d *subjectsDoc) asked() int { return d.count }

func describeSchemas(ctx context.Context, o *describeOptions, view *metadata.View, args []string) (document, []error, error) {
	if o.offline {
		return nil, nil, errOffline()
	}
	names, err := registryNames(view, args)
	if err != nil {
		return &subjectsDoc{Failed: []failedDoc{{strings.Join(args, ""), err.Error()}}}, nil, err
	}
	l := subjectLister{full: o.output != "table", slow: slowList, tell: o.env.run.notices.Notef}
	replies, err := eachRegistry(ctx, view, names, l.list)
	if err != nil {
		return nil, nil, err
	}
	doc := &subjectsDoc{count: len(names)}
	var failed []error
	for i, r := range replies {
		doc.Subjects = append(doc.Subjects, r.answer...)
		if r.err == nil {
			continue
		}
		failed = append(failed, r.err)
		if len(r.answer) == 0 {
			doc.Failed = append(doc.Failed, failedDoc{names[i], r.err.Error()})
		}
	}
	return doc, failed, nil
}

func (d *subjectsDoc) tables(wide bool) []output.Table {
	t := output.Table{Columns: []output.Column{{Header: "CLUSTER"}, {Header: "SUBJECT"}, {Header: "VERSIONS"}, {Header: "ID", Right: true}, {Header: "TYPE"}}}
	if wide {
		t.Columns = append(t.Columns, output.Column{Header: "DELETED"})
	}
	t.Columns = append(t.Columns, output.Column{Header: "ERROR"})
	for _, s := range d.Subjects {
		if s.Deleted && !wide {
			continue
		}
		row := output.Text(s.Cluster, s.Subject, versionsShown(s.Versions, wide), number(s.ID), text(s.Type))
		if wide {
			row = append(row, output.Cell{Text: yesNo(s.Deleted)})
		}
		t.Rows = append(t.Rows, append(row, trouble(s.Error)))
	}
	for _, f := range d.Failed {
		row := output.Text(f.Cluster, "-", "-", "-", "-")
		if wide {
			row = append(row, output.Cell{Text: "-"})
		}
		t.Rows = append(t.Rows, append(row, trouble(&f.Error)))
	}
	return []output.Table{t}
}
