package output

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// AppendJSON appends v as indented JSON and a newline, by its json tags: <>&
// are not escaped and a nil slice is an empty array.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	text, err := marshal(v, "  ")
	if err != nil {
		return dst, err
	}
	return append(dst, text...), nil
}

// AppendJSONLine is AppendJSON on one line.
func AppendJSONLine(dst []byte, v any) ([]byte, error) {
	text, err := marshal(v, "")
	if err != nil {
		return dst, err
	}
	return append(dst, text...), nil
}

// AppendYAML appends v as YAML with the keys, order and values of AppendJSON.
func AppendYAML(dst []byte, v any) ([]byte, error) {
	text, err := marshal(v, "")
	if err != nil {
		return dst, err
	}
	var ordered any
	if err := yaml.UnmarshalWithOptions(text, &ordered, yaml.UseOrderedMap()); err != nil {
		return dst, fmt.Errorf("cannot write YAML: %w", err)
	}
	text, err = yaml.MarshalWithOptions(ordered, yaml.CustomMarshaler(yamlString))
	if err != nil {
		return dst, fmt.Errorf("cannot write YAML: %w", err)
	}
	return append(dst, text...), nil
}

// plainYAML is text that no YAML reader takes for anything but itself: words,
// dotted names and addresses. The library's own choice leaves out texts such as
// 1e3, which reads back as a number, and control characters.
var plainYAML = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// yamlWords look plain but are values in one version of YAML or another.
var yamlWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

func yamlString(s string) ([]byte, error) {
	if plainYAML.MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return []byte(s), nil
	}
	return strconv.AppendQuote(nil, s), nil
}

func marshal(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(withArrays(reflect.ValueOf(v)).Interface()); err != nil {
		return nil, fmt.Errorf("cannot write JSON: %w", err)
	}
	return out.Bytes(), nil
}

// withArrays returns a copy of v whose nil slices are empty ones: an array is
// never null. Bytes and types that write themselves stay as they are.
func withArrays(v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return reflect.ValueOf(new(any)).Elem()
	}
	if writesItself(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Slice:
		return withArraysInSlice(v)
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(withArrays(v.Field(i)))
			}
		}
		return out
	case reflect.Map:
		return withArraysInMap(v)
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(withArrays(v.Elem()))
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return withArrays(v.Elem())
	default:
		return v
	}
}

func withArraysInSlice(v reflect.Value) reflect.Value {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(withArrays(v.Index(i)))
	}
	return out
}

func withArraysInMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entry := v.MapRange(); entry.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(withArrays(entry.Value()))
		out.SetMapIndex(entry.Key(), value)
	}
	return out
}

func writesItself(t reflect.Type) bool {
	for _, i := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}
