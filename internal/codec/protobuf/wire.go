package protobuf

import (
	"encoding/binary"
	"errors"
	"math/bits"

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
	errGroup    = errors.New("a damaged group")
	errDepth    = errors.New("messages lie inside each other too deep")
)

// Instead of an error, those who read the wire return an end below 0, which
// damage turns into one: this is done for every few bytes.
const (
	isCut = -1 - iota
	isLong
	isNumber
	isWireType
	isGroup
)

// damage is the error of an end below 0.
func damage(end int) error {
	switch end {
	case isCut:
		return errCut
	case isLong:
		return errVarint
	case isNumber:
		return errNumber
	case isGroup:
		return errGroup
	default:
		return errWireType
	}
}

// varint reads the number at b[i:] and returns where it ends.
func varint(b []byte, i int) (v uint64, end int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	if len(b)-i < 8 {
		return slowVarint(b, i)
	}
	x := binary.LittleEndian.Uint64(b[i:])
	stops := ^x & 0x8080808080808080
	if stops == 0 {
		return slowVarint(b, i)
	}
	// The bits up to the first byte that has not its top bit set, seven of each,
	// pushed together.
	x &= (stops ^ (stops - 1)) & 0x7f7f7f7f7f7f7f7f
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
	return x, i + bits.TrailingZeros64(stops)/8 + 1
}

func slowVarint(b []byte, i int) (v uint64, end int) {
	for shift := 0; i < len(b); shift += 7 {
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			return 0, isLong
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, isCut
}

// next reads the field at b[i:], its tag and what value returns.
func next(b []byte, i int) (tag, v uint64, end int) {
	const most = 1 << 14 // what two bytes hold
	if len(b)-i >= 3 {
		at := i + 1
		tag = uint64(b[i])
		if tag >= 0x80 {
			tag = tag&0x7f | uint64(b[at])<<7
			at++
		}
		if tag-8 < most-8 { // a number, and not one of more bytes
			c := b[at]
			switch {
			case tag&7 == wireVarint && c < 0x80:
				return tag, uint64(c), at + 1
			case tag&7 == wireBytes && c < 0x80 && at+1+int(c) <= len(b):
				return tag, span(at+1, at+1+int(c)), at + 1 + int(c)
			case tag&7 == wire64 && len(b)-at >= 8:
				return tag, binary.LittleEndian.Uint64(b[at:]), at + 8
			}
			v, end = value(b, at, tag)
			return tag, v, end
		}
	}
	return slowNext(b, i)
}

func slowNext(b []byte, i int) (tag, v uint64, end int) {
	tag, i = varint(b, i)
	if i < 0 {
		return 0, 0, i
	}
	if n := tag >> 3; n == 0 || n > uint64(protowire.MaxValidNumber) {
		return 0, 0, isNumber
	}
	v, end = value(b, i, tag)
	return tag, v, end
}

// span packs where something lies: b[from:to] of a text below 4 GiB.
func span(from, to int) uint64 { return uint64(from)<<32 | uint64(to) }

// at is what lies at a span of b.
func at(b []byte, span uint64) []byte { return b[span>>32 : uint32(span)] }

// value reads what follows the tag of a field at b[i:]: a number as it is,
// of a text, a message or a group its span without length and end.
func value(b []byte, i int, tag uint64) (v uint64, end int) {
	switch tag & 7 {
	case wireVarint:
		return varint(b, i)
	case wireBytes:
		n, i := varint(b, i)
		if i < 0 {
			return 0, i
		}
		if n > uint64(len(b)-i) {
			return 0, isCut
		}
		return span(i, i+int(n)), i + int(n)
	case wire64:
		if len(b)-i < 8 {
			return 0, isCut
		}
		return binary.LittleEndian.Uint64(b[i:]), i + 8
	case wire32:
		if len(b)-i < 4 {
			return 0, isCut
		}
		return uint64(binary.LittleEndian.Uint32(b[i:])), i + 4
	default:
		return group(b, i, tag)
	}
}

func group(b []byte, i int, tag uint64) (v uint64, end int) {
	if tag&7 != wireGroup {
		return 0, isWireType
	}
	in, n := protowire.ConsumeGroup(protowire.Number(tag>>3), b[i:])
	if n < 0 {
		return 0, isGroup
	}
	return span(i, i+len(in)), i + n
}
