package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/record"
)

// log is a split that holds the offsets 100 to 199, written one per second.
func log(follow bool) Facts {
	stored := int64(150)
	return Facts{
		Start: 100, End: 200, Follow: follow, Stored: &stored,
		Committed: func(group string) (int64, bool) {
			at := map[string]int64{"in": 160, "below": 7, "beyond": 900}
			n, ok := at[group]
			return n, ok
		},
		At: func(ms int64) (int64, bool) {
			n := 100 + max(ms-now.UnixMilli(), 0)/1000
			return n, n < 200
		},
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		spec   string
		follow bool
		from   int64
		until  int64
		notes  string // a Minor one begins with "minor: "
	}{
		{"start", false, 100, Open, ""},
		{"end", false, 200, Open, ""},
		{"start+5", false, 105, Open, ""},
		{"start+500", false, 200, Open, "asked for start+500, the log ends at 200: starting there"},
		{"+9223372036854775807", true, 200, Open, "asked for start+9223372036854775807, the log ends at 200: starting there"},
		{"-5", false, 195, Open, ""},
		{"-500", false, 100, Open, "minor: asked for end-500, the log starts at 100: starting there"},
		{"-9223372036854775807", false, 100, Open, "minor: asked for end-9223372036854775807, the log starts at 100: starting there"},
		{"150", false, 150, Open, ""},
		{"200", false, 200, Open, ""},
		{"50", false, 100, Open, "asked for offset 50, the log starts at 100: starting there"},
		{"5000", false, 200, Open, "asked for offset 5000, the log ends at 200: nothing to read"},
		{"5000", true, 5000, Open, "asked for offset 5000, the log ends at 200: waiting until it gets there"},
		{"stored", false, 150, Open, ""},
		{"group:in", true, 160, Open, ""},
		{"group:below", false, 100, Open, "group below is at offset 7, the log starts at 100: starting there"},
		{"group:beyond", true, 200, Open, "group beyond is at offset 900, the log ends at 200: starting there"},
		{"group:none", false, 100, Open, "group none has no commit: starting at the start, 100"},
		{"group:none", true, 200, Open, "group none has no commit: starting at the end, 200"},
		{"120:130", false, 120, 130, ""},
		{"120:120", false, 120, 120, ""},
		{"120:300", false, 120, 200, "asked to stop at offset 300, the log ends at 200: stopping there"},
		{"120:300", true, 120, 300, ""},
		{":50", false, 100, 50, "asked to stop at offset 50, the log starts at 100: nothing to read"},
		{":100", false, 100, 100, ""},
		{"0:50", false, 100, 50, "asked to stop at offset 50, the log starts at 100: nothing to read"},
		{"50:100", true, 100, 100, "asked to stop at offset 100, the log starts at 100: nothing to read"},
		{"50:101", false, 100, 101, "asked for offset 50, the log starts at 100: starting there"},
		{"300:400", false, 200, 200, "asked for offset 300, the log ends at 200: nothing to read"},
		{":end", false, 100, 200, ""},
		{"150:end", false, 150, 200, ""},
		{"@+10s", false, 110, Open, ""},
		{"@-1h", false, 100, Open, ""},
		{"@+1h", false, 200, Open, "minor: 2026-03-03T15:00:05.25Z is after the last record: starting at the end, 200"},
		{"@+10s:20s", false, 110, 130, ""},
		{"@:+10s", false, 100, 110, ""},
		{"@:+1h", false, 100, 200, "minor: 2026-03-03T15:00:05.25Z is after the last record: stopping at the end, 200"},
		{"@:+1h", true, 100, Open, ""},
		{"@1960-01-01", false, 100, Open, ""},
		{"@:1960-01-01", false, 100, 100, ""},
	} {
		r, err := Parse(c.spec, now)
		if err != nil {
			t.Fatal(err)
		}
		b := r.Resolve(log(c.follow))
		if last := map[bool]int64{true: Open, false: 200}[c.follow]; b.Cut != nil && (b.Cut.Last != last || b.Cut.Time != r.Stop.N) {
			t.Errorf("%s (follow %v): Cut = %+v", c.spec, c.follow, *b.Cut)
		}
		if b.From != c.from || b.Until != c.until || notes(b) != c.notes {
			t.Errorf("%s (follow %v) = %d to %d, %q; want %d to %d, %q", c.spec, c.follow, b.From, b.Until, notes(b), c.from, c.until, c.notes)
		}
		if want := c.from > 200; b.Waits != want {
			t.Errorf("%s (follow %v): Waits = %v, want %v", c.spec, c.follow, b.Waits, want)
		}
		if want := c.from >= c.until; b.Empty() != want {
			t.Errorf("%s (follow %v): Empty = %v, want %v", c.spec, c.follow, b.Empty(), want)
		}
	}
}

// TestLost counts what was asked for and is gone.
func TestLost(t *testing.T) {
	for text, want := range map[string]int64{
		"50": 50, "50:60": 50, "99": 1, "100": 0, "150": 0, "5000": 0, "group:below": 93, "group:in": 0, "group:none": 0,
		"start": 0, "-500": 0, ":50": 0, "@1960-01-01": 0,
	} {
		r, err := Parse(text, now)
		if err != nil {
			t.Fatal(err)
		}
		if b := r.Resolve(log(false)); b.Lost != want {
			t.Errorf("%s: %d are lost, want %d", text, b.Lost, want)
		}
	}
}

func notes(b Bounds) string {
	var list []string
	for _, n := range b.Notes {
		if n.Minor {
			n.Text = "minor: " + n.Text
		}
		list = append(list, n.Text)
	}
	return strings.Join(list, "|")
}

func TestResolveDefaults(t *testing.T) {
	for follow, want := range map[bool]int64{false: 100, true: 200} {
		if b := (Range{}).Resolve(log(follow)); b.From != want || b.Until != Open || b.Notes != nil {
			t.Errorf("nothing given, follow %v: %+v, want from %d", follow, b, want)
		}
	}
	f := log(false)
	f.Stored = nil
	b := Range{Start: Bound{Kind: Stored}}.Resolve(f)
	if b.From != 100 || notes(b) != "minor: no position is stored: starting at the start, 100" {
		t.Errorf("nothing stored: %+v", b)
	}
	b = Range{Stop: Bound{Kind: End, N: -500}}.Resolve(log(false))
	if b.Until != 100 || !b.Empty() {
		t.Errorf("a stop before the start: %+v", b)
	}
	b = Range{Stop: Bound{Kind: Start, N: 10}}.Resolve(log(false))
	if b.From != 100 || b.Until != 110 {
		t.Errorf("the first ten: %+v", b)
	}
}

func TestResolveEmptyLog(t *testing.T) {
	f := Facts{Start: 7, End: 7, At: func(int64) (int64, bool) { return 0, false }}
	for _, text := range []string{"start", "end", "-5", ":end", "@-1h", "@-2h:-1h", "0:3"} {
		r, err := Parse(text, now)
		if err != nil {
			t.Fatal(err)
		}
		if b := r.Resolve(f); b.From != 7 || (r.Stop.Given() && !b.Empty()) {
			t.Errorf("%s of an empty log: %+v", text, b)
		}
	}
}

func TestTimesGroupsWindow(t *testing.T) {
	r, err := Parse("@-1h:5m", now)
	if err != nil {
		t.Fatal(err)
	}
	since, until := now.UnixMilli()-3600e3, now.UnixMilli()-3300e3
	if got := r.Times(); !slices.Equal(got, []int64{since, until}) {
		t.Errorf("Times = %v", got)
	}
	w, ok := r.Window()
	if !ok || w != (Window{since, until}) {
		t.Errorf("Window = %v, %v", w, ok)
	}
	if w.Holds(since-1) || !w.Holds(since) || !w.Holds(until-1) || w.Holds(until) {
		t.Errorf("%v holds the wrong records", w)
	}
	if w, ok := (Range{Start: Bound{Kind: Offset, N: 5}}).Window(); ok || !w.Holds(-1) {
		t.Errorf("offsets make the window %v, %v", w, ok)
	}
	if got := (Range{Start: Bound{Kind: Time, N: -1}}).Times(); got != nil {
		t.Errorf("a time before 1970 is looked up: %v", got)
	}
	if got := (Range{Start: Bound{Kind: Group, Name: "g"}}).Groups(); !slices.Equal(got, []string{"g"}) {
		t.Errorf("Groups = %v", got)
	}
	if got := (Range{}).Groups(); got != nil {
		t.Errorf("Groups of nothing = %v", got)
	}
	got := Range{Stop: Bound{Kind: End}}.OrElse(Range{Start: Bound{Kind: Start}, Stop: Bound{Kind: Offset, N: 5}})
	if want := (Range{Start: Bound{Kind: Start}, Stop: Bound{Kind: End}}); got != want {
		t.Errorf("OrElse = %v, want %v", got, want)
	}
}

// TestLate moves the offsets of a window's end, and not the window itself.
func TestLate(t *testing.T) {
	for _, c := range []struct {
		spec  string
		late  int64
		times []int64 // behind now
		until int64
		some  bool
	}{
		{"@:+10s", 0, []int64{10e3}, 110, true},
		{"@:+10s", 5e3, []int64{15e3}, 115, true},
		{"@+5s:+10s", 5e3, []int64{5e3, 20e3}, 120, true},
		{"@:+10s", 1e9, []int64{10e3 + 1e9}, 200, true},
		{"@+10s", 5e3, []int64{10e3}, Open, false},
		{"100:110", 5e3, nil, 110, false},
	} {
		o, err := ParseOffsets([]string{c.spec}, now)
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := o.Default()
		o, some := o.WithLate(c.late)
		r, _ := o.Default()
		var times []int64
		for _, ms := range r.Times() {
			times = append(times, ms-now.UnixMilli())
		}
		if b := r.Resolve(log(false)); b.Until != c.until || some != c.some || !slices.Equal(times, c.times) {
			t.Errorf("%s, %d ms late: until %d, times %v, %v", c.spec, c.late, b.Until, times, some)
		}
		was, _ := plain.Window()
		if w, _ := r.Window(); w != was {
			t.Errorf("%s, %d ms late: the window is %v, was %v", c.spec, c.late, w, was)
		}
	}
	before := Range{Stop: Bound{Kind: Time, N: -2000}, Late: 1000}
	if b := before.Resolve(log(false)); b.Until != 100 || before.Times() != nil {
		t.Errorf("a stop before 1970: %+v, times %v", b, before.Times())
	}
}

func TestLateOfSomePartitions(t *testing.T) {
	o, err := ParseOffsets([]string{"0=@:+10s", "1=5"}, now)
	if err != nil {
		t.Fatal(err)
	}
	late, some := o.WithLate(7)
	if r, _ := late.For(record.Split{Cluster: "c", Topic: "t", Partition: 0}); !some || r.Late != 7 {
		t.Errorf("partition 0 is late by %d, %v", r.Late, some)
	}
	if r, _ := late.For(record.Split{Cluster: "c", Topic: "t", Partition: 1}); r.Late != 0 {
		t.Errorf("partition 1 is late by %d", r.Late)
	}
	if r, _ := o.For(record.Split{Cluster: "c", Topic: "t"}); r.Late != 0 {
		t.Errorf("what was there is late by %d now", r.Late)
	}
}

func TestStarts(t *testing.T) {
	until := Range{Stop: Bound{Kind: Time, N: 5}}
	some, err := ParseOffsets([]string{"0=:5"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o             Offsets
		starts, given bool
	}{
		{Offsets{}, false, false},
		{Offsets{}.WithDefault(until), false, true},
		{some, true, true},
		{some.WithDefault(until), true, true},
		{Offsets{}.WithDefault(Range{Start: Bound{Kind: Start}}), true, true},
	} {
		if c.o.Starts() != c.starts || c.o.Given() != c.given {
			t.Errorf("%+v: starts %v, given %v", c.o, c.o.Starts(), c.o.Given())
		}
	}
	if r, ok := (Offsets{}).WithDefault(until).Default(); !ok || r != until {
		t.Errorf("the default is %v, %v", r, ok)
	}
}
