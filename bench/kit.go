package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const module = "github.com/kcm-cli/kcm"

// kit is what the rows are measured with.
type kit struct {
	o       options
	stderr  io.Writer
	dir     string // the programs built for this run
	kcm     string
	loop    string // the bare kgo loop
	decoder string // the loop that decodes with libraries
	schemas string // the address of the registry, once it runs
	server  *http.Server
	help    string // kcm consume --help: which flags it knows
	start   time.Time
	filled  map[string]filled // by the name of the work
	runID   int               // of the last run of a program
}

// newKit builds what has to be built.
func newKit(ctx context.Context, o options, stderr io.Writer) (*kit, error) {
	k := &kit{o: o, stderr: stderr, kcm: o.kcm, filled: map[string]filled{}}
	// All records are in the past, and those of two clusters interleave.
	k.start = time.Now().Add(-time.Duration(max(o.records, 1_000_000)) * time.Millisecond).Truncate(time.Second)
	if o.list {
		return k, nil
	}
	var err error
	if k.dir, err = os.MkdirTemp("", "kcm-bench-"); err != nil {
		return nil, err
	}
	k.loop = filepath.Join(k.dir, "kgoloop")
	k.decoder = filepath.Join(k.dir, "decodeloop")
	for program, pkg := range map[string]string{k.loop: "kgoloop", k.decoder: "decodeloop"} {
		if err := build(ctx, program, module+"/bench/"+pkg); err != nil {
			k.close()
			return nil, err
		}
	}
	if k.kcm == "" {
		k.kcm = filepath.Join(k.dir, "kcm")
		if err := build(ctx, k.kcm, module); err != nil {
			k.close()
			return nil, err
		}
	}
	help, err := exec.CommandContext(ctx, k.kcm, "consume", "--help").Output()
	if err != nil {
		k.close()
		return nil, fmt.Errorf("%s consume --help: %w", k.kcm, err)
	}
	k.help = string(help)
	return k, nil
}

func (k *kit) close() {
	if k.server != nil {
		_ = k.server.Close()
	}
	if k.dir != "" {
		_ = os.RemoveAll(k.dir)
	}
}

// broker is the address of a cluster, east or west.
func (k *kit) broker(cluster string) (string, error) {
	if cluster == east {
		return k.o.east, nil
	}
	if k.o.west == "" {
		return "", fmt.Errorf("no second cluster: name a broker of it with -b2")
	}
	return k.o.west, nil
}

// knows reports whether the measured kcm has this flag of consume.
func (k *kit) knows(flag string) bool {
	return regexp.MustCompile(`(?m)(^|[\s,])` + regexp.QuoteMeta(flag) + `([\s,]|$)`).MatchString(k.help)
}

// lacks says why the machine or the measured kcm cannot run c; empty when it can.
func (k *kit) lacks(c contender) string {
	if c.argv == nil {
		return "no jars: name them with -jars"
	}
	for _, flag := range c.flags {
		if !k.knows(flag) {
			return "this kcm has no " + flag
		}
	}
	for _, program := range append([]string{c.argv[0]}, c.tools...) {
		if _, err := exec.LookPath(program); err != nil {
			return err.Error()
		}
	}
	if c.needsWest() && k.o.west == "" {
		return "no second cluster: name a broker of it with -b2"
	}
	return ""
}

// choose takes the rows whose names begin with one of a comma-separated list.
func choose(all []row, list string) ([]row, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	hit := make([]bool, len(wanted))
	var rows []row
	for _, r := range all {
		takes := false
		for i, w := range wanted {
			if w != "" && strings.HasPrefix(r.name, w) {
				takes, hit[i] = true, true
			}
		}
		if takes {
			rows = append(rows, r)
		}
	}
	for i, w := range wanted {
		if !hit[i] {
			return nil, fmt.Errorf("no row begins with %q: bench -list tells their names", w)
		}
	}
	return rows, nil
}

func build(ctx context.Context, to, pkg string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, pkg).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
