//go:build kafka

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// limited has a run live under a limit of the shell, such as "ulimit -n 256".
func limited(limit string) option {
	return func(k *kcm) {
		shell, err := exec.LookPath("sh")
		if err != nil {
			k.t.Fatal(err)
		}
		k.cmd.Args = append([]string{"sh", "-c", limit + ` && exec "$0" "$@"`, k.cmd.Path}, k.cmd.Args[1:]...)
		k.cmd.Path = shell
	}
}

// TestAFullFile gives a file less room than the records need, which fails in the
// middle of a write as a full disk does: what counts as written is in the file,
// and with room again the rest follows, once each.
func TestAFullFile(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic, group := rig.Cluster("east"), rig.Name("full"), rig.Name("full")
	c.CreateTopic(topic, 1, nil)
	const records = 30_000
	list := numbered(c, 0, 0, records)
	c.Produce(topic, list...)
	for _, suffix := range []string{".txt", ".txt.gz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out"+suffix)
		args := []string{"-b", "east=" + c.Bootstrap(), "consume", topic, "-e", "-f", "%v\n", "-O", path, "--state", filepath.Join(dir, "S")}
		r := run(t, args, limited("ulimit -f 20")) // 10 KiB
		r.exits(t, 1)
		r.says(t, 1, "kcm: cannot write to "+path+": file too large")
		if got := linesOf(t, path); !slices.Equal(got, counted(c, 0, len(got))) {
			t.Errorf("%s holds %d lines that are not those written first", path, len(got))
		}
		run(t, args).exits(t, 0)
		equal(t, suffix, linesOf(t, path), counted(c, 0, records))
	}
	path := filepath.Join(t.TempDir(), "out.txt")
	r := run(t, []string{"-b", "east=" + c.Bootstrap(), "consume", topic, "-e", "-f", "%v\n", "-O", path, "-g", group, "-o", "start"}, limited("ulimit -f 20"))
	r.exits(t, 1)
	r.says(t, 1, "kcm: cannot write to "+path+": file too large")
	if got, committed := linesOf(t, path), c.Committed(group, topic, 0); int64(len(got)) < committed || !slices.Equal(got, counted(c, 0, len(got))) {
		t.Errorf("%d is committed, %d lines are in the file", committed, len(got))
	}
}

// linesOf returns the lines of a file; one that is not ended counts as wrong.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil && strings.HasSuffix(path, ".gz") {
		b, err = exec.Command("gzip", "-dc", path).Output()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if last := lines[len(lines)-1]; last != "" {
		t.Errorf("%s ends in %q", path, last)
	}
	return lines[:len(lines)-1]
}

// TestThousandsOfFiles writes a file for each of many partitions with few
// descriptors. KCM_SOAK=1 takes 10,000 of them.
func TestThousandsOfFiles(t *testing.T) {
	topics, parts := 2, 500
	if os.Getenv("KCM_SOAK") == "1" {
		topics, parts = 20, 500
	}
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Start("wide", kafkatest.Options{Heap: "1g"})
	var names []string
	for n := range topics {
		names = append(names, rig.Name(fmt.Sprint("wide", n)))
		c.CreateTopic(names[n], int32(parts), nil)
	}
	produce := func() {
		for _, topic := range names {
			var list []kafkatest.Record
			for p := range parts {
				list = append(list, kafkatest.Record{Partition: int32(p), Value: []byte("value")}, kafkatest.Record{Partition: int32(p), Value: []byte("value")})
			}
			c.Produce(topic, list...)
		}
	}
	produce()
	dir := t.TempDir()
	args := append([]string{"-b", c.Bootstrap(), "consume"}, names...)
	args = append(args, "-e", "-f", "%t %p %o\n", "-O", filepath.Join(dir, "{topic}", "{partition}.txt"), "--state", filepath.Join(dir, "S"))
	for round := range 2 {
		began := time.Now()
		r := run(t, args, limited("ulimit -n 256"))
		r.exits(t, 0)
		r.figures(t, fmt.Sprintf("%d files, round %d", topics*parts, round+1))
		t.Logf("%v in all", time.Since(began))
		if round == 0 {
			produce()
		}
	}
	for _, topic := range names {
		for p := range parts {
			got, err := os.ReadFile(filepath.Join(dir, topic, fmt.Sprintf("%d.txt", p)))
			var want bytes.Buffer
			for n := range 4 {
				fmt.Fprintf(&want, "%s %d %d\n", topic, p, n)
			}
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%s %d: %q, %v", topic, p, got, err)
			}
		}
	}
}
