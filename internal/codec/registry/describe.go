package registry

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Subject is a subject of a registry.
type Subject struct {
	Name    string
	Deleted bool // but still there, until it is deleted for good
}

// Version is one version of a subject.
type Version struct {
	Number  int
	Deleted bool // but still there, until it is deleted for good
}

// Entry is a version of a subject with its text.
type Entry struct {
	Subject    string
	Version    int
	ID         int64
	GUID       string // empty if the registry tells none
	Definition codec.Definition
	// References are what the text itself refers to; Definition.References are
	// all that it needs.
	References []codec.Reference
	Deleted    bool
}

// Use is a place where a schema stands.
type Use struct {
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// Compatibility is how new versions of a subject have to go with earlier ones.
type Compatibility struct {
	Level  string // as the registry names it: BACKWARD, FULL_TRANSITIVE, NONE
	Global bool   // the subject has none of its own
}

// Subjects lists all subjects in the registry's order, deleted ones too.
func (c *Client) Subjects(ctx context.Context) ([]Subject, error) {
	return both(ctx, c, "/subjects", "subjects", func(name string, deleted bool) Subject {
		return Subject{Name: name, Deleted: deleted}
	})
}

// Versions lists the versions of a subject, deleted ones too.
func (c *Client) Versions(ctx context.Context, subject string) ([]Version, error) {
	return both(ctx, c, subjectPath(subject)+"/versions", "subject "+subject, func(n int, deleted bool) Version {
		return Version{Number: n, Deleted: deleted}
	})
}

// AliveSubjects lists the subjects that are not deleted.
func (c *Client) AliveSubjects(ctx context.Context) ([]Subject, error) {
	var names []string
	err := c.get(ctx, "/subjects", "subjects", &names)
	list := make([]Subject, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return list, err
}

// AliveVersions lists the versions of a subject that are not deleted.
func (c *Client) AliveVersions(ctx context.Context, subject string) ([]Version, error) {
	var numbers []int
	err := c.get(ctx, subjectPath(subject)+"/versions", "subject "+oneLine(subject), &numbers)
	list := make([]Version, len(numbers))
	for i, n := range numbers {
		list[i].Number = n
	}
	return list, err
}

// VersionsOf is Versions for a subject of Subjects whose latest version that is
// not deleted is known: what follows from that is not asked for.
func (c *Client) VersionsOf(ctx context.Context, s Subject, latest int) ([]Version, error) {
	var all []int
	path, about := subjectPath(s.Name)+"/versions", "subject "+oneLine(s.Name)
	if err := c.get(ctx, path+"?deleted=true", about, &all); err != nil {
		if s.Deleted && errors.Is(err, ErrNotFound) { // it is listed, and that is all
			return nil, nil
		}
		return nil, err
	}
	open := false // whether a version is deleted has to be asked
	list := make([]Version, len(all))
	for i, n := range all {
		list[i] = Version{Number: n, Deleted: s.Deleted || n > latest}
		open = open || !s.Deleted && n < latest
	}
	if !open {
		return list, nil
	}
	alive, err := c.AliveVersions(ctx, s.Name)
	for i := range list {
		list[i].Deleted = !slices.Contains(alive, Version{Number: list[i].Number})
	}
	return list, err
}

// both lists what is there with and without what is deleted.
func both[N comparable, T any](ctx context.Context, c *Client, path, about string, item func(N, bool) T) ([]T, error) {
	var all, alive []N
	if err := c.get(ctx, path+"?deleted=true", about, &all); err != nil {
		return nil, err
	}
	err := c.get(ctx, path, about, &alive)
	if err != nil && !errors.Is(err, ErrNotFound) { // a subject all of whose versions are deleted
		return nil, err
	}
	items := make([]T, 0, len(all))
	for _, n := range all {
		items = append(items, item(n, !slices.Contains(alive, n)))
	}
	return items, nil
}

// Entry returns a version of a subject, deleted ones too; 0 is the latest one
// that is not deleted.
func (c *Client) Entry(ctx context.Context, subject string, version int) (*Entry, error) {
	s, err := c.byVersion(ctx, subject, version, false)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(ctx, s, "subject "+s.Subject+" version "+strconv.Itoa(s.Version))
	if err != nil || version == 0 {
		return e, err
	}
	versions, err := c.Versions(ctx, subject)
	for _, v := range versions {
		if v.Number == s.Version {
			e.Deleted = v.Deleted
		}
	}
	return e, err
}

// Remains returns what is still given of a subject that was deleted: a version,
// or with 0 the latest one. Not every registry gives something.
func (c *Client) Remains(ctx context.Context, subject string, version int) (*Entry, error) {
	if version > 0 {
		s, err := c.byVersion(ctx, subject, version, false)
		if err != nil {
			return nil, err
		}
		return c.entry(ctx, s, "subject "+s.Subject+" version "+strconv.Itoa(s.Version))
	}
	s, err := c.stored(ctx, question{
		method: http.MethodGet, path: subjectPath(subject) + "/versions/latest?deleted=true", about: "the latest version of subject " + oneLine(subject),
	})
	if err != nil {
		return nil, err
	}
	return c.entry(ctx, s, "subject "+s.Subject+" version "+strconv.Itoa(s.Version))
}

// EntryByID returns the schema of an id. It names no subject and version: Uses
// tells where the schema stands.
func (c *Client) EntryByID(ctx context.Context, id codec.ID) (*Entry, error) {
	s, err := c.byID(ctx, id, false)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(ctx, s, name(id)+" of "+c.addresses[c.current.Load()].shown)
	if err != nil {
		return nil, err
	}
	e.Subject, e.Version = "", 0
	if id.Number != 0 {
		e.ID = id.Number
	} else {
		e.GUID = id.String()
	}
	return e, nil
}

func (c *Client) entry(ctx context.Context, s *stored, from string) (*Entry, error) {
	d, err := c.resolve(ctx, s, from, false)
	if err != nil {
		return nil, err
	}
	e := &Entry{Subject: s.Subject, Version: s.Version, ID: s.ID, GUID: s.GUID, Definition: d}
	for _, ref := range s.References {
		i := slices.IndexFunc(d.References, func(r codec.Reference) bool { return r.Name == ref.Name })
		if i >= 0 {
			e.References = append(e.References, d.References[i])
		}
	}
	return e, nil
}

// Uses lists the versions of subjects that have the schema of an id, deleted
// ones too. The registry must give numbers: GUIDs have no such list.
func (c *Client) Uses(ctx context.Context, id int64) ([]Use, error) {
	var uses []Use
	n := strconv.FormatInt(id, 10)
	err := c.get(ctx, "/schemas/ids/"+n+"/versions?deleted=true", "schema "+n, &uses)
	return uses, err
}

// Compatibility returns the level that holds for a subject.
func (c *Client) Compatibility(ctx context.Context, subject string) (Compatibility, error) {
	level, err := c.level(ctx, "/config"+subjectPath(subject)[len("/subjects"):], "the compatibility of subject "+subject)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return Compatibility{Level: level}, err
	}
	level, err = c.level(ctx, "/config", "the compatibility level")
	return Compatibility{Level: level, Global: true}, err
}

func (c *Client) level(ctx context.Context, path, about string) (string, error) {
	var config struct {
		Level string `json:"compatibilityLevel"`
	}
	if err := c.get(ctx, path, about, &config); err != nil {
		return "", err
	}
	if config.Level == "" {
		return "", fault.New(fault.Failed, "%s answers without a level for %s", c.name, about)
	}
	return config.Level, nil
}

// get asks for what is read, and words an error.
func (c *Client) get(ctx context.Context, path, about string, into any) error {
	return c.sentence(c.ask(ctx, question{method: http.MethodGet, path: path, about: about}, into))
}
