// Package cluster turns a cluster's description into kgo clients: TLS, SASL,
// Java and librdkafka properties, the cluster's identity, checks and look-ups
// of metadata and offsets. It turns the errors of clients, networks and brokers
// into sentences with a hint. It must not fetch records and never lets a
// look-up create a topic.
package cluster

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is one cluster, described and checked but not contacted until it is
// asked something. All its methods may be called at once from several
// goroutines.
type Cluster struct {
	name      string
	bootstrap []string
	id        string // the id that it must have, or nothing
	tuning    Tuning
	ignored   []Property
	login     *login // nil: no SASL
	dialer    *dialer
	book      *book
	hooks     []kgo.Hook
	secrets   []string // never to be seen in an error

	mu      sync.Mutex
	control *kgo.Client
	seeded  []string // what control begins with
}

// New checks cfg completely and reads the key material that it names, without
// contacting anything. Its errors are of kind fault.Usage and name the key and
// where it was set.
func New(cfg Config) (*Cluster, error) {
	list := cfg.Properties
	if cfg.PropertiesFile != "" {
		more, err := ReadProperties(resolve(cfg.Dir, cfg.PropertiesFile))
		if err != nil {
			b := &builder{cfg: cfg}
			return nil, b.usage("propertiesFile", "%w", err)
		}
		for i := range more {
			more[i].Layer = FromFile
		}
		list = append(slices.Clip(list), more...)
	}
	p, err := collect(cfg.Name, list)
	if err != nil {
		return nil, err
	}
	b := &builder{cfg: cfg, p: p}
	c := &Cluster{name: cfg.Name, id: cfg.ClusterID, book: newBook(), hooks: cfg.Hooks, secrets: secretsOf(cfg, list)}
	if c.bootstrap, err = b.bootstrap(); err != nil {
		return nil, err
	}
	if c.tuning, err = b.tuning(); err != nil {
		return nil, err
	}
	if err := b.security(c); err != nil {
		return nil, err
	}
	c.ignored = p.ignored
	cl, err := c.Client(Group) // kgo checks how the values fit together
	if err != nil {
		return nil, err
	}
	cl.Close()
	return c, nil
}

// security makes the dialer and the login.
func (b *builder) security(c *Cluster) error {
	w, err := b.wire()
	if err != nil {
		return err
	}
	c.dialer = &dialer{wire: w, book: c.book, open: b.cfg.Dial}
	useTLS, useSASL, err := b.protocol()
	if err != nil {
		return err
	}
	if useTLS {
		if c.dialer.tls, err = b.tlsConfig(); err != nil {
			return err
		}
	}
	if useSASL {
		if c.login, err = b.login(); err != nil {
			return err
		}
	}
	b.p.drop(func(key string) bool {
		if strings.HasPrefix(key, "sasl.") || strings.HasPrefix(key, "https.") || strings.HasPrefix(key, "enable.sasl.") {
			return useSASL
		}
		return useTLS || !strings.HasPrefix(key, "ssl.") && key != "enable.ssl.certificate.verification"
	})
	return nil
}

// bootstrap checks the addresses; a port that is missing is 9092.
func (b *builder) bootstrap() ([]string, error) {
	list := b.cfg.Bootstrap
	wrong := func(format string, args ...any) error { return b.usage("bootstrap", format, args...) }
	if len(list) == 0 {
		x, ok := b.p.get("bootstrap.servers")
		if !ok {
			return nil, b.usage("bootstrap", "missing").WithHint("bootstrap: [HOST:PORT], or bootstrap.servers in the properties")
		}
		list = splitList(x.Value.Reveal())
		wrong = func(format string, args ...any) error { return b.p.wrong(x, format, args...) }
	}
	var out []string
	for _, entry := range list {
		for _, addr := range splitList(entry) {
			a, problem := bootstrapAddr(addr)
			if problem != "" {
				return nil, wrong("%q: %s", addr, problem)
			}
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	if len(out) == 0 {
		return nil, wrong("no address in it")
	}
	return out, nil
}

// bootstrapAddr makes host:port of what a user writes; librdkafka's and Java's
// PROTOCOL:// in front is dropped.
func bootstrapAddr(s string) (addr, problem string) {
	if proto, rest, ok := strings.Cut(s, "://"); ok {
		switch strings.ToUpper(proto) {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
			s = rest
		default:
			return "", "an address is HOST:PORT"
		}
	}
	if strings.Count(s, ":") == 0 || strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return net.JoinHostPort(strings.Trim(s, "[]"), "9092"), ""
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", "an address is HOST:PORT; an IPv6 address goes into [ ]"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "the port is a number up to 65535"
	}
	if host == "" {
		return "", "the host is missing"
	}
	return net.JoinHostPort(host, port), ""
}

// secretsOf lists the values that no message may hold, so that the texts of
// libraries can be cleaned of them.
func secretsOf(cfg Config, list []Property) []string {
	var out []string
	add := func(s Secret) {
		if len(s) >= 4 && !isPEM(string(s)) {
			out = append(out, s.Reveal())
		}
	}
	if s := cfg.SASL; s != nil {
		add(s.Password)
		add(s.Token)
	}
	if t := cfg.TLS; t != nil {
		add(t.KeyPassword)
	}
	for _, p := range list {
		switch {
		case p.Key == "sasl.jaas.config":
			for _, s := range jaasSecrets(p.Value.Reveal()) {
				add(s)
			}
		case strings.HasSuffix(p.Key, "user.info"):
			_, pass, _ := strings.Cut(p.Value.Reveal(), ":")
			add(Secret(pass))
		case strings.Contains(p.Key, "password") || strings.Contains(p.Key, "secret"):
			add(p.Value)
		}
	}
	return out
}

func jaasSecrets(text string) (out []Secret) {
	e, err := parseJAAS(text)
	if err != nil {
		return nil
	}
	for k, v := range e.options {
		if l := strings.ToLower(k); strings.Contains(l, "password") || strings.Contains(l, "secret") || strings.Contains(l, "token") {
			out = append(out, Secret(v))
		}
	}
	return out
}

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.name }

// String returns the cluster's name.
func (c *Cluster) String() string { return c.name }

// Format prints the cluster's name, whatever the verb: a Cluster is safe to
// print.
func (c *Cluster) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, c.name) }

// Bootstrap returns the addresses that are dialed first, host:port each.
func (c *Cluster) Bootstrap() []string { return slices.Clone(c.bootstrap) }

// Rack returns client.rack, for KIP-392's fetching from the nearest replica;
// empty when it is not set.
func (c *Cluster) Rack() string { return c.tuning.Rack }

// Tuning returns what the properties say about things that other packages do.
func (c *Cluster) Tuning() Tuning { return c.tuning }

// Ignored returns the known client properties that have no effect: they mean
// nothing to kcm, or TLS or SASL is off.
func (c *Cluster) Ignored() []Property { return slices.Clone(c.ignored) }

// Close closes the control client and forgets tickets. More calls do nothing.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control != nil {
		c.control.Close()
		c.control = nil
	}
	if c.login != nil && c.login.close != nil {
		c.login.close()
		c.login.close = nil
	}
}

// Security says how connections are made: with TLS or not, and with which SASL
// mechanism, empty for none.
func (c *Cluster) Security() (tls bool, mechanism string) {
	if c.login != nil {
		mechanism = c.login.Name()
	}
	return c.dialer.tls != nil, mechanism
}
