package output

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// appendDecimal appends n in decimal digits. Offsets and timestamps are in every
// line, so what has up to 16 digits is converted eight digits at a time.
func appendDecimal(dst []byte, n int64) []byte {
	switch {
	case n < 0 || n >= 1e16:
		return strconv.AppendInt(dst, n, 10)
	case n < 1e8:
		return appendLeading(dst, eightDigits(uint32(n)))
	default:
		dst = appendLeading(dst, eightDigits(uint32(n/1e8)))
		return binary.LittleEndian.AppendUint64(dst, eightDigits(uint32(n%1e8))|zeros)
	}
}

const zeros = ones * '0'

// appendLeading appends digits without the zeros in front of them, but at least
// one.
func appendLeading(dst []byte, digits uint64) []byte {
	skip := min(bits.TrailingZeros64(digits)>>3, 7)
	dst = binary.LittleEndian.AppendUint64(dst, (digits|zeros)>>(8*skip))
	return dst[:len(dst)-skip]
}

// eightDigits gives the eight decimal digits of n < 1e8 as bytes 0 to 9, the
// first in the lowest byte. Each step splits all numbers of two, then one digit
// at once; the factors are 1/100 and 1/10 as fractions of powers of two, exact
// for numbers below 10000 and 100.
func eightDigits(n uint32) uint64 {
	x := uint64(n/10000) | uint64(n%10000)<<32
	hundreds := (x * 10486 >> 20) & 0x0000007f_0000007f
	x = hundreds | (x-100*hundreds)<<16
	tens := (x * 103 >> 10) & 0x000f000f_000f000f
	return tens | (x-10*tens)<<8
}
