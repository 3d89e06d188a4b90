package cluster

import (
	"crypto/tls"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kafkatest.M(m)) }

func mustNew(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "east"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var plainSASL = &SASL{Mechanism: "PLAIN", Username: "app", Password: "S3cr3t-CANARY-1"}

// blackhole is a listener whose queue is full: the kernel answers no further
// connection attempt, as a firewall does.
func blackhole(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sa.(*syscall.SockaddrInet4).Port))
	for range 8 { // until the queue is full
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the queue does not fill")
	return ""
}

// probeCase is one thing that an address can do wrong; X stands for the address.
type probeCase struct {
	name string
	addr func(t *testing.T) string
	cfg  Config
	kind fault.Kind
	want string
	hint string
}

func serving(b *broker) func(*testing.T) string {
	return func(t *testing.T) string { return listen(t, b.serve) }
}

func stub(serve func(net.Conn)) func(*testing.T) string {
	return func(t *testing.T) string { return listen(t, serve) }
}

func runProbeCases(t *testing.T, cases []probeCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			addr := tc.addr(t)
			tc.cfg.Bootstrap = []string{addr}
			c := mustNew(t, tc.cfg)
			begin := time.Now()
			_, err := c.Connect(t.Context())
			if took := time.Since(begin); took >= hang {
				t.Errorf("took %v", took)
			}
			if err == nil {
				t.Fatal("connected")
			}
			if got := strings.ReplaceAll(err.Error(), addr, "X"); got != tc.want {
				t.Errorf("error\n got %s\nwant %s", got, tc.want)
			}
			if got := fault.KindOf(err); got != tc.kind {
				t.Errorf("kind %v, want %v", got, tc.kind)
			}
			if got := strings.ReplaceAll(strings.ReplaceAll(fault.HintOf(err), addr, "X"), portOf(addr), "PORT"); got != tc.hint {
				t.Errorf("hint\n got %s\nwant %s", got, tc.hint)
			}
			if regexp.MustCompile(`CANARY`).MatchString(err.Error() + fault.HintOf(err)) {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

const (
	hintTLSOn   = `switch it on with "tls: {}" or -X security.protocol=SSL`
	hintNoTLS   = "use the port of the TLS listener, or take out tls and security.protocol"
	hintHTTP    = "bootstrap takes the brokers' own port, not that of a console, a REST proxy or a registry"
	hintSilent  = "is it a broker's listener; the broker may be overloaded, or a proxy have nothing behind it"
	hintTrust   = "set tls.ca (ssl.truststore.location, ssl.ca.location) to that authority's certificate"
	hintCert    = "set tls.cert and tls.key, or ssl.keystore.location"
	alertRecord = "\x15\x03\x03\x00\x02\x02\x46"
)

func TestConnectNetwork(t *testing.T) {
	runProbeCases(t, []probeCase{
		{
			"refused", func(t *testing.T) string { return closedPort(t) },
			Config{},
			fault.Unreachable,
			"east: X refuses the connection", "is a broker running there, and is PORT the port of its listener",
		},
		{
			"no such name", func(*testing.T) string { return "no-such-host.invalid:9092" },
			Config{},
			fault.Unreachable,
			"east: X cannot be reached: its host name does not resolve", "check the spelling, and whether this machine asks the right name server",
		},
		{
			"blackhole", blackhole,
			Config{},
			fault.Unreachable,
			"east: X cannot be reached: the connection attempt is not answered", "a firewall, a wrong address or a VPN that is off",
		},
		{
			"closes", stub(func(net.Conn) {}),
			Config{},
			fault.Unreachable,
			"east: X accepts the connection and closes it at once", "the listener may want TLS or SASL, or a proxy has no broker behind it",
		},
		{
			"silent", stub(hold),
			Config{},
			fault.Unreachable,
			"east: X accepts the connection but never answers", hintSilent,
		},
		{
			"silent, TLS", stub(hold),
			Config{TLS: &TLS{}},
			fault.Unreachable,
			"east: X accepts the connection but never answers", hintSilent,
		},
		{
			"closes, TLS", stub(func(net.Conn) {}),
			Config{TLS: &TLS{}},
			fault.Unreachable,
			"east: X accepts the connection and closes it at once", "the listener may want a client certificate or no TLS, or a proxy has no broker behind it",
		},
		{
			"HTTP", stub(answers("HTTP/1.1 400 Bad Request\r\n\r\n")),
			Config{},
			fault.Unreachable,
			"east: X answers HTTP, not Kafka", hintHTTP,
		},
		{
			"HTTP, TLS", stub(answers("HTTP/1.1 400 Bad Request\r\n\r\n")),
			Config{TLS: &TLS{}},
			fault.Unreachable,
			"east: X answers HTTP, not Kafka", hintHTTP,
		},
		{
			"not Kafka", stub(answers("SSH-2.0-OpenSSH_9.6\r\n")),
			Config{},
			fault.Unreachable,
			"east: X answers something that is not Kafka", "is PORT the port of a broker's listener",
		},
		{
			"alert", stub(answers(alertRecord)),
			Config{},
			fault.Unreachable,
			"east: X looks like a TLS listener, but TLS is off", hintTLSOn,
		},
	})
}

func TestConnectTLS(t *testing.T) {
	ca, other := newCA(t, "Test CA"), newCA(t, "Other CA")
	server := func(c tls.Certificate, mutual bool) *tls.Config {
		cfg := &tls.Config{Certificates: []tls.Certificate{c}}
		if mutual {
			cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool()
		}
		return cfg
	}
	good := server(ca.good(t), false)
	expired := ca.issue(t, "127.0.0.1", time.Date(2024, 2, 3, 4, 5, 0, 0, time.UTC))
	trust := Config{TLS: &TLS{CA: ca.pem}}
	foreign := other.good(t)
	tls12 := server(ca.good(t), true)
	tls12.MaxVersion = tls.VersionTLS12
	old := server(ca.good(t), false)
	old.MaxVersion = tls.VersionTLS11
	old.MinVersion = tls.VersionTLS10
	runProbeCases(t, []probeCase{
		{
			"plain on TLS", serving(&broker{tls: good}),
			Config{},
			fault.Unreachable,
			"east: X looks like a TLS listener, but TLS is off", hintTLSOn,
		},
		{
			"plain on TLS that closes", stub(closesOnPlain(good)),
			Config{SASL: plainSASL},
			fault.Unreachable,
			"east: X looks like a TLS listener, but TLS is off", `switch it on with "tls: {}" or -X security.protocol=SASL_SSL`,
		},
		{
			"TLS on plain", serving(&broker{}), trust, fault.Unreachable,
			"east: X speaks Kafka without TLS, but TLS is on", hintNoTLS,
		},
		{
			"unknown authority", serving(&broker{tls: good}),
			Config{TLS: &TLS{CA: other.pem}},
			fault.Unreachable,
			"east: the certificate of X is signed by an authority that is not trusted, CN=Test CA", hintTrust,
		},
		{
			"expired", serving(&broker{tls: server(expired, false)}), trust, fault.Unreachable,
			"east: the certificate of X has expired on 2024-02-03 04:05 UTC", "the broker needs a new certificate",
		},
		{
			"wrong host", serving(&broker{tls: server(ca.issue(t, "kafka.example", time.Now().Add(time.Hour)), false)}), trust, fault.Unreachable,
			"east: the certificate of X is not for 127.0.0.1 but for kafka.example", "use a name of the certificate in bootstrap, or set tls.serverName to one",
		},
		{
			"no subject alternative name", serving(&broker{tls: server(ca.issue(t, "", time.Now().Add(time.Hour)), false)}), trust, fault.Unreachable,
			"east: the certificate of X has no subject alternative names, so that it is for no host, 127.0.0.1 included",
			"the broker needs a certificate with its host name among them; ssl.endpoint.identification.algorithm= (empty) leaves out the check of the name",
		},
		{
			"wrong server name", serving(&broker{tls: good}),
			Config{TLS: &TLS{CA: ca.pem, ServerName: "b.example"}},
			fault.Unreachable,
			"east: the certificate of X is not for b.example but for 127.0.0.1", "use a name of the certificate in bootstrap, or set tls.serverName to one",
		},
		{
			"client certificate missing", serving(&broker{tls: server(ca.good(t), true)}), trust, fault.Auth,
			"east: X requires a client certificate", hintCert,
		},
		{
			"client certificate missing, TLS 1.2", serving(&broker{tls: tls12}), trust, fault.Auth,
			"east: X requires a client certificate", hintCert,
		},
		{
			"client certificate refused", serving(&broker{tls: server(ca.good(t), true)}),
			Config{TLS: &TLS{CA: ca.pem, Cert: certPEM(foreign.Certificate[0]), Key: Secret(keyPEM(t, foreign))}},
			fault.Auth,
			"east: X refuses the client certificate: unknown certificate authority",
			"the broker must trust the authority that signed it, and it must not have expired",
		},
		{
			"no common version", serving(&broker{tls: old}), trust, fault.Unreachable,
			"east: the TLS handshake with X fails: protocol version not supported", "broker and kcm find no common TLS version or cipher suite",
		},
	})
}

// closesOnPlain shakes hands, and closes without an alert on anything else.
func closesOnPlain(cfg *tls.Config) func(net.Conn) {
	return func(c net.Conn) {
		one := make([]byte, 1)
		if _, err := c.Read(one); err != nil || one[0] != 0x16 {
			return
		}
		_ = tls.Server(&unread{c, one}, cfg).Handshake()
	}
}

// unread gives back bytes that were read before.
type unread struct {
	net.Conn
	first []byte
}

func (u *unread) Read(p []byte) (int, error) {
	if len(u.first) > 0 {
		n := copy(p, u.first)
		u.first = u.first[n:]
		return n, nil
	}
	return u.Conn.Read(p)
}

func TestConnectSASL(t *testing.T) {
	sasl := func(s *SASL) Config { return Config{SASL: s} }
	scram := &SASL{Mechanism: "SCRAM-SHA-512", Username: "app", Password: "S3cr3t-CANARY-2"}
	runProbeCases(t, []probeCase{
		{
			"wrong password", serving(&broker{mechanisms: []string{"PLAIN"}, tell: "Authentication failed: Invalid username or password"}), sasl(plainSASL), fault.Auth,
			`east: X refuses the login of "app" with PLAIN: authentication failed: Invalid username or password`, "check user and password",
		},
		{
			"hangs up", serving(&broker{mechanisms: []string{"PLAIN"}, hangUp: true}), sasl(plainSASL), fault.Auth,
			`east: X closed the connection during the login of "app" with PLAIN`, "most often a wrong user or password; the broker's log says more",
		},
		{
			"other mechanisms", serving(&broker{mechanisms: []string{"SCRAM-SHA-256", "SCRAM-SHA-512"}}), sasl(plainSASL), fault.Auth,
			"east: X does not offer SASL PLAIN, it offers SCRAM-SHA-256, SCRAM-SHA-512", "set sasl.mechanism to one of these",
		},
		{
			"not wanted", serving(&broker{}), sasl(scram), fault.Auth,
			"east: X does not use SASL, but SASL SCRAM-SHA-512 is configured", "take out sasl, or use the port of the SASL listener",
		},
		{
			"wanted", serving(&broker{mechanisms: []string{"PLAIN"}}),
			Config{},
			fault.Auth,
			"east: X requires SASL (PLAIN), but none is configured",
			"sasl: {mechanism: …, username: …, password: …}, or -X security.protocol=SASL_PLAINTEXT|SASL_SSL and sasl.*",
		},
	})
}

func TestConnectAdvertised(t *testing.T) {
	const advice = "check advertised.listeners of the brokers, or use the listener that is meant for this network"
	at := func(addr string, id int32) Broker {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		return Broker{ID: id, Host: host, Port: int32(n)}
	}
	refused := closedPort(t)
	hole := blackhole(t)
	ca := newCA(t, "Test CA")
	secure := &tls.Config{Certificates: []tls.Certificate{ca.good(t)}}
	plain := listen(t, (&broker{id: "c1"}).serve)
	encrypted := listen(t, (&broker{id: "c1", tls: secure}).serve)
	other := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "kafka.example", time.Now().Add(time.Hour))}}
	elsewhere := listen(t, (&broker{id: "c1", tls: other}).serve)
	http := listen(t, answers("HTTP/1.1 400 Bad Request\r\n\r\n"))
	runProbeCases(t, []probeCase{
		{
			"no such name", serving(&broker{id: "c1", advertise: []Broker{at("no-such-host.invalid:9092", 1)}}),
			Config{},
			fault.Unreachable,
			"east: connected to X, but broker 1 advertises no-such-host.invalid:9092, which cannot be reached: its host name does not resolve", advice,
		},
		{
			"refused", serving(&broker{id: "c1", advertise: []Broker{at(refused, 7)}}),
			Config{},
			fault.Unreachable,
			"east: connected to X, but broker 7 advertises " + refused + ", which refuses the connection", "is broker 7 running; if it is, " + advice,
		},
		{
			"blackhole", serving(&broker{id: "c1", advertise: []Broker{at(hole, 2)}}),
			Config{},
			fault.Unreachable,
			"east: connected to X, but broker 2 advertises " + hole + ", which cannot be reached: the connection attempt is not answered", advice,
		},
		{
			"plain behind TLS", serving(&broker{id: "c1", tls: secure, advertise: []Broker{at(plain, 4)}}),
			Config{TLS: &TLS{CA: ca.pem}},
			fault.Unreachable,
			"east: connected to X, but broker 4 advertises " + plain + ", which speaks Kafka without TLS, but TLS is on", advice,
		},
		{
			"TLS behind plain", serving(&broker{id: "c1", advertise: []Broker{at(encrypted, 5)}}),
			Config{},
			fault.Unreachable,
			"east: connected to X, but broker 5 advertises " + encrypted + ", which looks like a TLS listener, but TLS is off", advice,
		},
		{
			"HTTP", serving(&broker{id: "c1", advertise: []Broker{at(http, 6)}}),
			Config{},
			fault.Unreachable,
			"east: connected to X, but broker 6 advertises " + http + ", which answers HTTP, not Kafka", advice,
		},
		{
			"certificate of another host", serving(&broker{id: "c1", tls: secure, advertise: []Broker{at(elsewhere, 8)}}),
			Config{TLS: &TLS{CA: ca.pem}},
			fault.Unreachable,
			"east: connected to X, but broker 8 advertises " + elsewhere + ": the certificate of " + elsewhere + " is not for 127.0.0.1 but for kafka.example",
			"use a name of the certificate in bootstrap, or set tls.serverName to one",
		},
		{
			"another cluster", serving(&broker{id: "c1"}),
			Config{ClusterID: "c2"},
			fault.Refused,
			"east: the cluster at X has the id c1, not c2 as the metadata says", "correct bootstrap or clusterId, whichever is wrong",
		},
	})

	t.Run("mixed", func(t *testing.T) {
		good := listen(t, hold)
		b := &broker{id: "c1", advertise: []Broker{at(good, 1), at("127.0.0.1:"+portOf(refused), 2)}}
		addr := listen(t, b.serve)
		c := mustNew(t, Config{Bootstrap: []string{addr}, ClusterID: "c1"})
		info, err := c.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.ClusterID != "c1" || info.Via != addr || len(info.Brokers) != 2 || info.Brokers[0].Err != nil {
			t.Errorf("got %+v", info)
		}
		want := "east: connected to " + addr + ", but broker 2 advertises " + refused + ", which refuses the connection"
		if got := info.Brokers[1].Err; got == nil || got.Error() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// TestExplainAdvertised: what the first contact found out about an address is
// told by every client that fails there.
func TestExplainAdvertised(t *testing.T) {
	ca := newCA(t, "Test CA")
	secure := &tls.Config{Certificates: []tls.Certificate{ca.good(t)}}
	plain := listen(t, (&broker{id: "c1"}).serve)
	b := &broker{id: "c1", tls: secure}
	addr := listen(t, func(c net.Conn) { b.serve(c) })
	for i, a := range []string{addr, plain} {
		host, port := splitAddr(a)
		b.advertise = append(b.advertise, Broker{ID: int32(i + 1), Host: host, Port: port})
	}
	c := mustNew(t, Config{Bootstrap: []string{addr}, TLS: &TLS{CA: ca.pem}})
	info, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "east: connected to " + addr + ", but broker 2 advertises " + plain + ", which speaks Kafka without TLS, but TLS is on"
	if got := info.Brokers[1].Err; got == nil || got.Error() != want || info.Brokers[0].Err != nil {
		t.Errorf("brokers: %+v", info.Brokers)
	}
	_, err = c.dialer.with(time.Second, time.Second)(t.Context(), "tcp", plain)
	if got := c.Explain(err, "orders"); got == nil || got.Error() != want || fault.KindOf(got) != fault.Unreachable {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestConnectSeveralAddresses(t *testing.T) {
	b := &broker{id: "c1"}
	good, bad := listen(t, b.serve), closedPort(t)
	c := mustNew(t, Config{Bootstrap: []string{bad, good}})
	info, err := c.Connect(t.Context())
	if err != nil || info.ClusterID != "c1" || info.Via != good {
		t.Errorf("got %+v, %v", info, err)
	}
	http := listen(t, answers("HTTP/1.1 400 Bad Request\r\n\r\n"))
	c = mustNew(t, Config{Bootstrap: []string{bad, http}})
	_, err = c.Connect(t.Context())
	want := "east: " + http + " answers HTTP, not Kafka; " + bad + " refuses the connection"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
