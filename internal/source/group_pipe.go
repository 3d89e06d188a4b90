package source

import (
	"context"
	"slices"
	"time"
)

// What the pipeline and the ledger do for groups.

// dropDisowned drops what a group has taken away since it was got ready.
func (p *pipeline) dropDisowned(jobs []*job) {
	for _, j := range jobs {
		s := j.chunk.split
		if !s.disowned.Load() || j.block.Next < 0 {
			continue
		}
		if p.limit >= 0 {
			p.limit += int64(j.block.Written)
		}
		if s.quota != nil {
			s.quota.left.Add(int64(j.block.Written))
		}
		j.block, j.err = Block{Next: -1, Free: j.block.Free}, nil
	}
}

// settled waits until what is being written of splits has been, and a Forwarder
// has answered for it, and keeps their positions; or until ctx ends. For what a
// pipe's reader has not taken yet it waits a second at most.
func (p *pipeline) settled(ctx context.Context, list []*split) {
	for tries := 0; ; tries++ {
		sent := slices.ContainsFunc(list, func(s *split) bool { return s.underway.Load() > 0 })
		if p.ask(ctx) != nil || !sent && (tries == settleTries || !p.ledger.waits(list)) {
			return
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return
		case <-p.over:
			return
		}
	}
}

const (
	settlePause = 20 * time.Millisecond
	settleTries = 50
)

// ask has the writer keep the positions of what has been written, and waits for
// it as long as ctx allows: the writer may be in a write that does not end.
func (p *pipeline) ask(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case p.asked <- done:
	case <-p.over:
		return errFinished
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-p.over:
		return errFinished
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaveBehind keeps the positions of what has been taken, when the writer hangs
// in a write that does not end. Of a sink whose writes are not durable before Sync
// nothing is kept: what was kept last holds.
func (p *pipeline) leaveBehind() {
	if _, syncs := p.sink.(Syncer); syncs || p.ledger == nil {
		return
	}
	p.ledger.last(nil)
	if marks := p.ledger.collect(); len(marks) > 0 {
		_ = p.keep(marks) // the run ends for another reason
	}
}

// forget ends the accounts of a split: what is heard of it later counts for
// nothing.
func (l *ledger) forget(s *split) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, a := range l.accounts {
		if a.owner != s {
			continue
		}
		delete(l.accounts, at)
		if a.changed {
			l.changed = slices.DeleteFunc(l.changed, func(c *account) bool { return c == a })
		}
	}
}

// waits reports whether something of splits has been written and not taken yet.
func (l *ledger) waits(list []*split) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.pending, func(e entry) bool { return slices.Contains(list, e.split) })
}

// pause stops fetching a split that has been taken away.
func (s *split) pause() {
	s.mu.Lock()
	f := s.feed
	s.mu.Unlock()
	if f != nil {
		f.Pause(s.id)
	}
}
