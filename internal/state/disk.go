package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/kcm-cli/kcm/internal/fault"
)

// resolve returns where a state file is or will be, without links: the file is
// replaced by a rename, which would replace the link.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fault.New(fault.Usage, "--state: %w", err)
	}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return target, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fault.New(fault.Usage, "--state: %w", err)
	}
	if to, err := os.Readlink(path); err == nil {
		return "", fault.New(fault.Usage, "--state %s is a link to %s, which does not exist", path, to)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fault.New(fault.Usage, "--state %s: there is no directory %s", path, filepath.Dir(path))
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// lock is the hold of this process on a state file: a lock on a file beside it,
// which stays when the state file is replaced.
type lock struct {
	flock *flock.Flock
	path  string
	info  fs.FileInfo
}

func acquire(path string) (*lock, error) {
	l := &lock{path: path + ".lock"}
	l.flock = flock.New(l.path, flock.SetPermissions(0o666))
	ok, err := l.flock.TryLock()
	switch {
	case err != nil:
		return nil, fault.New(fault.Usage, "--state %s cannot be locked: %w", path, err)
	case !ok:
		return nil, fault.New(fault.Refused, "%s is used by another process%s", path, holder(l.path)).
			WithHint("a state file serves one run at a time; give the other one a --state FILE of its own")
	}
	// The number is for people: who dies leaves it behind, and not the lock.
	_ = os.WriteFile(l.path, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o666) //nolint:gosec // as the umask allows
	if l.info, err = os.Stat(l.path); err != nil {
		l.release()
		return nil, fault.New(fault.Usage, "--state %s cannot be locked: %w", path, err)
	}
	return l, nil
}

// holder names the process that holds a lock, as far as that is known.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if pid, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
		return " (pid " + strconv.Itoa(pid) + ")"
	}
	return ""
}

func (l *lock) release() { _ = l.flock.Unlock() }

// check makes sure that nobody has taken the lock file away, after which another
// process could lock a new one.
func (l *lock) check() error {
	info, err := os.Stat(l.path)
	if err != nil || !os.SameFile(info, l.info) {
		return fault.New(fault.Refused, "%s was removed while the state file was in use", l.path).
			WithHint("it keeps other processes from the same state; the state file is as it was before")
	}
	return nil
}

// read takes over what the file holds.
func (f *File) read() error {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Usage, "--state cannot be read: %w", err)
	}
	c, err := decode(text, filepath.Dir(f.path))
	if err != nil {
		return f.refuse(err)
	}
	f.out, f.to = c.out, c.to
	for _, e := range c.entries {
		f.marks[e.key()] = e
		if f.names[e.Cluster] == nil {
			f.names[e.Cluster] = map[string]bool{}
		}
		f.names[e.Cluster][e.ClusterID] = true
	}
	return nil
}

func (f *File) refuse(err error) error {
	refused := fault.New(fault.Refused, "%s cannot be used as a state file: %w", f.path, err)
	switch _, isNewer := errors.AsType[newer](err); {
	case isNewer:
		return refused.WithHint("use the kcm that wrote it; it has not been changed")
	case errors.Is(err, errForeign):
		return refused.WithHint("--state takes a file of its own; this one has not been changed")
	default:
		return refused.WithHint("bring back a copy, or remove the file to start over; it has not been changed")
	}
}

// write replaces the file: a crash at any moment leaves the old one or the new
// one. The caller holds mu.
func (f *File) write(marks map[key]entry, out Out) error {
	if err := f.lock.check(); err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	text, err := encode(contents{sorted(marks), out, f.to}, dir, f.o.Now())
	if err == nil {
		err = replace(f.path, text)
	}
	if err != nil {
		return fault.New(fault.Failed, "the state file %s cannot be written: %w", f.path, bare(err))
	}
	return nil
}

// bare drops the path of an error whose text has one already.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func replace(path string, text []byte) error {
	dir := filepath.Dir(path)
	temporary := filepath.Join(dir, "."+filepath.Base(path)+".kcm-new")
	// A link there would lead the write elsewhere.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(path))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err == nil {
		err = w.Sync()
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	return syncDir(dir)
}

// modeOf keeps the permissions that a state file has; a new one has the usual.
func modeOf(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o666
}
