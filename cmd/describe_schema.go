package cmd

import (
	"context"
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
		wg.Go(func() {
			answer, err := ask(ctx, name, clients[i])
			if err != nil {
				err = fault.New(fault.KindOf(err), "%w", err).On(name)
			}
			replies[i] = registryReply[A]{answer, err}
		})
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
		return &schemaDocs{query: q, Error: errorOf(err)}, nil, err
	}
	replies, err := eachRegistry(ctx, view, q.clusters, q.ask)
	if err != nil {
		return nil, nil, err
	}
	doc := &schemaDocs{query: q, count: len(q.clusters)}
	var failed []error
	var lacks []lack
	for i, r := range replies {
		switch name := q.clusters[i]; {
		case r.answer.doc == nil && lacksIt(r.err):
			lacks = append(lacks, lack{name, r.err, r.answer.near, r.answer.more})
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
	if len(doc.Schemas) > 0 || len(lacks) == 0 {
		return doc, failed, nil
	}
	none := q.notFound(view, lacks)
	doc.Error, doc.lacks = errorOf(none), lacks
	if len(failed) == 0 {
		return doc, nil, none
	}
	doc.lacking = fault.New(fault.Partial, "%s; %w", none, someFailed(failed)).WithHint("%s", fault.HintOf(none))
	return doc, failed, nil
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
