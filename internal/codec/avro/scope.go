package avro

import (
	"fmt"
	"reflect"
	"strings"
)

// scope is what one text defines and refers to.
type scope struct {
	origin  string // where the text comes from, for messages
	types   map[string]*typ
	texts   map[string]map[string]any // the definitions as they stand there
	asides  map[string]*typ           // by alias, or by the name of the reference to the text
	waiting []reference
}

// reference is a name in a text that is still to be resolved.
type reference struct {
	to    *typ
	name  string
	space string
}

func newScope(origin string) *scope {
	return &scope{origin: origin, types: map[string]*typ{}, texts: map[string]map[string]any{}, asides: map[string]*typ{}}
}

// define enters a named type and returns it. The same definition may stand in a
// text more than once: then the first is returned. Another one of that name is
// an error.
func (s *scope) define(t *typ, v map[string]any) (*typ, error) {
	old, ok := s.types[t.name]
	switch {
	case !ok:
		s.types[t.name], s.texts[t.name] = t, v
		return t, nil
	case reflect.DeepEqual(s.texts[t.name], v):
		return old, nil
	default:
		return nil, fmt.Errorf("%s is defined twice", t.name)
	}
}

// alias enters a type's other names. Only what is not found otherwise is looked
// for there.
func (s *scope) alias(v map[string]any, t *typ, space string) {
	list, _ := v["aliases"].([]any)
	for _, entry := range list {
		if name, ok := entry.(string); ok && name != "" {
			s.asides[fullName(name, space)] = t
		}
	}
}

// resolve finds what the names of all texts stand for. A text's own definitions
// come first, then those of the texts before it, the nearest first: a text
// follows what it refers to, so that two versions of a text, each needed by
// another one, are told apart. Last come the texts behind it.
func resolve(all []*scope) error {
	for at, s := range all {
		order := make([]*scope, 0, len(all))
		for i := at; i >= 0; i-- {
			order = append(order, all[i])
		}
		order = append(order, all[at+1:]...)
		for _, r := range s.waiting {
			if r.to.items = find(order, r); r.to.items == nil {
				return fmt.Errorf("%s: the type %s is not defined", s.origin, fullName(r.name, r.space))
			}
		}
	}
	return nil
}

// find looks for the full name, and where the text does not give it for the
// plain name too: types without a namespace are visible everywhere, as in Java.
func find(order []*scope, r reference) *typ {
	names := []string{fullName(r.name, r.space)}
	if names[0] != r.name {
		names = append(names, r.name)
	}
	for _, name := range names {
		for _, s := range order {
			if t, ok := s.types[name]; ok {
				return t
			}
		}
	}
	for _, name := range names {
		for _, s := range order {
			if t, ok := s.asides[name]; ok {
				return t
			}
		}
	}
	return nil
}

// fullName is a name with its namespace; one with a dot has its own already,
// and a dot in front stands for none.
func fullName(name, space string) string {
	if strings.Contains(name, ".") || space == "" {
		return strings.TrimPrefix(name, ".")
	}
	return space + "." + name
}

// splitName takes a full name apart.
func splitName(full string) (space, name string) {
	dot := strings.LastIndexByte(full, '.')
	if dot < 0 {
		return "", full
	}
	return full[:dot], full[dot+1:]
}
