package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// schemaAnswer is what a registry says.
type schemaAnswer struct {
	doc  *schemaDoc
	near []string // the names nearest to a subject that is not there
	more bool     // the error says more than that it is not there
}

// ask asks one registry. An error may come with a document, which lacks
// something then.
func (q schemaQuery) ask(ctx context.Context, name string, c *registry.Client) (a schemaAnswer, err error) {
	if q.subject == "" {
		a.doc, err = askID(ctx, name, c, q.id)
		a.more = errors.Is(err, registry.ErrNoLookup)
		return a, err
	}
	versions, err := c.Versions(ctx, q.subject)
	switch {
	case err == nil && len(versions) == 0, errors.Is(err, registry.ErrNotFound):
		return q.askGone(ctx, name, c)
	case err != nil:
		return a, err
	}
	if q.number > 0 && !slices.ContainsFunc(versions, func(v registry.Version) bool { return v.Number == q.number }) {
		a.more = true
		a.doc, err = q.askNumber(ctx, name, c, versions)
	} else {
		a.doc, err = q.askVersion(ctx, name, c, versions, q.number)
	}
	return a, err
}

// askNumber takes the number for an id, since it is no version.
func (q schemaQuery) askNumber(ctx context.Context, name string, c *registry.Client, versions []registry.Version) (*schemaDoc, error) {
	uses, err := c.Uses(ctx, q.id.Number)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return nil, err
	}
	for _, u := range uses {
		if u.Subject == q.subject {
			return q.askVersion(ctx, name, c, versions, u.Version)
		}
	}
	return nil, lackError("subject %s of %s has neither a version nor a schema %d", q.subject, c, q.number).
		WithHint("%s has %s", name, versionsText(versionDocs(versions)))
}

// askGone is for a subject without versions: the registry does not have it, or
// lists it only because it was deleted.
func (q schemaQuery) askGone(ctx context.Context, name string, c *registry.Client) (a schemaAnswer, err error) {
	list, err := c.Subjects(ctx)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return a, err
	}
	i := slices.IndexFunc(list, func(s registry.Subject) bool { return s.Name == q.subject })
	if i < 0 {
		a.near = nearSubjects(list, q.subject)
		return a, lackError("subject %s is not in %s", q.subject, c)
	}
	a.more = true
	e, err := c.Remains(ctx, q.subject, q.number)
	switch {
	case err == nil:
		e.Deleted = list[i].Deleted
		a.doc = newSchemaDoc(name, e)
		return a, nil
	case !errors.Is(err, registry.ErrNotFound):
		return a, err
	case !list[i].Deleted:
		return a, lackError("subject %s of %s has no versions", q.subject, c)
	}
	return a, lackError("subject %s of %s is deleted, and the registry gives its versions no more", q.subject, c)
}

// lackError is about what a registry does not have.
func lackError(format string, args ...any) *fault.Error {
	err := fault.New(fault.Failed, format, args...)
	err.Err = registry.ErrNotFound
	return err
}

// lack is a registry without what was asked for.
type lack struct {
	cluster string
	err     error
	near    []string // the names nearest to a subject that is not there
	more    bool     // the error says more than that it is not there
}

// lacksIt reports that a registry does not have what was asked for, which is no
// failure: others may. What a schema that is there refers to is another matter.
func lacksIt(err error) bool {
	return errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrReference) || errors.Is(err, registry.ErrNoLookup)
}

// notFound is the error for what no registry has.
func (q schemaQuery) notFound(view *metadata.View, lacks []lack) error {
	var names, texts, near, hints []string
	for _, l := range lacks {
		names, near = append(names, l.cluster), append(near, l.near...)
		texts = append(texts, l.err.Error())
		if hint := fault.HintOf(l.err); hint != "" {
			hints = append(hints, hint)
		}
	}
	err := fault.New(fault.Failed, "there is no %s", q)
	switch {
	case len(lacks) == 1:
		err = fault.New(fault.Failed, "%w", lacks[0].err)
	case slices.ContainsFunc(lacks, func(l lack) bool { return l.more }):
		err = fault.New(fault.Failed, "%s", strings.Join(texts, "; "))
	case len(lacks) < len(q.clusters):
		err = fault.New(fault.Failed, "there is no %s on %s", q, strings.Join(names, ", "))
	}
	if name, rest, ok := strings.Cut(q.subject, "/"); ok && !q.named {
		all, _ := clusterNames(view, nil)
		if c := fault.Nearest(name, all); c != "" {
			return err.WithHint("there is no cluster %s; did you mean %s/%s?", name, c, rest)
		}
	}
	slices.Sort(near)
	if near = slices.Compact(near); len(near) > 0 {
		hints = append(hints, "did you mean "+joinWords(near)+"?")
	}
	return err.WithHint("%s", strings.Join(hints, "; "))
}

// askVersion asks for a version of the subject; 0 is the latest.
func (q schemaQuery) askVersion(ctx context.Context, name string, c *registry.Client, versions []registry.Version, version int) (*schemaDoc, error) {
	alive := func(v registry.Version) bool { return !v.Deleted }
	if version == 0 && len(versions) > 0 && !slices.ContainsFunc(versions, alive) {
		version = versions[len(versions)-1].Number // all are deleted
	}
	e, err := c.Entry(ctx, q.subject, version)
	if err != nil {
		return nil, err
	}
	d := newSchemaDoc(name, e)
	d.Versions = versionDocs(versions)
	level, err := c.Compatibility(ctx, q.subject)
	if err != nil {
		d.Error = errorOf(err)
		return d, fault.New(fault.Partial, "%w", err)
	}
	own := !level.Global
	d.Compatibility, d.Own = &level.Level, &own
	return d, nil
}

// askID asks for the schema of an id, wherever it stands.
func askID(ctx context.Context, name string, c *registry.Client, id codec.ID) (*schemaDoc, error) {
	e, err := c.EntryByID(ctx, id)
	if err != nil {
		return nil, err
	}
	d := newSchemaDoc(name, e)
	if id.Number == 0 {
		return d, nil
	}
	d.Subjects, err = c.Uses(ctx, id.Number)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		d.Error = errorOf(err)
		return d, fault.New(fault.Partial, "%w", err)
	}
	return d, nil
}

// mostNear is how many subjects are offered for one that is not there.
const mostNear = 3

// nearSubjects are the names nearest to that of a subject that is not there: a
// typing slip, or the topic without -value or -key.
func nearSubjects(list []registry.Subject, subject string) []string {
	var names, of []string
	for _, s := range list {
		names = append(names, s.Name)
		if s.Name == subject+"-value" || s.Name == subject+"-key" {
			of = append(of, s.Name)
		}
	}
	if near := fault.Nearest(subject, names); near != "" && !slices.Contains(of, near) {
		of = append(of, near)
	}
	return of[:min(len(of), mostNear)]
}
