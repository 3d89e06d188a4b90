package spec

import (
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ParseDuration reads a duration without a sign: 1d12h, or P1DT12H as ISO 8601 and
// Java write it, days being 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	if !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") {
		if d, ok := duration(text); ok {
			return d, nil
		}
		if d, ok := isoDuration(text); ok {
			return d, nil
		}
	}
	return 0, fault.New(fault.Usage, "%q is no duration", text).WithHint("such as 1h, 1d12h, PT1H or P1DT12H")
}

// isoDuration reads PnDTnHnMnS, of which seconds may have a fraction.
func isoDuration(text string) (time.Duration, bool) {
	text = strings.ToUpper(text)
	rest, ok := strings.CutPrefix(text, "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") {
		return 0, false
	}
	days, clock, _ := strings.Cut(rest, "T")
	var sum time.Duration
	for _, part := range []struct{ text, units string }{{days, "D"}, {clock, "HMS"}} {
		units := part.units
		for part.text != "" {
			i := strings.IndexAny(part.text, units)
			if i < 1 {
				return 0, false
			}
			d, ok := isoPart(part.text[:i], part.text[i])
			if sum += d; !ok || sum > maxDuration {
				return 0, false
			}
			units = units[strings.IndexByte(units, part.text[i])+1:]
			part.text = part.text[i+1:]
		}
	}
	return sum, true
}

func isoPart(number string, unit byte) (time.Duration, bool) {
	whole, fraction, broken := strings.Cut(number, ".")
	size := map[byte]time.Duration{'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}[unit]
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || !allDigits(whole) || n > int64(maxDuration/size) {
		return 0, false
	}
	d := time.Duration(n) * size
	if !broken {
		return d, true
	}
	if unit != 'S' || !allDigits(fraction) || len(fraction) > 9 {
		return 0, false
	}
	nanos, err := strconv.ParseInt(fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
	return d + time.Duration(nanos), err == nil
}
