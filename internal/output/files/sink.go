// Package files owns the files of -O: which record goes to which one, how they
// are made, compressed, numbered, held open and cut, and what of them is safe on
// the disk. It must not know where records come from, nor what a state file
// looks like.
package files

import (
	"container/list"
	"hash/maphash"
	"os"
	"sync"
	"time"
)

// Options say how files are made.
type Options struct {
	Template    *Template
	Append      bool          // files that exist are gone on with
	Overwrite   bool          // files that exist are replaced, when all is written
	RotateSize  int64         // bytes of a file; 0 is no limit
	RotateEvery time.Duration // time of a file; 0 is no limit
	LineEnd     string        // what every record ends in; empty is unknown
	MaxOpen     int           // files that are open at once; 0 is what the system allows, 256 at most

	// Durable says that Checkpoint is to have everything on the disk.
	Durable bool
	// Declare is told of files, with length 0 or that which they have, before
	// they are made or written to, and before the first write of all even if it
	// knows them all; nil: nobody is. Restore undoes what a crash after it leaves.
	Declare func([]File) error
	Known   []File // that Restore has brought in order
	Dropped bool   // Known lacks some that are finished
	Former  []File // as Known, but made by another template: not listed before they are written to

	// Fail is told of what fails between two calls of the sink; nil: the next call
	// returns it.
	Fail func(error)
	Now  func() time.Time // nil is the clock
}

// File is one file and how much of it counts.
type File struct {
	Path     string // absolute
	Base     string // the path that Sequence counts for
	Of       string // the names that have the file to themselves
	Sequence int
	Length   int64
	Opened   time.Time
}

// Sink writes the files of one template. Write, Checkpoint and Finish may be
// called from one goroutine at a time each; dividers work beside them.
type Sink struct {
	o          Options
	press      *press
	pieceBytes int // after how many bytes a piece of a load ends

	mu      sync.Mutex
	targets map[string]*target // by path without sequence number

	// Guarded by writing.
	writing    sync.Mutex
	open       *list.List                 // *target, the one used last in front
	claims     map[string]string          // what a path is of
	files      map[fileID]*target         // regular files by what they are, whatever their names
	dirty      map[*target]bool           // written to since the last checkpoint
	finished   map[string]ended           // files that get nothing more, and are not known to be on the disk
	dirs       map[string]bool            // that have new entries
	listings   map[string]map[string]bool // of directories, for sequence numbers
	swaps      []swap                     // temporary files to be renamed
	own        map[uint64]bool            // paths of this run that are not listed any more
	seed       maphash.Seed               // of these
	active     map[*target]bool           // that have a file
	tails      int                        // bytes that wait for more
	waiting    map[*target]bool           // that have such
	former     map[string]int64           // files of another template, by path: their lengths
	uses       int64
	dropped    bool
	err        error // of what was written in the background
	over       bool  // nothing more is written
	declared   bool  // Declare knows that this run writes
	mostListed int   // files that stay listed although no record has come for them lately

	stop chan struct{}
	done chan struct{}
}

// target is a file, or the files of one sequence, that records go to.
type target struct {
	stem, suffix string
	of           string

	// Guarded by the sink's writing.
	made    bool // cur is there
	cur     current
	tail    []byte // records that wait to be compressed with more
	fd      *os.File
	element *list.Element // in open
	info    os.FileInfo   // of the file as it was opened first; nil before
	id      fileID
	special bool      // no regular file, but a device or a pipe
	wrote   time.Time // when something was written to it last
	gone    bool      // the sink has dropped it
	used    int64
	begun   int64 // up to where the system has been asked to bring the file to the disk
}

// current is the file of a target that records go to now.
type current struct {
	path      string
	temporary string // where it is until all is written; empty is path
	sequence  int
	length    int64
	opened    time.Time
}

// at is where the file is now.
func (c current) at() string {
	if c.temporary != "" {
		return c.temporary
	}
	return c.path
}

// swap is a file that takes the place of another.
type swap struct{ from, to string }

// mostListed is how many files of a template with times stay listed at least.
const mostListed = 4096

// New makes a sink. If the template has no placeholder, what is wrong with its
// path is found now; nothing is made or changed.
func New(o Options) (*Sink, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = openLimit()
	}
	s := &Sink{
		o: o, mostListed: mostListed, press: newPress(o.Template.codec), pieceBytes: pieceBytes(o), targets: map[string]*target{}, dropped: o.Dropped,
		open: list.New(), claims: map[string]string{}, files: map[fileID]*target{}, dirty: map[*target]bool{}, finished: map[string]ended{},
		dirs: map[string]bool{}, listings: map[string]map[string]bool{}, own: map[uint64]bool{}, active: map[*target]bool{},
		waiting: map[*target]bool{}, former: map[string]int64{}, seed: maphash.MakeSeed(), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.adopt(o.Known)
	for _, f := range o.Former {
		s.former[f.Path] = f.Length
	}
	if o.Template.One() {
		t := s.target(origin{})
		if !t.made {
			if _, err := s.first(t); err != nil {
				return nil, err
			}
		}
	}
	go s.tick()
	return s, nil
}

// pieceBytes is how long the pieces are that records are cut into. What is
// compressed is cut into frames; what is numbered by size, into parts that are
// small against it.
func pieceBytes(o Options) int {
	most := int64(1) << 40
	if o.Template.codec != Plain {
		most = frameBytes
		if o.RotateSize > 0 {
			most = min(most, o.RotateSize)
		}
	} else if o.RotateSize > 0 {
		most = min(max(o.RotateSize/16, 1), 64<<10)
	}
	return int(most)
}

func (s *Sink) numbered() bool { return s.o.RotateSize > 0 || s.o.RotateEvery > 0 }

// target returns the target of an origin.
func (s *Sink) target(o origin) *target {
	stem, of := s.o.Template.expand(o.stream, o.split, o.slot, s.numbered())
	base := stem + s.o.Template.suffix
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.targets[base]
	if t == nil || t.of != of { // the second is refused when it is written to
		t = &target{stem: stem, suffix: s.o.Template.suffix, of: of}
		if s.targets[base] == nil {
			s.targets[base] = t
		}
	}
	return t
}

// adopt makes targets of files that are there already.
func (s *Sink) adopt(known []File) {
	for _, f := range known {
		if f.Length == 0 {
			continue // Restore has removed it
		}
		suffix := s.o.Template.suffix
		stem := f.Base[:max(0, len(f.Base)-len(suffix))]
		t := s.targets[f.Base]
		if t == nil {
			t = &target{stem: stem, suffix: suffix, of: f.Of}
			s.targets[f.Base] = t
		}
		if t.made && t.cur.sequence > f.Sequence {
			continue
		}
		t.made = true
		t.cur = current{path: f.Path, sequence: f.Sequence, length: f.Length, opened: f.Opened}
		s.active[t] = true
		s.claims[f.Path] = f.Of
	}
}

// Write writes loads in the order given. When it fails nothing of them is in the
// files, as far as they can be cut back.
func (s *Sink) Write(loads []*Load) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.err != nil {
		return s.err
	}
	p := s.plan(loads)
	if s.tails+p.grown > maxTails {
		p.flush(s)
	}
	if err := s.perform(p); err != nil {
		return err
	}
	for _, l := range loads {
		for i := range l.pieces {
			s.press.free(l.pieces[i].frame)
			l.pieces[i].frame = nil
		}
	}
	return nil
}

// maxTails is how many bytes may wait for more over all files.
const maxTails = 16 << 20

// perform carries a plan out, wholly or not at all.
func (s *Sink) perform(p *plan) error {
	p.compress(s)
	if err := s.carryOut(p); err != nil {
		s.undo(p)
		return err
	}
	s.tails += p.grown
	s.uses++
	for _, w := range p.works {
		w.t.used = s.uses
		for _, e := range w.finished {
			s.finished[e.path] = e
			delete(s.files, e.id)
		}
		s.swaps = append(s.swaps, w.swaps...)
		if len(w.t.tail) > 0 {
			s.waiting[w.t] = true
		} else {
			delete(s.waiting, w.t)
		}
	}
	if !s.o.Durable {
		clear(s.finished)
		clear(s.dirs)
		s.drop()
	}
	for _, b := range p.pressed {
		s.press.free(b)
	}
	return nil
}

// live returns the target that a dropped one has been replaced by, if it has: a
// divider remembers targets for longer than the sink does.
func (s *Sink) live(t *target) *target {
	if !t.gone {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	base := t.stem + t.suffix
	if now := s.targets[base]; now != nil {
		return now
	}
	s.targets[base], t.gone = t, false
	return t
}

// tick finishes frames that have waited for a second, so that a quiet stream can
// be read in its file, and makes sure that files are where they were made.
func (s *Sink) tick() {
	defer close(s.done)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			s.writing.Lock()
			if s.err == nil && !s.over {
				s.err = s.flush()
			}
			if s.err == nil && !s.over {
				s.err = s.lookAfter()
			}
			if s.err != nil && s.o.Fail != nil {
				s.o.Fail(s.err)
			}
			s.writing.Unlock()
		case <-s.stop:
			return
		}
	}
}

// flush writes everything that waits. The caller holds writing.
func (s *Sink) flush() error {
	if s.tails == 0 {
		return nil
	}
	p := &plan{byTarget: map[*target]*work{}}
	p.flush(s)
	return s.perform(p)
}
