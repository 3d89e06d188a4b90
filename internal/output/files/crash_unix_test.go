//go:build !windows

package files

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ledger is what a state file would say: files, and how far each partition is.
type ledger struct {
	files []File
	marks [4]int
}

// trial is a series of runs over the same files.
type trial struct {
	path   string
	rotate int64
	random *rand.Rand
	safe   ledger
}

// records is how many each partition has.
const records = 400

var errCrash = errors.New("crash")

// TestNoCrashLosesOrRepeatsARecord runs sinks that are left behind at any
// moment, and goes on each time from what the last checkpoint said.
func TestNoCrashLosesOrRepeatsARecord(t *testing.T) {
	for _, suffix := range []string{".json", ".json.gz", ".json.zst"} {
		for _, rotate := range []int64{0, 700} {
			for seed := range uint64(6) {
				t.Run(fmt.Sprintf("%s,%d,%d", suffix, rotate, seed), func(t *testing.T) {
					survive(t, "/{partition}"+suffix, rotate, rand.New(rand.NewPCG(seed, 0)))
				})
			}
		}
		t.Run(suffix+",one", func(t *testing.T) { survive(t, "/sub/out"+suffix, 900, rand.New(rand.NewPCG(1, 1))) })
	}
}

func survive(t *testing.T, path string, rotate int64, random *rand.Rand) {
	dir := t.TempDir()
	tr := &trial{path: dir + path, rotate: rotate, random: random}
	for runs := 0; slices.Min(tr.safe.marks[:]) < records; runs++ {
		if runs > 1000 {
			t.Fatal("it does not get on")
		}
		if err := Restore(tr.safe.files, false); err != nil {
			t.Fatal(err)
		}
		tr.run(t)
	}
	got := map[string][]string{}
	paths := make([]string, 0)
	for name := range tree(t, dir) {
		paths = append(paths, name)
	}
	slices.SortFunc(paths, func(a, b string) int { return numberOf(a) - numberOf(b) })
	for _, name := range paths {
		for line := range strings.Lines(content(t, filepath.Join(dir, name))) {
			partition, _, _ := strings.Cut(line, "/")
			got[partition] = append(got[partition], strings.TrimSpace(line))
		}
	}
	for p := range tr.safe.marks {
		list := got[fmt.Sprint(p)]
		for n := range max(records, len(list)) {
			if want := text(p, n); n >= len(list) || list[n] != want {
				t.Fatalf("partition %d: record %d of %d is %q, want %q", p, n, len(list), list[min(n, len(list)-1)], want)
			}
		}
	}
}

// numberOf is the sequence number in a name.
func numberOf(name string) (n int) {
	for part := range strings.SplitSeq(filepath.Base(name), ".") {
		if m := 0; part != "" && strings.Trim(part, "0123456789") == "" && strings.Contains(filepath.Base(name), "."+part+".") {
			_, _ = fmt.Sscan(part, &m)
			n = m
		}
	}
	return n
}

func text(partition, n int) string {
	return fmt.Sprintf("%d/%d/%s", partition, n, strings.Repeat("x", n%23))
}

// run is one run of a program: it ends with a crash, or when all is written.
func (tr *trial) run(t *testing.T) {
	random, safe := tr.random, &tr.safe
	o := Options{Template: parse(t, tr.path), Durable: true, Known: safe.files, RotateSize: tr.rotate, MaxOpen: 1 + random.IntN(3)}
	o.Declare = func(fresh []File) error {
		if random.IntN(9) == 0 {
			return errCrash // before the state was written
		}
		safe.files = append(slices.Clone(safe.files), fresh...)
		if random.IntN(9) == 0 {
			return errCrash // and after
		}
		return nil
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, s, s.NewDivider()}
	defer leave(s)
	marks := safe.marks
	for slices.Min(marks[:]) < records {
		var loads []*Load
		next := marks
		for p := range marks {
			var list []entry
			for n := random.IntN(30); n > 0 && next[p] < records; n-- {
				list = append(list, entry{text: text(p, next[p])})
				next[p]++
			}
			loads = append(loads, r.load(at("t", int32(p)), list...))
		}
		switch err := s.Write(loads); {
		case errors.Is(err, errCrash) && random.IntN(2) == 0: // the program goes down in an orderly way
			if list, err := s.Checkpoint(); err == nil {
				safe.files, safe.marks = list, marks
			}
			return
		case errors.Is(err, errCrash):
			return
		case err != nil:
			t.Fatal(err)
		}
		marks = next
		if random.IntN(4) == 0 || slices.Min(marks[:]) == records {
			list, err := s.Checkpoint()
			if errors.Is(err, errCrash) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if random.IntN(5) == 0 {
				return // before the state was written
			}
			safe.files, safe.marks = list, marks
		}
		if random.IntN(10) == 0 {
			return
		}
	}
}

// leave lets a sink go as a crash would: what waits is lost.
func leave(s *Sink) {
	close(s.stop)
	<-s.done
	s.writing.Lock()
	defer s.writing.Unlock()
	for t := range s.active {
		_ = s.close(t)
	}
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	long := put(t, dir+"/long", "0123456789")
	empty := put(t, dir+"/empty", "x")
	list := []File{{Path: long, Length: 4}, {Path: empty}, {Path: dir + "/never"}}
	for want, f := range map[string]File{
		"/gone is missing: the state file says that it holds 3 bytes":                           {Path: dir + "/gone", Length: 3},
		"/long is too short: the state file says that it holds 11 bytes":                        {Path: long, Length: 11},
		" is no regular file any more: the state file says that it holds 1 bytes":               {Path: dir, Length: 1},
		"/no/such/file is missing: the state file says that it holds 9223372036854775807 bytes": {Path: dir + "/no/such/file", Length: 1<<63 - 1},
	} {
		refused(t, Restore(append(slices.Clone(list), f), false), fault.Refused, want)
	}
	expect(t, dir, map[string]string{"long": "0123456789", "empty": "x"})
	for range 2 {
		if err := Restore(list, false); err != nil {
			t.Fatal(err)
		}
		expect(t, dir, map[string]string{"long": "0123"})
	}
}

func TestFilesOfAnotherTemplateAreGoneOnWith(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/0.json", "old\n")
	put(t, dir+"/1.json", "changed since\n")
	former := func(o *Options) {
		o.Former = []File{{Path: dir + "/0.json", Length: 4}, {Path: dir + "/1.json", Length: 4}, {Path: dir + "/gone.json", Length: 4}}
	}
	r := create(t, dir+"/{partition}.json", former)
	r.write(r.load(at("t", 0), lines("new")...))
	refused(t, r.s.Write([]*Load{r.load(at("t", 1), lines("new")...)}), fault.Refused, "1.json exists already")
	if list := r.finish(true); len(list) != 1 || list[0].Path != dir+"/0.json" || list[0].Length != 8 {
		t.Errorf("%v", list)
	}
	expect(t, dir, map[string]string{"0.json": "old\nnew\n", "1.json": "changed since\n"})
}
