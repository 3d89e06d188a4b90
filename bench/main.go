// Command bench compares kcm with kcat, kcat and jq, Kafka's console consumer and
// a bare kgo poll loop on one Apache Kafka (two for what reads two clusters), in
// one run, turn by turn, and prints wall time, CPU time, memory and the ratios
// that kcm promises. It owns measuring only: brokers are somebody else's (`make
// bench` starts them by way of this folder's test), and no figure is kept unless
// -out names a file.
//
//	go run ./bench -b 127.0.0.1:9092 -b2 127.0.0.1:9093 -jars DIR
//	go run ./bench -list
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

type options struct {
	kcm      string
	east     string
	west     string
	jars     string
	out      string
	docs     string
	copy     string
	rows     string
	profile  string
	dir      string
	records  int
	runs     int
	slowRuns int
	probes   int
	rounds   int
	stall    time.Duration
	resume   bool
	check    bool
	list     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.kcm, "kcm", "", "kcm binary to measure (default: build the checkout)")
	fs.StringVar(&o.east, "b", "", "broker to use")
	fs.StringVar(&o.west, "b2", "", "broker of a second cluster, for the rows that read or write two")
	fs.StringVar(&o.jars, "jars", "", "directory with Kafka's jars, for the console consumer")
	fs.StringVar(&o.out, "out", "", "also write the tables to this file (.md), and what was measured beside it (.json)")
	fs.StringVar(&o.docs, "docs", "", "also copy the tables into this page, between its marks")
	fs.StringVar(&o.copy, "copy", "", "copy the tables of this file to the page of -docs, measure nothing")
	fs.StringVar(&o.rows, "rows", "", "comma-separated rows, or beginnings of their names (default: all)")
	fs.BoolVar(&o.resume, "resume", false, "measure only the rows that the file of -out lacks; without it, rows measured again replace those of the file")
	fs.StringVar(&o.profile, "profile", "", "take a CPU profile of the first program of this row instead of measuring")
	fs.StringVar(&o.dir, "dir", "", "directory for output files while measuring (default: a temporary one)")
	fs.IntVar(&o.records, "records", mainRecords, "records of the largest topic; the others have fewer in proportion")
	fs.IntVar(&o.runs, "runs", 5, "measured runs of each program")
	fs.IntVar(&o.slowRuns, "slow-runs", 3, "measured runs of slow programs")
	fs.IntVar(&o.probes, "probes", 400, "records of one round of the latency row, one every 20 ms")
	fs.IntVar(&o.rounds, "rounds", 3, "rounds of each program in the latency row")
	fs.DurationVar(&o.stall, "stall", 15*time.Second, "how long the reader stalls in the memory row")
	fs.BoolVar(&o.check, "check", false, "fail when a bar is missed or could not be measured")
	fs.BoolVar(&o.list, "list", false, "list the rows and end")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.east == "" && !o.list && o.copy == "" {
		return o, errors.New("no broker named: -b HOST:PORT, or run make bench")
	}
	if o.runs < 1 || o.slowRuns < 1 || o.records < 1 || o.probes < 1 || o.rounds < 1 {
		return o, errors.New("-records, -runs, -slow-runs, -probes and -rounds must be positive")
	}
	if o.docs != "" && o.out == "" && o.copy == "" || o.copy != "" && o.docs == "" {
		return o, errors.New("-docs copies the file of -out or of -copy: name both")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		if child, ok := children[args[0]]; ok {
			return child(ctx, args[1:], stdout, stderr)
		}
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.copy != "" {
		return copyPage(o.docs, o.copy)
	}
	k, err := newKit(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer k.close()
	rows, err := choose(k.rows(), o.rows)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		for _, r := range rows {
			fmt.Fprintf(stdout, "%-22s %s\n", r.name, r.title)
		}
		return nil
	case o.profile != "":
		return k.profile(ctx, o.profile, stdout)
	}
	return k.compare(ctx, rows, stdout)
}

// compare measures the rows one by one. A row that fails is told and the next
// one begins; what is measured is kept at once.
func (k *kit) compare(ctx context.Context, rows []row, stdout io.Writer) error {
	b, err := openBook(ctx, k.o)
	if err != nil {
		return err
	}
	began, failed := time.Now(), 0
	for _, r := range rows {
		if k.o.resume && b.has(r.name) {
			fmt.Fprintf(k.stderr, "== %s: measured before\n", r.name)
			continue
		}
		fmt.Fprintf(k.stderr, "== %s: %s\n", r.name, r.title)
		out := k.measureRow(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out.Failed != "" {
			failed++
			fmt.Fprintf(k.stderr, "failed: %s\n", out.Failed)
		}
		fmt.Fprintf(k.stderr, "took %.0fs\n", out.Took.Seconds())
		b.put(out)
		if err := b.save(k.o.out); err != nil {
			return err
		}
	}
	fmt.Fprintf(k.stderr, "== all rows in %.0fs\n", time.Since(began).Seconds())
	b.order(k.rows())
	var text strings.Builder
	missed := report(&text, b)
	fmt.Fprint(stdout, text.String())
	if err := b.publish(k.o, text.String()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d rows failed", failed)
	}
	if k.o.check && missed > 0 {
		return fmt.Errorf("%d bars missed or not measured", missed)
	}
	return nil
}
