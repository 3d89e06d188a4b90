package output

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kcm-cli/kcm/internal/record"
)

// usualCells is how many cells a line has when no columns are chosen.
const usualCells = 5

// cell is a column of one split's lines: what is the same for all its records,
// then a field of the record.
type cell struct {
	fixed []byte
	field field
	right bool // numbers stand at the right
}

// textSplit writes the lines of one split.
type textSplit struct {
	f     *textFormat
	cells []cell
	block []field // of --pretty: what gets lines of its own
}

// ForSplit implements Format.
func (f *textFormat) ForSplit(stream string, split record.Split) SplitFormat {
	color := f.colorOf(stream + "@" + split.Cluster)
	s := &textSplit{f: f}
	if len(f.columns) == 0 {
		s.cells = []cell{
			{fixed: color.append(nil, safe(stream+"@"+split.Cluster)), field: fieldNone},
			{fixed: []byte(safe(split.Topic) + "[" + strconv.Itoa(int(split.Partition)) + "]@"), field: fieldOffset},
			{field: fieldTime},
		}
		s.add(fieldKey, fieldValue)
		if f.pretty {
			s.add(fieldHeaders)
		}
	}
	for _, name := range f.columns {
		switch name {
		case fieldStream:
			s.fix(color.append(nil, safe(stream)))
		case fieldCluster:
			s.fix(color.append(nil, safe(split.Cluster)))
		case fieldTopic:
			s.fix([]byte(safe(split.Topic)))
		case fieldPartition:
			s.fix(strconv.AppendInt(nil, int64(split.Partition), 10))
			s.cells[len(s.cells)-1].right = true
		default:
			s.add(name)
		}
	}
	if f.widths != nil { // so that the first lines know of the longest name
		for i, c := range s.cells {
			if c.field == fieldNone {
				f.widths[i].fit(visibleWidth(c.fixed))
			}
		}
	}
	return s
}

// fix adds a cell that is the same for all records.
func (s *textSplit) fix(text []byte) {
	s.cells = append(s.cells, cell{fixed: text, field: fieldNone})
}

// add adds fields of the record.
func (s *textSplit) add(fields ...field) {
	for _, f := range fields {
		if s.f.pretty && slices.Contains([]field{fieldKey, fieldValue, fieldHeaders}, f) {
			s.block = append(s.block, f)
			continue
		}
		s.cells = append(s.cells, cell{field: f, right: f == fieldOffset || f == fieldTimestamp})
	}
}

// Append implements SplitFormat.
func (s *textSplit) Append(dst []byte, rec *record.Record, key, value *record.Value) []byte {
	f := s.f
	for i := range s.cells {
		c := &s.cells[i]
		if i > 0 {
			dst = append(dst, ' ')
		}
		start := len(dst)
		dst = append(dst, c.fixed...)
		if c.field != fieldNone {
			dst = f.appendField(dst, c.field, rec, key, value)
		}
		if f.widths != nil && (i < len(s.cells)-1 || c.right) {
			dst = pad(dst, start, f.widths[i].fit(visibleWidth(dst[start:])), c.right)
		}
	}
	if f.pretty {
		dst = s.appendBlock(dst, rec, key, value)
	} else {
		dst = f.appendError(dst, "key", key)
		dst = f.appendError(dst, "value", value)
	}
	return append(dst, f.end...)
}

func (f *textFormat) appendField(dst []byte, which field, rec *record.Record, key, value *record.Value) []byte {
	switch which {
	case fieldOffset:
		return appendDecimal(dst, rec.Offset)
	case fieldTime:
		return f.appendTime(dst, rec.Timestamp)
	case fieldTimestamp:
		return appendDecimal(dst, rec.Timestamp)
	case fieldTimestampType:
		return append(dst, rec.TimestampType.String()...)
	case fieldKey:
		return f.appendKey(dst, key)
	case fieldKeySchema:
		return appendSafe(dst, []byte(key.SchemaID))
	case fieldValue:
		return f.appendValue(dst, value)
	case fieldValueSchema:
		return appendSafe(dst, []byte(value.SchemaID))
	default:
		return f.appendHeaders(dst, rec.Headers)
	}
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

// pad puts n blanks behind dst[start:], or in front of it.
func pad(dst []byte, start, n int, right bool) []byte {
	if n == 0 {
		return dst
	}
	end := len(dst)
	dst = appendBlanks(dst, n)
	if right {
		copy(dst[start+n:], dst[start:end])
		for i := range n {
			dst[start+i] = ' '
		}
	}
	return dst
}

// visibleWidth counts the columns that b takes on a terminal. The only escapes in
// it are the colours of a style: appendSafe lets no other through.
func visibleWidth(b []byte) (width int) {
	for {
		n := printablePrefix(b)
		width += n
		if n == len(b) {
			return width
		}
		b = b[n:]
		if b[0] != '\x1b' {
			end := bytes.IndexByte(b, '\x1b')
			if end < 0 {
				end = len(b)
			}
			// A character that joins with the one before it takes no room here either.
			width += displayWidth(string(b[:end]))
			b = b[end:]
			continue
		}
		b = b[bytes.IndexByte(b, 'm')+1:]
	}
}
