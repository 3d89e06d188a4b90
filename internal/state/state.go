// Package state owns the file of --state: how far each place has been written
// out, and how long the files of -O were then. It reads and replaces that file
// whole, checks what it reads, and keeps other processes from it. It must not
// know Kafka, and it never opens the files of -O.
package state

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Place is what a position is kept for: a partition of a physical cluster, as
// one stream takes it.
type Place struct {
	ClusterID string
	record.Split
	Stream string
}

// Mark is how far a place has been written out.
type Mark struct {
	Place
	TopicID [16]byte // zero is unknown
	Offset  int64    // the next one to read
	Epoch   int32    // leader epoch of the batch before Offset; -1 is unknown
	Left    bool     // it is no longer read
}

// Out is what is known of the files that were written.
type Out struct {
	Path    string // the template of -O, absolute; empty when there was none
	Format  string // what the records in them look like; empty is unknown
	Closed  bool   // the run that wrote them came to an orderly end
	Dropped bool   // some files that are finished are not listed any more
	Files   []OutFile
}

// OutFile is one file and how much of it belongs to the positions beside it.
type OutFile struct {
	Path     string // absolute
	Base     string // the path that Sequence counts for; empty is Path itself
	Of       string // what has this file to itself, see package files
	Sequence int
	Length   int64
	Opened   time.Time
}

// Options are the parts of Open that a caller may choose.
type Options struct {
	Retain time.Duration    // how long a position is kept of what has left; negative is not at all
	Now    func() time.Time // nil is the clock
}

// File is a state file that this process holds. It is safe for use by several
// goroutines at once.
type File struct {
	path string // links resolved
	lock *lock
	o    Options

	mu    sync.Mutex
	marks map[key]entry
	names map[string]map[string]bool // cluster ids by the names that the file had them under
	seen  map[string]bool            // cluster names that were met under an id of the file
	out   Out
	to    *Target // nil is none
}

// key is a Place without the cluster's name, which may be another when the place
// comes back.
type key struct {
	cluster, topic string
	partition      int32
	stream         string
}

// entry is a mark and when its place left; zero while it has not.
type entry struct {
	Mark
	left time.Time
}

func (p Place) key() key { return key{p.ClusterID, p.Topic, p.Partition, p.Stream} }

// Open locks the state file at path and reads it. One that does not exist is
// empty and is made by the first Keep. A file that is damaged, of something else
// or of a newer version is refused (fault.Refused) and never written.
func Open(path string, o Options) (*File, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	l, err := acquire(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, lock: l, o: o, marks: map[key]entry{}, names: map[string]map[string]bool{}, seen: map[string]bool{}}
	if err := f.read(); err != nil {
		l.release()
		return nil, err
	}
	return f, nil
}

// Path is where the file is, links resolved.
func (f *File) Path() string { return f.path }

// Close lets other processes have the file.
func (f *File) Close() { f.lock.release() }

// Empty reports whether no position is known.
func (f *File) Empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.marks) == 0
}

// Out returns what is known of the files.
func (f *File) Out() Out {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.out
	out.Files = slices.Clone(out.Files)
	return out
}

// Find returns the mark of a place, if there is one that is not too old. A
// cluster that has the name of one in the file, but is another one that the file
// does not know, is refused: reading would start over without a word.
func (f *File) Find(p Place) (Mark, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkCluster(p); err != nil {
		return Mark{}, false, err
	}
	e, ok := f.marks[p.key()]
	if ok && f.expired(e) {
		delete(f.marks, p.key())
		ok = false
	}
	if !ok {
		return Mark{}, false, nil
	}
	e.Place = p
	return e.Mark, true, nil
}

// checkCluster refuses a cluster that has taken another's name since the file
// was written. While a run goes on that is no secret: the run itself tells.
func (f *File) checkCluster(p Place) error {
	ids := f.names[p.Cluster]
	if len(ids) == 0 || f.seen[p.Cluster] {
		return nil
	}
	if ids[p.ClusterID] || f.knows(p.ClusterID) {
		f.seen[p.Cluster] = true
		return nil
	}
	was := slices.Sorted(maps.Keys(ids))
	return fault.New(fault.Refused, "%s: %s is another cluster now: its id is %s, and the positions in the state file are of %s",
		f.path, p.Cluster, orUnknown(p.ClusterID), strings.Join(was, ", ")).On(p.Cluster).
		WithHint("give the new cluster another name, or begin a new state with another --state FILE")
}

// knows reports whether the file was read with positions of a physical cluster.
func (f *File) knows(id string) bool {
	for _, ids := range f.names {
		if ids[id] {
			return true
		}
	}
	return false
}

func orUnknown(id string) string {
	if id == "" {
		return "unknown"
	}
	return id
}

func (f *File) expired(e entry) bool {
	return !e.left.IsZero() && f.o.Now().Sub(e.left) > f.o.Retain
}

// Keep writes marks, those of places that it is silent about staying as they
// are, together with what is known of the files; a nil out leaves that as it is.
// When it returns nil all of it is safe on the disk. When it fails the file is
// what it was before.
func (f *File) Keep(marks []Mark, out *Out) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.merged(marks)
	files := f.out
	if out != nil {
		files = *out
	}
	if err := f.write(next, files); err != nil {
		return err
	}
	f.marks, f.out = next, files
	return nil
}

// Declare adds files that are about to be made, so that a restart knows them, and
// says that a run writes to those of path in a format. Positions and lengths stay
// what they are.
func (f *File) Declare(path, format string, files []OutFile) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.out
	out.Path, out.Format, out.Closed = path, format, false
	fresh := map[string]bool{}
	for _, one := range files {
		fresh[one.Path] = true
	}
	out.Files = slices.DeleteFunc(slices.Clone(out.Files), func(one OutFile) bool { return fresh[one.Path] })
	out.Files = append(out.Files, files...)
	if err := f.write(f.marks, out); err != nil {
		return err
	}
	f.out = out
	return nil
}

// merged returns the marks of the file with newer ones, and without those that
// left too long ago.
func (f *File) merged(marks []Mark) map[key]entry {
	next := make(map[key]entry, len(f.marks)+len(marks))
	for k, e := range f.marks {
		if !f.expired(e) {
			next[k] = e
		}
	}
	for _, m := range marks {
		e := entry{Mark: m}
		if m.Left {
			if e.left = next[m.key()].left; e.left.IsZero() {
				e.left = f.o.Now()
			}
			if f.o.Retain < 0 {
				delete(next, m.key())
				continue
			}
		}
		next[m.key()] = e
	}
	return next
}
