package registry

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Register makes sure that a schema is a version of a subject, and returns its
// id. What the schema refers to is registered before it under the subjects that
// its references name; each text is given all those before it as references,
// since a Definition does not tell which of them it needs: Copy keeps that.
// Compatibility levels are not touched.
func (c *Client) Register(ctx context.Context, subject string, d codec.Definition) (int64, error) {
	var refs []storedReference
	for _, r := range d.References {
		s := &stored{Type: wireType(d.Type), Text: r.Text, References: refs}
		_, version, err := c.register(ctx, r.Subject, s)
		if err != nil {
			return 0, err
		}
		refs = append(refs[:len(refs):len(refs)], storedReference{Name: r.Name, Subject: r.Subject, Version: version})
	}
	id, _, err := c.register(ctx, subject, &stored{Type: wireType(d.Type), Text: d.Text, References: refs})
	return id, err
}

// Copier copies schemas from one registry to another. It remembers what it
// copied and is safe for use by several goroutines, which it lets do so in turn.
type Copier struct {
	from, to *Client
	mu       sync.Mutex
	done     map[copied]int64
	versions map[textKey]int // of the first registry → in the second

	down      error // why a registry did not answer, and for whom that holds
	downUntil time.Time
}

type copied struct {
	id      codec.ID
	subject string
}

// NewCopier returns a copier between two registries.
func NewCopier(from, to *Client) *Copier {
	return &Copier{from: from, to: to, done: map[copied]int64{}, versions: map[textKey]int{}}
}

// Copy makes sure that the schema of an id of the one registry is a version of a
// subject of the other, and returns its id there. What it refers to is
// registered before it, under the subjects of the first registry; the versions
// in the references become those of the second. Compatibility levels are not
// touched. Errors are not remembered.
func (p *Copier) Copy(ctx context.Context, id codec.ID, subject string) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := copied{id: id, subject: subject}
	if n, ok := p.done[key]; ok {
		return n, nil
	}
	s, err := p.from.byID(ctx, id, false)
	if err != nil {
		return 0, err
	}
	// All of it must be there, without a circle, before anything is written.
	if _, err := p.from.resolve(ctx, s, name(id)+" of "+p.from.name, false); err != nil {
		return 0, err
	}
	n, _, err := p.register(ctx, subject, s)
	if err == nil {
		p.done[key] = n
	}
	return n, err
}

// register registers s after what it refers to.
func (p *Copier) register(ctx context.Context, subject string, s *stored) (id int64, version int, err error) {
	t := &stored{Type: s.Type, Text: s.Text, Metadata: s.Metadata, RuleSet: s.RuleSet}
	for _, ref := range s.References {
		version, err := p.reference(ctx, ref)
		if err != nil {
			return 0, 0, err
		}
		t.References = append(t.References, storedReference{Name: ref.Name, Subject: ref.Subject, Version: version})
	}
	return p.to.register(ctx, subject, t)
}

// reference returns the version that a reference has in the second registry,
// registering it if needed.
func (p *Copier) reference(ctx context.Context, ref storedReference) (int, error) {
	key := textKey{subject: ref.Subject, version: ref.Version}
	if v, ok := p.versions[key]; ok {
		return v, nil
	}
	s, err := p.from.text(ctx, key, false)
	if err != nil {
		return 0, err
	}
	_, version, err := p.register(ctx, ref.Subject, s)
	if err == nil {
		p.versions[key] = version
	}
	return version, err
}

// register returns the id and version of s in subject, registering it if it is
// not there.
func (c *Client) register(ctx context.Context, subject string, s *stored) (id int64, version int, err error) {
	got, err := c.lookUp(ctx, subject, s)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return got.ID, got.Version, err
	}
	q := question{method: http.MethodPost, path: subjectPath(subject) + "/versions", body: s, about: "subject " + subject, registers: subject}
	if err := c.ask(ctx, q, &struct{}{}); err != nil {
		return 0, 0, c.refusal(subject, err)
	}
	got, err = c.lookUp(ctx, subject, s)
	return got.ID, got.Version, err
}

// lookUp finds s among the versions of subject.
func (c *Client) lookUp(ctx context.Context, subject string, s *stored) (stored, error) {
	var got stored
	q := question{method: http.MethodPost, path: subjectPath(subject), body: s, about: "the schema in subject " + subject, reads: true}
	if err := c.sentence(c.ask(ctx, q, &got)); err != nil {
		return stored{}, err
	}
	if got.ID <= 0 || got.Version <= 0 {
		return stored{}, fault.New(fault.Failed, "%s answers without an id for %s", c.name, q.about)
	}
	return got, nil
}

// The registry's codes for schemas that it does not take.
const (
	codeInvalid  = 42201
	codeReadOnly = 42205
)

// refusal words what a registry says against a new version.
func (c *Client) refusal(subject string, err error) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	why := "answers " + r.words()
	switch {
	case r.status == http.StatusConflict:
		why = "finds the schema incompatible with the earlier versions: " + r.words()
	case r.code == codeInvalid:
		why = "finds the schema invalid: " + r.words()
	case r.code == codeReadOnly:
		why = "takes no new versions: " + r.words()
	}
	return fault.New(fault.Refused, "subject %s cannot be registered: %s %s", subject, c.name, why)
}

// wireType is how a type is sent: registries before schema types know Avro only.
func wireType(t codec.SchemaType) string {
	if t == codec.Avro {
		return ""
	}
	return string(t)
}
