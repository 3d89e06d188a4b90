package files

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// choice is the file that a target goes on with.
type choice struct {
	current
	exists  bool // it is there, with the length of current
	declare bool // it is not listed yet
	special bool // it is no regular file
}

// first chooses the first file of a target. It makes and changes nothing.
func (s *Sink) first(t *target) (choice, error) {
	base := t.stem + t.suffix
	sequence := 0
	if s.numbered() {
		last := s.lastNumber(t)
		if last > 0 && s.o.Overwrite { // all of them are of an earlier run: new ones get their names at the end
			return choice{}, leftover(numberedPath(t.stem, t.suffix, last))
		}
		if last > 0 && !s.o.Append && !s.isOwn(base) && !s.dropped {
			return choice{}, exists(numberedPath(t.stem, t.suffix, last))
		}
		sequence = last
		if last > 0 && !s.o.Append {
			sequence++ // files of this run or this state, which are finished
		}
	}
	return s.consider(t, sequence)
}

// consider looks at the file of a number, and goes on to the next one where it
// is not for this run.
func (s *Sink) consider(t *target, sequence int) (choice, error) {
	for ; ; sequence++ {
		path := numberedPath(t.stem, t.suffix, sequence)
		c := choice{current: current{path: path, sequence: sequence}, declare: true}
		if err := s.claim(t, path); err != nil {
			if sequence == 0 {
				return c, err
			}
			continue
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if s.o.Overwrite {
				c.temporary = path
			}
			return c, checkLink(path)
		case err != nil:
			return c, failed(path, err)
		}
		if c, skip, err := s.existing(c, info); !skip {
			return c, err
		}
	}
}

// existing decides about a file that is there; skip says that the next one of
// the sequence is to be looked at.
func (s *Sink) existing(c choice, info fs.FileInfo) (_ choice, skip bool, err error) {
	own := s.isOwn(c.path) || s.former[c.path] == info.Size() && info.Size() > 0
	switch {
	case info.IsDir():
		return c, false, fault.New(fault.Usage, "-O: %s is a directory", c.path).WithHint("-O %s/ writes a tree of files into it", c.path)
	case !info.Mode().IsRegular():
		c.exists, c.special, c.declare = true, true, false
		return c, false, s.checkSpecial(c.path)
	case s.o.Overwrite:
		c, err = s.replacing(c)
		return c, false, err
	case own:
		c.exists, c.length = true, info.Size()
		return c, false, nil
	case s.o.Append:
		c.exists, c.length = true, info.Size()
		return c, false, s.checkEnd(c.path, c.length)
	case s.dropped && s.o.Template.period > 0: // it is one of those that are finished, or else not ours
		return c, true, nil
	default:
		return c, false, exists(c.path)
	}
}

// next chooses the file after that of a target's which is full.
func (s *Sink) next(t *target, now current) (choice, error) {
	for sequence := now.sequence + 1; ; sequence++ {
		path := numberedPath(t.stem, t.suffix, sequence)
		c := choice{current: current{path: path, sequence: sequence}, declare: true}
		if s.claim(t, path) != nil {
			continue
		}
		_, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if s.o.Overwrite {
				c.temporary = path
			}
			return c, nil
		case err != nil:
			return c, failed(path, err)
		case s.o.Overwrite:
			return s.replacing(c)
		}
	}
}

// replacing has a file written beside the one that it will replace. Of a link,
// that is what the link leads to.
func (s *Sink) replacing(c choice) (choice, error) {
	target, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return c, failed(c.path, err)
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return c, fault.New(fault.Refused, "%s is no regular file and cannot be replaced", c.path)
	}
	c.temporary = target // made a name of its own when it is created
	return c, nil
}

// leftover refuses a numbered file that may stay beside fewer new ones, and would
// be taken for one of them.
func leftover(path string) error {
	return fault.New(fault.Refused, "%s exists already: --overwrite might leave it beside the new files", path).
		WithHint("take away the numbered files of the earlier run, or write elsewhere")
}

func exists(path string) error {
	return fault.New(fault.Refused, "%s exists already", path).
		WithHint("--append goes on with it, --overwrite replaces it when all is written")
}

// checkLink refuses a link that leads nowhere: what it leads to may not be what
// anybody thinks.
func checkLink(path string) error {
	if target, err := os.Readlink(path); err == nil {
		return fault.New(fault.Refused, "%s is a link to %s, which does not exist", path, target)
	}
	return nil
}

func (s *Sink) checkSpecial(path string) error {
	var what string
	switch {
	case s.o.Declare != nil:
		what = "--state could not cut it back"
	case s.o.Overwrite:
		what = "--overwrite cannot replace it"
	case s.numbered():
		what = "there is no next one to rotate to"
	default:
		return nil
	}
	return fault.New(fault.Refused, "%s is no regular file: %s", path, what)
}

// claim refuses a path that the records of other names go to.
func (s *Sink) claim(t *target, path string) error {
	of, ok := s.claims[path]
	if !ok || of == t.of {
		return nil
	}
	return fault.New(fault.Refused, "%s would hold records of %s and of %s", path, of, t.of).
		WithHint("put the placeholders of -O apart, such as {cluster}/{topic}/{partition}")
}

// lastNumber is the highest sequence number of a target's files that exist.
func (s *Sink) lastNumber(t *target) int {
	dir, stem := filepath.Split(t.stem)
	names, ok := s.listings[dir]
	if !ok {
		names = map[string]bool{}
		entries, _ := os.ReadDir(dir) // one that cannot be read is told when a file is made
		for _, e := range entries {
			names[e.Name()] = true
		}
		s.listings[dir] = names
	}
	last := 0
	for name := range names {
		rest, ok := strings.CutPrefix(name, stem+".")
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(rest, t.suffix)
		if n, err := strconv.Atoi(number); ok && err == nil && n > last && number == strconv.Itoa(n) {
			last = n
		}
	}
	return last
}

// isOwn reports whether this run has made a file that is not listed any more. Of
// those nothing but a number is remembered.
func (s *Sink) isOwn(path string) bool { return s.own[maphash.String(s.seed, path)] }

func (s *Sink) disown(path string) { s.own[maphash.String(s.seed, path)] = true }
