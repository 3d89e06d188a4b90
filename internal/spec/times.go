package spec

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	minInt64 = math.MinInt64
	maxInt64 = math.MaxInt64
)

// timeForms lists what a T may be, for messages.
const timeForms = "a time is RFC 3339 (2026-03-03T14:00:05Z), 2026-03-03T14:00[:05[.123]] (UTC), a date (2026-03-03), " +
	"an epoch in s, ms or ns (10, 13 or 19 digits) or a signed duration (-1h, -1d12h)"

// ParseTime reads a T, as --since takes it: ms since 1970, the fraction of a
// millisecond rounded up. Durations have a sign and count from now.
func ParseTime(text string, now time.Time) (int64, error) {
	if t, ok := instant(text); ok {
		return inRange(text, t)
	}
	d, ok := duration(text)
	switch {
	case !ok:
		return 0, fault.New(fault.Usage, "%q is no time", text).WithHint(timeForms)
	case text[0] != '-' && text[0] != '+':
		return 0, fault.New(fault.Usage, "%q is a duration without a sign", text).
			WithHint("-%s is that long ago", text)
	}
	return inRange(text, now.Add(d))
}

// inRange returns t in ms, if it has a date that can be written down again.
func inRange(text string, t time.Time) (int64, error) {
	if year := t.UTC().Year(); year < 0 || year > 9998 {
		return 0, fault.New(fault.Usage, "%q is too far away", text)
	}
	return ceilMilli(t), nil
}

// ParseWindow reads the two ends of a time window as --since and --until take
// them; an empty text is a side that is not given. A duration as until counts
// from since; only a negative one, which would end before it began, counts from
// now as it does where since is not given.
func ParseWindow(since, until string, now time.Time) (Range, error) {
	var r Range
	if since != "" {
		ms, err := ParseTime(since, now)
		if err != nil {
			return Range{}, err
		}
		r.Start = Bound{Kind: Time, N: ms}
	}
	if until == "" {
		return r, nil
	}
	ms, err := parseUntil(until, r.Start, now)
	if err != nil {
		return Range{}, err
	}
	if r.Start.Given() && r.Start.N > ms {
		return Range{}, fault.New(fault.Usage, "the time window from %s to %s starts after it ends", since, until)
	}
	r.Stop = Bound{Kind: Time, N: ms}
	return r, nil
}

func parseUntil(until string, since Bound, now time.Time) (int64, error) {
	if d, ok := duration(until); ok && since.Given() && until[0] != '-' {
		return inRange(until, time.UnixMilli(since.N).Add(d))
	}
	return ParseTime(until, now)
}

// parseTimes reads what stands behind the @ of text. A colon also stands
// inside times, so each is tried as the one that parts them; no text has two
// readings, because no T ends in digits that could begin another.
func parseTimes(text, times string, now time.Time) (Range, error) {
	if isTime(times) {
		return ParseWindow(times, "", now)
	}
	for i := range len(times) {
		if times[i] != ':' {
			continue
		}
		left, right := times[:i], times[i+1:]
		if left+right != "" && (left == "" || isTime(left)) && (right == "" || isTime(right)) {
			r, err := ParseWindow(left, right, now)
			if left == "" && err == nil {
				r.Start = Bound{Kind: Start}
			}
			return r, err
		}
	}
	return Range{}, fault.New(fault.Usage, "%q is no time spec", text).
		WithHint("allowed are @T, @T:, @:T and @T1:T2; " + timeForms)
}

func isTime(text string) bool {
	if _, ok := instant(text); ok {
		return true
	}
	_, ok := duration(text)
	return ok
}

// instant reads a T that means the same at any hour.
func instant(text string) (time.Time, bool) {
	if allDigits(text) {
		return epoch(text)
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func epoch(digits string) (time.Time, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	switch len(digits) {
	case 10:
		return time.Unix(n, 0), true
	case 13:
		return time.UnixMilli(n), true
	case 19:
		return time.Unix(0, n), true
	default:
		return time.Time{}, false
	}
}

// units are the units of a duration, each longer than the next in a text.
var units = []struct {
	name string
	size time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
}

// maxDuration keeps sums far from overflow; no log is older.
const maxDuration = 200 * 365 * 24 * time.Hour

// duration reads [+-]N unit N unit …, each unit at most once and the larger
// first.
func duration(text string) (time.Duration, bool) {
	rest := strings.TrimPrefix(text, "-")
	if rest == text {
		rest = strings.TrimPrefix(text, "+")
	}
	var sum time.Duration
	next := 0
	for first := true; first || rest != ""; first = false {
		n, unit, tail := cutUnit(rest)
		i := next
		for i < len(units) && units[i].name != unit {
			i++
		}
		if i == len(units) || n < 0 || n > int64(maxDuration/units[i].size) {
			return 0, false
		}
		if sum += time.Duration(n) * units[i].size; sum > maxDuration {
			return 0, false
		}
		next, rest = i+1, tail
	}
	if strings.HasPrefix(text, "-") {
		sum = -sum
	}
	return sum, true
}

// cutUnit takes a number and its unit off the front of s; the number is -1 if
// there is none.
func cutUnit(s string) (n int64, unit, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	j := i
	for j < len(s) && s[j] >= 'a' && s[j] <= 'z' {
		j++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return -1, "", ""
	}
	return n, s[i:j], s[j:]
}

func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}
