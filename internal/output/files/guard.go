package files

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kcm-cli/kcm/internal/fault"
)

// hold locks a target's file for as long as it is open, so that two runs do not
// write to one file, and makes sure that nobody has written to it between the
// look at it and the lock.
func (s *Sink) hold(t *target) error {
	if t.special {
		return nil
	}
	if !lockFile(t.fd) {
		return fault.New(fault.Refused, "%s is being written by another process", t.cur.path).
			WithHint("give each run a file of its own")
	}
	return s.intact(t)
}

// intact makes sure that an open file is as long as it was left.
func (s *Sink) intact(t *target) error {
	if t.special {
		return nil
	}
	info, err := t.fd.Stat()
	if err != nil {
		return failed(t.cur.path, err)
	}
	return s.unchanged(t, info)
}

// unchanged makes sure that a file is the one that it was, as it was left.
func (s *Sink) unchanged(t *target, info fs.FileInfo) error {
	switch {
	case t.special:
		return nil
	case t.info != nil && !os.SameFile(t.info, info):
		return replaced(t.cur.path)
	case info.Size() != t.cur.length:
		return changed(t.cur.path, info.Size(), t.cur.length)
	}
	return nil
}

func replaced(path string) error {
	return fault.New(fault.Failed, "%s was replaced by another file while it was written", path)
}

func changed(path string, has, wrote int64) error {
	return fault.New(fault.Failed, "%s was changed by somebody else while it was written: it has %d bytes, and %d were written", path, has, wrote)
}

// lookAfter makes sure that files are where they were made, and as they were
// left. Those of a time that is over may have been taken away.
func (s *Sink) lookAfter() error {
	for t := range s.active {
		if t.special || s.isOver(t) {
			continue
		}
		if t.fd != nil { // the entry of a directory may lag behind
			if err := s.intact(t); err != nil {
				return err
			}
		}
		if err := inPlace(t.cur.at(), t.info, t.cur.length); err != nil {
			return err
		}
	}
	if !s.o.Durable {
		clear(s.dirty)
	}
	return nil
}

// isOver reports whether a file is of a time that no records have come of lately.
func (s *Sink) isOver(t *target) bool {
	period := s.o.Template.period
	return period > 0 && s.o.Now().Sub(t.wrote).Milliseconds() > period
}

// inPlace makes sure that a file has not been removed, replaced or changed: what
// is written to it would be lost without anybody noticing.
func inPlace(path string, info os.FileInfo, length int64) error {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Failed, "%s was removed while it was written", path)
	case err != nil:
		return failed(path, err)
	case info != nil && !os.SameFile(info, now):
		return replaced(path)
	case now.Size() != length:
		return changed(path, now.Size(), length)
	}
	return nil
}
