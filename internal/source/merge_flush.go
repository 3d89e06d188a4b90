package source

// flush writes what has been merged, and moves the positions of its splits.
func (m *merger) flush() error {
	if len(m.joined) > 0 {
		m.out = append(m.out, Block{Data: m.joined})
	}
	if len(m.out) > 0 {
		if err := m.p.sink.Write(m.out); err != nil {
			return err
		}
	}
	p, bytes, moved := m.p, m.bytes, m.parts > 0
	for _, j := range m.done {
		moved = moved || j.chunk.split.next < j.chunk.split.backlog
	}
	if moved {
		p.idle.touch()
	}
	var entries []entry
	for _, j := range m.done {
		j.chunk.full = j.full
		entries = m.through(entries, j, len(j.block.Cuts), j.block.Next)
		free(j.block)
	}
	for _, h := range m.heap {
		if l := h.lane; l.at > l.cur.through {
			entries = m.through(entries, l.cur, l.at, l.cur.block.Cuts[l.at].Offset)
		}
	}
	p.ledger.merged(entries, int64(bytes))
	m.release()
	clear(m.out)
	clear(m.done)
	m.out, m.done, m.joined = m.out[:0], m.done[:0], m.joined[:0]
	m.bytes, m.read, m.parts = 0, 0, 0
	select {
	case done := <-p.asked:
		done <- p.now()
	default:
	}
	return p.wrote(bytes)
}

// through moves a split's position behind those deliveries of a job that have
// been written.
func (m *merger) through(entries []entry, j *job, to int, next int64) []entry {
	b, c, s := j.part(j.through, to), *j.chunk, j.chunk.split
	b.Next, c.first = next, j.first
	var err error
	if to == len(j.block.Cuts) { // the job is done
		whole := &j.block
		b.Filtered, b.Dropped, b.Undone, b.Failed = whole.Filtered, whole.Dropped, whole.Undone, whole.Failed
		b.Flaw, b.Failure = whole.Flaw, whole.Failure
		err = j.err
	}
	j.through, j.first = to, max(c.first, next)
	stops := s.stopped && to < len(j.block.Cuts)
	m.p.written(&c, b, err)
	s.stopped = s.stopped || stops // one of its streams may have ended before
	s.mu.Lock()
	at := s.next
	s.mu.Unlock()
	return append(entries, entry{split: s, next: at, epoch: c.epochBefore(at)})
}

// part is a block of some deliveries.
func (j *job) part(from, to int) Block {
	b := Block{Written: to - from}
	if b.Written == 0 {
		return b
	}
	cuts := j.block.Cuts
	b.Data = j.block.Data[j.block.start(from):cuts[to-1].End]
	if c, ok := j.block.Load.(Cutter); ok {
		_, b.Size = c.Cut(from, to)
	}
	if n := len(j.block.ByStream); n > 0 {
		b.ByStream = make([]int, n)
		for _, c := range cuts[from:to] {
			b.ByStream[c.Stream]++
		}
	}
	return b
}

// release lets go of what the jobs that are done held, and has their splits read
// on.
func (m *merger) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.done {
		if l := m.of[j.chunk.split]; l != nil {
			l.raw -= int64(j.raw)
			if l.paused && l.raw < m.most(l) {
				l.hold(false)
			}
		}
	}
	for _, j := range m.done {
		m.copies.put(j.chunk.copied)
	}
	for _, l := range m.lanes {
		l.dirty = false
	}
}

// account adds what has been noted about records in a piece of which the limit
// has left out a part: only a piece as a whole knows.
func (m *merger) account() {
	for _, h := range m.heap {
		j := h.lane.cur
		if b := &j.block; b.Filtered+b.Dropped+b.Undone+b.Failed == 0 || h.lane.at == 0 {
			continue
		}
		b, _ := m.p.spare.prepare(j.chunk, h.lane.at)
		m.p.written(j.chunk, Block{Filtered: b.Filtered, Dropped: b.Dropped, Undone: b.Undone, Flaw: b.Flaw, Failed: b.Failed, Failure: b.Failure, Next: j.block.Cuts[h.lane.at].Offset}, nil)
		free(b)
	}
}

// merged notes what was written of several splits at once, in this number of bytes.
// Their marks move when all of it has been taken.
func (l *ledger) merged(list []entry, bytes int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote += bytes
	for _, e := range list {
		if e.end = l.wrote; l.taken == nil {
			l.settle(e)
		} else {
			l.pending = append(l.pending, e)
		}
	}
}
