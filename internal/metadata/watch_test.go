package metadata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeNotes send what a test says.
type fakeNotes struct {
	signal chan struct{}
	mu     sync.Mutex
	names  map[string]bool
	tr     trail
}

func (n *fakeNotes) watch(tr trail) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tr = tr
	return false
}

func (n *fakeNotes) watches(dir string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tr.dirs[dir] != ""
}

func (n *fakeNotes) ready() <-chan struct{} { return n.signal }

func (n *fakeNotes) close() {}

func (n *fakeNotes) came() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.names
	n.names = map[string]bool{}
	return all
}

func (n *fakeNotes) tell(path string, renamed bool) {
	n.mu.Lock()
	n.names[fold(path)] = renamed
	n.mu.Unlock()
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

// rig follows sources and logs what happens, each line with its time.
type rig struct {
	t     *testing.T
	dir   string
	w     *Watcher
	notes *fakeNotes
	start time.Time

	mu     sync.Mutex
	lines  []string
	views  []*View
	refuse error // what apply returns
	ended  chan error
}

// meaning is a view in one line: stream: cluster topics.
func meaning(v *View) string {
	var all []string
	for _, s := range v.Streams {
		line := s.Name + ":"
		for _, src := range s.Sources {
			line += fmt.Sprintf(" %s%v", src.Cluster, src.Topics)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

func (r *rig) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, time.Since(r.start).Round(time.Millisecond).String()+" "+fmt.Sprintf(format, args...))
}

// took returns the log since it was asked before.
func (r *rig) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// applied returns all views, the loaded one first.
func (r *rig) applied() []*View {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.views)
}

func (r *rig) apply(v *View) error {
	r.mu.Lock()
	err := r.refuse
	if err == nil {
		r.views = append(r.views, v)
	}
	r.mu.Unlock()
	r.log("%s", meaning(v))
	return err
}

// want checks the log since it was asked before.
func (r *rig) want(lines ...string) {
	r.t.Helper()
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "DIR", r.dir)
	}
	if got := r.took(); !slices.Equal(got, lines) {
		r.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(lines, "\n  "))
	}
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// write writes a file in place and tells so.
func (r *rig) write(name, text string) {
	r.t.Helper()
	put(r.t, r.path(name), text)
	r.notes.tell(r.path(name), false)
}

// replace renames another file over a file, and tells so.
func (r *rig) replace(name, text string) {
	r.t.Helper()
	renameOver(r.t, r.path(name), text)
	r.notes.tell(r.path(name), true)
}

func (r *rig) remove(name string) {
	r.t.Helper()
	if err := os.Remove(r.path(name)); err != nil {
		r.t.Fatal(err)
	}
	r.notes.tell(r.path(name), false)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// renameOver replaces a file by one whose content is older than the rename, as
// it is where somebody did more than this test between the two.
func renameOver(t *testing.T, path, text string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), ".next")
	put(t, next, text)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(next, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// source is a source whose stream orders takes topics from cluster east.
func source(topics ...string) string {
	return "clusters: {east: {bootstrap: 'a:1'}}\nstreams: {orders: {sources: [{cluster: east, topics: [" +
		strings.Join(topics, ", ") + "]}]}}\n"
}

// follow runs test with a rig that follows sources, in a bubble of its own
// time. setup makes the files; names are relative to the directory.
func follow(t *testing.T, opt WatchOptions, sources []string, setup func(dir string), test func(r *rig)) {
	t.Helper()
	dir := t.TempDir()
	setup(dir)
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, dir: dir, ended: make(chan error, 1), start: time.Now()}
		r.notes = &fakeNotes{signal: make(chan struct{}, 1), names: map[string]bool{}}
		opt.Failed = func(err error) { r.log("failed: %v", err) }
		opt.Recovered = func() { r.log("recovered") }
		var all []string
		for _, s := range sources {
			if isLocal(s) {
				s = filepath.Join(dir, s)
			}
			all = append(all, s)
		}
		r.w = NewWatcher(all, opt)
		r.w.notes = func() notes { return r.notes }
		v, err := r.w.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.views = append(r.views, v)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { r.ended <- r.w.Run(ctx, r.apply) }()
		synctest.Wait()
		test(r)
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
		r.want()
	})
}

// one makes kcm.yaml with topics.
func one(t *testing.T, topics ...string) func(string) {
	return func(dir string) { put(t, filepath.Join(dir, "kcm.yaml"), source(topics...)) }
}

var kcmYAML = []string{"kcm.yaml"}

func TestRenamedFileIsTakenAtOnce(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		r.replace("kcm.yaml", source("a", "b"))
		time.Sleep(time.Second)
		r.want("10ms orders: east[a b]")
		r.replace("kcm.yaml", source("b")) // it removes, and is whole all the same
		time.Sleep(time.Second)
		r.want("1.01s orders: east[b]")
		r.replace("kcm.yaml", source("c"))
		time.Sleep(time.Second)
		r.want("2.01s orders: east[c]")
		r.replace("kcm.yaml", "streams: [")
		time.Sleep(time.Second)
		r.want("3.01s failed: DIR/kcm.yaml:1:10: " + unclosed)
		r.replace("kcm.yaml", source("c", "d"))
		time.Sleep(time.Second)
		r.want("4.01s orders: east[c d]", "4.01s recovered")
	})
}

const unclosed = "a { or [ is not closed, or a comma or a quote is missing; quote values that hold any of { } [ ] , @ ${"

func TestFileWrittenInPlace(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		r.write("kcm.yaml", source("a", "b"))
		time.Sleep(4 * time.Second)
		r.want("1.01s orders: east[a b]")
		r.write("kcm.yaml", source("b"))
		time.Sleep(4 * time.Second)
		r.want("7.01s orders: east[b]")
		r.write("kcm.yaml", "clusters: {}")
		time.Sleep(2900 * time.Millisecond)
		r.want()
		r.write("kcm.yaml", source("b", "c"))
		time.Sleep(4 * time.Second)
		r.want("11.91s orders: east[b c]")
		// Another inode that nobody renamed is as half as any.
		r.remove("kcm.yaml")
		r.write("kcm.yaml", source("b", "c", "d"))
		time.Sleep(4 * time.Second)
		r.want("15.91s orders: east[b c d]")
	})
}

// TestFileWrittenInPieces: each piece is valid, and none is acted on.
func TestFileWrittenInPieces(t *testing.T) {
	block := func(topics ...string) string {
		text := "clusters:\n  east:\n    bootstrap: a:1\nstreams:\n  orders:\n    sources:\n      - cluster: east\n        topics:\n"
		for _, topic := range topics {
			text += "          - " + topic + "\n"
		}
		return text
	}
	follow(t, WatchOptions{}, kcmYAML, func(dir string) { put(t, filepath.Join(dir, "kcm.yaml"), block("a", "b", "c")) }, func(r *rig) {
		r.write("kcm.yaml", "")
		for _, topics := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
			r.write("kcm.yaml", block(topics...))
			time.Sleep(900 * time.Millisecond)
		}
		r.write("kcm.yaml", block("a", "b", "c", "dd"))
		time.Sleep(4 * time.Second)
		r.want("3.71s orders: east[a b c dd]")
		text := block("a", "b", "c", "dd", "e")
		for i := range text {
			r.write("kcm.yaml", text[:i+1])
			time.Sleep(200 * time.Millisecond)
		}
		r.want()
		time.Sleep(4 * time.Second)
		views := r.applied()
		if got := meaning(views[len(views)-1]); got != "orders: east[a b c dd e]" || len(views) != 3 {
			t.Errorf("after byte by byte there are %d views, the last is %s", len(views), got)
		}
		r.took()
	})
}

// TestByteByByte: in steps of 200 ms and with nothing but polls.
func TestByteByByte(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		text := source("a", "b")
		for i := range text {
			put(t, r.path("kcm.yaml"), text[:i+1])
			time.Sleep(200 * time.Millisecond)
		}
		r.want()
		time.Sleep(2 * time.Second)
		if lines := r.took(); len(lines) != 1 || !strings.HasSuffix(lines[0], " orders: east[a b]") {
			t.Errorf("got %q", lines)
		}
	})
}

// TestInvalidVersions: each keeps the last good view, is told once, and the
// next good version is taken.
func TestInvalidVersions(t *testing.T) {
	half := "clusters:\n  east: {bootstrap: 'a:1'}\nstreams:\n  orders:\n    sources: [{cluster: east, topics: [a]}]\n  "
	for _, c := range []struct{ name, text, reason string }{
		{"empty", "", "1:1: the document is empty; it must hold clusters or streams"},
		{"tab", "clusters:\n\teast: {bootstrap: 'a:1'}\n", ""},
		{"duplicate", half + "orders: {sources: [{cluster: east, topics: [b]}]}\n", ""},
		{"misspelt", strings.Replace(source("a"), "topics", "topcis", 1), ""},
		{"cut", "clusters: {east: {bootstrap: 'a:1'}}\nstreams: {orders: {sources: [{cluster: east, topics: [a", ""},
	} {
		for _, way := range []string{"in place", "renamed"} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
					write, at := r.write, "3.01s"
					if way == "renamed" {
						write, at = r.replace, "10ms"
					}
					write("kcm.yaml", c.text)
					time.Sleep(25 * time.Second)
					lines := r.took()
					want := at + " failed: " + r.path("kcm.yaml") + ":" + c.reason
					if len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
						t.Errorf("got %q, want %q", lines, want)
					}
					r.replace("kcm.yaml", source("a", "b"))
					time.Sleep(time.Second)
					r.want("25.01s orders: east[a b]", "25.01s recovered")
				})
			})
		}
	}
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		r.remove("kcm.yaml")
		if err := os.Mkdir(r.path("kcm.yaml"), 0o755); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		r.want("3.01s failed: metadata source DIR/kcm.yaml: no *.yaml or *.yml file in this directory")
		r.remove("kcm.yaml")
		r.replace("kcm.yaml", source("a"))
		time.Sleep(5 * time.Second)
		r.want("5.01s recovered")
	})
}

func TestGoneAndBack(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		r.remove("kcm.yaml")
		time.Sleep(2 * time.Second)
		r.write("kcm.yaml", source("a"))
		time.Sleep(5 * time.Second)
		r.want() // it came back in time
		r.remove("kcm.yaml")
		time.Sleep(5 * time.Second)
		r.want("10.01s failed: metadata source DIR/kcm.yaml: no such file or directory")
		r.write("kcm.yaml", source("a", "b"))
		time.Sleep(5 * time.Second)
		r.want("13.01s orders: east[a b]", "13.01s recovered")
		// The directory with it.
		if err := os.RemoveAll(r.dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		r.want("23s failed: metadata source DIR/kcm.yaml: no such file or directory")
		put(t, r.path("kcm.yaml"), source("a"))
		time.Sleep(15 * time.Second)
		if lines := r.took(); len(lines) != 2 || !strings.HasSuffix(lines[0], "orders: east[a]") {
			t.Errorf("got %q", lines)
		}
	})
}

// TestNothingNew: what means the same is not applied.
func TestNothingNew(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		long := time.Now().Add(time.Hour)
		if err := os.Chtimes(r.path("kcm.yaml"), long, long); err != nil {
			t.Fatal(err)
		}
		r.notes.tell(r.path("kcm.yaml"), false)
		time.Sleep(5 * time.Second)
		r.write("kcm.yaml", source("a"))
		time.Sleep(5 * time.Second)
		r.replace("kcm.yaml", "# a comment\n\n"+source("a"))
		time.Sleep(5 * time.Second)
	})
}

// TestContentOfFakedTimes: a poll also finds what size and times hide.
func TestContentOfFakedTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kcm.yaml")
	put(t, path, source("a"))
	w := NewWatcher([]string{path}, WatchOptions{})
	if _, err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &follower{w: w, notes: noNotes{}, files: w.files}
	put(t, path, source("b"))
	w.files[path].seen = stampOf(path, trail{})
	now := time.Now()
	if f.look(now, false) {
		t.Error("a look finds what only a reading can")
	}
	if !f.look(now, true) || !f.dirty() || f.unsettled(now, time.Second) != time.Second {
		t.Error("a poll finds nothing, or something that need not stand still")
	}
}

func TestRepeatedFailuresEndTheRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kcm.yaml")
	put(t, path, source("a"))
	synctest.Test(t, func(t *testing.T) {
		told := 0
		w := NewWatcher([]string{path}, WatchOptions{MaxFailures: 3, Failed: func(error) { told++ }})
		w.notes = func() notes { return noNotes{} }
		if _, err := w.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, path, "x: 1")
		start := time.Now()
		err := w.Run(t.Context(), func(*View) error { t.Error("applied"); return nil })
		want := "the metadata could not be refreshed 3 times in a row: " + path + `:1:1: the document has no key "x"; allowed are clusters, streams`
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Failed {
			t.Errorf("got %v", err)
		}
		// Seen at the first look, sure at 3 s, then once in each 10 s.
		if took := time.Since(start); took != 23*time.Second || told != 1 {
			t.Errorf("it ended after %s and told %d times", took, told)
		}
	})
}

func TestErrorOfApply(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		r.mu.Lock()
		r.refuse = errors.New("east is west")
		r.mu.Unlock()
		r.replace("kcm.yaml", source("a", "b"))
		time.Sleep(15 * time.Second)
		r.want("10ms orders: east[a b]", "10ms failed: east is west", "10.01s orders: east[a b]")
		r.mu.Lock()
		r.refuse = nil
		r.mu.Unlock()
		time.Sleep(10 * time.Second)
		r.want("20.01s orders: east[a b]", "20.01s recovered")
		if got := len(r.applied()); got != 2 {
			t.Errorf("%d views", got)
		}
	})
}
