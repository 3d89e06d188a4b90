package metadata

import (
	"errors"
	"os"
)

// reading remembers what one reading of the sources took from the world, so
// that a Watcher knows what to look at. The nil reading remembers nothing.
type reading struct {
	first   bool              // the only one that may read pipes
	once    map[string]string // what standard input and pipes held, for all readings of a Watcher
	files   map[string]taken  // by absolute path
	answers map[string]answer // by address; what is not in it is asked for
}

// taken is one file as it was read.
type taken struct {
	stamp  stamp                  // before it was read
	moved  bool                   // it changed meanwhile
	digest digest                 // of files only
	counts func(name string) bool // of directories: which of their files were read; nil: none
}

var errSpecial = errors.New("it is neither a file nor a directory any more")

// remembered returns what a source that is read once held.
func (r *reading) remembered(name string) (string, bool) {
	if r == nil {
		return "", false
	}
	text, ok := r.once[name]
	return text, ok
}

func (r *reading) remember(name, text string) {
	if r != nil {
		r.once[name] = text
	}
}

// answer returns what is known of an address.
func (r *reading) answer(source string) (answer, bool) {
	if r == nil {
		return answer{}, false
	}
	got, ok := r.answers[source]
	return got, ok
}

func (r *reading) keep(source string, got answer) {
	if r != nil {
		r.answers[source] = got
	}
}

// stat looks at a source.
func (r *reading) stat(path string) (os.FileInfo, error) {
	if r != nil {
		abs := absolute(path)
		r.files[abs] = taken{stamp: stampOf(abs, trail{})}
	}
	return os.Stat(path)
}

// readFile reads a file of at most limit bytes. What cannot be read twice is
// remembered.
func (r *reading) readFile(path string, limit int64) (string, error) {
	if r == nil {
		return readBounded(path, limit)
	}
	abs := absolute(path)
	before := stampOf(abs, trail{})
	if text, ok := r.remembered(abs); ok {
		r.files[abs] = taken{stamp: before}
		return text, nil
	}
	if before.kind == special && !r.first {
		r.files[abs] = taken{stamp: before}
		return "", errSpecial // opening a pipe could wait for ever
	}
	content, err := readBounded(path, limit)
	if before.kind == special {
		r.files[abs] = taken{stamp: before}
		if err == nil {
			r.remember(abs, content)
		}
		return content, err
	}
	now := taken{stamp: before, digest: digestOf(content, err)}
	now.moved = before != stampOf(abs, trail{})
	if was, ok := r.files[abs]; ok && was.stamp != now.stamp {
		now.moved = true
	}
	r.files[abs] = now
	return content, err
}
