package files

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// plan is what one call of Write does to each file.
type plan struct {
	works    []*work
	byTarget map[*target]*work
	grown    int // bytes that more wait afterwards than before; may be negative
	pressed  []*bytes.Buffer
}

// work is what is written to one target, and how it was before.
type work struct {
	t     *target
	units []unit
	steps []step

	// As it was before, for undo.
	made bool
	cur  current
	tail []byte
	new  []string // files that were made
	// What holds once the whole plan has been carried out.
	finished []ended
	swaps    []swap
}

// ended is a file that gets nothing more.
type ended struct {
	path   string
	info   os.FileInfo
	id     fileID
	length int64
}

// unit is what goes into one file whole: records as they are, or a frame.
type unit struct {
	raw   []byte        // to be compressed, unless the files are plain
	frame *bytes.Buffer // nil is not compressed, or not yet
}

func (u unit) bytes() []byte {
	if u.frame != nil {
		return u.frame.Bytes()
	}
	return u.raw
}

// step is what goes to one file of a sequence.
type step struct {
	choice
	units   []unit
	touched bool
}

func (p *plan) work(t *target) *work {
	w := p.byTarget[t]
	if w == nil {
		w = &work{t: t, made: t.made, cur: t.cur, tail: t.tail}
		p.byTarget[t] = w
		p.works = append(p.works, w)
	}
	return w
}

// plan sorts the pieces of loads by their targets.
func (s *Sink) plan(loads []*Load) *plan {
	p := &plan{byTarget: map[*target]*work{}}
	for _, l := range loads {
		for _, one := range l.pieces {
			w := p.work(s.live(one.t))
			raw := l.data[one.from:one.to]
			switch {
			case s.press.codec == Plain && s.gathers(w):
				p.wait(w, raw, s.pieceBytes)
			case s.press.codec == Plain:
				w.units = append(w.units, unit{raw: raw})
			case one.frame != nil:
				p.press(w)
				w.units = append(w.units, unit{frame: one.frame})
			default:
				p.wait(w, raw, s.pieceBytes)
			}
		}
	}
	return p
}

// gathers reports whether records wait although they are not compressed: files
// that are new are declared together, as each declaration writes the whole state.
func (s *Sink) gathers(w *work) bool {
	return len(w.t.tail) > 0 || s.o.Declare != nil && !w.t.made && len(w.units) == 0
}

// wait puts records behind those that wait to be compressed.
func (p *plan) wait(w *work, raw []byte, most int) {
	if len(w.t.tail) > 0 && len(w.t.tail)+len(raw) > most {
		p.press(w)
	}
	w.t.tail = append(w.t.tail, raw...)
	p.grown += len(raw)
	if len(w.t.tail) >= leastFrame {
		p.press(w)
	}
}

// press has what waits compressed and written.
func (p *plan) press(w *work) {
	if len(w.t.tail) == 0 {
		return
	}
	w.units = append(w.units, unit{raw: w.t.tail})
	p.grown -= len(w.t.tail)
	w.t.tail = nil
}

// flush has everything that waits written.
func (p *plan) flush(s *Sink) {
	for t := range s.waiting {
		p.work(t)
	}
	for _, w := range p.works {
		p.press(w)
	}
}

// compress compresses what is to be, on as many goroutines as there are
// processors: what comes in small pieces of many splits has not been compressed
// by those who made it.
func (p *plan) compress(s *Sink) {
	if s.press.codec == Plain {
		return
	}
	var jobs []*unit
	for _, w := range p.works {
		for i := range w.units {
			if w.units[i].frame == nil {
				jobs = append(jobs, &w.units[i])
			}
		}
	}
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(len(jobs), runtime.GOMAXPROCS(0)) {
		working.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				jobs[i].frame = s.press.frame(jobs[i].raw)
			}
		})
	}
	working.Wait()
	for _, j := range jobs {
		p.pressed = append(p.pressed, j.frame)
	}
}

// carryOut finds the file of every unit, declares those that are new, and
// writes.
func (s *Sink) carryOut(p *plan) error {
	now := s.o.Now()
	for _, w := range p.works {
		if err := s.steps(w, now); err != nil {
			return err
		}
	}
	if err := s.declare(p); err != nil {
		return err
	}
	for _, w := range p.works {
		for i := range w.steps {
			if err := s.take(w, &w.steps[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare tells of the files of a plan that are new, and of the first plan that
// writes: what lies behind the lengths that are known is this run's from then on.
func (s *Sink) declare(p *plan) error {
	if s.o.Declare == nil {
		return nil
	}
	var fresh []File
	writes := false
	for _, w := range p.works {
		writes = writes || len(w.steps) > 0
		for _, st := range w.steps {
			if st.declare {
				fresh = append(fresh, w.t.file(st.current))
			}
		}
	}
	if len(fresh) == 0 && (s.declared || !writes) {
		return nil
	}
	if err := s.o.Declare(fresh); err != nil {
		return err
	}
	s.declared = true
	return nil
}

// steps decides which file each unit goes to.
func (s *Sink) steps(w *work, now time.Time) error {
	if len(w.units) == 0 {
		return nil
	}
	c := choice{current: w.t.cur, exists: true}
	if !w.t.made {
		var err error
		if c, err = s.first(w.t); err != nil {
			return err
		}
		c.opened = now
	}
	w.steps = append(w.steps, step{choice: c})
	length := c.length
	for _, u := range w.units {
		st := &w.steps[len(w.steps)-1]
		if n := int64(len(u.bytes())); s.full(st, length, n, now) {
			next, err := s.next(w.t, st.current)
			if err != nil {
				return err
			}
			next.opened = now
			w.steps = append(w.steps, step{choice: next})
			st, length = &w.steps[len(w.steps)-1], 0
		}
		st.units = append(st.units, u)
		length += int64(len(u.bytes()))
	}
	return nil
}

// full reports whether n bytes more belong into the next file of a sequence.
func (s *Sink) full(st *step, length, n int64, now time.Time) bool {
	switch {
	case length == 0 || st.special:
		return false
	case s.o.RotateSize > 0 && length+n > s.o.RotateSize:
		return true
	default:
		return s.o.RotateEvery > 0 && now.Sub(st.opened) >= s.o.RotateEvery
	}
}

// take opens the file of a step and writes to it.
func (s *Sink) take(w *work, st *step) error {
	t := w.t
	if t.made && t.cur.at() != st.at() {
		if err := s.close(t); err != nil {
			return failed(t.cur.path, err)
		}
		w.finished = append(w.finished, ended{t.cur.at(), t.info, t.id, t.cur.length})
	}
	if err := s.ready(w, st); err != nil {
		return err
	}
	if err := s.intact(t); err != nil {
		return err
	}
	st.touched, t.wrote = true, s.o.Now()
	n, err := s.write(t, st.units)
	if err != nil {
		return failed(t.cur.path, err)
	}
	t.cur.length += n
	s.dirty[t] = true
	if t.begun > t.cur.length {
		t.begun = 0
	}
	if s.o.Durable && !t.special && t.cur.length-t.begun >= writebackBytes {
		beginWriteback(t.fd, t.begun, t.cur.length-t.begun)
		t.begun = t.cur.length
	}
	return nil
}

// write writes units, small ones together.
func (s *Sink) write(t *target, units []unit) (total int64, err error) {
	var gathered []byte
	put := func(b []byte) error {
		n, err := t.fd.Write(b)
		total += int64(n)
		return err
	}
	for i, u := range units {
		b := u.bytes()
		if len(units) > 1 && len(b) < smallUnit {
			gathered = append(gathered, b...)
			if len(gathered) < 4*smallUnit && i < len(units)-1 && len(units[i+1].bytes()) < smallUnit {
				continue
			}
			b = gathered
		}
		if err := put(b); err != nil {
			return total, err
		}
		gathered = gathered[:0]
	}
	return total, nil
}

const smallUnit = 64 << 10

// writebackBytes is after how much the system is asked to begin to bring a file
// to the disk, so that the next checkpoint has less to wait for.
const writebackBytes = 2 << 20

// undo takes back what a plan that failed has done.
func (s *Sink) undo(p *plan) {
	for _, w := range p.works {
		t := w.t
		t.tail = w.tail
		if len(w.steps) == 0 {
			continue
		}
		_ = s.close(t) // the failure that led here is the one to tell
		for _, path := range w.new {
			_ = os.Remove(path)
		}
		for _, st := range w.steps {
			if st.exists && st.touched && !st.special {
				cutTo(st.at(), st.length)
			}
		}
		if s.files[t.id] == t && (len(w.new) > 0 || !w.made) {
			delete(s.files, t.id)
			t.info, t.id = nil, fileID{}
		}
		t.made, t.cur = w.made, w.cur
		if !t.made {
			delete(s.active, t)
			delete(s.dirty, t)
		}
	}
}

// file is a target's file as others know it.
func (t *target) file(c current) File {
	return File{Path: c.path, Base: t.stem + t.suffix, Of: t.of, Sequence: c.sequence, Length: c.length, Opened: c.opened}
}
