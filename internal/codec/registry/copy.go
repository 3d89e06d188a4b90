package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Place is where records whose schemas are copied come from and go to.
type Place struct {
	From, To string // topics
	Key      bool   // it is about their keys, not their values
}

// subject is what the usual serializers call a topic's subject.
func (p Place) subject(topic string) string {
	if p.Key {
		return topic + "-key"
	}
	return topic + "-value"
}

// Moved is where a schema is in the registry that it was copied to.
type Moved struct {
	ID       int64
	GUID     [16]byte // zero: the registry tells none
	Subjects []string
}

// keepDown is how long a registry counts as down that has not answered a Copier.
const keepDown = 5 * time.Second

// Move makes sure that the schema of an id is in the second registry, with all
// that it refers to, reads it back by its id there, and compares. Its subject is
// that of the topic To where it has that of the topic From in the first
// registry; else it has the same subjects. Several callers may ask for the same;
// what is there is not registered again. An error that a registry does not answer
// is given to all callers of the next seconds: they do not wait one by one.
func (p *Copier) Move(ctx context.Context, id codec.ID, at Place) (Moved, error) {
	if err := p.lately(); err != nil {
		return Moved{}, err
	}
	m, err := p.move(ctx, id, at)
	if _, ok := errors.AsType[*passing](err); ok && ctx.Err() == nil {
		p.mu.Lock()
		p.down, p.downUntil = err, time.Now().Add(keepDown)
		p.mu.Unlock()
	}
	return m, err
}

// lately is why a registry has not answered a moment ago.
func (p *Copier) lately() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.downUntil) {
		return p.down
	}
	return nil
}

func (p *Copier) move(ctx context.Context, id codec.ID, at Place) (m Moved, err error) {
	m.Subjects, err = p.subjects(ctx, id, at)
	if err != nil {
		return m, err
	}
	for i, subject := range m.Subjects {
		n, err := p.Copy(ctx, id, subject)
		if err != nil {
			return m, err
		}
		if i == 0 {
			m.ID = n
		}
	}
	m.GUID, err = p.readBack(ctx, id, m.ID)
	return m, err
}

// subjects are those that a schema is to have in the second registry.
func (p *Copier) subjects(ctx context.Context, id codec.ID, at Place) ([]string, error) {
	uses, err := p.from.usesOf(ctx, id)
	if err != nil {
		return nil, err
	}
	var names []string
	usual := at.subject(at.From)
	for _, u := range uses {
		if withoutContext(u.Subject) == usual {
			return []string{at.subject(at.To)}, nil
		}
		if !slices.Contains(names, u.Subject) {
			names = append(names, u.Subject)
		}
	}
	if len(names) == 0 { // nothing is known of its subjects
		return []string{at.subject(at.To)}, nil
	}
	slices.Sort(names)
	return names, nil
}

// withoutContext takes the context off a subject (:.name:subject).
func withoutContext(subject string) string {
	if rest, ok := strings.CutPrefix(subject, ":."); ok {
		if _, name, ok := strings.Cut(rest, ":"); ok {
			return name
		}
	}
	return subject
}

// usesOf lists where a schema stands; where it was deleted from counts only if
// that is everywhere.
func (c *Client) usesOf(ctx context.Context, id codec.ID) (uses []Use, err error) {
	n := id.Number
	if n == 0 {
		if n, err = c.numberOf(ctx, id); n == 0 || err != nil {
			return nil, err
		}
	}
	about := "schema " + strconv.FormatInt(n, 10)
	err = c.get(ctx, "/schemas/ids/"+strconv.FormatInt(n, 10)+"/versions", about, &uses)
	if len(uses) > 0 || err != nil && !errors.Is(err, ErrNotFound) {
		return uses, err
	}
	return c.Uses(ctx, n)
}

// numberOf returns a number that the schema of a GUID has, which may be in any
// context; 0 if the registry tells none.
func (c *Client) numberOf(ctx context.Context, id codec.ID) (int64, error) {
	var list []struct {
		Context string `json:"context"`
		ID      int64  `json:"id"`
	}
	err := c.get(ctx, "/schemas/guids/"+id.String()+"/ids", name(id), &list)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	for _, x := range list {
		if x.Context == "." || x.Context == "" {
			return x.ID, nil
		}
	}
	return 0, err
}

// readBack compares a schema with what the second registry gives for the id that
// it has there, and returns its GUID.
func (p *Copier) readBack(ctx context.Context, id codec.ID, there int64) (guid [16]byte, err error) {
	want, err := p.from.definition(ctx, id, false)
	if err != nil {
		return guid, err
	}
	s, err := p.to.byID(ctx, codec.ID{Number: there}, false)
	if err != nil {
		return guid, err
	}
	got, err := p.to.resolve(ctx, s, name(codec.ID{Number: there})+" of "+p.to.name, false)
	if err != nil {
		return guid, err
	}
	if what := difference(want, got); what != "" {
		return guid, fault.New(fault.Failed, "%s of %s and %s of %s, which was registered for it, differ in %s",
			name(id), p.from.name, name(codec.ID{Number: there}), p.to.name, what)
	}
	return parseGUID(s.GUID), nil
}

// parseGUID reads a GUID in its usual form; zero if it is none.
func parseGUID(text string) (guid [16]byte) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err == nil && len(b) == len(guid) {
		guid = [16]byte(b)
	}
	return guid
}

// GUIDOf reads a GUID in its usual form; false if it is none.
func GUIDOf(text string) (guid [16]byte, ok bool) {
	guid = parseGUID(text)
	return guid, len(text) == 36 && guid != [16]byte{}
}

// Latest returns the latest version of a subject that is not deleted, without
// what it refers to: as it stands in a list.
func (c *Client) Latest(ctx context.Context, subject string) (*Entry, error) {
	s, err := c.byVersion(ctx, subject, 0, false)
	if err != nil {
		return nil, err
	}
	return &Entry{Subject: s.Subject, Version: s.Version, ID: s.ID, GUID: s.GUID, Definition: codec.Definition{Type: s.schemaType(), Text: s.Text}}, nil
}
