package metadata

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// notes tell when to look at files before the next poll. They are hints only:
// some file systems send none, and some come late.
type notes interface {
	// watch watches what is in the trail and nothing else. It reports whether
	// a directory came in, which may have changed before it was watched.
	watch(tr trail) bool
	// ready has an item after something happened.
	ready() <-chan struct{}
	// came returns the names that were last given by a rename, since it was
	// asked before. A rename brings a file that is whole.
	came() map[string]bool
	close()
}

// noNotes is for where nothing can be watched.
type noNotes struct{}

func (noNotes) watch(trail) bool       { return false }
func (noNotes) ready() <-chan struct{} { return nil }
func (noNotes) came() map[string]bool  { return nil }
func (noNotes) close()                 {}

// fsNotes are the operating system's. Without any (the limit of watches was
// reached) nothing is lost but time.
type fsNotes struct {
	signal chan struct{}
	done   sync.WaitGroup

	watcher *fsnotify.Watcher // nil: nothing to watch yet, or refused
	refused bool

	mu      sync.Mutex
	dirs    map[string]os.FileInfo // what is watched
	tr      trail
	renamed map[string]bool
}

func newNotes() notes {
	return &fsNotes{signal: make(chan struct{}, 1), dirs: map[string]os.FileInfo{}, tr: newTrail(), renamed: map[string]bool{}}
}

func (n *fsNotes) ready() <-chan struct{} { return n.signal }

func (n *fsNotes) came() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.renamed
	n.renamed = map[string]bool{}
	return all
}

func (n *fsNotes) close() {
	if n.watcher != nil {
		_ = n.watcher.Close() // the process loses nothing but a descriptor
		n.done.Wait()
	}
}

// start begins with the first directory: a run that reads addresses alone needs
// none of the few that a user may have.
func (n *fsNotes) start() bool {
	if n.watcher == nil && !n.refused {
		w, err := fsnotify.NewWatcher()
		if n.refused = err != nil; n.refused {
			return false
		}
		n.watcher = w
		n.done.Go(n.listen)
	}
	return n.watcher != nil
}

func (n *fsNotes) watch(tr trail) bool {
	if len(tr.dirs) == 0 && len(n.dirs) == 0 || !n.start() {
		return false
	}
	n.mu.Lock()
	n.tr = tr
	known := n.dirs
	n.mu.Unlock()
	// Adding and removing wait for the reader of events, which waits for mu.
	now := make(map[string]os.FileInfo, len(tr.dirs))
	fresh := false
	for _, dir := range tr.dirs {
		info, err := os.Stat(dir)
		if err != nil || n.watcher.Add(dir) != nil {
			continue
		}
		now[dir] = info
		if was := known[dir]; was == nil || !os.SameFile(was, info) {
			fresh = true
		}
	}
	for dir := range known {
		if now[dir] == nil {
			_ = n.watcher.Remove(dir) // it may be gone, and its watch with it
		}
	}
	n.mu.Lock()
	n.dirs = now
	n.mu.Unlock()
	return fresh
}

// listen takes the events from the system until the watcher is closed, so that
// none waits while a view is applied.
func (n *fsNotes) listen() {
	events, errs := n.watcher.Events, n.watcher.Errors
	for events != nil || errs != nil {
		select {
		case ev, ok := <-events:
			if !ok {
				events = nil
			} else if n.note(ev) {
				n.wake()
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			} else {
				n.wake() // events were lost
			}
		}
	}
}

func (n *fsNotes) wake() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

// note takes one event and reports whether it is of interest.
func (n *fsNotes) note(ev fsnotify.Event) bool {
	name := filepath.Clean(ev.Name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.tr.has(name) {
		return false
	}
	switch {
	case ev.Has(fsnotify.Create):
		n.renamed[fold(name)] = renamed(ev)
	case ev.Has(fsnotify.Write):
		n.renamed[fold(name)] = false
	}
	return true
}

// renamed reports whether an event is the second half of a rename. The library
// shows that in the text of its events only.
func renamed(ev fsnotify.Event) bool {
	return ev.String() != fsnotify.Event{Name: ev.Name, Op: ev.Op}.String()
}
