//go:build !windows

package files

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

// TestAFullDisk limits the size of a file in a process of its own: that fails as
// a full disk does, in the middle of a write, and needs no rights.
func TestAFullDisk(t *testing.T) {
	if path := os.Getenv("FULL_DISK"); path != "" {
		fill(t, path)
		return
	}
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), "FULL_DISK="+dir+"/{partition}"+suffix)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "filled") {
			t.Fatalf("%v\n%s", err, out)
		}
		var first, second int
		_, rest, _ := strings.Cut(string(out), "filled ")
		if _, err := fmt.Sscan(rest, &first, &second); err != nil || first == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		// What was compressed may lack what waited for more, and then the end of the
		// run said so.
		for p, loads := range []int{first, second} {
			got, want := "", fullText(p, loads)
			if loads > 0 {
				got = content(t, dir+"/"+fmt.Sprint(p)+suffix)
			}
			lacks := len(want) - len(got)
			if !strings.HasPrefix(want, got) || got != "" && got[len(got)-1] != '\n' || lacks > 0 && (suffix == ".json" || lacks > leastFrame || strings.HasSuffix(rest, "<nil>\n")) {
				t.Errorf("%d%s holds %d bytes, %d were written; %s", p, suffix, len(got), len(want), rest)
			}
		}
	}
}

const fullLoad = 500

func fullText(p, loads int) string {
	var b strings.Builder
	for i := range loads * fullLoad {
		fmt.Fprintf(&b, "%d %x\n", p, uint64(i+1)*0x9e3779b97f4a7c15)
	}
	return b.String()
}

// fill writes to two files until there is no room, and says how many loads were
// written to each.
func fill(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 150_000, Max: 150_000}); err != nil {
		t.Fatal(err)
	}
	r := create(t, path, nil)
	var counts [2]int
	var made [2]int
	for n := range 1000 {
		var loads []*Load
		p := min(n%3, 1) // the second twice as often
		var list []entry
		for range fullLoad {
			made[p]++
			list = append(list, entry{text: fmt.Sprintf("%d %x", p, uint64(made[p])*0x9e3779b97f4a7c15)})
		}
		loads = append(loads, r.load(at("t", int32(p)), list...))
		if err := r.s.Write(loads); err != nil {
			refused(t, err, fault.Failed, "cannot write to "+strings.Replace(path, "{partition}", fmt.Sprint(p), 1)+": file too large")
			break
		}
		counts[p]++
	}
	_, err := r.s.Finish(false)
	r.s = nil
	fmt.Printf("filled %d %d %v\n", counts[0], counts[1], err)
}
