package offsets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// base64Encoding is what an _encoding says of bytes that are not UTF-8.
const base64Encoding = "base64"

// jsonReader reads the JSON of export. Keys that it does not know are passed over:
// later versions may have more.
type jsonReader struct {
	name string
	text []byte
	dec  *json.Decoder
	list *Listing
	seen map[listedKey]int

	counted, line int // lines up to a place in the text
}

// listedJSON is an offset of a group.
type listedJSON struct {
	Topic            *string `json:"topic"`
	Partition        *int32  `json:"partition"`
	Offset           *int64  `json:"offset"`
	Metadata         *string `json:"metadata"`
	MetadataEncoding string  `json:"metadata_encoding"`
}

// listedGroup is a group as far as it has been read: its name may come after its
// offsets.
type listedGroup struct {
	line                     int
	cluster, group, encoding string
	entries                  []ListedOffset
}

func readJSON(text []byte, name string) (*Listing, error) {
	r := &jsonReader{
		name: name, text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1, seen: map[listedKey]int{},
		list: &Listing{Name: name, Grouped: true, JSON: true},
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	groups := false
	err := r.object(func(key string) error {
		switch key {
		case "groups":
			groups = true
			return r.array(r.group)
		case "failed":
			return r.array(r.failed)
		default:
			return r.skip()
		}
	})
	if err != nil {
		return nil, err
	}
	if !groups {
		return nil, wrongIn(name, 1, "there are no groups in it").
			WithHint("kcm offsets export -o json writes what is read here; a snapshot is for kcm offsets rollback")
	}
	return r.list, nil
}

// check finds what is not JSON, so that the rest is only about what it says.
func (r *jsonReader) check() error {
	for at := 0; at < len(r.text); {
		c, n := utf8.DecodeRune(r.text[at:])
		if c == utf8.RuneError && n == 1 {
			return wrongIn(r.name, r.lineAt(at), "JSON has to be UTF-8")
		}
		at += n
	}
	var whole json.RawMessage
	if err := json.Unmarshal(r.text, &whole); err != nil {
		at := len(r.text)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset) - 1
		}
		return wrongIn(r.name, r.lineAt(at), "%v", err)
	}
	return nil
}

func (r *jsonReader) group() error {
	g := listedGroup{line: r.here()}
	err := r.object(func(key string) error {
		switch key {
		case "cluster":
			return r.value(&g.cluster)
		case "group":
			return r.value(&g.group)
		case "error":
			return r.lack()
		case "group_encoding":
			return r.value(&g.encoding)
		case "partitions":
			return r.array(func() error {
				l, err := r.entry()
				g.entries = append(g.entries, l)
				return err
			})
		default:
			return r.skip()
		}
	})
	if err != nil {
		return err
	}
	if g.group, err = r.bytes(g.line, g.group, g.encoding); err != nil {
		return err
	}
	if g.group == "" {
		return wrongIn(r.name, g.line, "the group has no name")
	}
	for _, l := range g.entries {
		l.Cluster, l.Group = g.cluster, g.group
		if err := r.list.add(l, r.seen); err != nil {
			return err
		}
	}
	return nil
}

// failed reads what export says of a cluster that did not answer.
func (r *jsonReader) failed() error {
	return r.object(func(key string) error {
		if key == "error" {
			return r.lack()
		}
		return r.skip()
	})
}

// lack notes an error that export met; null is none.
func (r *jsonReader) lack() error {
	var text *string
	err := r.value(&text)
	if text != nil {
		r.list.Lacking = append(r.list.Lacking, *text)
	}
	return err
}

func (r *jsonReader) entry() (l ListedOffset, err error) {
	l.Line = r.here()
	var j listedJSON
	if err := r.value(&j); err != nil {
		return l, err
	}
	switch {
	case j.Topic == nil || *j.Topic == "":
		return l, wrongIn(r.name, l.Line, "the topic has no name")
	case j.Partition == nil:
		return l, wrongIn(r.name, l.Line, "the partition is missing")
	case j.Offset == nil:
		return l, wrongIn(r.name, l.Line, "the offset is missing").WithHint("kcm offsets export -o json writes what is read here")
	case *j.Partition < 0:
		return l, wrongIn(r.name, l.Line, "the partition is %d: below zero there is none", *j.Partition)
	case *j.Offset < 0:
		return l, wrongIn(r.name, l.Line, "the offset is %d: below zero there is none", *j.Offset)
	}
	l.Partition, l.Offset = Partition{Topic: *j.Topic, Partition: *j.Partition}, *j.Offset
	l.Metadata, err = r.bytes(l.Line, deref(j.Metadata), j.MetadataEncoding)
	return l, err
}

// bytes reads a text that may be written in base64.
func (r *jsonReader) bytes(line int, text, encoding string) (string, error) {
	switch encoding {
	case "":
		return text, nil
	case base64Encoding:
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", wrongIn(r.name, line, "%q is no base64", text)
		}
		return string(b), nil
	default:
		return "", wrongIn(r.name, line, "%q is no encoding that kcm knows", encoding)
	}
}

// object reads an object; value has the value of each key read.
func (r *jsonReader) object(value func(key string) error) error {
	return r.enclosed('{', func() error {
		key, err := r.dec.Token()
		if err != nil {
			return wrongIn(r.name, r.here(), "%v", err)
		}
		name, _ := key.(string) // the decoder sees to it
		return value(name)
	})
}

// array reads an array, each value by the function.
func (r *jsonReader) array(value func() error) error { return r.enclosed('[', value) }

func (r *jsonReader) enclosed(open json.Delim, inner func() error) error {
	line := r.here()
	switch t, err := r.dec.Token(); {
	case err != nil:
		return wrongIn(r.name, r.here(), "%v", err)
	case t != open && open == '{':
		return wrongIn(r.name, line, "there should be an object")
	case t != open:
		return wrongIn(r.name, line, "there should be an array")
	}
	for r.dec.More() {
		if err := inner(); err != nil {
			return err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return wrongIn(r.name, r.here(), "%v", err)
	}
	return nil
}

func (r *jsonReader) skip() error {
	var skipped json.RawMessage
	return r.value(&skipped)
}

func (r *jsonReader) value(to any) error {
	line := r.here()
	err := r.dec.Decode(to)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongIn(r.name, line, "%s is a %s here: it should be %s", field(kind.Field), kind.Value, shapeOf(kind))
	}
	if err != nil {
		return wrongIn(r.name, r.here(), "%v", err)
	}
	return nil
}

func field(name string) string {
	if name == "" {
		return "a value"
	}
	return name
}

// shapeOf says what should be in the place of what is of another type.
func shapeOf(err *json.UnmarshalTypeError) string {
	switch err.Type.Kind().String() {
	case "string":
		return "a text"
	case "struct":
		return "an object"
	default:
		return "a whole number that fits"
	}
}

// here is the line of what comes next.
func (r *jsonReader) here() int {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	return r.lineAt(at)
}

// lineAt is the line of a place in the text, from 1. Places mostly come in order.
func (r *jsonReader) lineAt(at int) int {
	at = min(max(at, 0), len(r.text))
	if at < r.counted {
		r.counted, r.line = 0, 1
	}
	r.line += bytes.Count(r.text[r.counted:at], []byte("\n"))
	r.counted = at
	return r.line
}
