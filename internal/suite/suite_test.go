package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scratch makes a module with one package, whose test file is source, and
// returns a suite for it.
func scratch(t *testing.T, source string) (*suite, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module scratch\n\ngo 1.26\n", "x_test.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	return &suite{out: &out, tool: goTool{stderr: io.Discard, dir: dir}, packages: []string{"./..."}}, &out
}

const head = `package scratch

import (
	"os"
	"testing"
)

// failing fails its first n calls, whatever process they are in.
func failing(t *testing.T, n int64) {
	f, err := os.OpenFile("calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, _ := f.Seek(0, 2)
	_, _ = f.WriteString(".")
	if at < n {
		t.Errorf("call %d fails", at)
	}
}

func TestGood(t *testing.T) {}
`

func TestUnsteadyTestIsToldAndPasses(t *testing.T) {
	s, out := scratch(t, head+`
func TestTable(t *testing.T) {
	t.Run("steady", func(t *testing.T) {})
	t.Run("un steady/a+b", func(t *testing.T) { failing(t, 1) })
}
`)
	if err := s.test(t.Context(), nil); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const line = "UNSTEADY: scratch TestTable/un_steady/a+b (failed once among all, passed 5 of 5 alone)\n"
	if s.unsteady.String() != line {
		t.Errorf("unsteady: %q", s.unsteady.String())
	}
	for _, want := range []string{line + "FAILED: ", "call 0 fails", "\nok  \tscratch\t(with"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if n := strings.Count("\n"+out.String(), "\nok"); n != 1 { // which .ci/run counts
		t.Errorf("it says %d times that the package is good:\n%s", n, out)
	}
	if s.first.passed[test{"scratch", "TestTable"}] == 0 {
		t.Error("the test does not count as passed")
	}
}

func TestWhatFailsForGood(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   []string // in the last words
		not    string   // not said at all
	}{
		"once in six": {
			`func TestX(t *testing.T) { failing(t, 2) }`,
			[]string{"suite: scratch TestX failed; alone it passed 4 of 5", "FAILED: scratch TestX (alone it passed 4 of 5)", "call 0 fails", "call 1 fails"},
			"UNSTEADY",
		},
		"too many": {
			`func TestX(t *testing.T) {
				for _, n := range []string{"a", "b", "c", "d"} {
					t.Run(n, func(t *testing.T) { t.Error("no", n) })
				}
			}`,
			[]string{"suite: 4 tests failed", "FAILED: scratch TestX/a", "no d"},
			"once more",
		},
		"panic": {
			`func TestX(t *testing.T) { panic("at the disco") }`,
			[]string{"panic: at the disco", "FAILED: scratch TestX"},
			"once more",
		},
		"no build": {
			`func TestX(t *testing.T) { return 1 }`,
			[]string{"too many return values", "does not build"},
			"once more",
		},
		"the binary": {
			`func TestMain(m *testing.M) { m.Run(); println("at the end"); os.Exit(3) }`,
			[]string{"at the end", "scratch failed, though none of its tests did"},
			"once more",
		},
		"ended": {
			`func TestX(t *testing.T) { os.Exit(3) }`,
			[]string{"scratch failed, though none"},
			"once more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := scratch(t, head+c.source)
			err := s.test(t.Context(), nil)
			if err == nil {
				t.Fatalf("it passes:\n%s", out)
			}
			words := s.lastWords(err)
			for _, want := range c.want {
				if !strings.Contains(words, want) {
					t.Errorf("the last words are\n%s\nwithout %q", words, want)
				}
			}
			if strings.Contains(out.String(), c.not) {
				t.Errorf("it says\n%s", out)
			}
		})
	}
}

// TestNothingIsLeftBehind: a run that is ended ends its tests, and tells what had
// failed before.
func TestNothingIsLeftBehind(t *testing.T) {
	s, out := scratch(t, head+`
func TestBad(t *testing.T) { t.Error("bad before") }

func TestHangs(t *testing.T) {
	if err := os.WriteFile("hangs", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {}
}
`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, err := os.Stat(filepath.Join(s.tool.dir, "hangs")); err != nil; _, err = os.Stat(filepath.Join(s.tool.dir, "hangs")) {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	err := s.test(ctx, []string{"-timeout=5m"}) // returns when nobody writes to it any more
	if !errors.Is(err, context.Canceled) || !strings.Contains(s.lastWords(err), "bad before") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRaceIsNoAccident(t *testing.T) {
	got := newTally()
	text := `{"Action":"run","Package":"p","Test":"TestX"}
{"Action":"output","Package":"p","Test":"TestX","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p","Test":"TestX"}
{"Action":"fail","Package":"p"}
`
	if err := got.read(strings.NewReader(text), func(string) {}); err != nil {
		t.Fatal(err)
	}
	if len(got.grave) != 1 || got.grave[0] != "p TestX: WARNING: DATA RACE" {
		t.Errorf("grave: %q", got.grave)
	}
}

// What a test that never ended has printed tells where it stood.
func TestWhatDidNotEndIsShown(t *testing.T) {
	got := newTally()
	text := `{"Action":"run","Package":"p","Test":"TestX"}
{"Action":"output","Package":"p","Test":"TestX","Output":"panic: test timed out after 10m0s\n"}
{"Action":"output","Package":"p","Test":"TestX","Output":"goroutine 7 [running]:\n"}
{"Action":"fail","Package":"p"}
`
	var shown strings.Builder
	if err := got.read(strings.NewReader(text), func(s string) { shown.WriteString(s) }); err != nil {
		t.Fatal(err)
	}
	if want := "panic: test timed out after 10m0s\ngoroutine 7 [running]:\n"; shown.String() != want {
		t.Errorf("shown: %q, want %q", shown.String(), want)
	}
	if !slices.Contains(got.grave, "p TestX did not end") {
		t.Errorf("grave: %q", got.grave)
	}
}

func TestLastWordsFitTheScreen(t *testing.T) {
	for _, n := range []int{1, 2, 3, 20, 22, 300} {
		s := &suite{first: newTally()}
		for range n {
			s.reports = append(s.reports, "FAILED: x TestY\n"+strings.Repeat("a line\n", 100)+"the end\n")
		}
		words := s.lastWords(io.ErrUnexpectedEOF)
		if got := strings.Count(words, "\n"); got > lastLines || n < 4 && got < lastLines-4 {
			t.Errorf("%d failures take %d lines", n, got)
		}
		if got := strings.Count(words, "FAILED: "); got != min(n, lastLines/2) {
			t.Errorf("of %d failures %d are named", n, got)
		}
		if n < 20 && strings.Count(words, "the end") != n {
			t.Errorf("the ends of %d failures are missing:\n%s", n, words)
		}
	}
}

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-kafka -least 30 -tags=kafka -v ./a ./b"), io.Discard)
	if err != nil || !o.kafka || o.least != 30 || strings.Join(o.flags, " ") != "-tags=kafka -v" || strings.Join(o.packages, " ") != "./a ./b" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parse([]string{"-p", "4", "-race"}, io.Discard); err == nil {
		t.Error("a flag's value is taken for a package")
	}
}
