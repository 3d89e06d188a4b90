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

// TestCompare starts an Apache Kafka as one would in production and runs this
// program on it. `make bench` hands it the arguments behind "--"; without any it
// compares on few records, once, so that the suite keeps the harness working.
func TestCompare(t *testing.T) {
	args := flag.Args()
	if len(args) == 0 {
		args = []string{"-records", "20000", "-runs", "1", "-warmups", "0"}
	}
	rig := kafkatest.Real(t, kafkatest.Options{})
	broker := rig.Start("bench", kafkatest.Options{Optimized: true, Heap: "1g"})

	// A process of its own, because this one is too big (see fillWord).
	program := filepath.Join(t.TempDir(), "bench")
	if err := build(t.Context(), program, module+"/bench"); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-b", broker.Bootstrap(), "-jars", jars(t)}, args...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = ".."
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("bench %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	t.Logf("\n%s", out.String())
	if !strings.Contains(out.String(), "| "+kgoLoop+" |") {
		t.Errorf("the report has no row for %s", kgoLoop)
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
