package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json (see go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output
	Test        string // empty for the package as a whole
	Output      string
	Elapsed     float64
	FailedBuild string
}

// test names a test or a subtest of a package.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

// top is the test that a subtest belongs to.
func (t test) top() test {
	name, _, _ := strings.Cut(t.name, "/")
	return test{t.pkg, name}
}

// tally is what one go test tells.
type tally struct {
	passed  map[test]int // how often
	skipped []test
	failed  []test // children before their parents
	running map[test]bool
	output  map[test]*strings.Builder // of what has not passed
	good    []string                  // packages
	bad     []string
	failing bool     // go test ended with an error
	grave   []string // why running a test again would be no answer
	stray   []string // lines that belong to no test: of builds and packages
}

func newTally() *tally {
	return &tally{passed: map[test]int{}, running: map[test]bool{}, output: map[test]*strings.Builder{}}
}

// read takes the events of one go test as they come and hands the lines that a
// person wants to see to show.
func (t *tally) read(r io.Reader, show func(string)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "build-output", Output: string(line)} // go test itself, before it runs anything
			}
			t.take(e, show)
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// chatter is what go test says of each test whatever becomes of it.
var chatter = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)

// broken is the beginning of a line after which no test of the binary can be
// trusted; a data race is one wherever it is told.
var broken = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: )|WARNING: DATA RACE`)

func (t *tally) take(e event, show func(string)) {
	id := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		t.stray = append(t.stray, e.Output)
		show(e.Output)
	case "build-fail":
		t.grave = append(t.grave, e.ImportPath+" does not build")
	case "run":
		t.running[id] = true
		if t.output[id] == nil {
			t.output[id] = &strings.Builder{}
		}
	case "output":
		t.say(id, e.Output, show)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.end(e, show)
			return
		}
		t.result(id, e, show)
	}
}

func (t *tally) say(id test, text string, show func(string)) {
	if what := broken.FindString(text); what != "" {
		t.grave = append(t.grave, fmt.Sprintf("%s: %s", id, strings.TrimSpace(text)))
	}
	if id.name != "" {
		if b := t.output[id]; b != nil && !chatter.MatchString(text) {
			b.WriteString(text)
		}
		return
	}
	if text != "PASS\n" && text != "FAIL\n" && !strings.HasPrefix(text, "testing: warning: no tests to run") {
		t.stray = append(t.stray, text)
		show(text)
	}
}

func (t *tally) result(id test, e event, show func(string)) {
	delete(t.running, id)
	switch e.Action {
	case "pass":
		t.passed[id]++
		if !slices.Contains(t.failed, id) { // by an earlier run
			delete(t.output, id)
		}
	case "skip":
		t.skipped = append(t.skipped, id)
	case "fail":
		t.failed = append(t.failed, id)
	}
	if e.Action == "fail" {
		show(t.said(id) + "\n")
	} else if !strings.Contains(id.name, "/") {
		show(fmt.Sprintf("--- %s: %s (%.2fs)\n", strings.ToUpper(e.Action), id.name, e.Elapsed))
	}
}

func (t *tally) end(e event, show func(string)) {
	if e.Action != "fail" {
		t.good = append(t.good, e.Package)
		return
	}
	t.bad = append(t.bad, e.Package)
	if e.FailedBuild != "" {
		return // told as build-fail
	}
	if !slices.ContainsFunc(t.failed, func(f test) bool { return f.pkg == e.Package }) {
		t.grave = append(t.grave, e.Package+" failed, though none of its tests did")
	}
	for id := range t.running {
		if id.pkg == e.Package {
			t.grave = append(t.grave, id.String()+" did not end")
			if said := t.said(id); said != "" { // the stacks, where it ran out of time
				show(said + "\n")
			}
		}
	}
}

// leaves are the tests that failed by themselves: those with no failed subtest.
func (t *tally) leaves() []test {
	var out []test
	for _, f := range t.failed {
		parent := slices.ContainsFunc(t.failed, func(o test) bool {
			return o.pkg == f.pkg && strings.HasPrefix(o.name, f.name+"/")
		})
		if !parent && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// said returns what a test has printed, without empty ends.
func (t *tally) said(id test) string {
	if b := t.output[id]; b != nil {
		return strings.TrimRight(b.String(), "\n")
	}
	return ""
}
