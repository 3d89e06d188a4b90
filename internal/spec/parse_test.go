package spec

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// now is the moment of the tests: 2026-03-03T14:00:05.250Z.
var now = time.Date(2026, 3, 3, 14, 0, 5, 250e6, time.UTC)

func ms(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

func TestParsePlaces(t *testing.T) {
	for _, c := range []struct {
		text      string
		want      Range
		canonical string
	}{
		{"start", Range{Start: Bound{Kind: Start}}, "start"},
		{"earliest", Range{Start: Bound{Kind: Start}}, "start"},
		{"oldest", Range{Start: Bound{Kind: Start}}, "start"},
		{"beginning", Range{Start: Bound{Kind: Start}}, "start"},
		{"end", Range{Start: Bound{Kind: End}}, "end"},
		{"latest", Range{Start: Bound{Kind: End}}, "end"},
		{"newest", Range{Start: Bound{Kind: End}}, "end"},
		{"stored", Range{Start: Bound{Kind: Stored}}, "stored"},
		{"group:billing", Range{Start: Bound{Kind: Group, Name: "billing"}}, "group:billing"},
		{"group:a:b=c", Range{Start: Bound{Kind: Group, Name: "a:b=c"}}, "group:a:b=c"},
		{"start+5", Range{Start: Bound{Kind: Start, N: 5}}, "start+5"},
		{"start+0", Range{Start: Bound{Kind: Start}}, "start"},
		{"+5", Range{Start: Bound{Kind: Start, N: 5}}, "start+5"},
		{"end-5", Range{Start: Bound{Kind: End, N: -5}}, "end-5"},
		{"-5", Range{Start: Bound{Kind: End, N: -5}}, "end-5"},
		{"-9223372036854775807", Range{Start: Bound{Kind: End, N: -maxInt64}}, "end-9223372036854775807"},
		{"0", Range{Start: Bound{Kind: Offset}}, "0"},
		{"0042", Range{Start: Bound{Kind: Offset, N: 42}}, "42"},
		{"9223372036854775807", Range{Start: Bound{Kind: Offset, N: maxInt64}}, "9223372036854775807"},
		{"3:7", Range{Start: Bound{Kind: Offset, N: 3}, Stop: Bound{Kind: Offset, N: 7}}, "3:7"},
		{"7:7", Range{Start: Bound{Kind: Offset, N: 7}, Stop: Bound{Kind: Offset, N: 7}}, "7:7"},
		{":7", Range{Start: Bound{Kind: Start}, Stop: Bound{Kind: Offset, N: 7}}, ":7"},
		{":end", Range{Start: Bound{Kind: Start}, Stop: Bound{Kind: End}}, ":end"},
		{":latest", Range{Start: Bound{Kind: Start}, Stop: Bound{Kind: End}}, ":end"},
		{"7:end", Range{Start: Bound{Kind: Offset, N: 7}, Stop: Bound{Kind: End}}, "7:end"},
		{"7:newest", Range{Start: Bound{Kind: Offset, N: 7}, Stop: Bound{Kind: End}}, "7:end"},
	} {
		got, err := Parse(c.text, now)
		if err != nil || got != c.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", c.text, got, err, c.want)
		}
		if got.String() != c.canonical {
			t.Errorf("Parse(%q).String() = %q, want %q", c.text, got, c.canonical)
		}
	}
}

func TestParseTimes(t *testing.T) {
	for _, c := range []struct{ text, since, until, canonical string }{
		{"@2026-03-03", "2026-03-03T00:00:00Z", "", "@2026-03-03T00:00:00Z"},
		{"@2026-03-03T14:00", "2026-03-03T14:00:00Z", "", "@2026-03-03T14:00:00Z"},
		{"@2026-03-03T14:00:05", "2026-03-03T14:00:05Z", "", "@2026-03-03T14:00:05Z"},
		{"@2026-03-03T14:00:05.123", "2026-03-03T14:00:05.123Z", "", "@2026-03-03T14:00:05.123Z"},
		{"@2026-03-03T14:00:05Z", "2026-03-03T14:00:05Z", "", "@2026-03-03T14:00:05Z"},
		{"@2026-03-03T14:00:05+02:00", "2026-03-03T12:00:05Z", "", "@2026-03-03T12:00:05Z"},
		{"@2026-03-03T14:00-05:30", "2026-03-03T19:30:00Z", "", "@2026-03-03T19:30:00Z"},
		{"@2026-03-03T14:00:05.0001Z", "2026-03-03T14:00:05.001Z", "", "@2026-03-03T14:00:05.001Z"},
		{"@1772546405", "2026-03-03T14:00:05Z", "", "@2026-03-03T14:00:05Z"},
		{"@1772546405123", "2026-03-03T14:00:05.123Z", "", "@2026-03-03T14:00:05.123Z"},
		{"@1772546405123000000", "2026-03-03T14:00:05.123Z", "", "@2026-03-03T14:00:05.123Z"},
		{"@1772546405123000001", "2026-03-03T14:00:05.124Z", "", "@2026-03-03T14:00:05.124Z"},
		{"@-1h", "2026-03-03T13:00:05.250Z", "", "@2026-03-03T13:00:05.25Z"},
		{"@-1d12h", "2026-03-02T02:00:05.250Z", "", "@2026-03-02T02:00:05.25Z"},
		{"@-1w", "2026-02-24T14:00:05.250Z", "", "@2026-02-24T14:00:05.25Z"},
		{"@-1m30s250ms", "2026-03-03T13:58:35Z", "", "@2026-03-03T13:58:35Z"},
		{"@+1h", "2026-03-03T15:00:05.250Z", "", "@2026-03-03T15:00:05.25Z"},
		{"@-1h:", "2026-03-03T13:00:05.250Z", "", "@2026-03-03T13:00:05.25Z"},
		{"@2026-03-03T14:00:", "2026-03-03T14:00:00Z", "", "@2026-03-03T14:00:00Z"},
		{"@:2026-03-03", "", "2026-03-03T00:00:00Z", "@:2026-03-03T00:00:00Z"},
		{"@:-1h", "", "2026-03-03T13:00:05.250Z", "@:2026-03-03T13:00:05.25Z"},
		{"@2026-03-03:5m", "2026-03-03T00:00:00Z", "2026-03-03T00:05:00Z", "@2026-03-03T00:00:00Z:2026-03-03T00:05:00Z"},
		{"@-1h:5m", "2026-03-03T13:00:05.250Z", "2026-03-03T13:05:05.250Z", "@2026-03-03T13:00:05.25Z:2026-03-03T13:05:05.25Z"},
		{"@-1h:+5m", "2026-03-03T13:00:05.250Z", "2026-03-03T13:05:05.250Z", "@2026-03-03T13:00:05.25Z:2026-03-03T13:05:05.25Z"},
		{"@-2h:-1h", "2026-03-03T12:00:05.250Z", "2026-03-03T13:00:05.250Z", "@2026-03-03T12:00:05.25Z:2026-03-03T13:00:05.25Z"},
		{"@2026-03-03T14:00:2026-03-03T15:00", "2026-03-03T14:00:00Z", "2026-03-03T15:00:00Z", "@2026-03-03T14:00:00Z:2026-03-03T15:00:00Z"},
		{"@2026-03-03T14:00:05+02:00:2026-03-04", "2026-03-03T12:00:05Z", "2026-03-04T00:00:00Z", "@2026-03-03T12:00:05Z:2026-03-04T00:00:00Z"},
		{"@1772546405:1772546405123", "2026-03-03T14:00:05Z", "2026-03-03T14:00:05.123Z", "@2026-03-03T14:00:05Z:2026-03-03T14:00:05.123Z"},
		{"@2026-03-03:2026-03-03", "2026-03-03T00:00:00Z", "2026-03-03T00:00:00Z", "@2026-03-03T00:00:00Z:2026-03-03T00:00:00Z"},
	} {
		want := Range{Start: Bound{Kind: Start}}
		if c.since != "" {
			want.Start = Bound{Kind: Time, N: ms(t, c.since)}
		}
		if c.until != "" {
			want.Stop = Bound{Kind: Time, N: ms(t, c.until)}
		}
		got, err := Parse(c.text, now)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", c.text, got, err, want)
		}
		if got.String() != c.canonical {
			t.Errorf("Parse(%q).String() = %q, want %q", c.text, got, c.canonical)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, message, hint string }{
		{"", `"" is no offset spec`, "allowed are start (earliest,"},
		{"json", `"json" is no offset spec`, "N:M, :N, :end, N:end, @T, @T:, @:T, @T1:T2"},
		{"Start", `"Start" is no offset spec`, "allowed are"},
		{"start-5", `"start-5" is no offset spec`, "allowed are"},
		{"end+5", `"end+5" is no offset spec`, "allowed are"},
		{"start+", `"start+" is no offset spec`, "allowed are"},
		{"+", `"+" is no offset spec`, "allowed are"},
		{"-", `"-" is no offset spec`, "allowed are"},
		{"--5", `"--5" is no offset spec`, "allowed are"},
		{"5:", `"5:" is no offset spec`, "allowed are"},
		{":", `":" is no offset spec`, "allowed are"},
		{"::", `"::" is no offset spec`, "allowed are"},
		{"5:start", `"5:start" is no offset spec`, "allowed are"},
		{"start:end", `"start:end" is no offset spec`, "allowed are"},
		{"5:-1", `"5:-1" is no offset spec`, "allowed are"},
		{" 5", `" 5" is no offset spec`, "allowed are"},
		{"٥", `"٥" is no offset spec`, "allowed are"},
		{`C:\x`, `"C:\\x" is no offset spec`, "allowed are"},
		{"-1h", `"-1h" is no offset spec`, "a time begins with @: @-1h"},
		{"2026-03-03", `"2026-03-03" is no offset spec`, "a time begins with @: @2026-03-03"},
		{"group:", `"group:" names no group`, "group:NAME"},
		{"stored:5", `"stored:5" is no offset spec`, "allowed are"},
		{"7:3", `"7:3" starts after it ends`, ""},
		{"9223372036854775808", `"9223372036854775808": 9223372036854775808 is larger than any offset`, ""},
		{"-9223372036854775808", `"-9223372036854775808": 9223372036854775808 is larger than any offset`, ""},
		{"1:99999999999999999999", `"1:99999999999999999999": 99999999999999999999 is larger than any offset`, ""},
		{"@", `"@" is no time spec`, "@T, @T:, @:T and @T1:T2"},
		{"@:", `"@:" is no time spec`, "a signed duration"},
		{"@5", `"@5" is no time spec`, "10, 13 or 19 digits"},
		{"@17725464051", `"@17725464051" is no time spec`, "10, 13 or 19 digits"},
		{"@9999999999999999999", `"@9999999999999999999" is no time spec`, "10, 13 or 19 digits"},
		{"@2026-02-30", `"@2026-02-30" is no time spec`, "a date"},
		{"@noon", `"@noon" is no time spec`, "RFC 3339"},
		{"@1h", `"1h" is a duration without a sign`, "-1h is that long ago"},
		{"@:5m", `"5m" is a duration without a sign`, "-5m is that long ago"},
		{"@-1h30", `"@-1h30" is no time spec`, "a signed duration"},
		{"@-30m1h", `"@-30m1h" is no time spec`, "a signed duration"},
		{"@-1h1h", `"@-1h1h" is no time spec`, "a signed duration"},
		{"@-999999999999d", `"@-999999999999d" is no time spec`, "a signed duration"},
		{"@-200w99999999999999999999s", `"@-200w99999999999999999999s" is no time spec`, "a signed duration"},
		{"@9999-01-01", `"9999-01-01" is too far away`, ""},
		{"@0000-01-01T00:00:00+14:00", `"0000-01-01T00:00:00+14:00" is too far away`, ""},
		{"@2026-03-04:2026-03-03", "the time window from 2026-03-04 to 2026-03-03 starts after it ends", ""},
		{"@-1h:-2h", "the time window from -1h to -2h starts after it ends", ""},
	} {
		r, err := Parse(c.text, now)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", c.text, r)
			continue
		}
		if err.Error() != c.message || fault.KindOf(err) != fault.Usage {
			t.Errorf("Parse(%q): %q of kind %d, want %q of kind 2", c.text, err, fault.KindOf(err), c.message)
		}
		if hint := fault.HintOf(err); !strings.Contains(hint, c.hint) {
			t.Errorf("Parse(%q): hint %q does not hold %q", c.text, hint, c.hint)
		}
	}
}

func TestParseBound(t *testing.T) {
	for _, c := range []struct {
		text string
		stop bool
		want Bound
		err  string
	}{
		{"earliest", false, Bound{Kind: Start}, ""},
		{"500", false, Bound{Kind: Offset, N: 500}, ""},
		{"group:g", false, Bound{Kind: Group, Name: "g"}, ""},
		{"@2026-03-03", true, Bound{Kind: Time, N: 1772496000000}, ""},
		{"end", true, Bound{Kind: End}, ""},
		{"3:7", false, Bound{}, `"3:7" is a range; one place is wanted here`},
		{"@:2026-03-03", true, Bound{}, `"@:2026-03-03" is a range; one place is wanted here`},
		{"stored", true, Bound{}, `"stored" says where to start, not where to stop`},
		{"group:g", true, Bound{}, `"group:g" says where to start, not where to stop`},
		{"never", true, Bound{}, `"never" is no offset spec`},
	} {
		parse := ParseBound
		if c.stop {
			parse = ParseStop
		}
		got, err := parse(c.text, now)
		if got != c.want || message(err) != c.err {
			t.Errorf("%q as a stop %v = %+v, %q, want %+v, %q", c.text, c.stop, got, message(err), c.want, c.err)
		}
	}
}

func TestParseWindow(t *testing.T) {
	h := int64(time.Hour / time.Millisecond)
	base := now.UnixMilli()
	for _, c := range []struct {
		since, until string
		want         Range
		err          string
	}{
		{"", "", Range{}, ""},
		{"-1h", "", Range{Start: Bound{Kind: Time, N: base - h}}, ""},
		{"", "-1h", Range{Stop: Bound{Kind: Time, N: base - h}}, ""},
		{"-3h", "2h", Range{Start: Bound{Kind: Time, N: base - 3*h}, Stop: Bound{Kind: Time, N: base - h}}, ""},
		{"-3h", "-2h", Range{Start: Bound{Kind: Time, N: base - 3*h}, Stop: Bound{Kind: Time, N: base - 2*h}}, ""},
		{"yesterday", "", Range{}, `"yesterday" is no time`},
		{"-1h", "soon", Range{}, `"soon" is no time`},
		{"", "5m", Range{}, `"5m" is a duration without a sign`},
	} {
		got, err := ParseWindow(c.since, c.until, now)
		if got != c.want || message(err) != c.err {
			t.Errorf("ParseWindow(%q, %q) = %v, %q, want %v, %q", c.since, c.until, got, message(err), c.want, c.err)
		}
	}
	if got := (Range{Stop: Bound{Kind: Time, N: base}}).String(); got != "@:2026-03-03T14:00:05.25Z" {
		t.Errorf("a window without a start is %q", got)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"start", "end-5", "+5", "-5", "3:7", ":end", "7:end", "group:a=b", "stored", "@-1h", "@2026-03-03T14:00:05.123+02:00:5m",
		"@1772546405:1772546405123", "@:-1d12h", `C:\Users`, "@:", "0000000", "@0000-01-01T00:00:00+14:00", "@9998-12-31:9999w",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text, now)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "\n") {
				t.Fatalf("Parse(%q): %v", text, err)
			}
			return
		}
		canonical := r.String()
		again, err := Parse(canonical, now)
		if err != nil || again != r || again.String() != canonical {
			t.Fatalf("Parse(%q) = %+v; its String %q parses to %+v, %v", text, r, canonical, again, err)
		}
		if r.Stop.Given() && r.Start.Kind == r.Stop.Kind && r.Start.Kind != End && r.Start.N > r.Stop.N {
			t.Fatalf("Parse(%q) = %+v runs backwards", text, r)
		}
		for _, at := range r.Times() {
			if at < 0 {
				t.Fatalf("Parse(%q) looks up %d", text, at)
			}
		}
	})
}

func TestOpenWindowHoldsEveryTime(t *testing.T) {
	w, limited := Range{}.Window()
	if limited || !w.Holds(math.MaxInt64) || !w.Holds(math.MinInt64) {
		t.Errorf("%+v, %v leaves out a time", w, limited)
	}
}

func TestPartitionsUnmatched(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"0,2", ""},
		{"0-9", ""},
		{"3,0,4-7", "3,4-7"},
	} {
		set, err := ParsePartitions([]string{tt.text})
		if got := set.Unmatched([]int32{0, 1, 2}).String(); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}
