//go:build kafka

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.M(m).Run()) }

// quick are rows that use every part of the harness: all counts and outputs, two
// clusters, pipelines, a topic for each run, the probes.
const quick = "raw/small-lz4,json/some/pipe,decode,grep,where,files,to/stored,group,order,lag,translate,memory,latency"

// TestCompare starts two clusters of Apache Kafka as one would in production and
// runs this program on them. `make bench` hands it the arguments behind "--";
// without any it compares a part, on few records and once, so that the suite keeps
// the harness working.
func TestCompare(t *testing.T) {
	args := flag.Args()
	short := len(args) == 0
	if short {
		args = []string{
			"-rows", quick, "-records", "20000", "-runs", "1", "-slow-runs", "1",
			"-probes", "25", "-rounds", "1", "-stall", "1s", "-out", filepath.Join(t.TempDir(), "bench.md"),
		}
	}
	rig := kafkatest.Real(t, kafkatest.Options{})
	opts := kafkatest.Options{Optimized: !short, Heap: "1g"} // a broker starts faster without
	first, second := rig.Start("east", opts), rig.Start("west", opts)

	// A process of its own, because this one is too big (see kit.child).
	program := filepath.Join(t.TempDir(), "bench")
	if err := build(t.Context(), program, module+"/bench"); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-b", first.Bootstrap(), "-b2", second.Bootstrap(), "-jars", jars(t)}, args...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = ".."
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("bench %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	t.Logf("\n%s", out.String())
	if !short {
		return
	}
	for _, want := range []string{"| " + kgoLoop + " | 1 |", "| " + kgoLoop + " | 25 |", "| memory | peak MB, kcm -J, reader stalls |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

// jars is the directory into which the rig has fetched Kafka.
func jars(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(cache, "kcm-test", "kafka-*", "jars"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no jars of the rig below %s (%v)", cache, err)
	}
	return dirs[len(dirs)-1]
}
