package cmd

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/codec/registry"
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
	replies, err := eachRegistry(ctx, view, names, listSubjects)
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

// atOnce is how many subjects of one registry are asked for at the same time.
const atOnce = 8

// listSubjects lists the subjects of a registry. Its error is the first trouble,
// behind which nothing more is asked.
func listSubjects(ctx context.Context, name string, c *registry.Client) ([]subjectDoc, error) {
	list, err := c.Subjects(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	docs := make([]subjectDoc, len(list))
	var first error
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(atOnce, len(list)) {
		wg.Go(func() {
			for i := range next {
				docs[i] = subjectDoc{Cluster: name, Subject: list[i].Name, Deleted: list[i].Deleted}
				err := docs[i].fill(ctx, c)
				if err == nil {
					continue
				}
				mu.Lock()
				if first == nil {
					first = err
					stop()
				}
				docs[i].Error = errorOf(first)
				mu.Unlock()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	slices.SortFunc(docs, func(a, b subjectDoc) int { return strings.Compare(a.Subject, b.Subject) })
	return docs, lessen(first, len(list) > 0)
}

func (d *subjectDoc) fill(ctx context.Context, c *registry.Client) error {
	versions, err := c.Versions(ctx, d.Subject)
	if err != nil {
		return err
	}
	d.Versions = versionDocs(versions)
	if d.Deleted {
		return nil
	}
	e, err := c.Latest(ctx, d.Subject)
	if err == nil {
		d.ID, d.Type = &e.ID, optional(string(e.Definition.Type))
	}
	return err
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
