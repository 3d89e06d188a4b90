package cluster

import (
	"context"
	"errors"
	"net"
	"os"
)

// memberTries is how often a member's request is tried at most: the session, and
// what a request may take, end it before that.
const memberTries = 1000

// enduring is how a group's member dials. kgo gives up a membership, though its
// session is not over, when no broker can be connected to while it looks for the
// coordinator. So when none can, the error is one that it tries again for as long
// as a request may take: the session, for a sign of life.
func (d *dialer) enduring(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if de, ok := errors.AsType[*dialError](err); ok && !de.tls && ctx.Err() == nil && d.book.alone(addr) {
			if sys, ok := errors.AsType[*os.SyscallError](err); ok {
				return nil, &dialError{addr: addr, err: sys} // without what kgo knows a dial by
			}
		}
		return conn, err
	}
}

// alone reports whether no broker but the one at addr can be asked instead: none
// is known, or connecting to each has failed at the last try.
func (b *book) alone(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.nodes {
		if _, failed := b.failed[other]; other != addr && !failed {
			return false
		}
	}
	return true
}
