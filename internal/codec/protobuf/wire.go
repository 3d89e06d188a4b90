package protobuf

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The wire types that a record can hold; 4, the end of a group, only ends one.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wireGroup  = 3
	wire32     = 5
)

// maxDepth is how many messages may lie inside each other below the outermost,
// map entries included: the limit of the C++, Java and Python libraries.
const maxDepth = 100

var (
	errCut      = errors.New("cut short")
	errVarint   = errors.New("a number longer than 64 bits")
	errNumber   = errors.New("a field number that cannot be")
	errWireType = errors.New("a wire type that cannot be")
	errDepth    = errors.New("messages lie inside each other too deep")
)

// varint reads the number at b[i:] and returns where it ends.
func varint(b []byte, i int) (v uint64, end int, err error) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1, nil
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (v uint64, end int, err error) {
	for shift := 0; i < len(b); shift += 7 {
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			return 0, i, errVarint
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i, nil
		}
	}
	return 0, i, errCut
}

// span packs where something lies: b[from:to] of a text below 4 GiB.
func span(from, to int) uint64 { return uint64(from)<<32 | uint64(to) }

// at is what lies at a span of b.
func at(b []byte, span uint64) []byte { return b[span>>32 : uint32(span)] }

// tag reads a field's number and wire type at b[i:].
func tag(b []byte, i int) (number uint32, wire uint8, end int, err error) {
	v, i, err := varint(b, i)
	if err != nil {
		return 0, 0, i, err
	}
	if n := v >> 3; n == 0 || n > uint64(protowire.MaxValidNumber) {
		return 0, 0, i, errNumber
	}
	return uint32(v >> 3), uint8(v & 7), i, nil
}

// value reads what follows the tag of field number at b[i:]: a number as it is,
// of a text, a message or a group its span without length and end.
func value(b []byte, i int, number uint32, wire uint8) (v uint64, end int, err error) {
	switch wire {
	case wireVarint:
		return varint(b, i)
	case wireBytes:
		n, i, err := varint(b, i)
		if err != nil {
			return 0, i, err
		}
		if n > uint64(len(b)-i) {
			return 0, i, errCut
		}
		return span(i, i+int(n)), i + int(n), nil
	case wire64:
		if len(b)-i < 8 {
			return 0, i, errCut
		}
		return binary.LittleEndian.Uint64(b[i:]), i + 8, nil
	case wire32:
		if len(b)-i < 4 {
			return 0, i, errCut
		}
		return uint64(binary.LittleEndian.Uint32(b[i:])), i + 4, nil
	case wireGroup:
		in, n := protowire.ConsumeGroup(protowire.Number(number), b[i:])
		if n < 0 {
			return 0, i, protowire.ParseError(n)
		}
		return span(i, i+len(in)), i + n, nil
	default:
		return 0, i, errWireType
	}
}
