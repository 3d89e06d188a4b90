package output

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// textNull is what text shows for null; it is not what the text "null" looks like.
const textNull = "<null>"

// field is what a column of text shows. Its number is its place in columnNames.
type field uint8

const (
	fieldStream field = iota
	fieldCluster
	fieldTopic
	fieldPartition
	fieldOffset
	fieldTime
	fieldTimestamp
	fieldTimestampType
	fieldKey
	fieldKeySchema
	fieldValue
	fieldValueSchema
	fieldHeaders
	fieldNone // nothing of the record
)

// columnNames are the keys of the JSON record, and time, for people.
var columnNames = []string{
	"stream", "cluster", "topic", "partition", "offset", "time", "timestamp", "timestamp_type",
	"key", "key_schema_id", "value", "value_schema_id", "headers",
}

// Columns lists what Options.Columns may name.
func Columns() []string { return slices.Clone(columnNames) }

// parseColumns turns names into fields.
func parseColumns(names []string) ([]field, error) {
	var fields []field
	for _, name := range names {
		i := slices.Index(columnNames, name)
		if i >= 0 {
			fields = append(fields, field(i))
			continue
		}
		err := fault.New(fault.Usage, "unknown column %q; columns are %s", name, strings.Join(columnNames, ", "))
		if near := fault.Nearest(strings.ToLower(name), columnNames); near != "" {
			return nil, err.WithHint("did you mean %s?", near)
		}
		return nil, err
	}
	return fields, nil
}

// textFormat writes a line a record for people:
// stream@cluster topic[partition]@offset time key value.
type textFormat struct {
	columns   []field // empty: the usual line
	null, end string
	pretty    bool
	palette   palette
	widths    []columnWidth // of the columns, by their order; nil: they are not aligned

	mu   sync.Mutex
	used map[string]int // which of the palette's colours a name has
}

func newText(opt Options, end string) (Format, error) {
	columns, err := parseColumns(opt.Columns)
	if err != nil {
		return nil, err
	}
	f := &textFormat{
		columns: columns,
		null:    opt.null(textNull),
		end:     end,
		pretty:  opt.Pretty,
		palette: newPalette(opt.Color, opt.Colors256),
		used:    make(map[string]int),
	}
	if opt.Align && !opt.Pretty {
		f.widths = make([]columnWidth, max(len(columns), usualCells))
	}
	return f, nil
}

// Needs implements Format.
func (f *textFormat) Needs() Needs {
	if len(f.columns) == 0 {
		return Needs{Key: true, Value: true}
	}
	shows := func(fields ...field) bool {
		return slices.ContainsFunc(f.columns, func(c field) bool { return slices.Contains(fields, c) })
	}
	return Needs{Key: shows(fieldKey, fieldKeySchema), Value: shows(fieldValue, fieldValueSchema)}
}

// colorOf returns the colour of a name: the one that its letters choose, the same
// in every run, unless another name of this run has it.
func (f *textFormat) colorOf(name string) style {
	colors := f.palette.names
	if len(colors) == 0 {
		return style{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := f.used[name]; ok {
		return colors[i]
	}
	taken := make([]bool, len(colors))
	for _, i := range f.used {
		taken[i] = true
	}
	at := int(hash(name) % uint32(len(colors)))
	for i := range colors {
		if next := (at + i) % len(colors); !taken[next] {
			at = next
			break
		}
	}
	f.used[name] = at
	return colors[at]
}

// hash is FNV-1a, with its bits mixed once more: short names that differ in one
// letter are the rule.
func hash(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	h ^= h >> 15
	h *= 0x85ebca6b
	return h ^ h>>13
}

// columnWidth is how wide a column is; it only grows, so that lines stay where
// they are on a screen.
type columnWidth struct{ now atomic.Int32 }

// widestColumn is how far a column grows. What is wider takes the room that it
// needs on its own line and moves no other.
const widestColumn = 60

// fit makes room for a text of that width and returns how many blanks it is
// short of the column.
func (c *columnWidth) fit(width int) int {
	for {
		now := c.now.Load()
		switch {
		case width <= int(now):
			return int(now) - width
		case width > widestColumn:
			return 0
		case c.now.CompareAndSwap(now, int32(width)):
			return 0
		}
	}
}

// appendNull writes what stands for null.
func (f *textFormat) appendNull(dst []byte) []byte { return f.palette.faint.append(dst, f.null) }

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

func (f *textFormat) appendKey(dst []byte, key *record.Value) []byte {
	dst = append(dst, f.palette.key.on...)
	dst = f.appendValue(dst, key)
	return append(dst, f.palette.key.off...)
}

func (f *textFormat) appendValue(dst []byte, v *record.Value) []byte {
	if v.Kind == record.Null {
		return f.appendNull(dst)
	}
	return appendSafe(dst, v.Bytes)
}

func (f *textFormat) appendHeaders(dst []byte, headers record.Headers) []byte {
	first := true
	for h := range headers.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendSafe(dst, h.Key), '=')
		dst = f.appendHeaderValue(dst, h)
	}
	return dst
}

func (f *textFormat) appendHeaderValue(dst []byte, h record.Header) []byte {
	if h.Value == nil {
		return f.appendNull(dst)
	}
	return appendSafe(dst, h.Value)
}
