package metadata

import (
	"path/filepath"
	"slices"
	"time"
)

// tracked is a path whose changes count, and what is known of it.
type tracked struct {
	seen    stamp
	real    string // where the path led when it last led anywhere
	content digest // of seen; only if hashed
	hashed  bool
	counts  func(name string) bool // of a directory: which of its files were read; nil: none

	// From here on: of a change that no reading has taken yet.
	dirty    bool
	inPlace  bool      // it may be half written: it has to stand still
	newInode bool      // it is not the file that was there
	changed  time.Time // when the last change was seen; by our clock, since files' times can be set
}

// look compares all paths with what was seen of them before; deep compares the
// contents too. It sets watches for what is there now, and reports whether
// anything changed.
func (f *follower) look(now time.Time, deep bool) (changed bool) {
	tr := newTrail()
	stamps := f.stamps(tr)
	// What changed before its directory was watched would wait for the next poll.
	for tries := 0; f.notes.watch(tr) && tries < 3; tries++ {
		tr = newTrail()
		stamps = f.stamps(tr)
	}
	came := f.notes.came()
	for path, s := range stamps {
		t := f.files[path]
		if t == nil {
			t = &tracked{}
			f.files[path] = t
		}
		if f.compare(path, s, came[fold(s.real)], deep) {
			t.dirty, t.changed = true, now
			f.cached, changed = nil, true
		}
	}
	return changed
}

// stamps looks at all paths: those that count and what lies in directories.
func (f *follower) stamps(tr trail) map[string]stamp {
	all := map[string]stamp{}
	for path, t := range f.files {
		s := stampOf(path, tr)
		all[path] = s
		counts := t.counts
		if f.isSource(path) {
			counts = sourceFile
		}
		if s.kind != directory || counts == nil {
			continue
		}
		tr.addAll(s.real, counts)
		names, err := fileNames(path, counts)
		if err != nil {
			continue // a reading will tell
		}
		for _, name := range names {
			entry := filepath.Join(path, name)
			all[entry] = stampOf(entry, tr)
		}
	}
	return all
}

func (f *follower) isSource(path string) bool {
	return slices.ContainsFunc(f.w.sources, func(s string) bool { return isLocal(s) && absolute(s) == path })
}

// compare takes a new stamp of a path and reports whether the path changed.
// came says that a rename gave the file its name.
func (f *follower) compare(path string, s stamp, came, deep bool) bool {
	t := f.files[path]
	was := t.seen
	if s != was {
		t.replaced(s, came)
		t.seen, t.hashed = s, false
		if s.real != "" {
			t.real = s.real
		}
		return true
	}
	if t.dirty && t.inPlace && t.newInode && came {
		t.inPlace = false // the file was seen before the word of its rename came
	}
	if !deep || s.kind != regular {
		return false
	}
	content, err := readBounded(path, maxSource)
	d := digestOf(content, err)
	changed := t.hashed && d != t.content
	t.content, t.hashed = d, true
	if changed {
		t.inPlace, t.newInode = true, false
	}
	return changed
}

// replaced finds out how the path became s. A file that came whole, by a rename
// or through another link, can be read at once. Where the system gives no word
// of a rename, it shows in the times: writing sets both, renaming only ctime.
func (t *tracked) replaced(s stamp, came bool) {
	t.newInode = !hasInodes || t.seen.kind == absent || !s.sameInode(t.seen)
	t.inPlace = true
	moved := s.size > 0 && s.ctime > s.mtime
	switch {
	case s.kind != regular && s.kind != directory:
	case t.real != "" && t.real != s.real, t.real == "" && s.link:
		t.inPlace = false
	case s.kind == directory:
		t.inPlace = !came || !t.newInode
	case t.newInode:
		t.inPlace = !came && !moved
	default: // the number of an inode may be given again at once
		t.inPlace = !came || !moved
	}
}

// unsettled returns how long it takes until everything in place has stood still
// for need.
func (f *follower) unsettled(now time.Time, need time.Duration) time.Duration {
	var wait time.Duration
	for _, t := range f.files {
		if t.dirty && t.inPlace {
			wait = max(wait, t.changed.Add(need).Sub(now))
		}
	}
	return wait
}

// dirty reports whether any file changed since the last reading.
func (f *follower) dirty() bool {
	for _, t := range f.files {
		if t.dirty {
			return true
		}
	}
	return false
}

// differs reports whether a reading took something else than what was looked at.
func (f *follower) differs(r *reading) bool {
	for path, got := range r.files {
		t := f.files[path]
		switch {
		case got.moved:
		case t == nil:
			continue
		case got.stamp != t.seen:
		case got.stamp.kind == regular && t.hashed && got.digest != t.content:
		default:
			continue
		}
		return true
	}
	return false
}

// adopt makes what a reading took the state that the next changes are measured
// against. A bad reading may have ended before it saw all, so the rest stays.
func adopt(files map[string]*tracked, r *reading, bad bool) map[string]*tracked {
	now := make(map[string]*tracked, len(r.files))
	if bad {
		for path, t := range files {
			t.dirty = false
			now[path] = t
		}
	}
	for path, got := range r.files {
		t := &tracked{seen: got.stamp, real: got.stamp.real, counts: got.counts}
		if got.stamp.kind == regular && !got.moved {
			t.content, t.hashed = got.digest, true
		}
		if was := files[path]; was != nil && t.real == "" {
			t.real = was.real
		}
		now[path] = t
	}
	return now
}
