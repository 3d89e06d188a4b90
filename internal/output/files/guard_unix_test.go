//go:build !windows

package files

import (
	"os"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// add does what >> of a shell does.
func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTwoRunsDoNotShareAFile(t *testing.T) {
	dir := t.TempDir()
	for _, durable := range []bool{false, true} {
		more := func(o *Options) { o.Append, o.Durable = true, durable }
		one, two := create(t, dir+"/out.json", more), create(t, dir+"/out.json", more)
		one.write(one.load(at("t", 0), lines("1")...))
		err := two.s.Write([]*Load{two.load(at("t", 0), lines("2")...)})
		refused(t, err, fault.Refused, dir+"/out.json is being written by another process")
		one.write(one.load(at("t", 0), lines("3")...))
		one.finish(true)
		_, _ = two.s.Finish(false)
		two.s = nil
	}
	expect(t, dir, map[string]string{"out.json": "1\n3\n1\n3\n"})
}

// Whatever others do to a file while it is written is told, by the next write, a
// checkpoint, the end or in between, and no record is taken for written.
func TestAFileThatSomebodyElseChangesIsTold(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(t *testing.T, path string)
		want string
	}{
		"truncated": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}, "was changed by somebody else while it was written: it has 0 bytes, and 2 were written"},
		"added to": {func(t *testing.T, path string) { t.Helper(); add(t, path, "more\n") }, "was changed by somebody else while it was written: it has 7 bytes, and 2 were written"},
		"removed": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "was removed while it was written"},
		"replaced": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Rename(put(t, path+".new", "1\n"), path); err != nil {
				t.Fatal(err)
			}
		}, "was replaced by another file while it was written"},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var told chan error
				begin := func() (*rig, string) {
					fails := make(chan error, 100)
					told = fails
					dir := t.TempDir()
					r := create(t, dir+"/out.json", func(o *Options) { o.Durable, o.Fail = durable, func(err error) { fails <- err } })
					r.write(r.load(at("t", 0), lines("1")...))
					if _, err := r.s.Checkpoint(); err != nil {
						t.Fatal(err)
					}
					change.do(t, dir+"/out.json")
					return r, dir + "/out.json " + change.want
				}
				r, want := begin()
				_, err := r.s.Checkpoint()
				refused(t, err, fault.Failed, want)
				r, want = begin()
				_, err = r.s.Finish(true)
				refused(t, err, fault.Failed, want)
				r.s = nil
				r, want = begin()
				err = r.s.Write([]*Load{r.load(at("t", 0), lines("2")...)})
				if name == "removed" || name == "replaced" { // what a descriptor does not tell the next checkpoint does
					_, err = r.s.Checkpoint()
				}
				refused(t, err, fault.Failed, want)
				_, want = begin()
				select {
				case err := <-told:
					refused(t, err, fault.Failed, want)
				case <-time.After(time.Minute):
					t.Error("nothing is told while nothing is written")
				}
			})
		}
	}
}

// Files of a time that is over may be taken away by whoever has use for them.
func TestFilesOfOldTimesMayBeTakenAway(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	r := create(t, dir+"/{hour}.json", func(o *Options) { o.Now = func() time.Time { return now } })
	r.write(r.load(at("t", 0), entry{0, 0, "1"}))
	now = now.Add(2 * time.Hour)
	if err := os.Remove(dir + "/00.json"); err != nil {
		t.Fatal(err)
	}
	r.write(r.load(at("t", 0), entry{0, 2 * msPerHour, "2"}))
	if _, err := r.s.Checkpoint(); err != nil {
		t.Error(err)
	}
	r.finish(true)
	expect(t, dir, map[string]string{"02.json": "2\n"})
}

func TestWhatWasAddedAfterAnOrderlyEndIsNotCut(t *testing.T) {
	path := put(t, t.TempDir()+"/out.json", "1\n")
	list := []File{{Path: path, Base: path, Length: 2}}
	add(t, path, "mine\n")
	refused(t, Restore(list, true), fault.Refused, path+" has been added to: the state file says that it holds 2 bytes")
	if got := content(t, path); got != "1\nmine\n" {
		t.Errorf("the file holds %q", got)
	}
	if err := Restore(list, false); err != nil || content(t, path) != "1\n" {
		t.Errorf("after a crash the file holds %q, %v", content(t, path), err)
	}
	// A run that begins to write says so first, so that a crash of it is one.
	declared := 0
	r := create(t, path, func(o *Options) {
		o.Known, o.Declare = list, func([]File) error { declared++; return nil }
	})
	r.write(r.load(at("t", 0), lines("2")...))
	r.write(r.load(at("t", 0), lines("3")...))
	if r.finish(true); declared != 1 {
		t.Errorf("declared %d times", declared)
	}
}
