package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const (
	mostUnsteady = 3 // tests that may be run again; more are no accident
	again        = 5 // how often each has to pass then
)

// suite is one run of tests.
type suite struct {
	out      io.Writer
	tool     goTool
	flags    []string
	packages []string

	first    *tally
	reports  []string // what tells of each failed test, headed by its name
	unsteady strings.Builder
}

// goTool runs the go command.
type goTool struct {
	stderr io.Writer
	env    []string // besides the process's own
	dir    string   // of the module; the process's own when empty
}

// test runs go test with args and reports its events to t. The error is nil
// unless go could not be run: whether tests failed is in t.
func (g goTool) test(ctx context.Context, t *tally, show func(string), args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the caller's own flags
	together(cmd)
	cmd.Dir = g.dir
	cmd.Env, cmd.Stderr = append(os.Environ(), g.env...), g.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = t.read(out, show)
	wait := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](wait); ok && exit.ExitCode() > 0 {
		t.failing, wait = true, nil
		if len(t.bad) == 0 && len(t.grave) == 0 {
			t.grave = append(t.grave, "go test "+exit.Error()+" and names no test")
		}
	}
	return errors.Join(err, wait, ctx.Err())
}

// test runs the suite: once, and a few failures again. more are flags behind
// the suite's own.
func (s *suite) test(ctx context.Context, more []string) error {
	s.first = newTally()
	args := slices.Concat(s.flags, more, s.packages)
	err := s.tool.test(ctx, s.first, s.show, args...)
	for _, id := range s.first.leaves() {
		s.reports = append(s.reports, s.account(s.first, id, ""))
	}
	if err != nil || !s.first.failing {
		return err
	}
	return s.retry(ctx)
}

func (s *suite) show(text string) {
	if strings.HasPrefix(text, "--- PASS") && !s.tellsPassed() {
		return
	}
	_, _ = io.WriteString(s.out, text)
}

// tellsPassed reports whether each passed test is worth a line.
func (s *suite) tellsPassed() bool { return slices.Contains(s.flags, "-v") }

// retry runs the failed tests again, alone, if they are few and nothing worse
// has happened; they are UNSTEADY if they all pass every time.
func (s *suite) retry(ctx context.Context) error {
	t := s.first
	leaves := t.leaves()
	switch {
	case len(t.grave) > 0:
		return errors.New(strings.Join(t.grave, "; "))
	case len(leaves) > mostUnsteady:
		return fmt.Errorf("%d tests failed", len(leaves))
	}
	for i, id := range leaves {
		_, _ = fmt.Fprintf(s.out, "\n%s failed: once more, alone, %d times\n", id, again)
		second := newTally()
		// The later of two flags counts.
		args := append(slices.Clone(s.flags), fmt.Sprintf("-count=%d", again), "-p=1", "-run="+pattern(id.name), id.pkg)
		if err := s.tool.test(ctx, second, func(string) {}, args...); err != nil {
			return err
		}
		if n := second.passed[id]; n != again || second.failing {
			where := fmt.Sprintf("alone it passed %d of %d", n, again)
			s.reports[i] = s.account(t, id, where)
			if text := second.said(id); text != "" {
				s.reports[i] += "alone:\n" + text + "\n"
			}
			return errors.New(id.String() + " failed; " + where)
		}
		t.passed[id]++
		t.passed[id.top()]++
	}
	return s.tellUnsteady(leaves)
}

func (s *suite) tellUnsteady(leaves []test) error {
	for i, id := range leaves {
		line := fmt.Sprintf("UNSTEADY: %s (failed once among all, passed %d of %d alone)\n", id, again, again)
		_, _ = fmt.Fprint(s.out, "\n", line, s.reports[i])
		s.unsteady.WriteString(line)
	}
	for _, pkg := range s.first.bad {
		_, _ = fmt.Fprintf(s.out, "ok  \t%s\t(with the tests that were run again)\n", pkg)
	}
	s.reports = nil
	return nil
}

// account is a heading and all that a test has printed.
func (s *suite) account(t *tally, id test, note string) string {
	if note != "" {
		note = " (" + note + ")"
	}
	return fmt.Sprintf("FAILED: %s%s\n%s\n", id, note, t.said(id))
}

// pattern is the -run of exactly one test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
