package replay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// hintFiles says what --replay takes.
const hintFiles = "--replay reads files that kcm consume -f json wrote, .gz and .zst too"

// find lists the files of a path in the order of their names: itself, or
// everything below it. What is hidden is passed over.
func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	if !info.IsDir() {
		return []string{path}, regular(path, info)
	}
	var paths []string
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch hidden := at != path && strings.HasPrefix(d.Name(), "."); {
		case err != nil:
			return unusable(at, err)
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
			return nil
		}
		info, err := os.Stat(at) // a link counts as what it leads to
		if err != nil {
			return unusable(at, err)
		}
		if info.IsDir() { // a link to one could lead back here
			return nil
		}
		paths = append(paths, at)
		return regular(at, info)
	})
	return paths, err
}

// regular refuses what cannot be read twice.
func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fault.New(fault.Usage, "--replay %s: this is no file; the records are read twice, which a pipe does not allow", path).
		WithHint("write it to a file first")
}

// unusable is the error of a path that cannot be read.
func unusable(path string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fault.New(fault.Usage, "--replay %s: %w", path, err)
}
