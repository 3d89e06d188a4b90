package protobuf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// Files names what a schema is made of that no registry has.
type Files struct {
	// Protos are .proto files (--proto): paths in the file system, or below one of
	// Paths.
	Protos []string
	// Paths are the directories that imports are relative to (--proto-path), tried
	// in this order. Without any they are the directory of each of Protos and
	// the current one.
	Paths []string
	// Sets are files that hold a FileDescriptorSet, as protoc --descriptor_set_out
	// and buf build write them.
	Sets []string
	// Message is the full name of the message that the payloads hold, or as much of
	// its end as no other message shares. It may be left out when the files declare
	// one message only, messages within it and files that are imported not counted.
	Message string
}

// FromFiles compiles .proto files and descriptor sets. The payloads of the schema are
// messages without indexes before them. Files that are not there or cannot be compiled
// and a message that is not in them are errors of kind fault.Usage.
func FromFiles(f Files, o Options) (codec.Schema, error) {
	set, err := readSets(f.Sets)
	if err != nil {
		return nil, err
	}
	for _, dir := range f.Paths {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fault.New(fault.Usage, "the import path %s is not a directory that can be read", dir)
		}
	}
	paths := f.Paths
	if len(paths) == 0 {
		for _, p := range f.Protos {
			paths = append(paths, filepath.Dir(p))
		}
		paths = append(paths, ".")
	}
	c := newCompiler(func(path string) (source, bool, error) {
		if fdp := set[path]; fdp != nil {
			return source{proto: fdp}, true, nil
		}
		text, ok, err := below(paths, path)
		return source{text: text}, ok, err
	})
	var named []protoreflect.FileDescriptor
	for i, path := range slices.Concat(importPaths(f.Protos, paths), sortedKeys(set)) {
		if _, ok, err := c.find(path); i < len(f.Protos) && (!ok || err != nil) {
			return nil, unreadable(f.Protos[i], err)
		}
		u, err := c.guarded(path)
		if err != nil {
			return nil, c.unusable(path, err, set[path] != nil)
		}
		named = append(named, u.desc)
	}
	md, err := pick(named, c, f.Message)
	if err != nil {
		return nil, err
	}
	t := newTypes(c, o)
	return &schema{types: t, message: t.table(md)}, nil
}

// unusable is the error of a file that cannot be compiled.
func (c *compiler) unusable(path string, err error, compiled bool) error {
	text := plainly(err)
	if !strings.Contains(text, path) {
		text = path + ": " + text
	}
	e := fault.New(fault.Usage, "%s", text)
	if len(c.missing) > 0 && compiled {
		return e.WithHint("not found: %s; protoc --include_imports puts them into the set", strings.Join(c.missing, ", "))
	}
	if len(c.missing) > 0 {
		return e.WithHint("not found: %s; --proto-path DIR names the directory that imports are relative to", strings.Join(c.missing, ", "))
	}
	return e
}

// unreadable is the error of a .proto file that cannot be read; err is nil when it is
// not there.
func unreadable(file string, err error) error {
	if err == nil {
		err = fs.ErrNotExist
	}
	return fault.New(fault.Usage, "the .proto file %s cannot be read: %w", file, err)
}

// readSets reads descriptor sets, by the names of their files.
func readSets(files []string) (map[string]*descriptorpb.FileDescriptorProto, error) {
	all := map[string]*descriptorpb.FileDescriptorProto{}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fault.New(fault.Usage, "the descriptor set cannot be read: %w", err)
		}
		var set descriptorpb.FileDescriptorSet
		if err := proto.Unmarshal(raw, &set); err != nil || len(set.File) == 0 {
			return nil, fault.New(fault.Usage, "%s is no descriptor set", name).
				WithHint("protoc --include_imports --descriptor_set_out=FILE and buf build -o FILE.binpb write one; --proto takes .proto files")
		}
		for _, f := range set.File {
			all[f.GetName()] = f
		}
	}
	return all, nil
}

// importPaths are the paths by which files would import each other: relative to the
// first directory that has them.
func importPaths(files, dirs []string) []string {
	var paths []string
	for _, file := range files {
		path := filepath.ToSlash(file)
		for _, dir := range dirs {
			rel, err := filepath.Rel(dir, file)
			if err == nil && filepath.IsLocal(rel) {
				path = filepath.ToSlash(rel)
				break
			}
		}
		paths = append(paths, path)
	}
	return paths
}

// below reads the file with that path below the first of dirs that has it.
func below(dirs []string, path string) (text string, ok bool, _ error) {
	local := filepath.FromSlash(path)
	candidates := []string{local}
	if filepath.IsLocal(local) {
		candidates = nil
		for _, dir := range dirs {
			candidates = append(candidates, filepath.Join(dir, local))
		}
	}
	for _, name := range candidates {
		raw, err := os.ReadFile(name)
		if err == nil {
			return string(raw), true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", false, err
		}
	}
	return "", false, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// pick finds the message that is meant, first among those of the named files.
func pick(named []protoreflect.FileDescriptor, c *compiler, name string) (protoreflect.MessageDescriptor, error) {
	own, all := messages{}, messages{}
	outer := 0
	for _, f := range named {
		own.collect(f.Messages())
		outer += f.Messages().Len()
	}
	for _, u := range c.order {
		all.collect(u.desc.Messages())
	}
	if name == "" {
		return own.only(named, outer)
	}
	name = strings.TrimPrefix(name, ".")
	for _, in := range []messages{own, all} {
		if md := in[name]; md != nil {
			return md, nil
		}
	}
	for _, in := range []messages{own, all} {
		switch found := in.ending(name); len(found) {
		case 0:
		case 1:
			return in[found[0]], nil
		default:
			return nil, fault.New(fault.Usage, "more than one message ends in %s: %s", name, strings.Join(found, ", "))
		}
	}
	return nil, own.none(name)
}

// messages are message types by full name.
type messages map[string]protoreflect.MessageDescriptor

func (m messages) collect(in protoreflect.MessageDescriptors) {
	for i := range in.Len() {
		if md := in.Get(i); !md.IsMapEntry() {
			m[string(md.FullName())] = md
			m.collect(md.Messages())
		}
	}
}

// only returns the one message of the named files.
func (m messages) only(named []protoreflect.FileDescriptor, outer int) (protoreflect.MessageDescriptor, error) {
	if outer == 1 {
		for _, f := range named {
			if f.Messages().Len() == 1 {
				return f.Messages().Get(0), nil
			}
		}
	}
	if outer == 0 {
		return nil, fault.New(fault.Usage, "the Protobuf files declare no message")
	}
	return nil, fault.New(fault.Usage, "the Protobuf files declare %d messages: --message NAME says which one the records hold", outer).
		WithHint("messages: %s", some(sortedKeys(m)))
}

// ending are the full names that end in name, as names do.
func (m messages) ending(name string) []string {
	var found []string
	for _, full := range sortedKeys(m) {
		if strings.HasSuffix(full, "."+name) {
			found = append(found, full)
		}
	}
	return found
}

// none is the error for a name that no message has.
func (m messages) none(name string) error {
	e := fault.New(fault.Usage, "no message %q in the Protobuf files", name)
	names := sortedKeys(m)
	last := make([]string, len(names))
	for i, full := range names {
		last[i] = full[strings.LastIndexByte(full, '.')+1:]
	}
	near := fault.Nearest(name, names)
	if near == "" {
		if near = fault.Nearest(name[strings.LastIndexByte(name, '.')+1:], last); near != "" {
			near = names[slices.Index(last, near)]
		}
	}
	if near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("messages: %s", some(names))
}

// some names up to ten of them.
func some(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
