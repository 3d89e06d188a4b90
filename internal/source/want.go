package source

import (
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// wanted is a want of the newest plan, and what has been looked up of it.
type wanted struct {
	Want
	late    bool            // its source came while the run went on
	looked  bool            // its topics have been looked up
	entries map[string]bool // its topics, as the metadata names them; true once looked up
}

func newWanted(w Want) *wanted {
	n := &wanted{Want: w, entries: map[string]bool{}}
	for _, t := range w.Source.Topics {
		n.entries[t.String()] = false
	}
	return n
}

// rewant makes the wants of a plan the reader's, with what is known of those
// that were there before.
func (r *reader) rewant(list []Want) {
	var wants []*wanted
	for _, w := range list {
		n := newWanted(w)
		n.late = true
		if old := r.want(w.key()); old != nil {
			n.late, n.looked = old.late, old.looked
			for entry := range n.entries {
				n.entries[entry] = old.entries[entry]
			}
		}
		wants = append(wants, n)
	}
	r.wants = wants
}

// want returns the want with a key, nil if there is none.
func (r *reader) want(key string) *wanted {
	for _, w := range r.wants {
		if w.key() == key {
			return w
		}
	}
	return nil
}

// takes reports whether a topic is wanted.
func (w *wanted) takes(t cluster.Topic) bool {
	return slices.ContainsFunc(w.Source.Topics, func(e metadata.Topic) bool { return Takes(e, t) })
}

// Takes reports whether an entry of a source takes a topic that a cluster has. A
// pattern takes none that Kafka itself marks internal unless it begins with _.
func Takes(e metadata.Topic, t cluster.Topic) bool {
	return e.Matches(t.Name) && (e.Regexp == nil || !t.Internal || strings.HasPrefix(e.String(), "/_"))
}

// names reports whether a topic is wanted by its name and not only by a pattern.
func (w *wanted) names(topic string) bool {
	return slices.ContainsFunc(w.Source.Topics, func(e metadata.Topic) bool { return e.Regexp == nil && e.Name == topic })
}

// drains reports whether the source is read until it is quiet.
func (r *reader) drains(w *wanted) bool { return w.Source.Role == metadata.Draining && !r.e.Exit }

// origin is how a delivery came to be wanted, which decides where it begins if
// nothing else does.
type origin uint8

const (
	initial  origin = iota // it was there when the run began
	joined                 // its source came while the run went on
	named                  // its topic was named in a source that was there
	appeared               // it did not exist before
)

// originOf says how a partition of a topic came to be wanted.
func (r *reader) originOf(w *wanted, p place) origin {
	if o, known := r.origins[p]; known {
		return o
	}
	o := appeared
	switch {
	case r.absent[p.topic]:
	case !w.looked && w.late:
		o = joined
	case !w.looked:
		o = initial
	case w.newlyNamed(p.topic):
		o = named
	}
	r.origins[p] = o
	return o
}

// newlyNamed reports whether only names or patterns that have not been looked up
// before take a topic.
func (w *wanted) newlyNamed(topic string) bool {
	return !slices.ContainsFunc(w.Source.Topics, func(e metadata.Topic) bool { return w.entries[e.String()] && e.Matches(topic) })
}

// lookedUp notes that the topics of every want have been looked up.
func (r *reader) lookedUp() {
	for _, w := range r.wants {
		w.looked = true
		for entry := range w.entries {
			w.entries[entry] = true
		}
	}
}
