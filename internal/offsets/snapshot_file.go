package offsets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Write writes the snapshot to a file that does not exist yet: when it returns nil
// all of it is safe on the disk. The error is a fault.Usage, and then nothing is left
// behind; it is fs.ErrExist if there is a file of that name.
func (s *Snapshot) Write(path string) error {
	buf, err := s.Append(nil)
	if err == nil {
		err = writeNew(path, buf)
	}
	switch e, isPath := errors.AsType[*fs.PathError](err); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		taken := fault.New(fault.Usage, "the snapshot %s exists already: nothing was changed", path).WithHint("--snapshot FILE names another one")
		taken.Err = err
		return taken
	case isPath:
		err = e.Err
	}
	return fault.New(fault.Usage, "the snapshot %s cannot be written: %w: nothing was changed", path, err).WithHint("--snapshot FILE names another place")
}

// writeNew takes the name first, so that no other file is ever replaced, and has the
// whole text take its place at once.
func writeNew(path string, text []byte) error {
	name, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as the umask allows
	if err != nil {
		return err
	}
	if err := name.Close(); err != nil {
		return err
	}
	if err := replaceWith(path, text); err != nil {
		_ = os.Remove(path)
		return err
	}
	return syncDir(filepath.Dir(path))
}

func replaceWith(path string, text []byte) error {
	w, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
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
	if info, statErr := os.Stat(path); err == nil && statErr == nil {
		err = os.Chmod(w.Name(), info.Mode().Perm())
	}
	if err == nil {
		err = os.Rename(w.Name(), path)
	}
	if err != nil {
		_ = os.Remove(w.Name())
	}
	return err
}

// ReadSnapshot reads a file that Write wrote. One that cannot be read is a
// fault.Usage, one that is no good a fault.Refused.
func ReadSnapshot(path string) (*Snapshot, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, fault.New(fault.Usage, "the snapshot %s cannot be read: %w", path, err)
	}
	s, err := ParseSnapshot(b)
	if err != nil {
		return nil, fault.New(fault.Refused, "%s cannot be used as a snapshot: %w", path, err)
	}
	return s, nil
}
