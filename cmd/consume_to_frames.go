package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// reframing replaces ids in the records of one stream in one topic, on their way
// to one topic. It belongs to one goroutine.
type reframing struct {
	s          *schemaCopies
	ctx        context.Context //nolint:containedctx // of the run, as in toSink
	from       *clusterRegistry
	key, value *reframedSide // nil: never framed
	headers    [2][]byte     // of a record, in turn
}

// reframedSide is the keys or the values.
type reframedSide struct {
	name   string
	at     registry.Place
	finder *codec.Finder
	known  map[codec.ID]*movedSchema
	bytes  []byte // of a record
}

// route is what a reframing is for.
type route struct{ stream, cluster, from, to string }

// reframing returns what replaces the ids in the records of a chunk that go to a
// topic; nil if nothing does.
func (w *toWorker) reframing(stream string, split record.Split, to string) (*reframing, error) {
	s := w.s.target.schemas
	if s == nil {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	from, err := s.source(split.Cluster)
	if from == nil || err != nil {
		return nil, err
	}
	at := route{stream, split.Cluster, split.Topic, to}
	if r := w.routes[at]; r != nil && r.from == from && w.routed == w.choices {
		return r, nil
	}
	if w.routed != w.choices { // which change with the metadata
		clear(w.routes)
		w.routed = w.choices
	}
	declared := w.s.target.guard.planner.declared(stream, split)
	r := &reframing{s: s, ctx: w.s.ctx, from: from}
	side := func(name, decoder string, key bool) *reframedSide {
		if neverFramed(decoder) {
			return nil
		}
		return &reframedSide{
			name: name, at: registry.Place{From: split.Topic, To: to, Key: key},
			finder: codec.NewFinder(key, from.described.IDBytes == 8), known: map[codec.ID]*movedSchema{},
		}
	}
	r.key, r.value = side("key", declared.Key, true), side("value", declared.Value, false)
	w.routes[at] = r
	return r, nil
}

// declared are the decoders that the metadata has for a stream.
func (p *planner) declared(stream string, split record.Split) codec.Choice {
	for _, w := range p.wanted() {
		if w.Source.Cluster == split.Cluster && w.Stream.NameFor(split.Topic) == stream {
			return codec.Choice{Key: w.Stream.Key, Value: w.Stream.Value}
		}
	}
	return codec.Choice{}
}

// neverFramed reports whether a decoder says of what kind keys or values are, and
// that is one without a schema. Others, such as hex, say how they are shown.
func neverFramed(decoder string) bool {
	kinds := []string{"string", "str", "text", "uuid", "int", "integer", "uint", "long", "short", "float", "double"}
	return slices.Contains(kinds, strings.TrimRight(decoder, "0123456789"))
}

// apply replaces the ids of one record of a split.
func (r *reframing) apply(out *record.Record, split record.Split) error {
	for i, side := range []*reframedSide{r.key, r.value} {
		if side == nil {
			continue
		}
		raw := &out.Value
		if side.at.Key {
			raw = &out.Key
		}
		if err := r.applyTo(side, raw, out, i); err != nil {
			return r.failed(side, split, out.Offset, err)
		}
	}
	return nil
}

// failed is why a split is copied no further: whatever it is, what comes before
// the record has been written.
func (r *reframing) failed(side *reframedSide, split record.Split, offset int64, err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	e := fault.New(fault.Failed, "%s offset %d: --registry-copy: the %s: %w", split, offset, side.name, err).On(r.s.cluster)
	if hint := fault.HintOf(err); hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// applyTo replaces the id of a key or value, which may be in front of it or in a
// header.
func (r *reframing) applyTo(side *reframedSide, raw *[]byte, out *record.Record, i int) error {
	if out.Headers.Count == 0 && (len(*raw) < 5 || (*raw)[0] != 0) {
		return nil
	}
	found, err := side.finder.Find(*raw, out)
	if err != nil || found.ID == (codec.ID{}) {
		return err
	}
	m, err := r.moved(side, found.ID)
	if err != nil {
		return err
	}
	if err := r.s.check(r.from, found.ID, m, found.Payload); err != nil {
		return err
	}
	if !found.InHeader {
		side.bytes, err = side.finder.Reframe(side.bytes[:0], *raw, m.as(found.ID), r.s.wide)
		*raw = side.bytes
		return err
	}
	r.headers[i], err = side.finder.AppendHeaders(r.headers[i][:0], out.Headers, r.s.wide, func(id codec.ID) (codec.ID, error) {
		m, err := r.moved(side, id)
		if err != nil {
			return id, err
		}
		return m.as(id), nil
	})
	out.Headers.Raw = r.headers[i]
	return err
}

// moved returns a schema as the target's registry has it.
func (r *reframing) moved(side *reframedSide, id codec.ID) (*movedSchema, error) {
	if m := side.known[id]; m != nil {
		return m, nil
	}
	m, err := r.s.move(r.ctx, r.from, movedKey{id, side.at})
	if err == nil {
		side.known[id] = m
	}
	return m, err
}
