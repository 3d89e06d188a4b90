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
	id, name string
	topics   map[string]bool
	leaving  bool
}

// enter tells who a cluster is. Two names for one cluster whose topics overlap
// would give every record twice, and are refused; passing says that the other
// name is on its way out, so that waiting helps.
func (ids *identities) enter(id, name string, topics map[string]bool) (passing bool, err error) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for _, k := range ids.known {
		if id == "" || k.id != id || k.name == name {
			continue
		}
		for t := range topics {
			if k.topics[t] {
				return k.leaving, fault.New(fault.Refused, "%s and %s are the same cluster (id %s), and %s would be read from both", k.name, name, id, t).
					WithHint("keep one of the two names in the metadata, or narrow with -c").On(name)
			}
		}
	}
	ids.drop(name)
	ids.known = append(ids.known, identity{id: id, name: name, topics: topics})
	return false, nil
}

func (ids *identities) drop(name string) {
	ids.known = slices.DeleteFunc(ids.known, func(k identity) bool { return k.name == name })
}

// leaves notes that a cluster is on its way out.
func (ids *identities) leaves(name string) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for i := range ids.known {
		if ids.known[i].name == name {
			ids.known[i].leaving = true
		}
	}
}

// left forgets a cluster.
func (ids *identities) left(name string) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	ids.drop(name)
}
