package cluster

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// listen serves each connection with serve until the test ends; a connection
// that serve returns from is closed.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, serve)
	return l.Addr().String()
}

func serveOn(t testing.TB, l net.Listener, serve func(net.Conn)) {
	var mu sync.Mutex
	var conns []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// closedPort is an address where nobody listens.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// answers reads something and answers with text, whatever was asked.
func answers(text string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 1024)); err == nil {
			_, _ = io.WriteString(c, text)
		}
	}
}

// broker is a scripted Kafka broker: it answers API versions, SASL handshakes,
// one-step logins and metadata.
type broker struct {
	mechanisms []string // nil: no SASL
	tell       string   // a refusal's message; the login is refused when it is set
	hangUp     bool     // closes instead of answering a login
	id         string   // cluster id
	advertise  []Broker
	tls        *tls.Config
	onLogin    func(step []byte) // sees what a login sends; may be nil
}

func (b *broker) serve(c net.Conn) {
	if b.tls != nil {
		c = tls.Server(c, b.tls)
	}
	loggedIn := b.mechanisms == nil
	for {
		key, version, corr, body, ok := readRequest(c)
		if !ok {
			return
		}
		var resp kmsg.Response
		switch key {
		case 18:
			resp = b.versions()
			if version > 2 { // as a broker does that knows only older ones
				resp.(*kmsg.ApiVersionsResponse).ErrorCode = 35
			}
			version = 0
		case 17:
			resp = b.handshake(body)
		case 36:
			if b.hangUp {
				return
			}
			if b.onLogin != nil && len(body) > 4 {
				b.onLogin(body[4:])
			}
			resp, loggedIn = b.login()
		case 3:
			if !loggedIn {
				return
			}
			resp = b.metadata()
		default:
			return
		}
		resp.SetVersion(version)
		writeResponse(c, corr, resp)
	}
}

func readRequest(c net.Conn) (key, version int16, corr int32, body []byte, ok bool) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return 0, 0, 0, nil, false
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<20 { // as a broker does with a TLS hello: socket.request.max.bytes
		return 0, 0, 0, nil, false
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(c, buf); err != nil || n < 10 {
		return 0, 0, 0, nil, false
	}
	key, version = int16(binary.BigEndian.Uint16(buf)), int16(binary.BigEndian.Uint16(buf[2:]))
	corr = int32(binary.BigEndian.Uint32(buf[4:]))
	id := max(int(int16(binary.BigEndian.Uint16(buf[8:]))), 0)
	return key, version, corr, buf[10+id:], true
}

func writeResponse(c net.Conn, corr int32, resp kmsg.Response) {
	buf := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	buf = resp.AppendTo(buf)
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
	_, _ = c.Write(buf)
}

func (b *broker) versions() kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	for key, hi := range map[int16]int16{3: 4, 17: 1, 18: 2, 36: 0} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, hi
		r.ApiKeys = append(r.ApiKeys, k)
	}
	return r
}

func (b *broker) handshake(body []byte) kmsg.Response {
	r := kmsg.NewPtrSASLHandshakeResponse()
	if b.mechanisms == nil {
		r.ErrorCode = 34
		return r
	}
	r.ErrorCode, r.SupportedMechanisms = 33, b.mechanisms
	for _, m := range b.mechanisms {
		if string(body[2:]) == m {
			r.ErrorCode = 0
		}
	}
	return r
}

func (b *broker) login() (kmsg.Response, bool) {
	r := kmsg.NewPtrSASLAuthenticateResponse()
	if b.tell == "" {
		return r, true
	}
	r.ErrorCode, r.ErrorMessage = 58, &b.tell
	return r, false
}

func (b *broker) metadata() kmsg.Response {
	r := kmsg.NewPtrMetadataResponse()
	r.ClusterID = &b.id
	for _, x := range b.advertise {
		m := kmsg.NewMetadataResponseBroker()
		m.NodeID, m.Host, m.Port = x.ID, x.Host, x.Port
		r.Brokers = append(r.Brokers, m)
	}
	return r
}
