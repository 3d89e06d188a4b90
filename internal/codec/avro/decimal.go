package avro

import (
	"math/big"
	"math/bits"
	"strconv"
)

const (
	// maxDecimal bounds the bytes of a decimal, as for CBOR's large numbers: the
	// time to write one grows faster than its length.
	maxDecimal = 4096
	// smallDecimal is the size up to which no memory is allocated: 38 digits.
	smallDecimal = 16
	// maxZeros bounds the zeros that the scale of a big-decimal adds to its digits;
	// beyond, it is written with an exponent.
	maxZeros = 1000
)

// appendDecimal writes a decimal as a string: as a number it would lose digits
// in the many programs that read numbers of JSON as floats. No bytes at all are
// zero.
func appendDecimal(dst, b []byte, scale int) ([]byte, *fail) {
	if len(b) > maxDecimal {
		return dst, failf("a decimal of %d bytes; %d are the most", len(b), maxDecimal)
	}
	var room [40]byte
	digits, negative := unscaled(room[:0], b)
	dst = sign(append(dst, '"'), negative)
	return append(point(dst, digits, scale), '"'), nil
}

// appendBigDecimal writes a decimal that brings its scale along: the bytes of
// the unscaled number with their length, and an int.
func appendBigDecimal(dst, b []byte) ([]byte, *fail) {
	m := machine{in: b}
	number, i, f := m.bytes(0)
	if f != nil {
		return dst, f
	}
	scale, i, f := m.int(i)
	switch {
	case f != nil:
		return dst, f
	case i < len(b):
		return dst, failf("%d bytes are left over in a big-decimal", len(b)-i)
	case len(number) > maxDecimal:
		return dst, failf("a decimal of %d bytes; %d are the most", len(number), maxDecimal)
	}
	var room [40]byte
	digits, negative := unscaled(room[:0], number)
	dst = sign(append(dst, '"'), negative)
	switch {
	case scale > maxZeros || scale < -maxZeros:
		dst = append(append(dst, digits...), 'E')
		dst = strconv.AppendInt(dst, -scale, 10)
	case scale < 0:
		dst = append(dst, digits...)
		if digits[0] != '0' {
			dst = zeros(dst, int(-scale))
		}
	default:
		dst = point(dst, digits, int(scale))
	}
	return append(dst, '"'), nil
}

func sign(dst []byte, negative bool) []byte {
	if negative {
		return append(dst, '-')
	}
	return dst
}

// point writes digits, of which the last scale ones are behind the point.
func point(dst, digits []byte, scale int) []byte {
	whole := len(digits) - scale
	switch {
	case scale == 0:
		return append(dst, digits...)
	case whole > 0:
		dst = append(append(dst, digits[:whole]...), '.')
		return append(dst, digits[whole:]...)
	default:
		return append(zeros(append(dst, '0', '.'), -whole), digits...)
	}
}

func zeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// unscaled writes the digits of an integer in two's complement, big-endian.
func unscaled(dst, b []byte) (digits []byte, negative bool) {
	negative = len(b) > 0 && b[0] >= 0x80
	if len(b) > smallDecimal {
		n := new(big.Int).SetBytes(b)
		if negative {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b)))).Abs(n)
		}
		return n.Append(dst, 10), negative
	}
	var hi, lo uint64
	if negative {
		hi, lo = ^hi, ^lo
	}
	for _, c := range b {
		hi, lo = hi<<8|lo>>56, lo<<8|uint64(c)
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return wide(dst, hi, lo), negative
}

// wide writes a number of 128 bits: up to three groups of 19 digits.
func wide(dst []byte, hi, lo uint64) []byte {
	const group, groupDigits = 1e19, 19
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	top, hi := hi/group, hi%group
	quotient, rest := bits.Div64(hi, lo, group)
	// The quotient of the whole is top·2^64 + quotient: below 2^128/10^19, so top is 0 or 1.
	top, quotient = bits.Div64(top, quotient, group)
	if top > 0 {
		dst = strconv.AppendUint(dst, top, 10)
		dst = padded(dst, quotient, groupDigits)
	} else {
		dst = strconv.AppendUint(dst, quotient, 10)
	}
	return padded(dst, rest, groupDigits)
}

// padded writes n in as many digits as width says.
func padded(dst []byte, n uint64, width int) []byte {
	var room [20]byte
	digits := strconv.AppendUint(room[:0], n, 10)
	return append(zeros(dst, width-len(digits)), digits...)
}
