package avro

import (
	"math"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/codec"
)

// optional reads which branch of a union of two follows.
func (m *machine) optional(i int, null uint8) (bool, int, *fail) {
	n, i, f := m.long(i)
	if f == nil && uint64(n) > 1 {
		f = failf("branch %d of a union of 2", n)
	}
	return n == int64(null) && f == nil, i, f
}

func (m *machine) union(branches []*program, dst []byte, i, depth int) ([]byte, int, *fail) {
	n, i, f := m.long(i)
	if f != nil {
		return dst, i, f
	}
	if uint64(n) >= uint64(len(branches)) {
		return dst, i, failf("branch %d of a union of %d", n, len(branches))
	}
	return m.run(branches[n], dst, i, depth)
}

// block reads the count that begins a block of items. Below zero it is followed
// by the block's size in bytes, for readers that want to leave it out: it has
// only to be possible.
func (m *machine) block(i int) (int64, int, *fail) {
	n, i, f := m.long(i)
	if f != nil || n >= 0 {
		return n, i, f
	}
	if n == math.MinInt64 {
		return 0, i, failf("a block of %d items", n)
	}
	size, i, f := m.long(i)
	if f == nil && uint64(size) > uint64(len(m.in)-i) {
		f = failf("a block of %d bytes, and %d are left", size, len(m.in)-i)
	}
	return -n, i, f
}

// array reads blocks of items up to an empty one. What a count says costs
// nothing by itself: items end with the payload, or for those that take no
// bytes at the limit that run knows.
func (m *machine) array(items *program, dst []byte, i, depth int) ([]byte, int, *fail) {
	dst = append(dst, '[')
	for seen := 0; ; {
		n, next, f := m.block(i)
		i = next
		if f != nil {
			return dst, i, f
		}
		if n == 0 {
			return append(dst, ']'), i, nil
		}
		for ; n > 0; n-- {
			if seen > 0 {
				dst = append(dst, ',')
			}
			switch {
			case items.single == nil:
				dst, i, f = m.run(items, dst, i, depth+1)
			case len(dst) > m.limit:
				f = m.tooMuch()
			default:
				dst, i, f = m.value(items.single, dst, i, depth+1)
			}
			if f != nil {
				return dst, i, f.under("[" + strconv.Itoa(seen) + "]")
			}
			seen++
		}
	}
}

// object reads a map: blocks of keys and values. Equal keys are all kept, in
// order.
func (m *machine) object(values *program, dst []byte, i, depth int) ([]byte, int, *fail) {
	dst = append(dst, '{')
	for seen := 0; ; {
		n, next, f := m.block(i)
		i = next
		if f != nil {
			return dst, i, f
		}
		if n == 0 {
			return append(dst, '}'), i, nil
		}
		for ; n > 0; n-- {
			if seen > 0 {
				dst = append(dst, ',')
			}
			start := len(dst)
			if dst, i, f = m.text(dst, i); f != nil {
				return dst, i, f.under("[key " + strconv.Itoa(seen) + "]")
			}
			key := len(dst)
			dst = append(dst, ':')
			if dst, i, f = m.run(values, dst, i, depth+1); f != nil {
				return dst, i, f.under(keyPath(dst[start:key]))
			}
			seen++
		}
	}
}

// keyPath is the place of a map's value, by its key in JSON; a long one is cut.
func keyPath(key []byte) string {
	const most = 40
	if len(key) <= most {
		return "[" + string(key) + "]"
	}
	return "[" + strings.ToValidUTF8(string(key[:most]), "") + "…]"
}

// appendLatin writes bytes as a string of the characters U+0000 to U+00FF.
func appendLatin(dst, b []byte) []byte {
	if codec.IsPlain(b) {
		dst = append(dst, '"')
		dst = append(dst, b...)
		return append(dst, '"')
	}
	dst = append(dst, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0xa0:
			dst = append(dst, 0xc0|c>>6, 0x80|c&0x3f)
		case c < ' ' || c >= 0x80: // control characters, those beyond ASCII too
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

func appendUUID(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, '"')
}
