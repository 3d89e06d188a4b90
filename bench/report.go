package main

import (
	"fmt"
	"io"
	"strings"
)

// report writes the tables in Markdown and returns how many bars were missed or
// not measured.
func report(w io.Writer, b *book) int {
	fmt.Fprintf(w, "# Measured %s\n\n", b.When.Format("2006-01-02 15:04 UTC"))
	for _, line := range b.Machine {
		fmt.Fprintf(w, "* %s\n", line)
	}
	fmt.Fprintf(w, "* %s\n", b.Runs)
	missed := summary(w, b)
	for _, o := range b.Rows {
		fmt.Fprintf(w, "\n## %s\n\n", o.Title)
		section(w, o)
	}
	return missed
}

// summary is one table of all bars.
func summary(w io.Writer, b *book) (missed int) {
	fmt.Fprint(w, "\n## All bars\n\nRatios of medians; memory is the highest peak of all runs.\n\n")
	fmt.Fprint(w, "| row | bar | measured | wanted | |\n|---|---|---|---|---|\n")
	for _, o := range b.Rows {
		for _, bar := range o.Bars {
			if !bar.kept() {
				missed++
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", o.Row, cell(bar.Name), bar.measured(), bar.wanted(), cell(bar.word()))
		}
	}
	return missed
}

// cell keeps a pipe in a text from ending the cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func section(w io.Writer, o outcome) {
	said := o.Works
	if o.Output != "" {
		said = append(said, "Output to: "+o.Output+".")
	}
	for _, line := range append(said, o.Note) {
		if line != "" {
			fmt.Fprintf(w, "%s\n", strings.TrimSuffix(line, ".")+".")
		}
	}
	for _, left := range o.LeftOut {
		fmt.Fprintf(w, "**Left out**: %s.\n", left)
	}
	if o.Failed != "" {
		fmt.Fprintf(w, "**Failed**: %s\n", o.Failed)
		return
	}
	if len(o.Results) == 0 {
		return
	}
	fmt.Fprintln(w)
	if o.Results[0].Delays != nil {
		delayTable(w, o.Results)
		return
	}
	fmt.Fprintln(w, "| program | runs | wall s, least / median / most | records/s | CPU s, least / median / most | peak MB |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range o.Results {
		wall, cpu := r.wall(), r.cpu()
		fmt.Fprintf(w, "| %s | %d | %.2f / %.2f / %.2f | %.0f | %.2f / %.2f / %.2f | %.0f |\n", cell(r.Name), len(r.Samples),
			wall.low, wall.mid, wall.high, float64(r.Records)/wall.mid, cpu.low, cpu.mid, cpu.high, r.rss().high)
	}
}

func delayTable(w io.Writer, rs []result) {
	fmt.Fprintln(w, "| program | records | ms, least | median | 90th percentile | 99th | most |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range rs {
		q := r.Delays
		fmt.Fprintf(w, "| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f |\n", cell(r.Name), q.N,
			millis(q.Least), millis(q.P50), millis(q.P90), millis(q.P99), millis(q.Most))
	}
}
