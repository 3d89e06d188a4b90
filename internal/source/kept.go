package source

import (
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/fetch"
)

// positions remembers where the reading of what has left stopped, so that it
// goes on there when it comes back.
type positions struct {
	retain time.Duration

	mu   sync.Mutex
	left map[leftover]keptPosition
}

// leftover names what has left by the physical cluster and not by its name,
// which may be another when it comes back.
type leftover struct {
	cluster   string
	topic     string
	partition int32
	want      string
}

type keptPosition struct {
	fetch.Position
	at time.Time
}

func (p *positions) keep(l leftover, at fetch.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == nil {
		p.left = map[leftover]keptPosition{}
	}
	p.left[l] = keptPosition{at, time.Now()}
}

// find returns a position, unless it has been kept for too long.
func (p *positions) find(l leftover) (fetch.Position, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.left[l]
	if ok && time.Since(k.at) > p.retain {
		delete(p.left, l)
		ok = false
	}
	return k.Position, ok
}

// drop forgets a position, because what it is of is read again.
func (p *positions) drop(l leftover) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, l)
}
