package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
)

// parse reads a definition: first what it refers to, each text into a scope of
// its own, then the text itself.
func parse(def codec.Definition) (*typ, error) {
	var all []*scope
	for _, ref := range def.References {
		s := newScope(fmt.Sprintf("%s version %d", ref.Subject, ref.Version))
		root, err := s.text(ref.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.origin, err)
		}
		if root.kind != kindRef {
			s.asides[ref.Name] = root
		}
		all = append(all, s)
	}
	s := newScope(def.Name)
	root, err := s.text(def.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.origin, err)
	}
	if err := resolve(append(all, s)); err != nil {
		return nil, err
	}
	return root.real(), nil
}

// text parses one text into the scope.
func (s *scope) text(text string) (*typ, error) {
	dec := json.NewDecoder(strings.NewReader(withoutComments(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the Avro schema is empty")
		}
		return nil, fmt.Errorf("the Avro schema is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value in the Avro schema")
	}
	return s.schema(v, "")
}

// schema parses a schema; space is the namespace of the named type around it.
func (s *scope) schema(v any, space string) (*typ, error) {
	switch v := v.(type) {
	case string:
		return s.named(v, space)
	case []any:
		t := &typ{kind: kindUnion}
		for i, b := range v {
			branch, err := s.schema(b, space)
			if err != nil {
				return nil, fmt.Errorf("branch %d of a union: %w", i, err)
			}
			t.branches = append(t.branches, branch)
		}
		return t, nil
	case map[string]any:
		return s.object(v, space)
	default:
		return nil, fmt.Errorf("a schema is a name, an array or an object, not %s", jsonText(v))
	}
}

// named is a primitive type or a name that resolve looks for.
func (s *scope) named(name, space string) (*typ, error) {
	if k := kinds[name]; k.primitive() {
		return &typ{kind: k}, nil
	}
	if name == "" {
		return nil, errors.New("the name of a type is empty")
	}
	t := &typ{kind: kindRef}
	s.waiting = append(s.waiting, reference{t, name, space})
	return t, nil
}

func (s *scope) object(v map[string]any, space string) (*typ, error) {
	word, ok := v["type"].(string)
	if !ok {
		if inner, ok := v["type"]; ok {
			return s.schema(inner, space)
		}
		return nil, fmt.Errorf("no type in %s", jsonText(v))
	}
	k, known := kinds[word]
	switch {
	case !known:
		return s.named(word, space)
	case k.primitive():
		t := &typ{kind: k}
		t.annotate(v)
		return t, nil
	case k == kindArray:
		return s.collection(v, k, "items", space)
	case k == kindMap:
		return s.collection(v, k, "values", space)
	default:
		return s.definition(v, k, word, space)
	}
}

func (s *scope) collection(v map[string]any, k kind, key, space string) (*typ, error) {
	inner, ok := v[key]
	if !ok {
		return nil, fmt.Errorf("%s without %s", kindNames[k], key)
	}
	items, err := s.schema(inner, space)
	if err != nil {
		return nil, fmt.Errorf("%s of the %s: %w", key, kindNames[k], err)
	}
	return &typ{kind: k, items: items}, nil
}

// definition parses a record, an enum or a fixed.
func (s *scope) definition(v map[string]any, k kind, word, space string) (*typ, error) {
	name, _ := v["name"].(string)
	if name == "" {
		return nil, fmt.Errorf("%s without a name", word)
	}
	if own, ok := v["namespace"].(string); ok {
		space = own
	}
	t := &typ{kind: k, name: fullName(name, space)}
	fresh, err := s.define(t, v)
	if err != nil || fresh != t {
		return fresh, err
	}
	space, _ = splitName(t.name)
	s.alias(v, t, space)
	switch k {
	case kindRecord:
		err = s.fields(t, v, space)
	case kindEnum:
		err = t.enum(v)
	default:
		err = t.fixed(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", word, t.name, err)
	}
	return t, nil
}

func (s *scope) fields(t *typ, v map[string]any, space string) error {
	list, ok := v["fields"].([]any)
	if !ok {
		return errors.New("no fields")
	}
	t.fields = make([]field, 0, len(list))
	for i, entry := range list {
		f, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("field %d is no object", i)
		}
		name, ok := f["name"].(string)
		if !ok || name == "" {
			return fmt.Errorf("field %d has no name", i)
		}
		inner, ok := f["type"]
		if !ok {
			return fmt.Errorf("field %s has no type", name)
		}
		ft, err := s.schema(inner, space)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		t.fields = append(t.fields, field{name, ft})
	}
	return nil
}

func (t *typ) enum(v map[string]any) error {
	list, ok := v["symbols"].([]any)
	if !ok {
		return errors.New("no symbols")
	}
	for i, entry := range list {
		symbol, ok := entry.(string)
		if !ok {
			return fmt.Errorf("symbol %d is no string", i)
		}
		t.symbols = append(t.symbols, symbol)
	}
	return nil
}

func (t *typ) fixed(v map[string]any) error {
	size, ok := whole(v["size"])
	if !ok || size < 0 {
		return fmt.Errorf("its size is %s, not a number of bytes", jsonText(v["size"]))
	}
	t.size = size
	t.annotate(v)
	return nil
}

// whole reads a whole number of up to 31 bits, which is what Java takes.
func whole(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(n.String(), 10, 32)
	return int(i), err == nil
}

// jsonText gives a piece of a schema for a message, cut where it is long.
func jsonText(v any) string {
	const most = 80
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// withoutComments turns comments into blanks: Java's parser takes those of C
// and C++ outside of strings.
func withoutComments(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if !strings.Contains(text, "//") && !strings.Contains(text, "/*") {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		switch {
		case text[i] == '"':
			end = stringEnd(text, i)
		case strings.HasPrefix(text[i:], "//"):
			end = behind(text, i, "\n")
			i = end
			out.WriteByte('\n')
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end = behind(text, i+2, "*/")
			i = end
			out.WriteByte(' ')
			continue
		}
		out.WriteString(text[i:end])
		i = end
	}
	return out.String()
}

// stringEnd is the index behind the string that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func behind(text string, i int, end string) int {
	if at := strings.Index(text[i:], end); at >= 0 {
		return i + at + len(end)
	}
	return len(text)
}
