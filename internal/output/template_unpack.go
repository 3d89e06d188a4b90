package output

import (
	"encoding/binary"
	"strconv"
)

// unpackStep takes from the front of src, appends what it found, and returns
// how much it took.
type unpackStep func(dst, src []byte) (_ []byte, took int)

// unpack compiles the fields of unpack: bBhHiIqQ are integers of 1, 2, 4 and 8
// bytes, signed in lower case; < and > set the byte order; c or . is a byte;
// s is the rest; $ demands the end; x is nothing.
func (p *parser) unpack(at int, layout string) (textForm, error) {
	var steps []unpackStep
	var order binary.ByteOrder = binary.LittleEndian
	for i := range len(layout) {
		c := layout[i]
		if i > 0 && (layout[i-1] == 's' || layout[i-1] == '$') {
			return nil, p.fault(at, "unpack: nothing can follow %c", layout[i-1])
		}
		switch c {
		case 'x':
		case '<':
			order = binary.LittleEndian
		case '>':
			order = binary.BigEndian
		case 'c', '.':
			steps = append(steps, unpackByte)
		case 's':
			steps = append(steps, func(dst, src []byte) ([]byte, int) { return append(dst, src...), len(src) })
		case '$':
			steps = append(steps, unpackEnd)
		default:
			step := unpackInteger(c, order)
			if step == nil {
				return nil, p.fault(at, "unpack: unknown field %q; fields are <>xbBhHiIqQc.s$", c)
			}
			steps = append(steps, step)
		}
	}
	return func(dst, src []byte) []byte {
		for _, step := range steps {
			var took int
			dst, took = step(dst, src)
			src = src[took:]
		}
		return dst
	}, nil
}

// The texts for damaged data are those of franz-go.

func unpackByte(dst, src []byte) ([]byte, int) {
	if len(src) < 1 {
		return append(dst, "%!c(no bytes available)"...), 0
	}
	return append(dst, src[0]), 1
}

func unpackEnd(dst, src []byte) ([]byte, int) {
	if len(src) != 0 {
		dst = append(dst, "%!$(not end-of-input)"...)
	}
	return dst, len(src)
}

// unpackInteger returns nil when c names no integer.
func unpackInteger(c byte, order binary.ByteOrder) unpackStep {
	signed := c >= 'a'
	var need int
	switch c | 0x20 {
	case 'b':
		need = 1
	case 'h':
		need = 2
	case 'i':
		need = 4
	case 'q':
		need = 8
	default:
		return nil
	}
	return func(dst, src []byte) ([]byte, int) {
		if len(src) < need {
			dst = strconv.AppendInt(append(dst, "%!(have "...), int64(len(src)), 10)
			dst = strconv.AppendInt(append(dst, " bytes, need "...), int64(need), 10)
			return append(dst, ')'), len(src)
		}
		n := unsigned(src[:need], order)
		if signed {
			unused := 64 - 8*need
			return strconv.AppendInt(dst, int64(n<<unused)>>unused, 10), need
		}
		return strconv.AppendUint(dst, n, 10), need
	}
}

func unsigned(b []byte, order binary.ByteOrder) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	default:
		return order.Uint64(b)
	}
}
