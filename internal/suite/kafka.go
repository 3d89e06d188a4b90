package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// onKafka runs what reaches Apache Kafka, and demands that all of it ran there.
func (s *suite) onKafka(ctx context.Context, least int) error {
	packages, err := s.tool.list(ctx, s.packages)
	if err != nil {
		return err
	}
	makers, err := s.tool.makers(ctx)
	if err != nil {
		return err
	}
	chosen, err := choose(packages, makers)
	if err != nil {
		return err
	}
	s.tool.env = []string{"KCM_TEST_KAFKA=only"}
	var more []string
	all := !slices.ContainsFunc(s.flags, func(f string) bool { return strings.HasPrefix(strings.TrimLeft(f, "-"), "run=") })
	if all {
		more = []string{"-run=" + expression(chosen)}
	}
	s.packages = nil
	for _, c := range chosen {
		if !slices.Contains(s.packages, c.pkg) {
			s.packages = append(s.packages, c.pkg)
		}
	}
	_, _ = fmt.Fprintf(s.out, "%d tests of %d packages reach Apache Kafka\n", len(chosen), len(s.packages))
	if err := s.test(ctx, more); err != nil {
		return err
	}
	if len(s.first.skipped) > 0 {
		return fmt.Errorf("no test may skip here: %s did", s.first.skipped[0])
	}
	n := ranOn(s.first, chosen)
	if all {
		if err := allRan(s.first, chosen); err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("%d tests ran on Apache Kafka, at least %d have to", n, least)
		}
	}
	_, _ = fmt.Fprintf(s.out, "suite: %d tests passed on Apache Kafka\n", n)
	return nil
}

// expression is the -run of all chosen tests. A package may have a test of the
// same name that was not chosen: it runs once more, which does no harm.
func expression(chosen []choice) string {
	var names []string
	for _, c := range chosen {
		names = append(names, regexp.QuoteMeta(c.name))
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}

// onCluster is the name that kafkatest.Each gives the half of a test on Apache Kafka.
var onCluster = regexp.MustCompile(`/kafka(/|$)`)

// allRan finds chosen tests that passed without having reached Kafka.
func allRan(t *tally, chosen []choice) error {
	reached := map[test]bool{}
	for id := range t.passed {
		if onCluster.MatchString(id.name) {
			reached[id.top()] = true
		}
	}
	var missing []error
	for _, c := range chosen {
		switch {
		case t.passed[c.test] == 0:
			missing = append(missing, fmt.Errorf("%s did not run", c.test))
		case c.both && !reached[c.test]:
			missing = append(missing, fmt.Errorf("%s did not run on Apache Kafka", c.test))
		}
	}
	return errors.Join(missing...)
}

// ranOn counts the tests and subtests that passed on Apache Kafka.
func ranOn(t *tally, chosen []choice) int {
	only := map[test]bool{}
	for _, c := range chosen {
		only[c.test] = !c.both
	}
	n := 0
	for id := range t.passed {
		if only[id.top()] || onCluster.MatchString(id.name) {
			n++
		}
	}
	return n
}
