package metadata

import (
	"reflect"
	"slices"
)

// SameAs reports whether two readings describe a cluster whose connections would
// be made in the same way: the addresses in any order, the id, tls, sasl, the
// properties, and what the files held that they name. Of files only what a
// Watcher read is known; the token file, which is read at each login, is
// compared by its path. The name, the schema registry and mirror do not count.
func (c *Cluster) SameAs(o *Cluster) bool {
	if c == nil || o == nil {
		return c == o
	}
	return sameSet(c.Bootstrap, o.Bootstrap) && reflect.DeepEqual(c.connection(), o.connection())
}

// connection is what SameAs compares besides the addresses.
func (c *Cluster) connection() Cluster {
	k := Cluster{
		ClusterID: c.ClusterID, TLS: c.TLS.unplaced(), PropertiesFile: c.PropertiesFile,
		Properties: unplaced(c.Properties, func(p *Property) { p.Origin = Origin{} }), files: c.files,
	}
	if len(k.files) == 0 {
		k.files = nil
	}
	if k.Properties != nil {
		k.Dir = c.Dir
	}
	if c.SASL != nil {
		s := *c.SASL
		s.Origin = Origin{}
		k.SASL = &s
	}
	return k
}

// unplaced copies a list without the places; nil if it is empty.
func unplaced[T any](all []T, clean func(*T)) []T {
	if len(all) == 0 {
		return nil
	}
	all = slices.Clone(all)
	for i := range all {
		clean(&all[i])
	}
	return all
}

func (t *TLS) unplaced() *TLS {
	if t == nil {
		return nil
	}
	k := *t
	k.Origin = Origin{}
	return &k
}

// sameAs reports whether two views mean the same: they differ at most in where
// things stand, and in the moment from which durations count.
func (v *View) sameAs(o *View) bool {
	return v.AdHoc == o.AdHoc && slices.Equal(v.Sources, o.Sources) &&
		slices.EqualFunc(v.Clusters, o.Clusters, func(a, b *Cluster) bool { return reflect.DeepEqual(a.unplaced(), b.unplaced()) }) &&
		slices.EqualFunc(v.Streams, o.Streams, func(a, b *Stream) bool { return reflect.DeepEqual(a.unplaced(), b.unplaced()) })
}

func (c *Cluster) unplaced() Cluster {
	k := *c
	k.Origin, k.Places = Origin{}, nil
	k.TLS = c.TLS.unplaced()
	k.Properties = unplaced(c.Properties, func(p *Property) { p.Origin = Origin{} })
	if c.SASL != nil {
		s := *c.SASL
		s.Origin = Origin{}
		k.SASL = &s
	}
	k.SchemaRegistry = c.SchemaRegistry.unplaced()
	if c.Mirror != nil {
		m := *c.Mirror
		m.Origin = Origin{}
		k.Mirror = &m
	}
	return k
}

func (r *SchemaRegistry) unplaced() *SchemaRegistry {
	if r == nil {
		return nil
	}
	k := *r
	k.Origin, k.TLS = Origin{}, r.TLS.unplaced()
	return &k
}

// SameAs reports whether two registries are reached in the same way.
func (r *SchemaRegistry) SameAs(o *SchemaRegistry) bool {
	return reflect.DeepEqual(r.unplaced(), o.unplaced())
}

func (s *Stream) unplaced() Stream {
	k := *s
	k.Origin = Origin{}
	k.Sources = unplaced(s.Sources, func(src *Source) {
		src.Origin, src.clusterAt = Origin{}, Origin{}
		src.Topics = unplaced(src.Topics, func(t *Topic) { *t = Topic{Name: t.String()} })
		src.Start, src.Stop = src.Start.unplaced(), src.Stop.unplaced()
		if src.Cutover != nil {
			c := *src.Cutover
			c.Origin = Origin{}
			src.Cutover = &c
		}
	})
	return k
}

func (s *Spec) unplaced() *Spec {
	if s == nil {
		return nil
	}
	return &Spec{Text: s.Text}
}

// removes reports whether the new view lacks a cluster, a stream, a source of a
// stream or a topic of a source that the old one has.
func removes(before, now *View) bool {
	for _, c := range before.Clusters {
		if now.Cluster(c.Name) == nil {
			return true
		}
	}
	for _, s := range before.Streams {
		t := now.Stream(s.Name)
		if t == nil || slices.ContainsFunc(s.Sources, func(src Source) bool { return src.missingIn(t) }) {
			return true
		}
	}
	return false
}

// missingIn reports whether a stream does not read all that a source has.
func (s Source) missingIn(t *Stream) bool {
	for _, o := range t.Sources {
		if o.Cluster == s.Cluster {
			return slices.ContainsFunc(s.Topics, func(topic Topic) bool {
				return !slices.ContainsFunc(o.Topics, func(x Topic) bool { return x.String() == topic.String() })
			})
		}
	}
	return true
}
