package output

import "strconv"

const msPerDay = 24 * 60 * 60 * 1000

// appendTime writes milliseconds since 1970 as 2006-01-02T15:04:05.000Z. Any
// int64 is written right; years are then longer than four digits, or negative.
func appendTime(dst []byte, ms int64) []byte {
	days := ms / msPerDay
	ms -= days * msPerDay
	if ms < 0 {
		ms += msPerDay
		days--
	}
	year, month, day := civil(days)
	dst = appendYear(dst, year)
	dst = append2(append(dst, '-'), month)
	dst = append2(append(dst, '-'), day)
	sec := int(ms / 1000)
	dst = append2(append(dst, 'T'), sec/3600)
	dst = append2(append(dst, ':'), sec/60%60)
	dst = append2(append(dst, ':'), sec%60)
	rest := int(ms % 1000)
	dst = append(dst, '.', byte('0'+rest/100))
	return append(append2(dst, rest%100), 'Z')
}

// civil turns days since 1970 into a date of the proleptic Gregorian calendar.
// It counts in eras of 400 years that begin on 1 March, so that the leap day
// comes last.
func civil(days int64) (year int64, month, day int) {
	const daysPerEra, marchOfYearZero = 146097, 719468
	days += marchOfYearZero
	era := days / daysPerEra
	doe := days % daysPerEra
	if doe < 0 {
		doe += daysPerEra
		era--
	}
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year = yoe + era*400
	month = int(mp) + 3
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, int(doy-(153*mp+2)/5) + 1
}

func appendYear(dst []byte, year int64) []byte {
	if 1000 <= year && year <= 9999 {
		return append2(append2(dst, int(year/100)), int(year%100))
	}
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	for limit := int64(1000); limit > 1 && year < limit; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, year, 10)
}

func append2(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
