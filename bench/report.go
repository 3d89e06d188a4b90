package main

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// bar is one promise about the medians: a value and the limit that it has to
// keep.
type bar struct {
	name  string
	value float64
	limit float64
	most  bool // the limit is an upper one
}

func (b bar) kept() bool {
	if b.most {
		return b.value <= b.limit
	}
	return b.value >= b.limit
}

// report writes the tables in Markdown and returns how many bars were missed.
func report(w io.Writer, o options, results []result) int {
	fmt.Fprintf(w, "# %s\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(w, "%d JSON records of about 140 bytes, lz4, batches of at most %d bytes, %d partitions, one broker on the same machine;\n",
		o.records, o.batchBytes, o.partitions)
	fmt.Fprintf(w, "%d runs of each after %d to warm up, taking turns; output to the null device. %s/%s, %d CPUs, %s. Tools: %s.\n\n",
		o.runs, o.warmups, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), kcatVersion())
	return writeBars(w, judge(table(w, o.records, results)))
}

// table writes what each contender took and returns the results by name.
func table(w io.Writer, records int, results []result) map[string]result {
	fmt.Fprintln(w, "| program | wall s, least / median / most | records/s | CPU s, least / median / most | peak MB |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	by := map[string]result{}
	for _, r := range results {
		by[r.name] = r
		wall, cpu := r.wall(), r.cpu()
		fmt.Fprintf(w, "| %s | %.2f / %.2f / %.2f | %.0f | %.2f / %.2f / %.2f | %.0f |\n", strings.ReplaceAll(r.name, "|", "\\|"),
			wall.low, wall.mid, wall.high, float64(records)/wall.mid, cpu.low, cpu.mid, cpu.high, r.rss().high)
	}
	return by
}

// writeBars writes which bars are kept and returns how many are not.
func writeBars(w io.Writer, bars []bar) (missed int) {
	if len(bars) == 0 {
		return 0
	}
	fmt.Fprintln(w, "\n| bar, on medians | measured | wanted | |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for _, b := range bars {
		sign, word := "≥", "kept"
		if b.most {
			sign = "≤"
		}
		if !b.kept() {
			word = "missed"
			missed++
		}
		fmt.Fprintf(w, "| %s | %.2f | %s %.2f | %s |\n", b.name, b.value, sign, b.limit, word)
	}
	return missed
}

// judge makes the bars of those pairs that were measured.
func judge(by map[string]result) []bar {
	var bars []bar
	pair := func(name, a, b string, of func(x, y result) float64, limit float64, most bool) {
		x, okX := by[a]
		y, okY := by[b]
		if okX && okY {
			bars = append(bars, bar{name, of(x, y), limit, most})
		}
	}
	faster := func(x, y result) float64 { return y.wall().mid / x.wall().mid }
	pair("rate, kcm -f raw : kcat", kcmRaw, kcatRaw, faster, 4, false)
	pair("time, kcm -f raw : kgo loop", kcmRaw, kgoLoop, func(x, y result) float64 { return x.wall().mid / y.wall().mid }, 0.5, true)
	pair("rate, kcm -J : kcat -J", kcmJSON, kcatJSON, faster, 12, false)
	pair("rate, kcm -J : console consumer", kcmJSON, console, faster, 8, false)
	cpu := func(x, y result) float64 { return x.cpu().mid / y.cpu().mid }
	pair("CPU, kcm -f raw : kcat", kcmRaw, kcatRaw, cpu, 1.0/3, true)
	pair("CPU, kcm -J : kcat -J", kcmJSON, kcatJSON, cpu, 1.0/3, true)
	for _, name := range []string{kcmRaw, kcmJSON} {
		if r, ok := by[name]; ok {
			bars = append(bars, bar{"peak MB, " + name, r.rss().high, 120, true})
		}
	}
	return bars
}

// kcatVersion is the line in which kcat names its version and librdkafka's.
func kcatVersion() string {
	out, err := exec.Command("kcat", "-V").CombinedOutput() //nolint:noctx // answers at once
	if err != nil {
		return "no kcat"
	}
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "Version "); ok {
			version, _, _ := strings.Cut(rest, " ")
			_, lib, _ := strings.Cut(rest, "librdkafka ")
			lib, _, _ = strings.Cut(lib, " ")
			return "kcat " + version + " with librdkafka " + lib
		}
	}
	return "kcat of an unknown version"
}
