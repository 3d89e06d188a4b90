// Command bench compares kcm with kcat, Kafka's console consumer and a bare kgo
// poll loop on one Apache Kafka, in one run, turn by turn, and prints wall time,
// CPU time, memory and the ratios that kcm promises. It owns measuring only: a
// broker is somebody else's (`make bench` starts one by way of this folder's
// test), and no figure is kept unless -out names a file.
//
//	go run ./bench -b 127.0.0.1:9092 -topic bench -records 3000000
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

type options struct {
	kcm        string
	bootstrap  string
	topic      string
	jars       string
	out        string
	only       string
	records    int
	partitions int
	batchBytes int
	runs       int
	warmups    int
	check      bool
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
	fs.StringVar(&o.bootstrap, "b", "", "broker to use")
	fs.StringVar(&o.topic, "topic", "bench", "topic; filled when it holds nothing")
	fs.StringVar(&o.jars, "jars", "", "directory with Kafka's jars, for the console consumer")
	fs.StringVar(&o.out, "out", "", "also write the result to this file")
	fs.StringVar(&o.only, "only", "", "comma-separated contenders (default: all)")
	fs.IntVar(&o.records, "records", 3_000_000, "records to make")
	fs.IntVar(&o.partitions, "partitions", 12, "partitions of the topic")
	fs.IntVar(&o.batchBytes, "batch-bytes", 1_000_012, "largest batch of the producer, uncompressed")
	fs.IntVar(&o.runs, "runs", 5, "measured runs of each contender")
	fs.IntVar(&o.warmups, "warmups", 1, "runs before the measured ones")
	fs.BoolVar(&o.check, "check", false, "fail when a bar is missed")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.bootstrap == "" {
		return o, fmt.Errorf("no broker named: -b HOST:PORT, or run make bench")
	}
	if o.runs < 1 || o.records < 1 || o.partitions < 1 {
		return o, fmt.Errorf("-runs, -records and -partitions must be positive")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == fillWord {
		return fillMain(ctx, args[1:], stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kcm-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := fill(ctx, o, stderr); err != nil {
		return err
	}
	cs, err := contenders(ctx, o, dir, stderr)
	if err != nil {
		return err
	}
	results, err := measureAll(ctx, o, cs, stderr)
	if err != nil {
		return err
	}
	var text strings.Builder
	missed := report(&text, o, results)
	fmt.Fprint(stdout, text.String())
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if o.check && missed > 0 {
		return fmt.Errorf("%d bars missed", missed)
	}
	return nil
}
