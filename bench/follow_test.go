//go:build kafka

package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestEdit measures the time from an edit of the metadata, a file moved over the
// old one, to the first record of a cluster that joins by it, in a run of kcm
// that follows another cluster meanwhile; and the same for a topic that joins.
// `make bench-follow` hands it arguments behind "--".
func TestEdit(t *testing.T) {
	var o struct {
		kcm, out string
		rounds   int
		check    bool
	}
	fs := flag.NewFlagSet("follow", flag.ContinueOnError)
	fs.StringVar(&o.kcm, "kcm", "", "kcm binary to measure (default: build the checkout)")
	fs.StringVar(&o.out, "out", "", "also write the result to this file")
	fs.IntVar(&o.rounds, "rounds", 3, "measured rounds of each")
	fs.BoolVar(&o.check, "check", false, "fail when a bar is missed")
	if err := fs.Parse(flag.Args()); err != nil {
		t.Fatal(err)
	}
	if o.kcm == "" {
		o.kcm = filepath.Join(t.TempDir(), "kcm")
		if err := build(t.Context(), o.kcm, module); err != nil {
			t.Fatal(err)
		}
	}
	rig := kafkatest.Real(t, kafkatest.Options{})
	e := &edits{
		t: t, topic: rig.Name("orders"), path: filepath.Join(t.TempDir(), "kcm.yaml"),
		east: rig.Start("east", kafkatest.Options{Optimized: true}), west: rig.Start("west", kafkatest.Options{Optimized: true}),
	}
	e.begin(o.kcm)
	var results []result
	for _, kind := range []string{"a cluster joins", "a topic joins"} {
		r := result{Name: kind}
		for n := range o.rounds {
			r.Samples = append(r.Samples, sample{Wall: e.round(kind, n)})
		}
		results = append(results, r)
	}
	e.finish()
	text, missed := editReport(o.rounds, results)
	t.Logf("\n%s", text)
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(text), 0o644); err != nil { //nolint:gosec // a report for everybody
			t.Fatal(err)
		}
	}
	if o.check && missed > 0 {
		t.Errorf("%d bars missed", missed)
	}
}

// edits is one run of kcm whose metadata is edited.
type edits struct {
	t          *testing.T
	east, west *kafkatest.Cluster
	topic      string
	path       string
	cmd        *exec.Cmd
	out, err   chan arrival
}

// arrival is a line and when it came.
type arrival struct {
	at   time.Time
	text string
}

func arrivals(r io.Reader) chan arrival {
	c := make(chan arrival, 1000)
	go func() {
		defer close(c)
		s := bufio.NewScanner(r)
		for s.Scan() {
			c <- arrival{time.Now(), s.Text()}
		}
	}()
	return c
}

// begin starts kcm on one topic of one cluster.
func (e *edits) begin(kcm string) {
	e.t.Helper()
	e.east.CreateTopic(e.topic, 3, nil)
	e.east.Produce(e.topic, kafkatest.Record{Value: []byte("the first")})
	e.write(e.topic, "")
	e.cmd = exec.CommandContext(e.t.Context(), kcm, "-m", e.path, "consume", "orders", "-o", "start", "-J")
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	stderr, err := e.cmd.StderrPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.out, e.err = arrivals(stdout), arrivals(stderr)
	e.await(e.out, "the first")
}

// write writes a version: topics of east, and one of west if it is named.
func (e *edits) write(east, west string) {
	e.t.Helper()
	text := fmt.Sprintf("clusters:\n  east: {bootstrap: %q}\n  west: {bootstrap: %q}\nstreams:\n  orders:\n    sources:\n      - {cluster: east, topics: [%s]}\n",
		e.east.Bootstrap(), e.west.Bootstrap(), east)
	if west != "" {
		text += fmt.Sprintf("      - {cluster: west, topics: [%s]}\n", west)
	}
	if err := os.WriteFile(e.path+".part", []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	if err := os.Rename(e.path+".part", e.path); err != nil {
		e.t.Fatal(err)
	}
}

// await waits for a line that contains text and returns when it came.
func (e *edits) await(from chan arrival, text string) time.Time {
	e.t.Helper()
	limit := time.After(60 * time.Second)
	var seen []string
	for {
		select {
		case a, ok := <-from:
			if strings.Contains(a.text, text) {
				return a.at
			}
			if !ok {
				e.t.Fatalf("kcm ended before %q: %q", text, seen)
			}
			seen = append(seen, a.text)
		case <-limit:
			e.t.Fatalf("waited in vain for %q: %q", text, seen)
		}
	}
}

// round has a topic that no round had join, on a cluster that is not read or on
// one that is, and takes it out again.
func (e *edits) round(kind string, n int) time.Duration {
	e.t.Helper()
	c, topic := e.west, fmt.Sprintf("%s-cluster-%d", e.topic, n)
	east, west := e.topic, topic
	if kind == "a topic joins" {
		c, topic = e.east, fmt.Sprintf("%s-topic-%d", e.topic, n)
		east, west = e.topic+", "+topic, ""
	}
	c.CreateTopic(topic, 3, nil)
	c.Produce(topic, kafkatest.Record{Partition: 1, Value: []byte("one of " + topic)})
	began := time.Now()
	e.write(east, west)
	took := e.await(e.out, "one of "+topic).Sub(began)
	e.await(e.err, "+ "+c.Name()+"/"+topic)
	e.write(e.topic, "")
	e.await(e.err, "- "+c.Name()+"/"+topic)
	return took
}

func (e *edits) finish() {
	e.t.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGINT); err != nil {
		e.t.Fatal(err)
	}
	for _, c := range []chan arrival{e.out, e.err} {
		for range c {
			continue
		}
	}
	if err := e.cmd.Wait(); err != nil {
		e.t.Errorf("kcm: %v", err)
	}
}

// editReport writes the table in Markdown and returns how many bars were missed.
func editReport(rounds int, results []result) (text string, missed int) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Edits of the metadata, %s\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(&b, "From just before the file is moved over the old one to the first record of what joins, on stdout of a `kcm consume` that follows;\n")
	fmt.Fprintf(&b, "%d rounds of each, two clusters of one broker on the same machine, each round a topic of its own. %s/%s, %d CPUs, %s.\n\n",
		rounds, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprintf(&b, "| edit | ms, least / median / most | bars |\n|---|---|---|\n")
	for _, r := range results {
		s := r.spread(func(s sample) float64 { return float64(s.Wall.Microseconds()) / 1000 })
		words := []string{}
		for _, bar := range []bar{{Name: "median", Value: s.mid, Limit: 250, Most: true}, {Name: "most", Value: s.high, Limit: 1000, Most: true}} {
			word := "kept"
			if !bar.kept() {
				word = "missed"
				missed++
			}
			words = append(words, fmt.Sprintf("%s ≤ %.0f: %s", bar.Name, bar.Limit, word))
		}
		fmt.Fprintf(&b, "| %s | %.0f / %.0f / %.0f | %s |\n", r.Name, s.low, s.mid, s.high, strings.Join(words, "; "))
	}
	return b.String(), missed
}

func TestEditReport(t *testing.T) {
	list := func(ms ...int) (all []sample) {
		for _, n := range ms {
			all = append(all, sample{Wall: time.Duration(n) * time.Millisecond})
		}
		return all
	}
	text, missed := editReport(3, []result{{Name: "a", Samples: list(10, 400, 20)}, {Name: "b", Samples: list(300, 1200, 260)}})
	want := []string{
		"| a | 10 / 20 / 400 | median ≤ 250: kept; most ≤ 1000: kept |",
		"| b | 260 / 300 / 1200 | median ≤ 250: missed; most ≤ 1000: missed |",
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if !slices.Equal(lines[len(lines)-2:], want) || missed != 2 {
		t.Errorf("%d missed:\n%s", missed, text)
	}
}
