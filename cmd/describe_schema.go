package cmd

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// schemaDoc is a version of a subject, or the schema of an id, in one registry.
type schemaDoc struct {
	Cluster string  `json:"cluster"`
	Subject *string `json:"subject"` // null: an id was asked for
	Version *int    `json:"version"`
	ID      *int64  `json:"id"`
	GUID    *string `json:"guid"`
	Type    string  `json:"type"` // AVRO, PROTOBUF, JSON
	Deleted bool    `json:"deleted"`
	// Compatibility is the level that holds for new versions of the subject.
	Compatibility *string         `json:"compatibility"`
	Own           *bool           `json:"compatibility_own"` // false: the subject has none, and that of the registry holds
	Versions      []versionDoc    `json:"versions"`          // of the subject
	Subjects      []registry.Use  `json:"subjects"`          // that have the schema; of an id that was asked for
	References    []referencesDoc `json:"references"`        // all that it needs, behind what they need themselves
	Schema        string          `json:"schema"`            // as it is stored
	Error         *string         `json:"error"`             // of what else is told
}

type versionDoc struct {
	Version int  `json:"version"`
	Deleted bool `json:"deleted"`
}

type referencesDoc struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
	Schema  string `json:"schema"`
}

// schemaQuery is what is asked of registries.
type schemaQuery struct {
	clusters []string
	named    bool     // the cluster was
	subject  string   // empty: the id alone
	number   int      // a version, or an id; 0: the latest version
	id       codec.ID // without a subject
}

// String is what was asked for, in messages.
func (q schemaQuery) String() string {
	switch {
	case q.subject == "":
		return "schema " + q.id.String()
	case q.number == 0:
		return "subject " + q.subject
	}
	return "subject " + q.subject + " with a version or schema " + strconv.Itoa(q.number)
}

// parseSchema reads [CLUSTER/]SUBJECT[@VERSION|@ID] or [CLUSTER/]@ID. Subjects
// may have a slash: what stands before it is a cluster only if there is such a
// one.
func parseSchema(view *metadata.View, word string) (q schemaQuery, err error) {
	q.subject = word
	if name, rest, ok := strings.Cut(word, "/"); ok && view.Cluster(name) != nil {
		q.clusters, q.named, q.subject = []string{name}, true, rest
	}
	if at := strings.LastIndexByte(q.subject, '@'); at >= 0 {
		subject, which := q.subject[:at], q.subject[at+1:]
		switch n, err := strconv.Atoi(which); {
		case which == "latest" && subject != "":
			q.subject = subject
		case err == nil && n > 0:
			q.subject, q.number, q.id = subject, n, codec.ID{Number: int64(n)}
		case subject == "":
			guid, ok := registry.GUIDOf(which)
			if !ok {
				return q, fault.New(fault.Usage, "@%s is no schema id", which).WithHint("@7, or @ and a GUID; SUBJECT@latest and SUBJECT@3 are versions")
			}
			q.subject, q.id = "", codec.ID{GUID: guid}
		}
	}
	if q.subject == "" && q.id == (codec.ID{}) {
		return q, fault.New(fault.Usage, "%s names no subject", word).WithHint("[CLUSTER/]SUBJECT[@VERSION|@ID]; kcm describe schemas lists them")
	}
	return q, nil
}

// registryNames are the clusters whose registries are asked: those named, or all
// that have one.
func registryNames(view *metadata.View, named []string) ([]string, error) {
	for _, name := range named {
		if err := mustCluster(view, name); err != nil {
			return nil, err
		}
		if view.Cluster(name).SchemaRegistry == nil {
			return nil, fault.New(fault.Usage, "%s", lacksRegistry(name)).WithHint("%s", registryHint(name))
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	for _, c := range view.Clusters {
		if c.SchemaRegistry != nil {
			named = append(named, c.Name)
		}
	}
	if len(named) == 0 {
		return nil, fault.New(fault.Usage, "no cluster has a schema registry").WithHint("%s", registryHint("CLUSTER"))
	}
	return named, nil
}

// registryReply is what came of asking a registry.
type registryReply[A any] struct {
	answer A
	err    error
}

// eachRegistry asks the registries of clusters at once. The replies are in the
// order of names. The error is about settings that are wrong for one.
func eachRegistry[A any](ctx context.Context, view *metadata.View, names []string, ask func(context.Context, string, *registry.Client) (A, error)) ([]registryReply[A], error) {
	clients := make([]*registry.Client, len(names))
	defer func() {
		for _, c := range clients {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i, name := range names {
		var err error
		if clients[i], err = (&schemas{ctx: ctx}).connect(view.Cluster(name)); err != nil {
			return nil, err
		}
	}
	replies := make([]registryReply[A], len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { replies[i].answer, replies[i].err = ask(ctx, name, clients[i]) })
	}
	wg.Wait()
	return replies, ctx.Err()
}

// errOffline refuses --offline for what the metadata does not have.
func errOffline() error {
	return fault.New(fault.Usage, "--offline: schemas are known to the registries only")
}

func describeSchema(ctx context.Context, o *describeOptions, view *metadata.View, word string) (document, []error, error) {
	if o.offline {
		return nil, nil, errOffline()
	}
	q, err := parseSchema(view, word)
	if err != nil {
		return nil, nil, err
	}
	if q.clusters, err = registryNames(view, q.clusters); err != nil {
		return &schemaDocs{Error: errorOf(err)}, nil, err
	}
	replies, err := eachRegistry(ctx, view, q.clusters, q.ask)
	if err != nil {
		return nil, nil, err
	}
	doc := &schemaDocs{query: q.String(), count: len(q.clusters)}
	var failed []error
	var lacking []error // of registries that do not have it
	var without []string
	var near []string
	for i, r := range replies {
		switch {
		case errors.Is(r.err, registry.ErrNotFound) && r.answer.doc == nil:
			lacking, without = append(lacking, r.err), append(without, q.clusters[i])
			near = append(near, r.answer.near...)
			continue
		case r.err != nil:
			failed = append(failed, r.err)
		}
		if r.answer.doc != nil {
			doc.Schemas = append(doc.Schemas, *r.answer.doc)
		} else {
			doc.Failed = append(doc.Failed, failedDoc{q.clusters[i], r.err.Error()})
		}
	}
	if len(doc.Schemas) > 0 || len(lacking) == 0 {
		return doc, failed, nil
	}
	slices.Sort(near)
	none := q.notFound(view, lacking, slices.Compact(near))
	doc.Error = errorOf(none)
	if len(failed) == 0 {
		return doc, nil, none
	}
	partly := fault.New(fault.Partial, "%w on %s; %w", none, strings.Join(without, ", "), someFailed(failed))
	if hint := fault.HintOf(none); hint != "" {
		partly = partly.WithHint("%s", hint)
	}
	doc.lacking = partly
	return doc, failed, nil
}

// notFound is the error for what no registry has.
func (q schemaQuery) notFound(view *metadata.View, errs []error, near []string) error {
	err := fault.New(fault.Failed, "there is no %s", q)
	if len(errs) == 1 {
		err = fault.New(fault.Failed, "%w", errs[0])
	}
	if name, rest, ok := strings.Cut(q.subject, "/"); ok && !q.named {
		names, _ := clusterNames(view, nil)
		if c := fault.Nearest(name, names); c != "" {
			return err.WithHint("there is no cluster %s; did you mean %s/%s?", name, c, rest)
		}
	}
	if len(near) > 0 {
		return err.WithHint("did you mean %s?", joinWords(near))
	}
	return err
}

// schemaAnswer is what a registry says.
type schemaAnswer struct {
	doc  *schemaDoc
	near []string // the names nearest to a subject that is not there
}

// ask asks one registry. An error may come with a document, which lacks
// something then.
func (q schemaQuery) ask(ctx context.Context, name string, c *registry.Client) (a schemaAnswer, err error) {
	if q.subject == "" {
		a.doc, err = askID(ctx, name, c, q.id)
		return a, err
	}
	versions, err := c.Versions(ctx, q.subject)
	if err != nil {
		if errors.Is(err, registry.ErrNotFound) {
			a.near = nearSubjects(ctx, c, q.subject)
		}
		return a, err
	}
	if q.number > 0 && !slices.ContainsFunc(versions, func(v registry.Version) bool { return v.Number == q.number }) {
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
	return nil, fault.New(fault.Failed, "subject %s of %s has neither a version nor a schema %d", q.subject, c, q.number).
		WithHint("it has %s", versionsText(versionDocs(versions)))
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

func newSchemaDoc(name string, e *registry.Entry) *schemaDoc {
	d := &schemaDoc{
		Cluster: name, Subject: optional(e.Subject), GUID: optional(e.GUID), Type: string(e.Definition.Type),
		Deleted: e.Deleted, Schema: e.Definition.Text,
	}
	if e.Version > 0 {
		d.Version = &e.Version
	}
	if e.ID > 0 {
		d.ID = &e.ID
	}
	for _, r := range e.Definition.References {
		d.References = append(d.References, referencesDoc{r.Name, r.Subject, r.Version, r.Text})
	}
	return d
}

func versionDocs(versions []registry.Version) (docs []versionDoc) {
	for _, v := range versions {
		docs = append(docs, versionDoc{v.Number, v.Deleted})
	}
	return docs
}

// mostNear is how many subjects are offered for one that is not there.
const mostNear = 3

// nearSubjects are the names nearest to that of a subject that is not there: a
// typing slip, or the topic without -value or -key.
func nearSubjects(ctx context.Context, c *registry.Client, subject string) []string {
	list, err := c.Subjects(ctx)
	if err != nil {
		return nil
	}
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
