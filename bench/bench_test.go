package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func seconds(name string, records int, walls ...float64) result {
	r := result{Name: name, Records: records}
	for _, w := range walls {
		d := time.Duration(w * float64(time.Second))
		r.Samples = append(r.Samples, sample{Wall: d, CPU: d / 2, RSS: int64(w * 1e6)})
	}
	return r
}

func TestJudge(t *testing.T) {
	out := outcome{Results: []result{
		seconds("kcm", 4_000_000, 1, 9, 2),
		seconds("half", 2_000_000, 4, 4),
		{Name: "tail", Delays: &quantiles{P99: 12 * time.Millisecond}},
		{Name: "loop", Delays: &quantiles{P99: 5 * time.Millisecond}},
	}}
	got := judge([]promise{
		{"rate", rate, "kcm", "half", 4},
		{"rate missed", rate, "kcm", "half", 4.5},
		{"times", times, "kcm", "half", 0.5},
		{"times missed", times, "half", "kcm", 1.9},
		{"cpus", cpus, "half", "kcm", 0},
		{"peak", peak, "kcm", "", 8},
		{"speed", speed, "kcm", "", 2},
		{"delay", delay, "tail", "loop", 10},
		{"no peer", rate, "kcm", "kcat", 4},
		{"no kcm", peak, "other", "", 4},
	}, out)
	want := []bar{
		{"rate", 4, 4, false, ""},
		{"rate missed", 4, 4.5, false, ""},
		{"times", 0.5, 0.5, true, ""},
		{"times missed", 2, 1.9, true, ""},
		{"cpus", 2, 0, true, ""},
		{"peak", 9, 8, true, ""},
		{"speed", 2, 2, false, ""},
		{"delay", 7, 10, true, ""},
		{"no peer", 0, 4, false, "no kcat"},
		{"no kcm", 0, 4, true, "no other"},
	}
	words := []string{
		"kept", "**missed**", "kept", "**missed**", "for information", "**missed**", "kept", "kept",
		"**not measured**: no kcat", "**not measured**: no other",
	}
	for i, b := range got {
		if b != want[i] || b.word() != words[i] {
			t.Errorf("%+v %s, want %+v %s", b, b.word(), want[i], words[i])
		}
	}
	failed := judge([]promise{{"rate", rate, "kcm", "half", 4}}, outcome{Failed: "x", Results: out.Results})
	if failed[0].kept() || failed[0].Why != "the row failed" {
		t.Errorf("a failed row has the bar %+v", failed[0])
	}
}

// TestRows holds the promises to the programs of their rows.
func TestRows(t *testing.T) {
	k := &kit{o: options{records: mainRecords, east: "e:1", west: "w:1", jars: "jars"}, kcm: "kcm", loop: "loop", decoder: "decoder"}
	names := map[string]bool{}
	for _, r := range k.rows() {
		if names[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		names[r.name] = true
		if len(r.bars) == 0 {
			t.Errorf("%s promises nothing", r.name)
		}
		has := map[string]bool{"": true}
		for _, c := range r.contenders {
			if has[c.name] {
				t.Errorf("%s: two programs are named %q", r.name, c.name)
			}
			has[c.name] = true
		}
		for _, p := range r.bars {
			if !has[p.a] || !has[p.b] {
				t.Errorf("%s: %q is about %q and %q, which do not run", r.name, p.name, p.a, p.b)
			}
		}
	}
	for _, list := range []string{"nothing", "raw,", "raw,nothing"} {
		if rows, err := choose(k.rows(), list); err == nil {
			t.Errorf("%q chose %d rows", list, len(rows))
		}
	}
	rows, err := choose(k.rows(), "grep,where")
	if err != nil || len(rows) != 3 {
		t.Errorf("grep,where chose %d rows (%v)", len(rows), err)
	}
}

func TestKnows(t *testing.T) {
	k := &kit{help: "  -O, --out PATH  files\n      --state FILE   keep; see --order-wait\n  -g, --group NAME\n"}
	for flag, want := range map[string]bool{"-O": true, "--state": true, "-g": true, "--order": false, "--to": false} {
		if got := k.knows(flag); got != want {
			t.Errorf("knows(%s) = %v", flag, got)
		}
	}
}

// TestPipelines counts the CPU time of all programs of one, and stops at a
// program that fails wherever it stands.
func TestPipelines(t *testing.T) {
	k := &kit{}
	busy := contender{argv: []string{"bash", "-c", "for ((i = 0; i < 200000; i++)); do :; done; echo done"}}
	s, n, err := k.once(t.Context(), piped("busy | cat", busy, "cat"), true)
	if err != nil || n != 1 || s.CPU < 50*time.Millisecond {
		t.Errorf("%d lines in %s of CPU time (%v), want 1 in more", n, s.CPU, err)
	}
	_, _, err = k.once(t.Context(), piped("false | cat", contender{argv: []string{"false"}}, "cat"), false)
	if err == nil || !strings.Contains(err.Error(), "false | cat") {
		t.Errorf("a pipeline that fails gives %v", err)
	}
	quoted := contender{argv: []string{"printf", `%s\n`, "it's", "a b"}}
	if _, n, err = k.once(t.Context(), piped("quoted", quoted, "grep \"it's\""), true); err != nil || n != 1 {
		t.Errorf("%d lines (%v), want 1", n, err)
	}
}

func TestOutputs(t *testing.T) {
	k := &kit{o: options{dir: t.TempDir()}}
	for name, c := range map[string]contender{
		"null": {argv: []string{"seq", "7"}, out: toNull},
		"pipe": {argv: []string{"seq", "7"}, out: toPipe, stall: time.Millisecond},
		"file": {argv: []string{"seq", "7"}, out: toFile, counts: byFiles},
		"told": {argv: []string{"echo", "7"}, counts: byNumber},
		"own":  {argv: []string{"bash", "-c", "seq 3 > @DIR@/a; seq 4 | gzip > @DIR@/b.gz; seq 9 > @DIR@/state"}, out: toNone, counts: byFiles},
	} {
		if _, n, err := k.once(t.Context(), c, true); err != nil || n != 7 {
			t.Errorf("%s: %d records (%v), want 7", name, n, err)
		}
		if s, _, err := k.once(t.Context(), c, false); err != nil || s.Wall <= 0 {
			t.Errorf("%s: %v (%v)", name, s, err)
		}
	}
	left, err := os.ReadDir(k.o.dir)
	if err != nil || len(left) != 0 {
		t.Errorf("the runs left %d directories (%v)", len(left), err)
	}
}

// TestShapes holds the values to the sizes that the tables tell.
func TestShapes(t *testing.T) {
	for name, want := range map[string][2]int{"order": {125, 145}, "page": {960, 1100}, "wide": {235, 265}} {
		next, needles := shapes[name].maker(), 0
		for i := range 2 * needleEvery {
			key, value := next(i, time.UnixMilli(1_700_000_000_000))
			if len(value) < want[0] || len(value) > want[1] || len(key)+len(value) < shapes[name].least {
				t.Fatalf("%s: %d bytes: %s", name, len(value), value)
			}
			needles += bytes.Count(value, []byte(needle))
		}
		if needles != 2 {
			t.Errorf("%s: %d needles, want 2", name, needles)
		}
	}
}

// TestBook keeps rows over a second start and refuses what was measured otherwise.
func TestBook(t *testing.T) {
	o := options{out: filepath.Join(t.TempDir(), "x.md"), runs: 5, slowRuns: 3, records: 9, resume: true}
	b, err := openBook(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b.put(outcome{Row: "two", Results: []result{seconds("kcm", 10, 1, 2, 3)}})
	b.put(outcome{Row: "one", Failed: "gone"})
	b.put(outcome{Row: "old"})
	if err := b.save(o.out); err != nil {
		t.Fatal(err)
	}
	again, err := openBook(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !again.has("two") || again.has("one") || again.has("three") {
		t.Errorf("it has %v %v %v", again.has("two"), again.has("one"), again.has("three"))
	}
	again.order([]row{{name: "one"}, {name: "two"}, {name: "three"}})
	if len(again.Rows) != 2 || again.Rows[0].Row != "one" || again.Rows[1].Results[0].wall().mid != 2 {
		t.Errorf("in order: %+v", again.Rows)
	}
	o.runs = 6
	if _, err := openBook(t.Context(), o); err == nil || !strings.Contains(err.Error(), "measured otherwise") {
		t.Errorf("another number of runs: %v", err)
	}
	o.resume = false
	if fresh, err := openBook(t.Context(), o); err != nil || len(fresh.Rows) != 0 {
		t.Errorf("all rows anew: %v (%v)", fresh, err)
	}
}

func TestReport(t *testing.T) {
	b := &book{Rows: []outcome{
		{
			Row: "a", Title: "First", Works: []string{"some: records"}, Output: "pipe", Note: "A note.", LeftOut: []string{"kcat: none"},
			Results: []result{seconds("kcm | jq", 1000, 1, 2, 4)},
			Bars:    []bar{{Name: "kcm : kcat | jq", Limit: 4, Why: "no kcat"}},
		},
		{Row: "b", Title: "Second", Failed: "it broke"},
		{Row: "c", Title: "Third", Results: []result{{Name: "tail", Delays: quantilesOf([]time.Duration{3e6, 1e6, 2e6})}}},
	}}
	var text strings.Builder
	if missed := report(&text, b); missed != 1 {
		t.Errorf("%d missed", missed)
	}
	for _, want := range []string{
		`| a | kcm : kcat \| jq | – | ≥ 4.00 | **not measured**: no kcat |`,
		"## First\n\nsome: records.\nOutput to: pipe.\nA note.\n**Left out**: kcat: none.\n",
		`| kcm \| jq | 3 | 1.00 / 2.00 / 4.00 | 500 | 0.50 / 1.00 / 2.00 | 4 |`,
		"**Failed**: it broke",
		"| tail | 3 | 1.0 | 2.0 | 3.0 | 3.0 | 3.0 |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// TestPage holds the page to the file that it says it was copied from.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(regexp.QuoteMeta(pageBegin) + `(\S+) -->`).FindSubmatch(page)
	if m == nil {
		t.Fatal("the page does not say where its tables come from")
	}
	text, err := os.ReadFile(filepath.Join("..", string(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	filled, err := fillPage(page, string(m[1]), string(text))
	if err != nil || !bytes.Equal(filled, page) {
		t.Errorf("the tables are not those of %s (%v): make bench-page RESULT=FILE", m[1], err)
	}
	if _, err := fillPage([]byte("no marks"), "x", "y"); err == nil {
		t.Error("a page without marks was filled")
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{}, {"-b", "x", "-runs", "0"}, {"-b", "x", "-docs", "y"}, {"-copy", "x"}, {"-bad"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	o, err := parse([]string{"-b", "x", "-rows", "raw"}, io.Discard)
	if err != nil || o.runs != 5 || o.slowRuns != 3 || !slices.Equal([]string{o.east, o.rows}, []string{"x", "raw"}) {
		t.Errorf("%+v (%v)", o, err)
	}
}
