package source

import (
	"context"
	"sync"
	"time"
)

// gathering counts readers up to the moment when all of them have come to some
// point, or have failed on the way to it.
type gathering struct {
	all chan struct{} // closed at that moment

	mu      sync.Mutex
	missing map[*reader]bool
}

func newGathering(readers []*reader) *gathering {
	g := &gathering{all: make(chan struct{}), missing: map[*reader]bool{}}
	for _, r := range readers {
		g.missing[r] = true
	}
	return g
}

// arrive counts a reader, once.
func (g *gathering) arrive(r *reader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.missing[r] {
		return
	}
	delete(g.missing, r)
	if len(g.missing) == 0 {
		close(g.all)
	}
}

// wait waits for the others, but no longer than patience.
func (g *gathering) wait(ctx context.Context, patience time.Duration) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-g.all:
	case <-t.C:
	case <-ctx.Done():
	}
}
