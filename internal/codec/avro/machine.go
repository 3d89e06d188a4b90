package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
)

const (
	// maxDepth bounds the levels of a value, as for every other decoder.
	maxDepth = 1000
	// freeOutput is what values that take no bytes may make of any payload: the
	// counts of damaged arrays of nulls go up to 2^63.
	freeOutput = 16 << 20
)

// fail says what is wrong with a payload, and where.
type fail struct {
	path string
	what string
}

// Error implements error.
func (f *fail) Error() string {
	if f.path == "" {
		return f.what
	}
	return f.path + ": " + f.what
}

// maxPath bounds the bytes of a path: values may be nested as deep as they like,
// and messages may not be.
const maxPath = 200

// under gives f as seen from the value that has path within it.
func (f *fail) under(path string) *fail {
	switch {
	case path == "" || strings.HasPrefix(f.path, "…"):
		return f
	case len(f.path) > maxPath:
		return &fail{"…" + f.path, f.what}
	case f.path == "" || f.path[0] == '[':
		return &fail{path + f.path, f.what}
	default:
		return &fail{path + "." + f.path, f.what}
	}
}

func failf(format string, args ...any) *fail { return &fail{what: fmt.Sprintf(format, args...)} }

// machine runs programs over one payload. Its methods read at index i and
// return the index behind what they read.
type machine struct {
	in    []byte
	limit int // of the output's length
}

// run executes a program. The steps that are the most frequent stand in its own
// switch, which saves a call for each.
func (m *machine) run(p *program, dst []byte, i, depth int) ([]byte, int, *fail) {
	if depth+p.height > maxDepth {
		return dst, i, failf("nested deeper than %d levels", maxDepth)
	}
	if len(dst) > m.limit {
		return dst, i, m.tooMuch()
	}
	for at := 0; at < len(p.steps); at++ {
		s := &p.steps[at]
		dst = s.lead.Append(dst)
		var f *fail
		switch s.op {
		case opText:
		case opOptional:
			var null bool
			if null, i, f = m.optional(i, s.flag); null {
				dst = append(dst, "null"...)
				at += s.n
			}
		case opString:
			dst, i, f = m.text(dst, i)
		case opLong:
			var n int64
			n, i, f = m.long(i)
			dst = strconv.AppendInt(dst, n, 10)
		default:
			dst, i, f = m.value(s, dst, i, depth+s.nest)
		}
		if f != nil {
			return dst, i, f.under(p.paths[min(at, len(p.paths)-1)])
		}
	}
	return append(dst, p.tail...), i, nil
}

// value executes any step that is a value; depth is that at which it stands.
func (m *machine) value(s *step, dst []byte, i, depth int) ([]byte, int, *fail) {
	switch s.op {
	case opString:
		return m.text(dst, i)
	case opLong:
		n, i, f := m.long(i)
		return strconv.AppendInt(dst, n, 10), i, f
	case opInt:
		n, i, f := m.int(i)
		return strconv.AppendInt(dst, n, 10), i, f
	case opBoolean:
		return m.boolean(dst, i)
	case opEnum:
		return m.enum(s, dst, i)
	case opArray:
		return m.array(s.more.program, dst, i, depth)
	case opMap:
		return m.object(s.more.program, dst, i, depth)
	case opUnion:
		return m.union(s.more.union, dst, i, depth)
	case opRecord:
		return m.run(s.more.program, dst, i, depth)
	case opFloat, opDouble:
		return m.float(s, dst, i)
	case opDate, opTime, opTimestamp:
		return m.calendar(s, dst, i)
	default:
		return m.octets(s, dst, i)
	}
}

func (m *machine) float(s *step, dst []byte, i int) ([]byte, int, *fail) {
	if s.op == opFloat {
		b, i, f := m.take(i, 4)
		if f != nil {
			return dst, i, f
		}
		return codec.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), i, nil
	}
	b, i, f := m.take(i, 8)
	if f != nil {
		return dst, i, f
	}
	return codec.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), i, nil
}

func (m *machine) tooMuch() *fail {
	return failf("%d bytes make more than %d MiB of JSON", len(m.in), freeOutput>>20)
}

// octets executes the steps of bytes and fixed.
func (m *machine) octets(s *step, dst []byte, i int) ([]byte, int, *fail) {
	var b []byte
	var f *fail
	switch s.op {
	case opBytes, opLatin, opDecimal, opBigDecimal:
		b, i, f = m.bytes(i)
	case opUUID:
		b, i, f = m.take(i, 16)
	case opDuration:
		b, i, f = m.take(i, 12)
	default:
		b, i, f = m.take(i, s.n)
	}
	if f != nil {
		return dst, i, f
	}
	switch s.op {
	case opLatin, opFixedLatin:
		dst = appendLatin(dst, b)
	case opDecimal:
		dst, f = appendDecimal(dst, b, s.n)
	case opFixedDecimal:
		dst, f = appendDecimal(dst, b, s.scale)
	case opBigDecimal:
		dst, f = appendBigDecimal(dst, b)
	case opUUID:
		dst = appendUUID(dst, b)
	case opDuration:
		dst = appendDuration(dst, b)
	default:
		dst = codec.AppendBytes(dst, b)
	}
	return dst, i, f
}

func (m *machine) boolean(dst []byte, i int) ([]byte, int, *fail) {
	b, i, f := m.take(i, 1)
	switch {
	case f != nil:
		return dst, i, f
	case b[0] == 0:
		return append(dst, "false"...), i, nil
	case b[0] == 1:
		return append(dst, "true"...), i, nil
	default:
		return dst, i, failf("a boolean is 0 or 1, not %d", b[0])
	}
}

func (m *machine) enum(s *step, dst []byte, i int) ([]byte, int, *fail) {
	n, i, f := m.int(i)
	if f != nil {
		return dst, i, f
	}
	if uint64(n) >= uint64(len(s.more.symbols)) {
		return dst, i, failf("symbol %d of an enum of %d", n, len(s.more.symbols))
	}
	return append(dst, s.more.symbols[n]...), i, nil
}

// text reads a string. One that is not UTF-8 is an error, not a string in which
// something else stands.
func (m *machine) text(dst []byte, i int) ([]byte, int, *fail) {
	if i < len(m.in) { // the usual: short, and nothing to escape
		c := int(m.in[i])
		if end := i + 1 + c>>1; c < 0x80 && c&1 == 0 && end <= len(m.in) && codec.IsPlain(m.in[i+1:end]) {
			dst = append(dst, '"')
			dst = append(dst, m.in[i+1:end]...)
			return append(dst, '"'), end, nil
		}
	}
	b, i, f := m.bytes(i)
	if f != nil {
		return dst, i, f
	}
	dst, ok := codec.AppendText(dst, b)
	if !ok {
		return dst, i, failf("a string that is not UTF-8")
	}
	return dst, i, nil
}

// bytes reads a length and as many bytes, in place.
func (m *machine) bytes(i int) ([]byte, int, *fail) {
	n, i, f := m.long(i)
	if f != nil {
		return nil, i, f
	}
	if uint64(n) > uint64(len(m.in)-i) {
		return nil, i, failf("a length of %d, and %d bytes are left", n, len(m.in)-i)
	}
	end := i + int(n)
	return m.in[i:end], end, nil
}

// take reads n bytes in place.
func (m *machine) take(i, n int) ([]byte, int, *fail) {
	if n > len(m.in)-i {
		return nil, i, failf("%d bytes wanted, and %d are left", n, len(m.in)-i)
	}
	return m.in[i : i+n], i + n, nil
}

// long reads a number: zigzag in a varint.
func (m *machine) long(i int) (int64, int, *fail) {
	if i < len(m.in) && m.in[i] < 0x80 {
		c := int64(m.in[i])
		return c>>1 ^ -(c & 1), i + 1, nil
	}
	return m.longer(i)
}

func (m *machine) longer(i int) (int64, int, *fail) {
	var u uint64
	for at := i; at < len(m.in); at++ {
		c := m.in[at]
		shift := 7 * (at - i)
		if shift == 63 && c > 1 {
			return 0, at, failf("a number of more than 64 bits")
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), at + 1, nil
		}
	}
	return 0, i, failf("ends in the middle of a number")
}

// int reads a number of 32 bits.
func (m *machine) int(i int) (int64, int, *fail) {
	const most = 5 // bytes
	n, end, f := m.long(i)
	if f == nil && (end-i > most || int64(int32(n)) != n) {
		f = failf("a number of more than 32 bits")
	}
	return n, end, f
}
