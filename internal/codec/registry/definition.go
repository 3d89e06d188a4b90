package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	maxDepth      = 64       // of references that have references
	maxReferences = 1000     // of one schema
	maxText       = 32 << 20 // bytes of one schema with its references
)

// stored is a schema as a registry gives and takes it.
type stored struct {
	Subject    string            `json:"subject,omitempty"`
	Version    int               `json:"version,omitempty"`
	ID         int64             `json:"id,omitempty"`
	GUID       string            `json:"guid,omitempty"`
	Type       string            `json:"schemaType,omitempty"` // left out for Avro
	Text       string            `json:"schema"`
	References []storedReference `json:"references,omitempty"`
	// What else Confluent's registry keeps with a schema; only handed on.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	RuleSet  json.RawMessage `json:"ruleSet,omitempty"`
}

type storedReference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

func (s *stored) schemaType() codec.SchemaType {
	if s.Type == "" {
		return codec.Avro
	}
	return codec.SchemaType(strings.ToUpper(s.Type))
}

// compiled asks for an id's schema with all that it refers to and compiles it;
// once: without another try of what fails.
func (c *Client) compiled(ctx context.Context, id codec.ID, once bool) (codec.Schema, error) {
	d, err := c.definition(ctx, id, once)
	if err != nil {
		return nil, err
	}
	s, err := c.compile(d)
	if err != nil {
		e := fault.New(fault.Failed, "%s of %s does not compile: %w", name(id), c.name, err)
		e.Err = fmt.Errorf("%w: %w", errCompile, err)
		return nil, e
	}
	return s, nil
}

// Definition returns the text of an id's schema with all that it refers to. It
// remembers nothing but the references.
func (c *Client) Definition(ctx context.Context, id codec.ID) (codec.Definition, error) {
	return c.definition(ctx, id, false)
}

func (c *Client) definition(ctx context.Context, id codec.ID, once bool) (codec.Definition, error) {
	s, err := c.byID(ctx, id, once)
	if err != nil {
		return codec.Definition{}, err
	}
	return c.resolve(ctx, s, name(id)+" of "+c.addresses[c.current.Load()].shown, once)
}

// byID asks for the schema of an id, by its number or its GUID.
func (c *Client) byID(ctx context.Context, id codec.ID, once bool) (*stored, error) {
	q := question{method: http.MethodGet, path: "/schemas/ids/" + id.String(), about: name(id), once: once}
	if id.Number == 0 {
		q.path = "/schemas/guids/" + id.String()
		q.unusual = "has no look-up of schemas by GUID (Confluent's has one since 8.0)"
	}
	return c.stored(ctx, q)
}

// byVersion asks for a version of a subject, deleted ones too; 0 is the latest.
func (c *Client) byVersion(ctx context.Context, subject string, version int, once bool) (*stored, error) {
	path := subjectPath(subject) + "/versions/latest"
	about := "the latest version of subject " + oneLine(subject)
	if version > 0 {
		path = subjectPath(subject) + "/versions/" + strconv.Itoa(version) + "?deleted=true"
		about = "version " + strconv.Itoa(version) + " of subject " + oneLine(subject)
	}
	return c.stored(ctx, question{method: http.MethodGet, path: path, about: about, once: once})
}

func (c *Client) stored(ctx context.Context, q question) (*stored, error) {
	var s struct {
		stored
		Schema *string `json:"schema"`
	}
	if err := c.ask(ctx, q, &s); err != nil {
		return nil, c.sentence(err)
	}
	if s.Schema == nil {
		return nil, fault.New(fault.Failed, "%s answers without a schema for %s", c.name, q.about)
	}
	s.Text = *s.Schema
	return &s.stored, nil
}

// resolve fetches what a schema refers to, itself or through others.
func (c *Client) resolve(ctx context.Context, s *stored, from string, once bool) (codec.Definition, error) {
	r := resolution{c: c, once: once, of: from, size: len(s.Text), seen: map[string]bool{}}
	err := r.add(ctx, s.References)
	return codec.Definition{Type: s.schemaType(), Text: s.Text, Name: from, References: r.all}, err
}

// resolution is one schema's references as they are found.
type resolution struct {
	c    *Client
	once bool
	of   string
	all  []codec.Reference
	seen map[string]bool // by name: the first text of a name counts
	path []textKey       // from the schema to what is looked at
	size int
}

func (r *resolution) add(ctx context.Context, refs []storedReference) error {
	for _, ref := range refs {
		key := textKey{subject: ref.Subject, version: ref.Version}
		if slices.Contains(r.path, key) {
			return fault.New(fault.Failed, "the references of %s go in a circle: %s", r.of, r.circle(key))
		}
		if r.seen[ref.Name] {
			continue
		}
		r.seen[ref.Name] = true
		if len(r.path) >= maxDepth || len(r.seen) > maxReferences {
			return fault.New(fault.Failed, "%s has too many references", r.of)
		}
		s, err := r.c.text(ctx, key, r.once)
		if err != nil {
			return r.missing(ref, err)
		}
		if r.size += len(s.Text); r.size > maxText {
			return fault.New(fault.Failed, "%s is larger than %d MiB with its references", r.of, maxText>>20)
		}
		r.path = append(r.path, key)
		if err := r.add(ctx, s.References); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		r.all = append(r.all, codec.Reference{Name: ref.Name, Subject: ref.Subject, Version: ref.Version, Text: s.Text})
	}
	return nil
}

// missing says for what a reference that is not there is needed.
func (r *resolution) missing(ref storedReference, err error) error {
	e, ok := err.(*fault.Error)
	if !ok || e.Err != ErrNotFound { //nolint:errorlint // only the plain answer is worded anew
		return err
	}
	e = fault.New(fault.Failed, "%s refers to %s, version %d of subject %s, which is not in %s",
		r.of, oneLine(ref.Name), ref.Version, oneLine(ref.Subject), r.c.name)
	e.Err = fmt.Errorf("%w: %w", ErrReference, ErrNotFound)
	return e
}

func (r *resolution) circle(back textKey) string {
	var names []string
	for _, k := range append(slices.Clone(r.path), back) {
		names = append(names, fmt.Sprintf("%s@%d", oneLine(k.subject), k.version))
	}
	return strings.Join(names, " → ")
}

// text returns what a reference is to, asked for once.
func (c *Client) text(ctx context.Context, key textKey, once bool) (*stored, error) {
	return c.texts.get(ctx, key, func() (*stored, error) {
		return c.byVersion(ctx, key.subject, key.version, once)
	})
}

// texts are the schemas that others refer to, each asked for once.
type texts struct {
	mu    sync.Mutex
	byKey map[textKey]*text
}

type textKey struct {
	subject string
	version int
}

// text is one request for a version of a subject, under way or over.
type text struct {
	done chan struct{} // closed at its end; what follows is set before that
	s    *stored
	err  error
}

// get returns a text, by fetch if nobody else is about it. Errors are not kept.
func (t *texts) get(ctx context.Context, key textKey, fetch func() (*stored, error)) (*stored, error) {
	for {
		x, mine := t.begin(key)
		if mine {
			x.s, x.err = fetch()
			t.end(key, x)
			return x.s, x.err
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return fetch() // says in its words that time is up
		}
		if _, again := errors.AsType[*passing](x.err); !again || ctx.Err() != nil {
			return x.s, x.err
		}
	}
}

func (t *texts) begin(key textKey) (x *text, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.byKey[key]; x != nil {
		return x, false
	}
	if t.byKey == nil {
		t.byKey = map[textKey]*text{}
	}
	x = &text{done: make(chan struct{})}
	t.byKey[key] = x
	return x, true
}

func (t *texts) end(key textKey, x *text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.err != nil {
		delete(t.byKey, key)
	}
	close(x.done)
}

// name is what messages call an id: schema 7.
func name(id codec.ID) string { return "schema " + id.String() }
