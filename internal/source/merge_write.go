package source

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// write is the writer's loop. It returns what pipeline.write does.
func (m *merger) write(ctx context.Context) error {
	for m.p.limit != 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		w, err := m.look()
		if errors.Is(err, errEnded) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		var until time.Time
		if upTo, can := m.may(w, &until); can {
			m.merge(upTo)
			if !m.enough() && m.p.limit != 0 {
				continue
			}
		}
		switch {
		case m.pending():
			err = m.flush()
		default:
			err = m.sleep(ctx, until)
		}
		if err != nil {
			return err
		}
	}
	m.account()
	return errLimit
}

// mostParts is how many parts are gathered before they are written: deliveries
// may be empty.
const mostParts = 1 << 14

// enough reports whether it is time to write.
func (m *merger) enough() bool {
	return m.bytes >= pendingBytes || m.read >= pendingBytes || m.parts >= mostParts
}

// pending reports whether there is something to flush.
func (m *merger) pending() bool { return m.parts > 0 || len(m.done) > 0 }

// sleep waits until something changes or it is time to go on without somebody.
func (m *merger) sleep(ctx context.Context, until time.Time) error {
	p := m.p
	var timer <-chan time.Time
	if !until.IsZero() {
		timer = time.After(time.Until(until))
	}
	select {
	case <-m.wake:
	case <-timer:
	case <-p.due():
		return p.now()
	case done := <-p.asked:
		done <- p.now()
	case <-p.idle.begun:
		p.idle.begin()
	case <-p.idle.over():
		switch {
		case len(m.heap) > 0:
			m.forced = true
		case !m.busy():
			return errIdle
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// busy reports whether something is on its way to the writer.
func (m *merger) busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.lanes {
		if len(l.jobs) > 0 {
			return true
		}
	}
	return false
}

// waits is what keeps the least of all from being written.
type waits struct {
	now   time.Time
	work  bool      // a worker has not done with what comes next
	fixed bool      // somebody is waited for, however long it takes
	loose bool      // somebody is waited for up to a limit
	since time.Time // since when the last of these has had nothing
}

// look takes what has become ready and finds out who is waited for.
func (m *merger) look() (w waits, err error) {
	for {
		var ready []*lane
		w, ready = m.survey()
		if len(ready) == 0 {
			return w, nil
		}
		for _, l := range ready {
			if err := m.adopt(l); err != nil {
				return w, err
			}
		}
	}
}

// survey goes through the lanes. Those that it returns have got a new cur.
func (m *merger) survey() (w waits, ready []*lane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.now = time.Now()
	if m.unsorted {
		m.rank()
	}
	m.tail.look(m)
	var gone []*lane
	for _, l := range m.lanes {
		l.full = l.raw >= m.most(l)
		if l.cur != nil {
			if !l.split.disowned.Load() {
				continue
			}
			m.disown(l)
		}
		l.busy = false
		switch {
		case len(l.jobs) > 0 && l.jobs[0].isReady:
			l.cur, l.at, l.busy, l.since = l.jobs[0], 0, true, time.Time{}
			l.jobs[0] = nil
			l.jobs = l.jobs[1:]
			l.started--
			m.ahead -= l.cur.size
			ready = append(ready, l)
		case len(l.jobs) > 0:
			w.work = true
		case l.finished():
			if !l.dirty {
				gone = append(gone, l)
			}
		default:
			m.lacks(l, &w)
		}
	}
	m.lackReaders(&w)
	if len(gone) > 0 {
		m.drop(gone)
	}
	m.free.Broadcast()
	return w, ready
}

// finished reports whether nothing more comes of a lane behind its jobs.
func (l *lane) finished() bool {
	s := l.split
	return l.closed || s.stopped || s.disowned.Load() || s.over()
}

// disown drops what a group has taken away, behind what has been merged of it.
func (m *merger) disown(l *lane) {
	j := l.cur
	if q := l.split.quota; q != nil {
		q.left.Add(int64(len(j.block.Cuts) - l.at))
	}
	next := int64(-1)
	if l.at > j.through {
		next = j.block.Cuts[l.at].Offset
	}
	b := &j.block
	j.err, j.full, b.Next, b.Cuts = nil, false, next, b.Cuts[:l.at]
	b.Filtered, b.Dropped, b.Undone, b.Failed = 0, 0, 0, 0
	m.heap = slices.DeleteFunc(m.heap, func(h headed) bool { return h.lane == l })
	m.heap.order()
	l.dirty = true
	m.end(l)
}

// lacks notes that a lane has nothing.
func (m *merger) lacks(l *lane, w *waits) {
	if l.since.IsZero() {
		l.since = w.now
	}
	read := max(l.split.read.Load(), l.split.next)
	switch {
	case m.tail != nil && read >= l.tail:
	case m.bounded && (m.exit || read < l.split.backlog):
		w.fixed = true
	default:
		w.lack(l.since)
	}
}

func (w *waits) lack(since time.Time) {
	w.loose = true
	if since.After(w.since) {
		w.since = since
	}
}

// lackReaders notes who has not found its splits yet. The caller holds mu.
func (m *merger) lackReaders(w *waits) {
	for r, since := range m.missing {
		switch {
		case m.bounded && m.tail == nil || m.tail.mustHave(r):
			w.fixed = true
		case m.tail != nil && m.tail.n > 0:
		default:
			w.lack(since)
		}
	}
}

// adopt begins to merge the job that a lane has got.
func (m *merger) adopt(l *lane) error {
	j := l.cur
	if m.trim(j); errors.Is(j.err, errEnded) {
		return errEnded
	}
	if j.block.Written != len(j.block.Cuts) {
		return fault.New(fault.Failed, "%s: the records cannot be put in order by what writes them", l.split)
	}
	l.dirty = true
	if len(j.block.Cuts) == 0 {
		m.end(l)
		return nil
	}
	m.slim(j)
	m.heap.push(headed{m.key(j, 0), l.rank, l})
	return nil
}

// slim lets go of the batches of a job that is ready, unless a limit may ask for a
// part of it to be prepared once more.
func (m *merger) slim(j *job) {
	b, c := &j.block, j.chunk
	if m.p.limit >= 0 && b.Filtered+b.Dropped+b.Undone+b.Failed > 0 {
		return
	}
	c.heads = c.headers()
	c.batches = nil
	m.copies.put(c.copied)
	c.copied = nil
}

// key is where a delivery stands in the order.
func (m *merger) key(j *job, at int) int64 {
	if m.byTime || m.tail != nil {
		return j.block.Cuts[at].Time
	}
	return j.number
}

// trim drops what must not be written: what belongs to a split that has been
// stopped, or lies beyond its quota.
func (m *merger) trim(j *job) {
	s := j.chunk.split
	if s.stopped || s.disowned.Load() {
		j.block, j.err = Block{Next: -1, Free: j.block.Free}, nil
		return
	}
	if j.err != nil {
		s.stopped = true
	}
	if most := s.quota.within(-1); most >= 0 && int64(j.block.Written) > most {
		free(j.block)
		j.block, j.err = m.p.spare.prepare(j.chunk, int(most))
	}
	if s.quota.take(j.block.Written) {
		s.stopped, j.full, j.err = true, true, nil
	}
}

// may reports whether the least of all may be written, and whatever comes up to a
// key. Otherwise until is when to look again, if nothing happens.
func (m *merger) may(w waits, until *time.Time) (upTo headed, can bool) {
	all := headed{time: math.MaxInt64, rank: math.MaxInt}
	if len(m.heap) == 0 {
		m.forced = false
		return all, false
	}
	switch {
	case !m.byTime && m.tail == nil:
		return all, true
	case w.work:
		return all, false
	case m.forced || !w.fixed && !w.loose:
		return all, true
	case w.fixed:
		return all, false
	}
	return m.mayPass(w, until)
}

// mayPass reports whether the least may pass those who have nothing. It may when
// it, or something behind it, has waited for long enough. What is older than that
// anyhow, and what cannot wait because nothing more of its split would be read,
// may pass those who have had nothing for so long.
func (m *merger) mayPass(w waits, until *time.Time) (upTo headed, can bool) {
	all := headed{time: math.MaxInt64, rank: math.MaxInt}
	came, full := w.now, false
	for i := range m.heap {
		l := m.heap[i].lane
		full = full || l.full
		if l.cur.came.Before(came) {
			came = l.cur.came
		}
	}
	if w.now.Sub(came) >= m.wait {
		return all, true
	}
	*until = came.Add(m.wait)
	quiet := w.now.Sub(w.since) >= m.wait
	old := w.now.Add(-m.wait).UnixMilli()
	switch {
	case quiet && full:
		return all, true
	case quiet && m.heap[0].time <= old:
		return headed{time: old, rank: math.MaxInt}, true
	}
	passes := w.since.Add(m.wait)
	if written := time.UnixMilli(m.heap[0].time).Add(m.wait); !full && written.After(passes) {
		passes = written
	}
	if passes.Before(*until) {
		*until = passes
	}
	return all, false
}

// merge puts deliveries into out, in order up to a key, until a lane has to be
// looked at or there is enough to write.
func (m *merger) merge(upTo headed) {
	for !m.enough() && m.p.limit != 0 {
		top := &m.heap[0]
		if upTo.before(top) {
			return
		}
		to := upTo
		if next, some := m.heap.second(); some && next.before(&to) {
			to = next
		}
		l := top.lane
		if m.emit(l, m.run(l, to)); l.at == len(l.cur.block.Cuts) {
			m.heap.pop()
			m.end(l)
			return
		}
		top.time = m.key(l.cur, l.at)
		m.heap.sift(0)
	}
}

// run returns up to which of a lane's deliveries it is the least of all.
func (m *merger) run(l *lane, to headed) (end int) {
	cuts := l.cur.block.Cuts
	most := len(cuts)
	if left := m.p.limit; left >= 0 && int64(most-l.at) > left {
		most = l.at + int(left)
	}
	if !m.byTime && m.tail == nil {
		return most
	}
	for end = l.at; end < most; end++ {
		if t := cuts[end].Time; t > to.time || t == to.time && l.rank > to.rank {
			break
		}
		m.note(l, cuts[end].Time)
	}
	return end
}

// note counts what is written behind something later: late is what came when it
// had been passed, back is what its own partition holds in this order.
func (m *merger) note(l *lane, t int64) {
	if t < m.high {
		if l.some && t < l.high {
			m.back.Add(1)
		} else {
			m.late.Add(1)
		}
	} else {
		m.high = t
	}
	if !l.some || t > l.high {
		l.high, l.some = t, true
	}
}

// emit adds deliveries of a lane to out.
func (m *merger) emit(l *lane, end int) {
	if end == l.at {
		return
	}
	b := &l.cur.block
	from, to := b.start(l.at), b.Cuts[end-1].End
	m.parts++
	if m.joins {
		m.joined = append(m.joined, b.Data[from:to]...)
		m.bytes = len(m.joined)
	} else {
		part := Block{Split: l.split.Split, Data: b.Data[from:to:to], Written: end - l.at}
		if c, ok := b.Load.(Cutter); ok {
			part.Load, part.Size = c.Cut(l.at, end)
		}
		m.out = append(m.out, part)
		m.bytes += part.bytes()
	}
	if m.p.limit > 0 {
		m.p.limit -= int64(end - l.at)
	}
	l.at, l.dirty = end, true
}

// start is where a delivery begins in Data.
func (b *Block) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.Cuts[i-1].End
}

// end lets a lane go on with its next job.
func (m *merger) end(l *lane) {
	m.done = append(m.done, l.cur)
	m.read += l.cur.raw
	l.cur = nil
}
