package source

import (
	"context"
	"errors"
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
