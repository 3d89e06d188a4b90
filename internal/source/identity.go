package source

import (
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/fault"
)

// identities knows which physical cluster stands behind which name.
type identities struct {
	mu    sync.Mutex
	known []identity
}

type identity struct {
	id      string
	of      *reader
	topics  map[string]bool
	leaving bool
}

// enter tells who a cluster is. Two names for one cluster whose topics overlap
// would give every record twice, and are refused; passing says that the other
// name is on its way out, so that waiting helps.
func (ids *identities) enter(r *reader, topics map[string]bool) (passing bool, err error) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for _, k := range ids.known {
		if r.id == "" || k.id != r.id || k.of == r {
			continue
		}
		for t := range topics {
			if k.topics[t] {
				return k.leaving, fault.New(fault.Refused, "%s and %s are the same cluster (id %s), and %s would be read from both", k.of.name, r.name, r.id, t).
					WithHint("keep one of the two names in the metadata, or narrow with -c").On(r.name)
			}
		}
	}
	ids.drop(r)
	ids.known = append(ids.known, identity{id: r.id, of: r, topics: topics})
	return false, nil
}

func (ids *identities) drop(r *reader) {
	ids.known = slices.DeleteFunc(ids.known, func(k identity) bool { return k.of == r })
}

// holds corrects which topics are read of a cluster that could not be entered
// with others, and reports whether they are fewer than before.
func (ids *identities) holds(r *reader, topics map[string]bool) (fewer bool) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for i := range ids.known {
		if ids.known[i].of == r {
			fewer = len(topics) < len(ids.known[i].topics)
			ids.known[i].topics = topics
		}
	}
	return fewer
}

// leaves notes that a cluster is on its way out.
func (ids *identities) leaves(r *reader) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for i := range ids.known {
		if ids.known[i].of == r {
			ids.known[i].leaving = true
		}
	}
}

// left forgets a cluster.
func (ids *identities) left(r *reader) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	ids.drop(r)
}
