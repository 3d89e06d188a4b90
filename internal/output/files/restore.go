package files

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Restore brings files into the order that a list says: each is cut to its
// length, and one of length 0 removed. A file that is missing or too short is
// refused (fault.Refused), and so is one that is longer although the run that
// wrote it came to an orderly end (closed): then nothing has been changed.
func Restore(list []File, closed bool) error {
	cut := make([]bool, len(list))
	for i, f := range list {
		long, err := check(f)
		if err != nil {
			return err
		}
		if long && closed && f.Length > 0 {
			return grown(f)
		}
		cut[i] = long
	}
	for i, f := range list {
		if !cut[i] {
			continue
		}
		if err := bring(f); err != nil {
			return failed(f.Path, err)
		}
	}
	return nil
}

// check reports whether a file is to be cut.
func check(f File) (long bool, err error) {
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Length == 0:
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, missing(f, "is missing")
	case err != nil:
		return false, failed(f.Path, err)
	case !info.Mode().IsRegular():
		return false, missing(f, "is no regular file any more")
	case info.Size() < f.Length:
		return false, missing(f, "is too short")
	}
	return f.Length == 0 || info.Size() > f.Length, nil
}

func missing(f File, what string) error {
	return fault.New(fault.Refused, "%s %s: the state file says that it holds %d bytes", f.Path, what, f.Length).
		WithHint("bring the file back, or start over with another --state")
}

func grown(f File) error {
	return fault.New(fault.Refused, "%s has been added to: the state file says that it holds %d bytes", f.Path, f.Length).
		WithHint("take away what was added, or go on in another -O")
}

func bring(f File) error {
	if f.Length == 0 {
		if err := os.Remove(f.Path); !errors.Is(err, fs.ErrNotExist) { // it may be listed twice
			return err
		}
		return nil
	}
	w, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = w.Truncate(f.Length); err == nil {
		err = w.Sync()
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}
