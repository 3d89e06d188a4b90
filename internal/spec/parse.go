package spec

import (
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Allowed lists every form of a spec, for messages.
const Allowed = "start (earliest, oldest, beginning), end (latest, newest), stored, group:NAME, start+N, end-N, " +
	"+N, -N, N, N:M, :N, :end, N:end, @T, @T:, @:T, @T1:T2"

// Parse reads a spec. The moment now gives durations their meaning. The ranges
// ":N", ":end" and "@:T" begin at the log's start.
func Parse(text string, now time.Time) (Range, error) {
	if times, ok := strings.CutPrefix(text, "@"); ok {
		return parseTimes(text, times, now)
	}
	if b, ok, err := parsePlace(text); ok || err != nil {
		return Range{Start: b}, err
	}
	left, right, ok := strings.Cut(text, ":")
	if !ok {
		return Range{}, notASpec(text)
	}
	start := Bound{Kind: Start}
	if left != "" {
		n, err := offset(text, left)
		if err != nil {
			return Range{}, err
		}
		start = Bound{Kind: Offset, N: n}
	}
	if isEnd(right) {
		return Range{Start: start, Stop: Bound{Kind: End}}, nil
	}
	n, err := offset(text, right)
	if err != nil {
		return Range{}, err
	}
	if start.Kind == Offset && start.N > n {
		return Range{}, fault.New(fault.Usage, "%q starts after it ends", text)
	}
	return Range{Start: start, Stop: Bound{Kind: Offset, N: n}}, nil
}

// ParseBound reads a spec that names one place: a range is refused. It is what
// start: and stop: of a metadata source hold.
func ParseBound(text string, now time.Time) (Bound, error) {
	r, err := Parse(text, now)
	if err != nil {
		return Bound{}, err
	}
	if r.Stop.Given() {
		return Bound{}, fault.New(fault.Usage, "%q is a range; one place is wanted here", text).
			WithHint("a place is one of: start, end, start+N, end-N, +N, -N, N, @T, stored, group:NAME")
	}
	return r.Start, nil
}

// ParseStop reads where to stop: like ParseBound, but places that only a
// reader's own past knows are refused.
func ParseStop(text string, now time.Time) (Bound, error) {
	b, err := ParseBound(text, now)
	if err == nil && (b.Kind == Stored || b.Kind == Group) {
		return Bound{}, fault.New(fault.Usage, "%q says where to start, not where to stop", text).
			WithHint("a stop is one of: start+N, end, end-N, N, @T")
	}
	return b, err
}

// parsePlace reads the forms that are one place without a time; ok is false
// when text has none of their shapes.
func parsePlace(text string) (b Bound, ok bool, err error) {
	if name, ok := strings.CutPrefix(text, "group:"); ok {
		if name == "" {
			return Bound{}, false, fault.New(fault.Usage, "%q names no group", text).WithHint("group:NAME")
		}
		return Bound{Kind: Group, Name: name}, true, nil
	}
	switch {
	case text == "stored":
		return Bound{Kind: Stored}, true, nil
	case isStart(text):
		return Bound{Kind: Start}, true, nil
	case isEnd(text):
		return Bound{Kind: End}, true, nil
	}
	kind := Offset
	digits := text
	for _, p := range []struct {
		prefix string
		kind   Kind
	}{{"start+", Start}, {"+", Start}, {"end-", End}, {"-", End}} {
		if rest, ok := strings.CutPrefix(text, p.prefix); ok {
			kind, digits = p.kind, rest
			break
		}
	}
	if kind == Offset && !allDigits(digits) {
		return Bound{}, false, nil
	}
	n, err := offset(text, digits)
	if err != nil {
		return Bound{}, false, err
	}
	if kind == End {
		n = -n
	}
	return Bound{Kind: kind, N: n}, true, nil
}

func isStart(word string) bool {
	return word == "start" || word == "earliest" || word == "oldest" || word == "beginning"
}

func isEnd(word string) bool {
	return word == "end" || word == "latest" || word == "newest"
}

// offset reads digits, a part of text, as a number that is no less than zero.
func offset(text, digits string) (int64, error) {
	if !allDigits(digits) {
		return 0, notASpec(text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fault.New(fault.Usage, "%q: %s is larger than any offset", text, digits)
	}
	return n, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func notASpec(text string) error {
	if isTime(text) {
		return fault.New(fault.Usage, "%q is no offset spec", text).WithHint("a time begins with @: @%s", text)
	}
	return fault.New(fault.Usage, "%q is no offset spec", text).WithHint("allowed are %s; see kcm help specs", Allowed)
}
