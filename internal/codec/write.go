package codec

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendFloat writes the shortest number that reads back as f, which has that
// many bits. JSON has no number for NaN and the infinities: they are the
// strings "NaN", "Infinity" and "-Infinity".
func AppendFloat(dst []byte, f float64, bits int) []byte {
	abs := math.Abs(f)
	if bits == 64 && abs < maxThousandths {
		if n := int64(abs*1000 + 0.5); n > 0 && float64(n)/1000 == abs {
			return appendThousandths(dst, n, f < 0)
		}
	}
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// maxThousandths bounds the floats that are tried as a number of thousandths
// first. Such a number has up to 15 digits, of which no two are the same float:
// when it reads back as f it is the shortest that does, without the search.
const maxThousandths = 1e11

// appendThousandths writes n/1000.
func appendThousandths(dst []byte, n int64, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	if rest := n % 1000; rest > 0 {
		dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return dst
}

// AppendText writes s as a JSON string; ok is false, and nothing written, when
// it is not UTF-8.
func AppendText(dst, s []byte) (_ []byte, ok bool) {
	if n := len(s); n >= 8 && n <= 16 && cap(dst)-len(dst) >= n+2 {
		first, last := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[n-8:])
		if (unplain(first)|unplain(last))&0x8080808080808080 == 0 {
			to := dst[len(dst) : len(dst)+n+2]
			to[0], to[n+1] = '"', '"'
			binary.LittleEndian.PutUint64(to[1:], first)
			binary.LittleEndian.PutUint64(to[n-7:], last)
			return dst[:len(dst)+n+2], true
		}
	}
	if IsPlain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"'), true
	}
	if !utf8.Valid(s) {
		return dst, false
	}
	return AppendString(dst, s), true
}

// IsPlain reports whether s is ASCII that stands in a JSON string as it is: most
// strings are, and it looks at eight bytes at a time.
func IsPlain(s []byte) bool {
	if len(s) < 8 {
		for _, c := range s {
			if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	odd := unplain(binary.LittleEndian.Uint64(s[len(s)-8:]))
	for ; len(s) >= 8; s = s[8:] {
		odd |= unplain(binary.LittleEndian.Uint64(s))
	}
	return odd&0x8080808080808080 == 0
}

// unplain sets the top bit of a byte that is beyond ASCII, below a blank, a
// quote or a backslash. A bit above such a byte may be set by mistake, which
// does not matter to a caller that asks for all of them.
func unplain(x uint64) uint64 {
	const ones = 0x0101010101010101
	return x | (x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)
}

// AppendString writes s, which is valid UTF-8, as a JSON string.
func AppendString(dst, s []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}

// AppendBytes writes b as a JSON string in base64.
func AppendBytes(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// AppendTime writes a point in time as a JSON string in RFC 3339, UTC; ok is
// false, and nothing written, outside the years 0 to 9999 that it can express.
func AppendTime(dst []byte, seconds, nanos int64) (_ []byte, ok bool) {
	const yearZero, yearTenThousand = -62167219200, 253402300800
	if seconds < yearZero || seconds >= yearTenThousand || nanos < 0 || nanos > 999_999_999 {
		return dst, false
	}
	dst = append(dst, '"')
	dst = time.Unix(seconds, nanos).UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"'), true
}

// keyAsString rewrites the JSON text at dst[start:], an object's key, as a
// string when it is none: JSON allows no other keys.
func keyAsString(dst []byte, start int) []byte {
	if dst[start] == '"' {
		return dst
	}
	text := append([]byte(nil), dst[start:]...)
	return AppendString(dst[:start], text)
}
