package output

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// textNull is what text shows for null; it is not what the text "null" looks like.
const textNull = "<null>"

// Columns lists what Options.Columns may name.
func Columns() []string {
	return []string{"stream", "cluster", "topic", "partition", "offset", "time", "timestamp", "key", "value", "headers"}
}

// textFormat writes a line a record for people:
// stream@cluster topic[partition]@offset time key value.
type textFormat struct {
	columns   []string // empty: the usual line
	null, end string
	pretty    bool
	palette   palette

	mu   sync.Mutex
	seen map[string]style // a colour for each cluster, in order of appearance
}

func newText(opt Options, end string) (Format, error) {
	for _, c := range opt.Columns {
		if slices.Contains(Columns(), c) {
			continue
		}
		err := fault.New(fault.Usage, "unknown column %q; columns are %s", c, strings.Join(Columns(), ", "))
		if near := fault.Nearest(strings.ToLower(c), Columns()); near != "" {
			return nil, err.WithHint("did you mean %s?", near)
		}
		return nil, err
	}
	return &textFormat{
		columns: opt.Columns,
		null:    opt.null(textNull),
		end:     end,
		pretty:  opt.Pretty,
		palette: newPalette(opt.Color),
		seen:    make(map[string]style),
	}, nil
}

// Needs implements Format.
func (f *textFormat) Needs() Needs {
	if len(f.columns) == 0 {
		return Needs{Key: true, Value: true}
	}
	return Needs{Key: slices.Contains(f.columns, "key"), Value: slices.Contains(f.columns, "value")}
}

// ForSplit implements Format.
func (f *textFormat) ForSplit(stream string, split record.Split) SplitFormat {
	s := &textSplit{f: f}
	cluster := f.clusterStyle(split.Cluster)
	if len(f.columns) == 0 {
		s.text(cluster.append(nil, safe(stream+"@"+split.Cluster)))
		s.text([]byte(" " + safe(split.Topic) + "[" + strconv.Itoa(int(split.Partition)) + "]@"))
		s.field("offset")
		for _, name := range []string{"time", "key", "value"} {
			s.text([]byte(" "))
			s.field(name)
		}
		return s
	}
	for i, name := range f.columns {
		if i > 0 {
			s.text([]byte(" "))
		}
		switch name {
		case "stream":
			s.text([]byte(safe(stream)))
		case "cluster":
			s.text(cluster.append(nil, safe(split.Cluster)))
		case "topic":
			s.text([]byte(safe(split.Topic)))
		case "partition":
			s.text(strconv.AppendInt(nil, int64(split.Partition), 10))
		default:
			s.field(name)
		}
	}
	return s
}

func (f *textFormat) clusterStyle(cluster string) style {
	if len(f.palette.clusters) == 0 {
		return style{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.seen[cluster]
	if !ok {
		s = f.palette.clusters[len(f.seen)%len(f.palette.clusters)]
		f.seen[cluster] = s
	}
	return s
}

// textSplit is a line's parts in order: what is fixed, then a field of the record.
type textSplit struct {
	f     *textFormat
	parts []textPart
	tail  []byte // fixed text behind the last field
}

type textPart struct {
	before []byte
	field  string
}

func (s *textSplit) text(b []byte) { s.tail = append(s.tail, b...) }

func (s *textSplit) field(name string) {
	s.parts = append(s.parts, textPart{before: s.tail, field: name})
	s.tail = nil
}

// Append implements SplitFormat.
func (s *textSplit) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	f := s.f
	for i := range s.parts {
		part := &s.parts[i]
		dst = append(dst, part.before...)
		switch part.field {
		case "offset":
			dst = appendDecimal(dst, rec.Offset)
		case "time":
			dst = f.appendTime(dst, rec.Timestamp)
		case "timestamp":
			dst = appendDecimal(dst, rec.Timestamp)
		case "key":
			dst = append(dst, f.palette.key.on...)
			dst = f.appendValue(dst, key)
			dst = append(dst, f.palette.key.off...)
		case "value":
			dst = f.appendValue(dst, value)
		case "headers":
			dst = f.appendHeaders(dst, rec.Headers)
		}
	}
	dst = append(dst, s.tail...)
	dst = f.appendError(dst, "key", key)
	dst = f.appendError(dst, "value", value)
	return append(dst, f.end...)
}

// appendTime leaves -1, Kafka's "no timestamp", a number: it is no time.
func (f *textFormat) appendTime(dst []byte, ms int64) []byte {
	dst = append(dst, f.palette.faint.on...)
	if ms == -1 {
		dst = append(dst, "-1"...)
	} else {
		dst = appendTime(dst, ms)
	}
	return append(dst, f.palette.faint.off...)
}

func (f *textFormat) appendNull(dst []byte) []byte { return f.palette.faint.append(dst, f.null) }

func (f *textFormat) appendValue(dst []byte, v *record.Value) []byte {
	switch {
	case v.Kind == record.Null:
		return f.appendNull(dst)
	case f.pretty && v.Kind == record.JSON && len(v.Bytes) > 0 && (v.Bytes[0] == '{' || v.Bytes[0] == '['):
		start := len(dst)
		dst = indentJSON(append(append(dst, '\n', ' ', ' '), v.Bytes...), start+3, "  ")
		return safeLines(dst, start)
	default:
		return appendSafe(dst, v.Bytes)
	}
}

// safeLines makes the lines of dst[start:] safe, one by one.
func safeLines(dst []byte, start int) []byte {
	text := slices.Clone(dst[start:])
	dst = dst[:start]
	for i, line := range strings.Split(string(text), "\n") {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = appendSafe(dst, []byte(line))
	}
	return dst
}

func (f *textFormat) appendHeaders(dst []byte, headers record.Headers) []byte {
	first := true
	for h := range headers.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendSafe(dst, h.Key), '=')
		if h.Value == nil {
			dst = f.appendNull(dst)
		} else {
			dst = appendSafe(dst, h.Value)
		}
	}
	return dst
}

func (f *textFormat) appendError(dst []byte, of string, v *record.Value) []byte {
	if v == nil || v.Err == nil {
		return dst
	}
	dst = append(append(dst, ' '), f.palette.bad.on...)
	dst = append(append(append(dst, "(!"...), of...), ": "...)
	dst = appendSafe(dst, []byte(v.Err.Error()))
	return append(append(dst, ')'), f.palette.bad.off...)
}
