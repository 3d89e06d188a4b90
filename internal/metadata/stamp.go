package metadata

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// fileKind is what stands under a path.
type fileKind uint8

const (
	absent    fileKind = iota // nothing, or nothing that can be looked at
	regular                   // a file
	directory                 // a directory
	special                   // a pipe, a terminal: it can be read once
)

// stamp is what a path looks like without being read. Two equal stamps mean
// that nothing happened in between, as far as the file system tells.
type stamp struct {
	kind         fileKind
	real         string // where the links lead; empty if nowhere
	link         bool   // the path itself is a link
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // ns since 1970; of regular files only
}

// sameInode reports whether both are the same file, whatever it holds. Systems
// that have no inodes always say so.
func (s stamp) sameInode(o stamp) bool { return s.dev == o.dev && s.ino == o.ino }

// trail collects what has to be watched so that changes of paths are noticed.
// All directories in it are real ones, without links. The zero trail collects
// nothing.
type trail struct {
	dirs  map[string]string                 // the directories of every link on the way and of the files, by folded name
	names map[string]bool                   // the links and files themselves, folded
	lists map[string]func(name string) bool // which further files of a directory count, by its folded name
}

func newTrail() trail {
	return trail{dirs: map[string]string{}, names: map[string]bool{}, lists: map[string]func(string) bool{}}
}

func (tr trail) add(dir, name string) {
	if tr.dirs != nil {
		tr.dirs[fold(dir)] = dir
		tr.names[fold(name)] = true
	}
}

// addAll takes in those files of a directory that count.
func (tr trail) addAll(dir string, counts func(name string) bool) {
	tr.dirs[fold(dir)] = dir
	tr.lists[fold(dir)] = counts
}

// has reports whether a path is one of the trail.
func (tr trail) has(name string) bool {
	key := fold(name)
	if tr.names[key] || tr.dirs[key] != "" {
		return true
	}
	counts := tr.lists[filepath.Dir(key)]
	return counts != nil && counts(filepath.Base(name))
}

// fold makes equal what is one name for the file system.
func fold(name string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(name)
	}
	return name
}

// stampOf looks at an absolute path and notes the way to it.
func stampOf(path string, tr trail) stamp {
	end, link, err := walk(path, tr)
	if err != nil {
		end = ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	s := stamp{real: end, link: link, kind: special}
	s.dev, s.ino, s.ctime = identity(info)
	switch {
	case info.Mode().IsRegular():
		s.kind, s.size, s.mtime = regular, info.Size(), info.ModTime().UnixNano()
		return s
	case info.IsDir():
		s.kind = directory
	}
	s.ctime = 0
	return s
}

// maxLinks is how many links a path may lead over, as on Linux.
const maxLinks = 40

var errLinks = errors.New("too many links")

// walk follows a path one component after the other. The way to a Kubernetes
// volume's file leads over two links in one directory, of which only the second
// ever changes: each directory that holds a link has to be watched.
func walk(path string, tr trail) (end string, link bool, err error) {
	dir, rest := cutRoot(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		next := filepath.Join(dir, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			tr.add(dir, next)
			return "", false, err
		case info.Mode()&fs.ModeSymlink == 0:
			if len(rest) == 0 {
				tr.add(dir, next)
			}
			dir = next
			continue
		}
		tr.add(dir, next)
		if links++; links > maxLinks {
			return "", false, errLinks
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", false, err
		}
		link = link || len(rest) == 0
		if filepath.IsAbs(target) {
			root, more := cutRoot(target)
			dir, rest = root, append(more, rest...)
		} else {
			rest = append(components(target), rest...)
		}
	}
	return dir, link, nil
}

// cutRoot cuts an absolute path into its root and its components.
func cutRoot(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), components(path[len(volume):])
}

func components(path string) []string {
	var all []string
	for c := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if c != "" && c != "." {
			all = append(all, c)
		}
	}
	return all
}
