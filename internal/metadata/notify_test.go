package metadata

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWhatCameByARename: on the system's own word. Each case ends with a file
// whose event tells that those before have come.
func TestWhatCameByARename(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(file, other, far string)
		want bool
	}{
		{"renamed over", func(file, other, _ string) { put(t, other, "x"); must(os.Rename(other, file)) }, true},
		{"written", func(file, _, _ string) { put(t, file, "x") }, false},
		{"removed and made", func(file, _, _ string) { must(os.Remove(file)); put(t, file, "x") }, false},
		{"an editor's copy kept", func(file, other, _ string) { must(os.Rename(file, other)); put(t, file, "x") }, false},
		{"moved away and made", func(file, _, far string) { must(os.Rename(file, far)); put(t, file, "x") }, false},
		{"renamed over, then written", func(file, other, _ string) { put(t, other, "x"); must(os.Rename(other, file)); put(t, file, "y") }, false},
		{"written, then renamed over", func(file, other, _ string) { put(t, file, "y"); put(t, other, "x"); must(os.Rename(other, file)) }, true},
		{"renamed over, then another made", func(file, other, _ string) {
			put(t, other, "x")
			must(os.Rename(other, file))
			must(os.Remove(file))
			put(t, file, "y")
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, far := t.TempDir(), t.TempDir()
			file, last := filepath.Join(dir, "kcm.yaml"), filepath.Join(dir, "last")
			put(t, file, "before")
			n := newNotes()
			defer n.close()
			tr := newTrail()
			stampOf(file, tr)
			stampOf(last, tr)
			if !n.watch(tr) || n.watch(tr) {
				t.Fatal("the directory is not watched, or watched twice")
			}
			c.do(file, filepath.Join(dir, "other"), filepath.Join(far, "x"))
			put(t, last, "")
			all := map[string]bool{}
			for deadline := time.After(soon); ; {
				maps.Copy(all, n.came())
				if _, ok := all[last]; ok {
					break
				}
				select {
				case <-n.ready():
				case <-deadline:
					t.Fatal("no word of the last file")
				}
			}
			if got := all[file]; got != c.want {
				t.Errorf("came by a rename: %t", got)
			}
			if _, ok := all[filepath.Join(dir, "other")]; ok {
				t.Error("a file that nobody asked for is told")
			}
		})
	}
}

// TestNoNotesLeft: where the system watches nothing more, polls do.
func TestNoNotesLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kcm.yaml")
	put(t, path, source("a"))
	n := newNotes().(*fsNotes)
	n.refused = true
	tr := newTrail()
	stampOf(path, tr)
	if n.watch(tr) {
		t.Error("something is watched")
	}
	n.close()
}

func FuzzLocations(f *testing.F) {
	f.Add("ssl.a.location=a\\\nb\n#\n=\n\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range locations(text) {
			if path == "" {
				t.Error("an empty path")
			}
		}
	})
}
