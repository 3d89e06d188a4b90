package source

import (
	"context"
	"sync"
	"time"
)

// forwarding is the writer's part in what goes to a Forwarder. The zero
// forwarding has none.
type forwarding struct {
	to   Forwarder
	out  int           // jobs that nothing has been heard of yet
	news chan struct{} // capacity 1: something has

	share int64 // bytes that one split may have on their way before it is paused
	short bool  // something has not arrived

	mu    sync.Mutex
	heard []answer
}

// answer is what a Forwarder says of one job.
type answer struct {
	job   *job
	block Block
	err   error
}

// sending is what of a split is on its way to another cluster. It is the
// writer's.
type sending struct {
	jobs   []*job // in order
	bytes  int64
	paused bool
	failed bool // nothing behind this has arrived
}

// mostSending is how much of one split may be on its way.
const mostSending = 2 << 20

// forwardGrace is how long what is on its way may take once a run is to end.
const forwardGrace = 5 * time.Second

func newForwarding(o Options) forwarding {
	to, ok := o.Sink.(Forwarder)
	if !ok {
		return forwarding{}
	}
	return forwarding{to: to, news: make(chan struct{}, 1), share: min(mostSending, o.Memory/8)}
}

// hand gives jobs to the Forwarder.
func (p *pipeline) hand(jobs []*job) {
	var blocks []Block
	var sent []*job
	for _, j := range jobs {
		s := j.chunk.split
		s.sending.jobs = append(s.sending.jobs, j)
		s.sending.bytes += int64(j.chunk.size())
		s.underway.Add(1)
		p.out++
		if j.block.bytes() == 0 || s.sending.failed {
			j.sent = true
			continue
		}
		blocks, sent = append(blocks, j.block), append(sent, j)
		if s.sending.bytes > p.share {
			s.hold(true)
		}
	}
	if len(blocks) > 0 {
		p.to.Forward(blocks, func(i int, b Block, err error) { p.hear(answer{sent[i], b, err}) })
	}
	for _, j := range jobs {
		p.release(j.chunk.split)
	}
	p.settle()
}

// hear takes an answer for the writer.
func (f *forwarding) hear(a answer) {
	f.mu.Lock()
	f.heard = append(f.heard, a)
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default: // the writer has been woken and will look
	}
}

// settle deals with the answers that have come.
func (p *pipeline) settle() {
	if p.to == nil {
		return
	}
	p.forwarding.mu.Lock()
	heard := p.heard
	p.heard = nil
	p.forwarding.mu.Unlock()
	for _, a := range heard {
		j := a.job
		b := j.block
		b.Written, b.Next, b.Size = a.block.Written, a.block.Next, a.block.Size
		if a.err != nil {
			b.Data = a.block.Data
		}
		if a.err != nil && b.Written == 0 {
			b.Data, b.Size = nil, 0
		}
		if j.sent, j.block = true, b; a.err != nil {
			j.err = a.err
		}
		p.release(j.chunk.split)
	}
}

// release ends the jobs of a split that have arrived, in order: a position never
// moves over something that has not.
func (p *pipeline) release(s *split) {
	for len(s.sending.jobs) > 0 && s.sending.jobs[0].sent {
		j := s.sending.jobs[0]
		s.sending.jobs = s.sending.jobs[1:]
		s.sending.bytes -= int64(j.chunk.size())
		s.underway.Add(-1)
		p.out--
		if s.sending.failed {
			j.block, j.err = Block{Next: -1, Free: j.block.Free}, nil
		}
		if j.err != nil {
			s.sending.failed, s.stopped, p.short = true, true, true
		}
		p.idle.saw([]*job{j})
		p.through(j)
	}
	if s.sending.paused && s.sending.bytes < p.share/2 {
		s.hold(false)
	}
}

// hold stops fetching a split, or goes on with it.
func (s *split) hold(on bool) {
	s.sending.paused = on
	if s.past != nil {
		s.past.hold(on)
	}
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	switch {
	case f == nil:
	case on:
		f.Pause(s.id)
	default:
		f.Resume(s.id)
	}
}

// settleAll waits for what is on its way: as long as it takes, but for a while
// only once ctx has ended.
func (p *pipeline) settleAll(ctx context.Context) {
	if p.to == nil {
		return
	}
	var over <-chan time.Time
	ended := ctx.Done()
	for p.settle(); p.out > 0; p.settle() {
		select {
		case <-p.news:
		case <-ended:
			ended, over = nil, time.After(forwardGrace)
		case <-over:
			return
		}
	}
}
