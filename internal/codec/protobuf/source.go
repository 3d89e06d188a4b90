package protobuf

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/options"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// source is a file as it was found: one of the two is set.
type source struct {
	text  string
	proto *descriptorpb.FileDescriptorProto
}

// compiler makes descriptors of files and of what they import, each once, one
// after the other.
type compiler struct {
	// find returns the file that others import by that path.
	find    func(path string) (source, bool, error)
	units   map[string]*unit
	order   []*unit // each behind what it imports
	missing []string
	symbols *linker.Symbols
	// entries are the map entries that a text spells out as messages, by full name.
	entries map[string]bool
}

// unit is a compiled file; desc is nil while what it imports is being compiled.
type unit struct {
	desc protoreflect.FileDescriptor
	link linker.File
}

func newCompiler(find func(path string) (source, bool, error)) *compiler {
	return &compiler{find: find, units: map[string]*unit{}, symbols: &linker.Symbols{}, entries: map[string]bool{}}
}

// errImport is a cycle of imports.
var errCycle = errors.New("imports itself, by way of others or not")

// file compiles the file with that path. Google's own files are those that kcm
// has been built with, whatever find has: the JSON forms of their types depend
// on them. Of google/type and confluent what find has comes first. A file that
// nobody has is taken for empty: mostly it only holds options.
func (c *compiler) file(path string) (*unit, error) {
	if u := c.units[path]; u != nil {
		if u.desc == nil {
			return nil, fmt.Errorf("%s %w", path, errCycle)
		}
		return u, nil
	}
	u := &unit{}
	c.units[path] = u
	err := c.compile(path, u)
	if err != nil {
		return nil, err
	}
	c.order = append(c.order, u)
	return u, nil
}

func (c *compiler) compile(path string, u *unit) (err error) {
	if fd := google[path]; fd != nil {
		u.desc = fd
		u.link, err = linker.NewFileRecursive(fd)
		return err
	}
	found, ok, err := c.find(path)
	if err != nil {
		return err
	}
	if !ok {
		found = c.bundledOrEmpty(path)
	}
	if found.proto != nil {
		return c.compileProto(path, found.proto, u)
	}
	return c.compileText(path, found.text, u)
}

func (c *compiler) bundledOrEmpty(path string) source {
	if f := bundle()[path]; f != nil {
		return source{proto: f}
	}
	c.missing = append(c.missing, path)
	return source{proto: &descriptorpb.FileDescriptorProto{Syntax: proto.String("proto3")}}
}

// compileProto compiles a descriptor.
func (c *compiler) compileProto(path string, fdp *descriptorpb.FileDescriptorProto, u *unit) error {
	fdp = proto.CloneOf(fdp)
	fdp.Name = proto.String(path)
	if _, err := c.imports(fdp); err != nil {
		return err
	}
	return c.finish(fdp, u)
}

// compileText compiles a text. It is not held to every rule of the language: it
// has been accepted somewhere, and what matters is whether it can be decoded by.
func (c *compiler) compileText(path, text string, u *unit) error {
	handler := reporter.NewHandler(nil)
	node, err := parser.Parse(path, strings.NewReader(text), handler)
	if err != nil {
		return err
	}
	parsed, err := parser.ResultFromAST(node, false, handler)
	if err != nil {
		return err
	}
	fdp := parsed.FileDescriptorProto()
	fdp.Service = nil
	dropCustom(fdp.ProtoReflect())
	var spelled []*descriptorpb.DescriptorProto
	for _, m := range fdp.MessageType {
		spelled = c.spelledOut(spelled, fdp.GetPackage(), m)
	}
	links, err := c.imports(fdp)
	if err != nil {
		return err
	}
	linked, err := linker.Link(parsed, links, c.symbols, handler)
	if err != nil {
		return err
	}
	if _, err := options.InterpretOptionsLenient(linked); err != nil {
		return err
	}
	linked.RemoveAST()
	for _, m := range spelled {
		if m.Options == nil {
			m.Options = &descriptorpb.MessageOptions{}
		}
		m.Options.MapEntry = proto.Bool(true)
	}
	u.link = linked
	return c.finish(fdp, u)
}

// dropCustom takes away options that are extensions: they say nothing about how
// messages are encoded, and the files that declare them are often not there.
func dropCustom(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.Message().FullName() == "google.protobuf.UninterpretedOption":
			dropCustomOf(v.List())
		case fd.IsList():
			for i := range v.List().Len() {
				dropCustom(v.List().Get(i).Message())
			}
		default:
			dropCustom(v.Message())
		}
		return true
	})
}

func dropCustomOf(options protoreflect.List) {
	kept := 0
	for i := range options.Len() {
		o, ok := options.Get(i).Message().Interface().(*descriptorpb.UninterpretedOption)
		if ok && slices.ContainsFunc(o.Name, (*descriptorpb.UninterpretedOption_NamePart).GetIsExtension) {
			continue
		}
		options.Set(kept, options.Get(i))
		kept++
	}
	options.Truncate(kept)
}

// spelledOut finds the messages with the option map_entry, which the language does
// not allow in a text but Confluent's Java serializer writes there. It takes the
// option away: until types are linked they have to look like other messages.
func (c *compiler) spelledOut(found []*descriptorpb.DescriptorProto, scope string, m *descriptorpb.DescriptorProto) []*descriptorpb.DescriptorProto {
	name := strings.TrimPrefix(scope+"."+m.GetName(), ".")
	uninterpreted := m.GetOptions().GetUninterpretedOption()
	for i, o := range uninterpreted {
		if len(o.Name) == 1 && o.Name[0].GetNamePart() == "map_entry" && !o.Name[0].GetIsExtension() && o.GetIdentifierValue() == "true" {
			m.Options.UninterpretedOption = slices.Delete(uninterpreted, i, i+1)
			c.entries[name] = true
			found = append(found, m)
			break
		}
	}
	for _, in := range m.NestedType {
		found = c.spelledOut(found, name, in)
	}
	return found
}

// imports compiles what a file imports.
func (c *compiler) imports(fdp *descriptorpb.FileDescriptorProto) (linker.Files, error) {
	var links linker.Files
	for _, path := range fdp.Dependency {
		in, err := c.file(path)
		if err != nil {
			return nil, err
		}
		links = append(links, in.link)
	}
	return links, nil
}

// finish makes the descriptor that is decoded by.
func (c *compiler) finish(fdp *descriptorpb.FileDescriptorProto, u *unit) error {
	desc, err := protodesc.NewFile(fdp, c)
	if err != nil {
		return err
	}
	u.desc = desc
	if u.link == nil {
		u.link, err = linker.NewFileRecursive(desc)
	}
	return err
}

// FindFileByPath implements protodesc.Resolver.
func (c *compiler) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if u := c.units[path]; u != nil && u.desc != nil {
		return u.desc, nil
	}
	return nil, protoregistry.NotFound
}

// FindDescriptorByName implements protodesc.Resolver.
func (c *compiler) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	for _, u := range c.order {
		if d := find(u.desc, name); d != nil {
			return d, nil
		}
	}
	return nil, protoregistry.NotFound
}

// find returns the message, enum or extension of a file with that full name.
func find(file protoreflect.FileDescriptor, name protoreflect.FullName) protoreflect.Descriptor {
	rest := string(name)
	if p := string(file.Package()); p != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, p+"."); !ok {
			return nil
		}
	}
	type scope interface {
		Messages() protoreflect.MessageDescriptors
		Enums() protoreflect.EnumDescriptors
	}
	var in scope = file
	for {
		first, more, nested := strings.Cut(rest, ".")
		m := in.Messages().ByName(protoreflect.Name(first))
		switch {
		case m == nil && nested:
			return nil
		case m == nil:
			if e := in.Enums().ByName(protoreflect.Name(first)); e != nil {
				return e
			}
			return nil
		case !nested:
			return m
		}
		in, rest = m, more
	}
}

// sourceOf tells a schema's text from its descriptor in base64, which has none
// of the signs without which a text says nothing.
func sourceOf(text string) source {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.ContainsAny(trimmed, ";{}") {
		return source{text: text}
	}
	raw, err := base64.StdEncoding.DecodeString(trimmed)
	if err != nil {
		return source{text: text}
	}
	var fdp descriptorpb.FileDescriptorProto
	if proto.Unmarshal(raw, &fdp) != nil {
		return source{text: text}
	}
	return source{proto: &fdp}
}
