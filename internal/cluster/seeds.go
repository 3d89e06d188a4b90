package cluster

import (
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// firstAnswer is how long a new connection may stay without any answer. A
// broker answers the first request, for its API versions, at once, so that an
// address which accepts and never answers must not hold up its client for as
// long as a long poll may take.
const firstAnswer = 5 * time.Second

// seeds returns the addresses that a new client asks first: those that are
// known to answer, or all of bootstrap when nothing is known yet.
func (c *Cluster) seeds() []string {
	if good := c.book.seeds(c.bootstrap); len(good) > 0 {
		return good
	}
	return c.bootstrap
}

// reseed takes the addresses that do not answer from the control client.
func (c *Cluster) reseed() {
	seeds := c.seeds()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control == nil || slices.Equal(seeds, c.seeded) {
		return
	}
	if c.control.UpdateSeedBrokers(seeds...) == nil {
		c.seeded = seeds
	}
}

// seeds returns the addresses of bootstrap and of the brokers that have
// answered and nothing has gone wrong with since.
func (b *book) seeds(bootstrap []string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var good []string
	for _, a := range append(slices.Clone(bootstrap), slices.Sorted(maps.Keys(b.nodes))...) {
		if b.answers[a] && !slices.Contains(good, a) {
			good = append(good, a)
		}
	}
	return good
}

// answered notes whether addr answers Kafka's requests.
func (b *book) answered(addr string, does bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if does {
		b.answers[addr] = true
		delete(b.finds, addr)
	} else {
		delete(b.answers, addr)
	}
}

// found notes what is wrong with an address that a broker advertises.
func (b *book) found(addr string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finds[addr] = err
}

// finding returns what was found at addr, or at the first address where
// something was when addr is empty.
func (b *book) finding(addr string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if addr != "" {
		return b.finds[addr]
	}
	for _, a := range slices.Sorted(maps.Keys(b.finds)) {
		return b.finds[a]
	}
	return nil
}

// patient is a connection that gives up when nothing at all has come by its
// deadline. From the first byte on kgo's own deadlines hold.
type patient struct {
	net.Conn
	until time.Time
	heard atomic.Bool
}

// Read reads, and ends the deadline for the first answer.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 {
		p.heard.Store(true)
	}
	return n, err
}

// SetReadDeadline sets the earlier one of t and the deadline for the first
// answer.
func (p *patient) SetReadDeadline(t time.Time) error { return p.Conn.SetReadDeadline(p.sooner(t)) }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (p *patient) SetDeadline(t time.Time) error {
	if err := p.SetWriteDeadline(t); err != nil {
		return err
	}
	return p.SetReadDeadline(t)
}

func (p *patient) sooner(t time.Time) time.Time {
	if !p.heard.Load() && (t.IsZero() || t.After(p.until)) {
		return p.until
	}
	return t
}
