package cmd

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// setRegistryCopy interprets --registry-copy, once the rest of --to is known.
func (o *consumeOptions) setRegistryCopy(wanted bool) error {
	if !wanted {
		return nil
	}
	switch {
	case !o.to.asStored():
		return fault.New(fault.Usage, "--registry-copy is for records that are copied as they are stored: -s and -f write something else").
			WithHint("leave out -s and -f, or --registry-copy")
	case o.onlyFiles():
		return fault.New(fault.Usage, "--registry-copy needs the registry of the cluster that records come from; files have none").
			WithHint("name a STREAM, or leave out --registry-copy")
	}
	o.to.copiesSchemas = true
	return nil
}

// copiesSchemas reports whether --registry-copy is in force.
func (o *consumeOptions) copiesSchemas() bool { return o.to != nil && o.to.copiesSchemas }

// schemaCopies have framed keys and values name their schemas by the ids of the
// target's registry, to which the schemas are copied. A nil *schemaCopies leaves
// everything as it is.
type schemaCopies struct {
	o       *consumeOptions
	cluster string // the target's name
	to      *registry.Client
	at      *metadata.SchemaRegistry
	wide    bool

	mu   sync.Mutex
	from map[*registry.Client]*schemaCopy
	same map[*clusterRegistry]bool // whether it is the target's
}

// schemaCopy copies from one registry. One schema at a time: there are few, and
// each is to be copied once.
type schemaCopy struct {
	mu     sync.Mutex
	copier *registry.Copier
	done   map[movedKey]*movedSchema
}

type movedKey struct {
	id codec.ID
	at registry.Place
}

// movedSchema is a schema as the target's registry has it.
type movedSchema struct {
	registry.Moved
	checked atomic.Bool // a record with it was the same by both registries
}

// as is the id there in the form of id.
func (m *movedSchema) as(id codec.ID) codec.ID {
	if id.Number != 0 {
		return codec.ID{Number: m.ID}
	}
	return codec.ID{GUID: m.GUID}
}

// copySchemas makes a run's schemaCopies; nil without --registry-copy. All
// clusters must have registries. Nothing is contacted.
func (p *planner) copySchemas(view *metadata.View, target *metadata.Cluster) (*schemaCopies, error) {
	if !p.o.to.copiesSchemas {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	clusters := []*metadata.Cluster{target}
	for _, w := range p.wanted() {
		clusters = append(clusters, view.Cluster(w.Source.Cluster))
	}
	for _, c := range clusters {
		if c.SchemaRegistry == nil {
			return nil, fault.New(fault.Usage, "--registry-copy: %s", lacksRegistry(c.Name)).WithHint("%s", registryHint(c.Name))
		}
	}
	client, err := p.o.schemas.connect(target)
	if err != nil {
		return nil, err
	}
	return &schemaCopies{
		o: p.o, cluster: target.Name, to: client, at: target.SchemaRegistry, wide: target.SchemaRegistry.IDBytes == 8,
		from: map[*registry.Client]*schemaCopy{}, same: map[*clusterRegistry]bool{},
	}, nil
}

func lacksRegistry(name string) string { return "the cluster " + name + " has no schema registry" }

func registryHint(name string) string {
	return "schemaRegistry: {url: …} under the cluster, or --registry " + name + "=URL"
}

func (s *schemaCopies) close() {
	if s != nil {
		s.to.Close()
	}
}

// registryOf returns the registry of a cluster as a run has it.
func (s *schemas) registryOf(name string) *clusterRegistry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registries[name]
}

// source returns what the ids in the records of a cluster are of; nil if they are
// of the target's registry already.
func (s *schemaCopies) source(name string) (*clusterRegistry, error) {
	r := s.o.schemas.registryOf(name)
	if r == nil { // it has come with new metadata
		return nil, fault.New(fault.Failed, "--registry-copy: %s", lacksRegistry(name)).WithHint("%s", registryHint(name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same, known := s.same[r]
	if !known {
		same = sameRegistry(r.described, s.at)
		s.same[r] = same
		if same {
			s.o.env.run.notices.Verbosef(1, "%s and %s have one registry: schema ids stay as they are", name, s.cluster)
		}
	}
	if same {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	return r, nil
}

// sameRegistry reports whether two descriptions have an address in common.
func sameRegistry(a, b *metadata.SchemaRegistry) bool {
	return a.IDBytes == b.IDBytes && slices.ContainsFunc(a.URLs, func(one string) bool {
		return slices.ContainsFunc(b.URLs, func(other string) bool { return plainURL(one) == plainURL(other) })
	})
}

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return strings.ToLower(u.Scheme+"://"+u.Host) + strings.TrimRight(u.EscapedPath(), "/") + "?" + u.RawQuery
}

// move returns a schema as the target's registry has it, copied if need be.
func (s *schemaCopies) move(ctx context.Context, from *clusterRegistry, key movedKey) (*movedSchema, error) {
	s.mu.Lock()
	c := s.from[from.client]
	if c == nil {
		c = &schemaCopy{copier: registry.NewCopier(from.client, s.to), done: map[movedKey]*movedSchema{}}
		s.from[from.client] = c
	}
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.done[key]; m != nil {
		return m, nil
	}
	got, err := c.copier.Move(ctx, key.id, key.at)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	m := &movedSchema{Moved: got}
	if key.id.Number == 0 && got.GUID == [16]byte{} {
		return nil, fault.New(fault.Failed, "%s tells no GUID for it", s.to)
	}
	c.done[key] = m
	s.o.env.run.notices.Verbosef(1, "schema %s of %s is schema %s of %s, as %s", key.id, from.client, m.as(key.id), s.to, joinWords(got.Subjects))
	return m, nil
}

// check decodes a payload by its schema of both registries, and demands that
// they agree. It is done for one record with each schema.
func (s *schemaCopies) check(from *clusterRegistry, id codec.ID, m *movedSchema, payload []byte) error {
	if payload == nil || m.checked.Load() {
		return nil
	}
	one, err := from.client.Schema(id)
	if err != nil {
		return err
	}
	other, err := s.to.Schema(m.as(id))
	if err != nil {
		return err
	}
	want, err := one.AppendJSON(nil, payload)
	if err != nil {
		return fault.New(fault.Failed, "by schema %s of %s it cannot be decoded: %w", id, from.client, err).
			WithHint("--on-decode-error skip leaves such records out; a key or value that only looks as if it had a schema needs a decoder in the stream's metadata, such as key: int64")
	}
	got, err := other.AppendJSON(nil, payload)
	switch {
	case err != nil:
		return fault.New(fault.Failed, "by schema %s of %s it cannot be decoded, as it can by schema %s of %s: %w", m.as(id), s.to, id, from.client, err)
	case !bytes.Equal(want, got):
		return fault.New(fault.Failed, "schema %s of %s and schema %s of %s decode it to different values", id, from.client, m.as(id), s.to)
	}
	m.checked.Store(true)
	return nil
}
