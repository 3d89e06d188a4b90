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
