package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kcm-cli/kcm/internal/codec"
)

// base is where texts without an $id of their own are said to be. Nothing is
// ever loaded from it.
const base = "kcm:///"

// resources are a schema and its references, parsed. It is the validator's only
// source of texts.
type resources struct {
	docs []resource // the schema itself comes first
}

type resource struct {
	name string // of the reference; empty for the schema itself
	url  string // its absolute $id, or one below base; no other resource has it
	doc  any
}

func compile(def codec.Definition) (_ codec.Schema, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the schema is beyond the validator")
		}
	}()
	rs, err := newResources(def)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft(rs.docs[0].doc))
	c.UseLoader(rs)
	c.UseRegexpEngine(compilePattern)
	schema, err := c.Compile(rs.docs[0].url)
	if err != nil {
		return nil, fmt.Errorf("values cannot be checked by this schema: %s", reason(err))
	}
	return checked{schema: schema}, nil
}

// reason makes one line of the library's error.
func reason(err error) string {
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return oneLine(load.Err.Error())
	}
	if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if tree, ok := errors.AsType[*jsonschema.ValidationError](bad.Err); ok {
			return describe(tree)
		}
	}
	return oneLine(strings.ReplaceAll(err.Error(), base, ""))
}

// newResources parses the texts and gives each its address.
func newResources(def codec.Definition) (*resources, error) {
	rs := &resources{}
	root, err := parseSchema(def.Text)
	if err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	rs.add("", root)
	names := map[string]string{}
	for _, ref := range def.References {
		doc, err := parseSchema(ref.Text)
		if err != nil {
			return nil, fmt.Errorf("the schema's reference %q: %w", ref.Name, err)
		}
		names[ref.Name] = rs.add(ref.Name, doc)
	}
	for _, r := range rs.docs {
		rename(r.doc, names)
	}
	return rs, nil
}

func parseSchema(text string) (any, error) {
	if ok, _ := codec.ValidJSON([]byte(text)); !ok {
		return nil, errNotJSON
	}
	if err := withinBounds([]byte(text)); err != nil {
		return nil, err
	}
	return parse([]byte(text))
}

// add gives a text its address and returns that.
func (rs *resources) add(name string, doc any) string {
	address := base + strconv.Itoa(len(rs.docs)) + ".json"
	if id := absolute(id(doc)); id != "" && rs.at(id) == nil {
		address = id
	}
	rs.docs = append(rs.docs, resource{name: name, url: address, doc: doc})
	return address
}

func (rs *resources) at(address string) *resource {
	for i := range rs.docs {
		if rs.docs[i].url == address {
			return &rs.docs[i]
		}
	}
	return nil
}

// id returns the text's own name for itself: $id, or id as draft 4 has it.
func id(doc any) string {
	object, _ := doc.(map[string]any)
	for _, key := range []string{"$id", "id"} {
		if id, ok := object[key].(string); ok {
			return id
		}
	}
	return ""
}

// absolute returns an absolute address without its fragment, "" for any other.
func absolute(address string) string {
	address, _, _ = strings.Cut(address, "#")
	if u, err := url.Parse(address); err != nil || !u.IsAbs() {
		return ""
	}
	return address
}

// rename replaces the $refs that are, but for a fragment, a reference's name by
// that reference's address: a registry's references go by their names, whatever
// $id stands above them.
func rename(schema any, names map[string]string) {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			rename(item, names)
		}
	case map[string]any:
		for key, item := range v {
			switch key {
			case "const", "enum", "default", "examples": // values, not schemas
			case "properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas":
				renameEach(item, names)
			case "$ref":
				if ref, ok := item.(string); ok {
					v[key] = renamed(ref, names)
				}
			default:
				rename(item, names)
			}
		}
	}
}

// renameEach renames in the schemas of an object whose keys are anybody's.
func renameEach(schemas any, names map[string]string) {
	object, _ := schemas.(map[string]any)
	for _, schema := range object {
		rename(schema, names)
	}
}

func renamed(ref string, names map[string]string) string {
	if address, ok := names[ref]; ok {
		return address
	}
	name, fragment, _ := strings.Cut(ref, "#")
	if address, ok := names[name]; ok {
		return address + "#" + fragment
	}
	return ref
}

// Load implements jsonschema.URLLoader: a text by its address, by its name read
// as an address relative to any of the others, or by a relative $id.
func (rs *resources) Load(address string) (any, error) {
	if r := rs.at(address); r != nil {
		return r.doc, nil
	}
	for _, from := range append([]resource{{url: base}}, rs.docs...) {
		for _, r := range rs.docs {
			if r.name != "" && resolve(from.url, r.name) == address || resolve(from.url, id(r.doc)) == address {
				return r.doc, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is not among the schema's references", strings.TrimPrefix(address, base))
}

// resolve reads a reference relative to an address; "" when that makes none.
func resolve(from, ref string) string {
	ref, _, _ = strings.Cut(ref, "#")
	f, err := url.Parse(from)
	if err != nil || ref == "" {
		return ""
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	return f.ResolveReference(r).String()
}

// draft returns the draft that a schema is written in. The references that name
// none are read by it too; a $schema that is not one of the drafts is left to
// the library.
func draft(doc any) *jsonschema.Draft {
	object, _ := doc.(map[string]any)
	name, _ := object["$schema"].(string)
	for _, d := range []*jsonschema.Draft{jsonschema.Draft4, jsonschema.Draft6, jsonschema.Draft2019, jsonschema.Draft2020} {
		_, version, _ := strings.Cut(d.String(), "json-schema.org/")
		if strings.Contains(name, version) {
			return d
		}
	}
	return jsonschema.Draft7
}
