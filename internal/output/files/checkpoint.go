package files

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Checkpoint writes everything that waits, ends every frame, and if the sink is
// durable has all of it on the disk when it returns. It returns the files that
// are to be listed from now on.
func (s *Sink) Checkpoint() ([]File, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.checkpoint()
}

// Dropped reports whether files that are finished are not listed any more.
func (s *Sink) Dropped() bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.dropped
}

func (s *Sink) checkpoint() ([]File, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	if err := s.lookAfter(); err != nil {
		return nil, err
	}
	if s.o.Durable {
		if err := s.sync(); err != nil {
			return nil, err
		}
		s.drop()
	}
	list := make([]File, 0, len(s.active))
	for t := range s.active {
		if !t.special {
			list = append(list, t.file(t.cur))
		}
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// sync has files and directories on the disk.
func (s *Sink) sync() error {
	var jobs []func() error
	for t := range s.dirty {
		jobs = append(jobs, func() error { return s.syncTarget(t) })
	}
	for _, e := range s.finished {
		jobs = append(jobs, func() error {
			if err := inPlace(e.path, e.info, e.length); err != nil {
				return err
			}
			return syncPath(e.path)
		})
	}
	if err := together(jobs); err != nil {
		return err
	}
	jobs = nil
	for dir := range s.dirs {
		jobs = append(jobs, func() error {
			if err := syncDir(dir); err != nil {
				return failed(dir, err)
			}
			return nil
		})
	}
	if err := together(jobs); err != nil {
		return err
	}
	clear(s.dirty)
	clear(s.finished)
	clear(s.dirs)
	return nil
}

// atOnce is how many files are synced at once: a file system writes what many
// wait for together.
const atOnce = 16

// together runs jobs, some at once, and returns the first error.
func together(jobs []func() error) (err error) {
	var mu sync.Mutex
	var working sync.WaitGroup
	next := make(chan func() error)
	for range min(atOnce, len(jobs)) {
		working.Go(func() {
			for job := range next {
				if bad := job(); bad != nil {
					mu.Lock()
					err = cmp.Or(err, bad)
					mu.Unlock()
				}
			}
		})
	}
	for _, job := range jobs {
		next <- job
	}
	close(next)
	working.Wait()
	return err
}

// syncTarget has a target's file on the disk; lookAfter makes sure that it is
// still where it was made.
func (s *Sink) syncTarget(t *target) error {
	if t.special {
		return nil
	}
	if t.fd == nil {
		if err := inPlace(t.cur.at(), t.info, t.cur.length); err != nil {
			return err
		}
		return syncPath(t.cur.at())
	}
	if err := t.fd.Sync(); err != nil {
		return failed(t.cur.path, err)
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // one of ours
	if err != nil {
		return failed(path, err)
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failed(path, err)
	}
	return nil
}

// drop stops listing the files of a template with times that were written to
// the longest ago: there are ever more of them.
func (s *Sink) drop() {
	if s.o.Template.period == 0 || len(s.active) <= 2*s.mostListed {
		return
	}
	old := make([]*target, 0, len(s.active))
	for t := range s.active {
		old = append(old, t)
	}
	slices.SortFunc(old, func(a, b *target) int { return cmp.Compare(a.used, b.used) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range old[:len(old)-s.mostListed] {
		if len(t.tail) > 0 {
			continue
		}
		if err := s.close(t); err != nil && s.err == nil {
			s.err = failed(t.cur.path, err)
		}
		s.disown(t.cur.path)
		delete(s.active, t)
		delete(s.files, t.id)
		delete(s.claims, t.cur.path)
		delete(s.targets, t.stem+t.suffix)
		delete(s.dirty, t)
		t.gone, t.made, t.info, t.id, t.cur = true, false, nil, fileID{}, current{}
	}
	s.dropped = true
}

// Finish writes what waits and closes everything; complete says that all records
// that were to be written have been. Only then files are replaced by those that
// were written beside them; otherwise these are removed. It returns the files
// that are to be listed.
func (s *Sink) Finish(complete bool) ([]File, error) {
	close(s.stop)
	if !s.lockSoon() {
		return nil, fault.New(fault.Failed, "a write to a file of -O does not end")
	}
	list, err := s.end(complete)
	s.writing.Unlock()
	<-s.done
	return list, err
}

// lockSoon takes the lock of the writer, unless that is in a write that hangs: of
// a pipe that nobody reads, or a server of files that has gone.
func (s *Sink) lockSoon() bool {
	for began := time.Now(); time.Since(began) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
		if s.writing.TryLock() {
			return true
		}
	}
	return false
}

func (s *Sink) end(complete bool) ([]File, error) {
	s.over = true
	list, err := s.complete(complete)
	for t := range s.active {
		if bad := s.close(t); bad != nil && err == nil {
			err = failed(t.cur.path, bad)
		}
	}
	for _, sw := range s.swaps { // that have not been made
		_ = os.Remove(sw.from)
	}
	return list, err
}

func (s *Sink) complete(complete bool) ([]File, error) {
	if s.err == nil {
		s.err = s.flush()
	}
	if complete && s.err == nil && s.o.Template.One() && len(s.active) == 0 {
		if err := s.empty(); err != nil {
			return nil, err
		}
	}
	list, err := s.checkpoint()
	if err != nil || !complete {
		return list, err
	}
	for len(s.swaps) > 0 {
		sw := s.swaps[0]
		if err := s.swap(sw); err != nil {
			return list, failed(sw.to, err)
		}
		s.swaps = s.swaps[1:]
	}
	return list, nil
}

// empty makes the file that no record came for: whoever asked for it may look.
func (s *Sink) empty() error {
	p := &plan{byTarget: map[*target]*work{}}
	w := p.work(s.target(origin{}))
	w.units = append(w.units, unit{})
	return s.perform(p)
}

// swap puts a file in the place of another, after it has come to the disk: a
// loss of power must not leave neither.
func (s *Sink) swap(sw swap) error {
	if err := syncPath(sw.from); err != nil {
		return err
	}
	return os.Rename(sw.from, sw.to)
}
