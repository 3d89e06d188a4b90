package main

import (
	"fmt"
	"slices"
	"strings"
)

// lastLines is how many lines the end may have: CI shows about fifty.
const lastLines = 44

// lastWords is what stands at the very end of a run that failed: the names of
// all failed tests, as far as they fit, and of what each printed the end.
func (s *suite) lastWords(failure error) string {
	if failure == nil {
		return ""
	}
	head := []string{"suite: " + failure.Error()}
	if len(head[0]) > 2000 {
		head[0] = head[0][:2000] + "…"
	}
	if len(s.reports) == 0 && s.first != nil {
		// What the compiler or the package has said.
		stray := lines(strings.Join(s.first.stray, ""))
		return strings.Join(append(tail(stray, lastLines-1), head...), "\n") + "\n"
	}
	const names = lastLines / 2
	var body []string
	for _, r := range s.reports[:min(len(s.reports), names)] {
		ls := lines(r)
		each := max(1, (lastLines-2)/min(len(s.reports), names))
		body = append(body, ls[0])
		body = append(body, tail(ls[1:], each-1)...)
	}
	if left := len(s.reports) - names; left > 0 {
		body = append(body, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(slices.Concat(head, body), "\n") + "\n"
}

func lines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// tail is the last n lines, with a mark where some were left out.
func tail(ls []string, n int) []string {
	if len(ls) <= n {
		return ls
	}
	if n <= 1 {
		return ls[len(ls)-max(n, 0):]
	}
	return append([]string{fmt.Sprintf("    … %d lines …", len(ls)-n+1)}, ls[len(ls)-n+1:]...)
}
