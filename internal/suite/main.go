// Suite runs Go tests for CI: .ci/tests [-kafka] [-least N] [go test flags] packages
//
// It is go test with three things more. With -kafka it chooses the tests that
// reach Apache Kafka, runs only these, and demands that each of them ran. When
// very few tests fail, it runs just those again, alone, and tells one that then
// passes every time as UNSTEADY instead of failing. And what failed is the last
// thing that it prints, in as few lines as CI shows.
//
// It knows test names and go test's events. It must not know what kcm does, and
// nothing imports it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// reportVariable names a folder for the files "failed" (what stands last on the
// screen) and "unsteady" (a line for each such test), for a caller that prints
// more of its own.
const reportVariable = "SUITE_REPORT"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// options are the words of the command line.
type options struct {
	kafka    bool
	least    int
	flags    []string // for go test, each with its value after "="
	packages []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("suite", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.kafka, "kafka", false, "run what reaches Apache Kafka, there only")
	fs.IntVar(&o.least, "least", 0, "with -kafka: how many tests and subtests have to pass there")
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		switch name, _, valued := strings.Cut(strings.TrimLeft(args[0], "-"), "="); {
		case name == "least" && !valued:
			n = 2
		case fs.Lookup(name) == nil:
			o.flags, args = append(o.flags, args[0]), args[1:]
			continue
		}
		if err := fs.Parse(args[:min(n, len(args))]); err != nil {
			return o, err
		}
		args = args[n:]
	}
	o.packages = args
	for _, p := range o.packages {
		if strings.HasPrefix(p, "-") {
			return o, fmt.Errorf("%s stands after a package: flags come first, each with its value after =", p)
		}
	}
	if len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	return o, nil
}

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "suite:", err)
		return 2
	}
	s := &suite{out: stdout, tool: goTool{stderr: stderr}, flags: o.flags, packages: o.packages}
	if o.kafka {
		err = s.onKafka(ctx, o.least)
	} else {
		err = s.test(ctx, nil)
	}
	if report := os.Getenv(reportVariable); report != "" {
		err = s.leave(report, err)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprint(stdout, "\n", s.lastWords(err))
	return 1
}

// leave writes what a caller shows later into its folder.
func (s *suite) leave(report string, failure error) error {
	for name, text := range map[string]string{"unsteady": s.unsteady.String(), "failed": s.lastWords(failure)} {
		if text == "" {
			continue
		}
		f, err := os.OpenFile(filepath.Join(report, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, text)
		if err2 := f.Close(); err == nil {
			err = err2
		}
		if err != nil {
			return err
		}
	}
	return failure
}
