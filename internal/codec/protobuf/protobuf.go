// Package protobuf turns Protobuf messages into JSON by their schema: a
// registry's, .proto files or descriptor sets. It decodes with tables that are
// made once of a schema, from the bytes straight into JSON; it must not ask a
// registry or know where a value is shown.
package protobuf

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Options say how messages are shown.
type Options struct {
	// Defaults shows fields that are not on the wire too, where that means that they
	// are zero: 0, "", false, [] or {}. Fields that can be told to be missing (of
	// messages, of oneofs, optional ones) stay left out.
	Defaults bool
	// Unknown shows fields that the schema does not have: the object gets a last
	// member "@unknown", their bytes in base64 as they lie on the wire. They are left
	// out otherwise, as in every JSON of Protobuf.
	Unknown bool
}

// schema decodes the messages of one schema: those that the payload names, or
// one.
type schema struct {
	types   *types
	choose  *chooser // nil without message indexes
	message *table   // without message indexes
}

// Compile compiles a schema from a registry. Its payloads begin with message
// indexes. Imports are looked up among the references by name. The files
// google/protobuf/* are always those built into kcm, google/type/*,
// confluent/meta.proto and confluent/type/decimal.proto only when no reference
// has their name. Another file that is missing is taken for empty, so that a schema only
// fails if it needs one of its types.
func Compile(def codec.Definition, o Options) (codec.Schema, error) {
	references := map[string]string{}
	for _, r := range def.References {
		references[r.Name] = r.Text
	}
	path := "schema.proto"
	for references[path] != "" {
		path = "_" + path
	}
	c := newCompiler(func(name string) (source, bool, error) {
		if name == path {
			return sourceOf(def.Text), true, nil
		}
		text, ok := references[name]
		return sourceOf(text), ok, nil
	})
	u, err := c.guarded(path)
	if err != nil {
		return nil, c.explain(def.Name, path, err)
	}
	t := newTypes(c, o)
	return &schema{types: t, choose: &chooser{file: newNode(nil, u.desc.Messages(), c.entries), types: t}}, nil
}

// guarded is file for a text that anybody may have registered: should it bring
// the compiler down, that is an error of this schema only.
func (c *compiler) guarded(path string) (u *unit, err error) {
	defer func() {
		if r := recover(); r != nil {
			u, err = nil, fmt.Errorf("the compiler gave up: %v", r)
		}
	}()
	return c.file(path)
}

// explain says where a schema is wrong, and what was not there for it.
func (c *compiler) explain(name, path string, err error) error {
	text := strings.TrimPrefix(plainly(err), path+":")
	e := fault.New(fault.Failed, "%s: %s", name, text)
	if len(c.missing) > 0 {
		e = fault.New(fault.Failed, "%s: %s (not found: %s)", name, text, strings.Join(c.missing, ", "))
	}
	return e
}

// plainly is an error's text without the blanks that Google's library varies.
func plainly(err error) string { return strings.ReplaceAll(err.Error(), "\u00a0", " ") }

// Type implements codec.Schema.
func (s *schema) Type() codec.SchemaType { return codec.Protobuf }

var errSize = errors.New("longer than 2 GiB")

// AppendJSON implements codec.Schema.
func (s *schema) AppendJSON(dst, payload []byte) ([]byte, error) {
	if len(payload) > math.MaxInt32 {
		return dst, errSize
	}
	t := s.message
	if s.choose != nil {
		var err error
		if t, payload, err = s.choose.choose(payload); err != nil {
			return dst, err
		}
	}
	w := s.types.walkers.Get().(*walker)
	dst, err := w.record(dst, payload, t)
	if err != nil {
		w.reset()
	}
	s.types.walkers.Put(w)
	return dst, err
}

// types are the tables of a schema, made when they are needed first.
type types struct {
	mu       sync.RWMutex
	builder  builder
	messages map[string]protoreflect.MessageDescriptor // by full name
	ready    map[string]*table                         // by full name
	walkers  sync.Pool
}

func newTypes(c *compiler, o Options) *types {
	t := &types{messages: map[string]protoreflect.MessageDescriptor{}, ready: map[string]*table{}}
	t.builder = builder{
		tables:     map[string]*table{},
		extensions: map[protoreflect.FullName][]protoreflect.FieldDescriptor{},
		defaults:   o.Defaults,
	}
	for _, u := range c.order {
		t.collect(u.desc.Messages())
		t.extend(u.desc.Extensions())
	}
	t.walkers.New = func() any { return &walker{types: t, keep: o.Unknown, absent: o.Defaults} }
	return t
}

func (t *types) collect(in protoreflect.MessageDescriptors) {
	for i := range in.Len() {
		m := in.Get(i)
		t.messages[string(m.FullName())] = m
		t.collect(m.Messages())
		t.extend(m.Extensions())
	}
}

func (t *types) extend(in protoreflect.ExtensionDescriptors) {
	for i := range in.Len() {
		to := in.Get(i).ContainingMessage().FullName()
		t.builder.extensions[to] = append(t.builder.extensions[to], in.Get(i))
	}
}

// table returns the table of a message type.
func (t *types) table(md protoreflect.MessageDescriptor) *table {
	name := string(md.FullName())
	t.mu.RLock()
	found := t.ready[name]
	t.mu.RUnlock()
	if found != nil {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found = t.builder.build(md)
	t.ready[name] = found
	return found
}

// named returns the table of the type that an Any names, which is what follows
// the last slash, or nil when it is neither in the schema nor one of
// google/protobuf.
func (t *types) named(address []byte) *table {
	name := address
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	t.mu.RLock()
	found := t.ready[string(name)]
	t.mu.RUnlock()
	if found != nil {
		return found
	}
	md := t.messages[string(name)]
	if md == nil && strings.HasPrefix(string(name), "google.protobuf.") {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil
		}
		md, _ = d.(protoreflect.MessageDescriptor)
	}
	if md == nil || md.IsMapEntry() {
		return nil
	}
	return t.table(md)
}
