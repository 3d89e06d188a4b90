package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// dialError is why a connection to addr did not come about.
type dialError struct {
	addr string
	tls  bool // the TCP connection stood, the handshake failed
	err  error
}

func (e *dialError) Error() string { return e.addr + ": " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// dialer makes the connections of all of a cluster's clients and of the probe,
// so that every failure is remembered by its address.
type dialer struct {
	wire wire
	tls  *tls.Config // nil: plain
	book *book
	open func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
}

// with returns the function that kgo dials with; limit holds for TCP and TLS
// together unless the user set one, answer for the first answer after it.
func (d *dialer) with(limit, answer time.Duration) func(context.Context, string, string) (net.Conn, error) {
	if d.wire.setup > 0 {
		limit = d.wire.setup
	}
	return func(asked context.Context, _, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(asked, limit)
		defer cancel()
		begun := time.Now()
		conn, err := d.dial(ctx, addr)
		if err != nil && asked.Err() != nil && time.Since(begun) < conclusive {
			return nil, asked.Err()
		}
		if !errors.Is(err, context.Canceled) { // given up, which says nothing about the address
			d.book.dialed(addr, err)
		}
		if err != nil {
			return nil, err
		}
		return &patient{Conn: conn, until: time.Now().Add(answer)}, nil
	}
}

// conclusive is how long an attempt must have lasted to say something about the
// address when it was its caller who ran out of time.
const conclusive = time.Second

// dial connects and, with TLS, shakes hands. Its errors are *dialError.
func (d *dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.tcp(ctx, addr)
	if err != nil || d.tls == nil {
		return conn, err
	}
	tc := tls.Client(conn, d.tlsFor(addr))
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &dialError{addr: addr, tls: true, err: err}
	}
	return tc, nil
}

func (d *dialer) tlsFor(addr string) *tls.Config {
	c := d.tls.Clone()
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(addr)
	}
	return c
}

func (d *dialer) tcp(ctx context.Context, addr string) (net.Conn, error) {
	open := d.open
	if open == nil {
		nd := &net.Dialer{}
		if !d.wire.keepAlive {
			nd.KeepAlive = -1
		}
		open = nd.DialContext
	}
	conn, err := open(ctx, d.wire.network, addr)
	if err != nil {
		return nil, &dialError{addr: addr, err: err}
	}
	t, ok := conn.(*net.TCPConn)
	if !ok {
		return conn, nil
	}
	// A size that the system refuses leaves its own; no reason to give up.
	if d.wire.readBuffer > 0 {
		_ = t.SetReadBuffer(d.wire.readBuffer)
	}
	if d.wire.writeBuffer > 0 {
		_ = t.SetWriteBuffer(d.wire.writeBuffer)
	}
	if !d.wire.noDelay {
		_ = t.SetNoDelay(false)
	}
	return conn, nil
}

// book remembers what is known of the addresses of a cluster.
type book struct {
	mu     sync.Mutex
	failed map[string]failure
	worked map[string]bool
	// answers holds the addresses that answer as Kafka does, not only accept.
	answers map[string]bool
	finds   map[string]error // what was found at advertised addresses that do not work
	nodes   map[string]int32 // advertised address → node id
	via     string           // the bootstrap address that answered last
}

type failure struct {
	err error
	at  time.Time
}

func newBook() *book {
	return &book{failed: map[string]failure{}, worked: map[string]bool{}, answers: map[string]bool{}, finds: map[string]error{}, nodes: map[string]int32{}}
}

// dialed notes how an attempt to connect ended.
func (b *book) dialed(addr string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		delete(b.failed, addr)
		b.worked[addr] = true
		return
	}
	delete(b.answers, addr)
	b.failed[addr] = failure{err: err, at: time.Now()}
}

// advertised notes the brokers of a metadata answer.
func (b *book) advertised(brokers []Broker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.nodes)
	for _, x := range brokers {
		b.nodes[x.Addr()] = x.ID
	}
	maps.DeleteFunc(b.finds, func(addr string, _ error) bool {
		_, still := b.nodes[addr]
		return !still
	})
}

// node says which broker advertises addr.
func (b *book) node(addr string) (int32, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.nodes[addr]
	return id, ok
}

// recent returns the failure of addr, or of any address when it is empty, that
// is not older than age.
func (b *book) recent(addr string, age time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var last failure
	for a, f := range b.failed {
		if (addr == "" || a == addr) && f.at.After(last.at) {
			last = f
		}
	}
	if last.err == nil || time.Since(last.at) > age {
		return nil
	}
	return last.err
}

// once reports whether addr could ever be connected to.
func (b *book) once(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.worked[addr]
}

func (b *book) entered(via string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.via = via
}

func (b *book) entrance() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.via
}

// OnBrokerConnect implements kgo.HookBrokerConnect: kgo gives the bootstrap
// addresses negative ids.
func (b *book) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil && meta.NodeID < 0 {
		b.entered(net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port))))
	}
}

// silence is how long an answer stays out before the address is taken for one
// that does not answer; an earlier timeout may be a request that was given up.
const silence = 2 * time.Second

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (b *book) OnBrokerE2E(meta kgo.BrokerMetadata, _ int16, e kgo.BrokerE2E) {
	addr := net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
	if e.Err() == nil {
		b.answered(addr, true)
	} else if isTimeout(e.ReadErr) && e.ReadWait+e.TimeToRead >= silence {
		b.answered(addr, false)
	}
}

// addr returns the address that node id advertises, or nothing.
func (b *book) addr(id int32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for a, n := range b.nodes {
		if n == id {
			return a
		}
	}
	return ""
}
