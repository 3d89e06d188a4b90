package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kcm-cli/kcm/internal/fault"
)

// file is a config file taken apart: the scalars of every setting, as the text
// that stands in the file. A typed decode would turn dates, octal numbers and
// the like into something else than what was typed.
type file struct {
	name    string
	scalars map[string][]scalar // by path, joined with delimiter
}

// scalar is one text of the file; a pair of a mapping is "key=value".
type scalar struct {
	text   string
	origin string // FILE:LINE
}

// at returns the scalars of a path that are not empty; a nil file has none.
func (f *file) at(path []string) []scalar {
	if f == nil {
		return nil
	}
	return f.scalars[strings.Join(path, delimiter)]
}

// texts returns the values that the file has for a flag.
func (f *file) texts(fl Flag) []string {
	var list []string
	for _, s := range f.at(fl.path()) {
		list = append(list, split(fl, s.text)...)
	}
	return list
}

// readFile reads the config file; nil without error when nobody named it and it
// is not there.
func readFile(o Options, name string, explicit bool) (*file, error) {
	if name == "" {
		return nil, nil
	}
	text, err := o.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Usage, "config file %s does not exist", name)
	case err != nil:
		return nil, fault.New(fault.Usage, "config file: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fault.New(fault.Usage, "%s: %s", name, withoutQuotes(err))
	}
	f := &file{name: name, scalars: map[string][]scalar{}}
	if len(doc.Content) == 0 {
		return f, nil
	}
	w := walker{file: f, flags: o.Flags}
	return f, w.mapping(doc.Content[0], nil)
}

// quoted is the part of a YAML error that may repeat the file's text, and with
// it a secret.
var quoted = regexp.MustCompile("'[^']*'|`[^`]*`|\"[^\"]*\"")

func withoutQuotes(err error) string {
	return quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "…")
}

type walker struct {
	file  *file
	flags []Flag
}

func (w walker) fail(n *yaml.Node, format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "%s:%d:%d: %s", w.file.name, n.Line, n.Column, fmt.Sprintf(format, args...))
}

// mapping reads the settings below path, "" being the top.
func (w walker) mapping(n *yaml.Node, path []string) error {
	if n = target(n); isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		if len(path) == 0 {
			return w.fail(n, "a config file is a mapping of settings")
		}
		return w.fail(n, "%s holds the settings of a command", strings.Join(path, "."))
	}
	return w.entries(n, func(key, value *yaml.Node) error {
		return w.entry(key, value, append(slices.Clone(path), key.Value))
	})
}

// entries calls do for each pair of a mapping and refuses a key that stands
// there twice.
func (w walker) entries(n *yaml.Node, do func(key, value *yaml.Node) error) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line := seen[key.Value]; line > 0 {
			return w.fail(key, "%s is already set on line %d", key.Value, line)
		}
		seen[key.Value] = key.Line
		if err := do(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) entry(key, value *yaml.Node, path []string) error {
	i := slices.IndexFunc(w.flags, func(f Flag) bool { return slices.Equal(f.path(), path) })
	if i < 0 {
		if w.isCommand(path) {
			return w.mapping(value, path)
		}
		return w.unknown(key, path)
	}
	fl := w.flags[i]
	if CommandLineOnly(fl.Name) {
		return w.fail(key, "%s is taken from the command line only", fl.Label())
	}
	scalars, err := w.scalars(fl, target(value))
	w.file.scalars[vkey(fl)] = scalars
	return err
}

// isCommand reports whether path leads to a command with flags.
func (w walker) isCommand(path []string) bool {
	return slices.ContainsFunc(w.flags, func(f Flag) bool {
		p := f.path()
		return len(p) > len(path) && slices.Equal(p[:len(path)], path)
	})
}

// scalars returns the texts of a setting; those that are empty are left out.
func (w walker) scalars(fl Flag, n *yaml.Node) ([]scalar, error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		if isNull(n) || n.Value == "" {
			return nil, nil
		}
		if fl.Shape == Pairs {
			return nil, w.fail(n, "%s is a mapping of keys and values", fl.Label())
		}
		return []scalar{w.scalar(n, n.Value)}, nil
	case n.Kind == yaml.SequenceNode && fl.Shape != Single:
		return w.sequence(fl, n)
	case n.Kind == yaml.MappingNode && fl.Shape == Pairs:
		return w.pairs(fl, n)
	case fl.Shape != Single:
		return nil, w.fail(n, "%s is a list", fl.Label())
	default:
		return nil, w.fail(n, "%s is a single value", fl.Label())
	}
}

func (w walker) sequence(fl Flag, n *yaml.Node) ([]scalar, error) {
	var list []scalar
	for _, item := range n.Content {
		item = target(item)
		if item.Kind != yaml.ScalarNode {
			return nil, w.fail(item, "%s holds single values", fl.Label())
		}
		if !isNull(item) && item.Value != "" {
			list = append(list, w.scalar(item, item.Value))
		}
	}
	return list, nil
}

func (w walker) pairs(fl Flag, n *yaml.Node) ([]scalar, error) {
	var list []scalar
	err := w.entries(n, func(key, value *yaml.Node) error {
		value = target(value)
		if value.Kind != yaml.ScalarNode {
			return w.fail(value, "%s: %s is a single value", fl.Label(), key.Value)
		}
		if !isNull(value) && value.Value != "" {
			list = append(list, w.scalar(key, key.Value+"="+value.Value))
		}
		return nil
	})
	return list, err
}

func (w walker) scalar(n *yaml.Node, text string) scalar {
	return scalar{text: text, origin: fmt.Sprintf("%s:%d", w.file.name, n.Line)}
}

func (w walker) unknown(key *yaml.Node, path []string) error {
	err := w.fail(key, "unknown key %s", strings.Join(path, "."))
	if near := w.nearest(path); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err
}

// target follows an alias to what it stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
