package source

import (
	"math"
	"time"
)

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
