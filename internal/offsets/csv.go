package offsets

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
)

// AppendCSV appends the line of an offset as Kafka's own tools write it (KIP-222,
// KIP-379): topic, partition and offset, with grouped the group in front of them,
// and no line that names the fields. What is quoted is what they quote, byte for
// byte.
func AppendCSV(dst []byte, l *ListedOffset, grouped bool) []byte {
	if grouped {
		dst = append(appendJavaField(dst, l.Group), ',')
	}
	dst = append(appendJavaField(dst, l.Topic), ',')
	dst = append(strconv.AppendInt(dst, int64(l.Partition.Partition), 10), ',')
	return append(strconv.AppendInt(dst, l.Offset, 10), '\n')
}

const (
	mostUnquoted = 24  // UTF-16 units of a field that is looked at before it is quoted
	leastSafe    = '-' // what sorts before it is quoted, whether it needs it or not
)

// appendJavaField appends a field as Jackson's writer does, which quotes more than
// it has to.
func appendJavaField(dst []byte, f string) []byte {
	quoted, units := false, 0
	for i := 0; i < len(f) && !quoted; {
		r, n := utf8.DecodeRuneInString(f[i:])
		i += n
		if units++; r > 0xffff {
			units++
		}
		quoted = r < leastSafe || r == '\\' || units > mostUnquoted
	}
	if !quoted {
		return append(dst, f...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(f, `"`, `""`)...)
	return append(dst, '"')
}

// csvReader reads lines of offsets.
type csvReader struct {
	name string
	rest []byte
	line int // of what comes next
}

// The numbers of fields that a line has.
const (
	ungrouped = 3
	withGroup = 4
)

// readCSV reads the offsets of Kafka's own tools, of either shape. Lines without
// anything are passed over: kafka-consumer-groups ends with one.
func readCSV(text []byte, name string) (*Listing, error) {
	r := &csvReader{name: name, rest: text, line: 1}
	list := &Listing{Name: name}
	seen := map[listedKey]int{}
	shape := 0
	for {
		fields, line, err := r.fields()
		if err != nil {
			return nil, err
		}
		if fields == nil {
			break
		}
		if shape == 0 {
			shape = len(fields)
			list.Grouped = shape == withGroup
		}
		if len(fields) != shape || shape != ungrouped && shape != withGroup {
			return nil, r.misshapen(line, fields, shape)
		}
		l, err := r.listed(line, fields)
		if err != nil {
			return nil, err
		}
		if err := list.add(l, seen); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fields reads the fields of the next line that has any; nil at the end.
func (r *csvReader) fields() (fields []string, line int, err error) {
	for len(r.rest) > 0 {
		line = r.line
		end := bytes.IndexByte(r.rest, '\n')
		if end < 0 {
			end = len(r.rest)
		}
		if len(bytes.TrimSpace(r.rest[:end])) > 0 {
			break
		}
		r.rest = r.rest[min(end+1, len(r.rest)):]
		r.line++
	}
	if len(r.rest) == 0 {
		return nil, r.line, nil
	}
	for {
		f, err := r.field()
		if err != nil {
			return nil, line, err
		}
		fields = append(fields, f)
		if len(r.rest) > 0 && r.rest[0] == ',' {
			r.rest = r.rest[1:]
			continue
		}
		r.rest = bytes.TrimPrefix(r.rest, []byte("\r"))
		r.rest = bytes.TrimPrefix(r.rest, []byte("\n"))
		r.line++
		return fields, line, nil
	}
}

// field reads up to the comma or the end of the line behind a field.
func (r *csvReader) field() (string, error) {
	if len(r.rest) > 0 && r.rest[0] == '"' {
		return r.quoted()
	}
	end := bytes.IndexAny(r.rest, ",\n")
	if end < 0 {
		end = len(r.rest)
	}
	f := r.rest[:end]
	if end == len(r.rest) || r.rest[end] == '\n' {
		f = bytes.TrimSuffix(f, []byte("\r"))
	}
	r.rest = r.rest[len(f):]
	if bytes.HasPrefix(bytes.TrimLeft(f, " \t"), []byte(`"`)) {
		return "", r.wrong(r.line, "there is a blank before a quote").WithHint("a field in quotes begins with them")
	}
	return string(f), nil
}

// quoted reads a field in quotes, which may hold line ends.
func (r *csvReader) quoted() (string, error) {
	began := r.line
	var f []byte
	for r.rest = r.rest[1:]; ; {
		end := bytes.IndexByte(r.rest, '"')
		if end < 0 {
			return "", r.wrong(began, "a quote is not closed").WithHint(`a quote within a field is written twice: "a""b"`)
		}
		f = append(f, r.rest[:end]...)
		r.line += bytes.Count(r.rest[:end], []byte("\n"))
		r.rest = r.rest[end+1:]
		if len(r.rest) == 0 || r.rest[0] != '"' {
			break
		}
		f, r.rest = append(f, '"'), r.rest[1:]
	}
	if !endsField(r.rest) {
		return "", r.wrong(r.line, "something stands between a closing quote and the comma").
			WithHint(`a quote within a field is written twice: "a""b"`)
	}
	return string(f), nil
}

func endsField(rest []byte) bool {
	return len(rest) == 0 || rest[0] == ',' || rest[0] == '\n' || string(rest) == "\r" || bytes.HasPrefix(rest, []byte("\r\n"))
}

// listed reads what a line says.
func (r *csvReader) listed(line int, fields []string) (l ListedOffset, err error) {
	l.Line = line
	rest := fields
	if len(fields) == withGroup {
		l.Group, rest = fields[0], fields[1:]
		if l.Group == "" {
			return l, r.wrong(line, "the group has no name")
		}
	}
	if l.Topic = rest[0]; l.Topic == "" {
		return l, r.wrong(line, "the topic has no name")
	}
	partition, ok := wholeNumber(rest[1], 32)
	if !ok {
		return l, r.noNumber(line, fields, "partition", rest[1])
	}
	if l.Offset, ok = wholeNumber(rest[2], 64); !ok {
		return l, r.noNumber(line, fields, "offset", rest[2])
	}
	l.Partition.Partition = int32(partition)
	return l, nil
}

// wholeNumber reads digits, with blanks around them or not.
func wholeNumber(text string, bits int) (int64, bool) {
	text = strings.Trim(text, " \t")
	if strings.HasPrefix(text, "+") {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return n, err == nil && n >= 0
}

func (r *csvReader) wrong(line int, format string, args ...any) *fault.Error {
	return wrongIn(r.name, line, format, args...)
}

func (r *csvReader) noNumber(line int, fields []string, what, text string) error {
	if names := strings.Join(fields, ","); names == "topic,partition,offset" || names == "group,topic,partition,offset" {
		return r.wrong(line, "names of fields stand here: such a file has none").WithHint("take the line out")
	}
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		return r.wrong(line, "the %s is %s: below zero there is none", what, strings.TrimSpace(text))
	}
	return r.wrong(line, "the %s is %q, which is no number", what, text)
}

func (r *csvReader) misshapen(line int, fields []string, shape int) error {
	const forms = "topic,partition,offset, or group,topic,partition,offset"
	if shape == ungrouped || shape == withGroup {
		err := r.wrong(line, "the line has %s, those before it have %d", countFields(len(fields)), shape)
		if len(fields) < ungrouped {
			return err.WithHint("kafka-consumer-groups writes its messages among the offsets; take them out")
		}
		return err.WithHint("all lines are %s", forms)
	}
	return r.wrong(line, "the line has %s", countFields(len(fields))).WithHint("lines are %s", forms)
}

func countFields(n int) string {
	if n == 1 {
		return "one field"
	}
	return strconv.Itoa(n) + " fields"
}
