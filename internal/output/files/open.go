package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// mode is what files are made with, as far as the umask allows.
const (
	mode    = 0o666
	dirMode = 0o777
)

// failed is the error of a file that cannot be written.
func failed(path string, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fault.New(fault.Failed, "cannot write to %s: %w", path, err)
}

// ready opens the file of a step for its target, unless it is open.
func (s *Sink) ready(w *work, st *step) error {
	t := w.t
	if t.made && t.cur.at() == st.at() {
		if t.fd != nil {
			s.open.MoveToFront(t.element)
			return nil
		}
		return s.reopen(t)
	}
	if err := s.claim(t, st.path); err != nil {
		return err
	}
	var err error
	if st.exists {
		err = s.attach(t, st)
	} else {
		err = s.create(w, st)
	}
	if err != nil {
		return failed(st.path, err)
	}
	t.made, t.cur, t.special = true, st.current, st.special
	s.active[t] = true
	s.claims[st.path] = t.of
	s.opened(t)
	if err := s.recognize(t); err != nil {
		return err
	}
	return s.hold(t)
}

// recognize refuses a file that another target has under another name, by a link
// or because the file system takes both names for one.
func (s *Sink) recognize(t *target) error {
	info, err := t.fd.Stat()
	if err != nil {
		return failed(t.cur.path, err)
	}
	t.info = info
	if t.special {
		return nil
	}
	id, ok := idOf(info)
	if !ok {
		return nil
	}
	if other := s.files[id]; other != nil && other != t {
		return fault.New(fault.Refused, "%s and %s are one file", other.cur.path, t.cur.path)
	}
	t.id = id
	s.files[id] = t
	return nil
}

// attach opens a file that is there, and goes on at its end.
func (s *Sink) attach(t *target, st *step) error {
	return s.openFile(t, st.path, os.O_WRONLY)
}

// create makes the file of a step, and the directories that it lies in.
func (s *Sink) create(w *work, st *step) error {
	path := st.path
	if err := s.makeDirs(filepath.Dir(st.at())); err != nil {
		return err
	}
	if st.temporary != "" {
		return s.createBeside(w, st)
	}
	err := s.openFile(w.t, path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err == nil {
		w.new = append(w.new, path)
		s.listed(path)
	}
	return err
}

// createBeside makes a file with a name of its own beside the one that it is to
// replace.
func (s *Sink) createBeside(w *work, st *step) error {
	old, dir, name := st.temporary, filepath.Dir(st.temporary), filepath.Base(st.temporary)
	for n := 0; ; n++ {
		path := filepath.Join(dir, "."+name+".kcm-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n))
		err := s.openFile(w.t, path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return err
		}
		w.new = append(w.new, path)
		w.swaps = append(w.swaps, swap{path, old})
		st.temporary = path
		if info, err := os.Stat(old); err == nil {
			return w.t.fd.Chmod(info.Mode().Perm())
		}
		return nil
	}
}

// makeDirs makes a directory and those above it, and remembers those that have
// new entries.
func (s *Sink) makeDirs(dir string) error {
	s.dirs[dir] = true
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		s.dirs[above] = true
		if info, err := os.Stat(above); err == nil && info.IsDir() || above == filepath.Dir(above) {
			break
		}
	}
	return os.MkdirAll(dir, dirMode)
}

// listed adds a file to what is known of its directory.
func (s *Sink) listed(path string) {
	dir, name := filepath.Split(path)
	if names := s.listings[dir]; names != nil {
		names[name] = true
	}
}

// reopen opens the file of a target again, which was closed to open others.
func (s *Sink) reopen(t *target) error {
	info, err := os.Stat(t.cur.at())
	if err == nil {
		err = s.unchanged(t, info)
	}
	if err == nil {
		err = s.openFile(t, t.cur.at(), os.O_WRONLY)
	}
	if err != nil {
		return failed(t.cur.path, err)
	}
	s.opened(t)
	if t.info == nil { // it is from an earlier run
		if err := s.recognize(t); err != nil {
			return err
		}
	}
	return s.hold(t)
}

// openFile opens a file for writing at its end, wherever others may have moved
// that: what they write is not overwritten, and no hole is made. Where the process
// has no more descriptors, others are closed.
func (s *Sink) openFile(t *target, path string, flag int) error {
	flag |= os.O_APPEND
	for s.open.Len() >= s.o.MaxOpen {
		s.evict()
	}
	f, err := os.OpenFile(path, flag, mode) //nolint:gosec // what the user said
	for n := 0; errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE); n++ {
		if s.evict() {
			s.o.MaxOpen = max(1, s.open.Len())
		} else if n > 200 { // others hold them all
			break
		} else {
			time.Sleep(10 * time.Millisecond)
		}
		f, err = os.OpenFile(path, flag, mode) //nolint:gosec // what the user said
	}
	if err != nil {
		return err
	}
	t.fd = f
	return nil
}

// opened notes that a target's file is open.
func (s *Sink) opened(t *target) {
	if t.element == nil {
		t.element = s.open.PushFront(t)
	}
}

// evict closes the file that has not been written to for the longest time.
func (s *Sink) evict() bool {
	last := s.open.Back()
	if last == nil {
		return false
	}
	t := last.Value.(*target) //nolint:forcetypeassert // nothing else is in there
	if err := s.close(t); err != nil && s.err == nil {
		s.err = failed(t.cur.path, err)
	}
	return true
}

// close closes a target's file, if it is open. Some file systems say only then
// that there was no room.
func (s *Sink) close(t *target) (err error) {
	if t.element != nil {
		s.open.Remove(t.element)
		t.element = nil
	}
	if t.fd != nil {
		err = t.fd.Close()
		t.fd = nil
	}
	return err
}

// cutTo cuts a file back, after a write that failed. It is an effort: a state
// file knows how long the file is to be.
func cutTo(path string, length int64) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > length {
		_ = os.Truncate(path, length)
	}
}
