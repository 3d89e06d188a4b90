//go:build kafka

package e2e

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestFilesThroughKills kills kcm again and again, at any moment, while it writes
// files with a state: in the end they hold every record once and in order.
// KCM_SOAK=1 kills fifty times for each way to write.
func TestFilesThroughKills(t *testing.T) {
	kills, each := 3, 250*time.Millisecond
	if os.Getenv("KCM_SOAK") == "1" {
		kills, each = 50, 900*time.Millisecond
	}
	rig := kafkatest.Real(t, kafkatest.Options{})
	for _, tc := range []struct {
		name string
		out  string
		more []string
	}{
		{"plain", "out/{cluster}-{partition}.json", nil},
		{"gzip", "out/{cluster}/{partition}.json.gz", nil},
		{"zstd in one file", "out/all.json.zst", nil},
		{"numbered", "out/{cluster}-{partition}.json", []string{"--rotate-size", "50KB"}},
		{"numbered gzip by hour", "out/{date}T{hour}/{cluster}-{partition}.json.gz", []string{"--rotate-size", "10KB"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rig := rig.With(t)
			east, west, topic := rig.Cluster("east"), rig.Cluster("west"), rig.Name("killed")
			const partitions = 4
			var scribes []*scribe
			for _, c := range []*kafkatest.Cluster{east, west} {
				c.CreateTopic(topic, partitions, nil)
				s := write(t, c, 3000, 1<<30)
				s.add(topic, partitions)
				scribes = append(scribes, s)
			}
			dir := t.TempDir()
			args := append([]string{
				"-m", metadata(t, "s", topic, at(east), at(west)), "consume", "s", "-o", "start",
				"--state", filepath.Join(dir, "S"), "-O", filepath.Join(dir, tc.out),
			}, tc.more...)
			random, wrote := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), 0
			for n := range kills {
				before := sizeOf(t, dir)
				k := start(t, args)
				if n%2 == 0 { // the others may be killed before they write
					k.until(patience, "something in the files", func() bool { return sizeOf(t, dir) != before })
				}
				time.Sleep(time.Duration(random.Int64N(int64(2 * each)))) // a kill comes at any moment
				k.signal(syscall.SIGKILL)
				<-k.done
				t.Logf("killed after %v", k.ended.Sub(k.began))
				if len(k.err.all()) > 1 { // that it follows
					t.Fatalf("run %d:\n%s", n, strings.Join(k.err.all(), "\n"))
				}
				if sizeOf(t, dir) != before {
					wrote++
				}
			}
			for _, s := range scribes {
				s.stopped()
			}
			if wrote < kills/2 {
				t.Errorf("only %d runs of %d were killed after they had written", wrote, kills)
			}
			rest := run(t, append(args, "-e"))
			rest.exits(t, 0)
			rest.figures(t, "the rest")
			ledger := newLedger()
			lines := 0
			for _, path := range outputs(t, dir) {
				lines += enterFile(t, ledger, path)
			}
			ledger.check(t)
			for _, s := range scribes {
				for place, acked := range s.acked() {
					for p, n := range acked {
						if got := ledger.next(fmt.Sprintf("s@%s/%d", place, p)); got != n {
							t.Errorf("%s/%d: %d records, want %d", place, p, got, n)
						}
					}
				}
			}
			t.Logf("%d kills, %d records in %d files", kills, lines, len(outputs(t, dir)))
			// Nothing is left to be read, and nothing changes.
			before := outputs(t, dir)
			run(t, append(args, "-e")).exits(t, 0)
			if after := outputs(t, dir); !slices.Equal(before, after) {
				t.Errorf("files before: %v\nafter: %v", before, after)
			}
		})
	}
}

// outputs are the files below dir/out, those of a sequence in order.
func outputs(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		one, m := numbering(a)
		other, n := numbering(b)
		return cmp.Or(cmp.Compare(one, other), cmp.Compare(m, n))
	})
	return paths
}

// sizeOf says how much there is below dir/out: names and bytes.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	for _, path := range outputs(t, dir) {
		if info, err := os.Stat(path); err == nil {
			size += info.Size() + 1
		}
	}
	return size
}

// numbering takes a path apart into what is before the first dot of its name and
// its sequence number.
func numbering(path string) (stem string, n int) {
	dir, name := filepath.Split(path)
	stem, rest, _ := strings.Cut(name, ".")
	number, _, _ := strings.Cut(rest, ".")
	n, _ = strconv.Atoi(number) // the first has none
	return dir + stem, n
}

// enterFile gives the lines of a file to a ledger and returns how many they are.
func enterFile(t *testing.T, g *ledger, path string) (lines int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return lines
		}
		if err != nil {
			t.Fatalf("%s, line %d: %v", path, lines+1, err)
		}
		lines++
		g.enter(line, time.Now())
	}
}
