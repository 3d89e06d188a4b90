package kafkatest

import (
	"errors"
	"net"
	"sync"
)

// netSwitch is a listener that can go down, as when its process is killed, and
// be paused, as when its process is stopped: what it accepted so far and what
// it accepts later obeys as well.
type netSwitch struct {
	network string
	address string // with the port, once known
	listen  func(network, address string) (net.Listener, error)

	mu     sync.Mutex
	cond   *sync.Cond
	inner  net.Listener // nil while down
	addr   net.Addr
	conns  map[*switchedConn]struct{}
	paused bool
	closed bool
}

func newNetSwitch(network, address string, listen func(network, address string) (net.Listener, error)) (*netSwitch, error) {
	inner, err := listen(network, address)
	if err != nil {
		return nil, err
	}
	s := &netSwitch{
		network: network, address: inner.Addr().String(), listen: listen,
		inner: inner, addr: inner.Addr(), conns: map[*switchedConn]struct{}{},
	}
	s.cond = sync.NewCond(&s.mu)
	return s, nil
}

// Accept waits for a connection, across times when the listener is down.
func (s *netSwitch) Accept() (net.Conn, error) {
	for {
		s.mu.Lock()
		for s.inner == nil && !s.closed {
			s.cond.Wait()
		}
		inner, closed := s.inner, s.closed
		s.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		conn, err := inner.Accept()
		if err == nil {
			if c := s.adopt(conn, inner); c != nil {
				return c, nil
			}
			continue
		}
		s.mu.Lock()
		gone := s.inner != inner || s.closed
		s.mu.Unlock()
		if !gone {
			return nil, err
		}
	}
}

// adopt wraps conn, or closes it if the listener that took it went down meanwhile.
func (s *netSwitch) adopt(conn net.Conn, by net.Listener) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != by || s.closed {
		_ = conn.Close()
		return nil
	}
	c := &switchedConn{Conn: conn, s: s}
	s.conns[c] = struct{}{}
	return c
}

// Close ends the listener for good. Open connections stay, as with any listener.
func (s *netSwitch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.paused = true, false
	s.cond.Broadcast()
	if s.inner == nil {
		return nil
	}
	return s.inner.Close()
}

// Addr returns the address, the same for as long as the switch lives.
func (s *netSwitch) Addr() net.Addr { return s.addr }

// down closes the listener and every connection.
func (s *netSwitch) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return errors.New("the broker is down already")
	}
	inner := s.inner
	s.inner, s.paused = nil, false
	s.cond.Broadcast()
	err := inner.Close()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
	clear(s.conns)
	return err
}

// up listens again on the same address.
func (s *netSwitch) up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil || s.closed {
		return nil
	}
	inner, err := s.listen(s.network, s.address)
	if err != nil {
		return err
	}
	s.inner = inner
	s.cond.Broadcast()
	return nil
}

func (s *netSwitch) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
}

func (s *netSwitch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	s.cond.Broadcast()
}

func (s *netSwitch) waitWhilePaused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.paused {
		s.cond.Wait()
	}
}

type switchedConn struct {
	net.Conn
	s *netSwitch
}

// Read holds back what came in while the broker is paused.
func (c *switchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.s.waitWhilePaused()
	return n, err
}

// Write holds back answers while the broker is paused.
func (c *switchedConn) Write(b []byte) (int, error) {
	c.s.waitWhilePaused()
	return c.Conn.Write(b)
}

// Close closes the connection.
func (c *switchedConn) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}
