package avro

import (
	"encoding/binary"
	"strconv"
)

const (
	secondsOfDay = 86_400
	// The days of 0000-01-01 and 10000-01-01: RFC 3339 has years of four digits.
	firstDay = -719_528
	endOfDay = 2_932_897
)

// calendar executes the steps of dates and times. What their text cannot
// express is written as the number that is stored.
func (m *machine) calendar(s *step, dst []byte, i int) ([]byte, int, *fail) {
	if s.op == opDate || s.op == opTime && s.n == 3 { // the two that are stored as int
		n, i, f := m.int(i)
		if s.op == opDate {
			return appendDate(dst, n), i, f
		}
		return appendTime(dst, n, s.n), i, f
	}
	n, i, f := m.long(i)
	if s.op == opTime {
		return appendTime(dst, n, s.n), i, f
	}
	return appendTimestamp(dst, n, s.n, s.flag == 1), i, f
}

func appendDate(dst []byte, day int64) []byte {
	if day < firstDay || day >= endOfDay {
		return strconv.AppendInt(dst, day, 10)
	}
	return append(appendDay(append(dst, '"'), day), '"')
}

// appendTime writes a time of the day, of which n is counted in units of
// 10^-decimals seconds.
func appendTime(dst []byte, n int64, decimals int) []byte {
	second, fraction := split(n, decimals)
	if second < 0 || second >= secondsOfDay {
		return strconv.AppendInt(dst, n, 10)
	}
	return append(appendClock(append(dst, '"'), second, fraction, decimals), '"')
}

// appendTimestamp writes a point in time in RFC 3339, UTC, or the same without
// a zone. It has as many decimals as are stored, so that texts of one field sort
// as the times do.
func appendTimestamp(dst []byte, n int64, decimals int, local bool) []byte {
	seconds, fraction := split(n, decimals)
	day, second := floor(seconds, secondsOfDay)
	if day < firstDay || day >= endOfDay {
		return strconv.AppendInt(dst, n, 10)
	}
	dst = appendDay(append(dst, '"'), day)
	dst = appendClock(append(dst, 'T'), second, fraction, decimals)
	if !local {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

// appendDay writes the date of a day counted from 1970-01-01. A year is counted
// from March here, so that the leap day is its last; 400 years have 146097 days.
func appendDay(dst []byte, day int64) []byte {
	day -= firstDay + 60 // from 0000-03-01
	era, inEra := floor(day, 146_097)
	year := (inEra - inEra/1460 + inEra/36_524 - inEra/146_096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	month := (5*inYear + 2) / 153 // 0 is March
	inMonth := inYear - (153*month+2)/5 + 1
	year += 400 * era
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	dst = pair(pair(dst, year/100), year%100)
	dst = pair(append(dst, '-'), month)
	return pair(append(dst, '-'), inMonth)
}

func appendClock(dst []byte, second, fraction int64, decimals int) []byte {
	dst = pair(dst, second/3600)
	dst = pair(append(dst, ':'), second/60%60)
	dst = pair(append(dst, ':'), second%60)
	const zeros = ".000000000"
	dst = append(dst, zeros[:1+decimals]...)
	for at := len(dst) - 1; fraction > 0; at-- {
		dst[at] = byte('0' + fraction%10)
		fraction /= 10
	}
	return dst
}

// appendDuration writes what is stored: three numbers that cannot be turned
// into each other.
func appendDuration(dst, b []byte) []byte {
	for i, word := range [...]string{`{"months":`, `,"days":`, `,"millis":`} {
		dst = append(dst, word...)
		dst = strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(b[4*i:])), 10)
	}
	return append(dst, '}')
}

// pair writes a number below 100 in two digits.
func pair(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// split parts units of 10^-decimals seconds into seconds and the rest. The
// divisors are constants because the processor divides slowly by others.
func split(n int64, decimals int) (seconds, fraction int64) {
	switch decimals {
	case 3:
		return floor(n, 1_000)
	case 6:
		return floor(n, 1_000_000)
	default:
		return floor(n, 1_000_000_000)
	}
}

// floor divides, and rounds towards the past.
func floor(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		return quotient - 1, rest + by
	}
	return quotient, rest
}
