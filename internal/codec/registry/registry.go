// Package registry is a client of schema registries that speak Confluent's REST
// API: Confluent's own, Apicurio's (below /apis/ccompat/v7), Karapace, Redpanda.
// It owns asking, remembering the answers, following references, and saying in
// words what goes wrong. It compiles nothing itself and knows no record.
//
// It speaks HTTP itself, because franz-go's client (pkg/sr 1.8) falls short of
// what reading a stream needs: it begins with the first address each time and
// goes on to the next only when no connection comes about, it reads an answer
// whole whatever its size, it drops the headers of an answer (Retry-After), and
// its errors repeat what the other side sent.
package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
)

// Config describes the schema registry of one cluster.
type Config struct {
	Cluster string // its name, for messages
	// URLs are http or https addresses of one registry. Their paths are kept, so
	// one can end in /contexts/:.name: or /apis/ccompat/v7. The first one is asked
	// until it fails, then the next. User-info in one serves as Username and
	// Password if there are no others.
	URLs               []string
	Username, Password string
	Token              string      // a bearer token, in place of Username and Password
	TLS                *tls.Config // nil: the system's roots
	// Compile makes a schema of a definition with its references. It is called
	// once for each id, by one of several goroutines.
	Compile func(codec.Definition) (codec.Schema, error)
	// Wait bounds how long callers of Schema wait for a registry that gives no
	// answer, all of them together; 5 s when 0. Then the registry counts as down.
	Wait time.Duration
	// Told is told when the registry counts as down, with the reason, and with nil
	// when it is back; nil is nobody. It must not call the Client.
	Told func(down error)
}

// String names the registry without its credentials.
func (c Config) String() string { return registryOf(c.Cluster) }

// GoString is String: no verb of fmt shows the credentials.
func (c Config) GoString() string { return c.String() }

// Client asks one registry and remembers its answers. It is safe for use by
// several goroutines and implements codec.Registry.
type Client struct {
	name      string // the registry of east
	addresses []address
	current   atomic.Int32 // of addresses: the one that answered last
	login     login
	http      *http.Client
	compile   func(codec.Definition) (codec.Schema, error)
	wait      time.Duration
	requests  atomic.Int64
	heard     atomic.Int64 // when there was an answer last, in nanoseconds since 1970
	told      func(error)

	known atomic.Pointer[map[codec.ID]codec.Schema] // replaced as a whole, so that reading takes no lock
	texts texts
	looks looks

	ctx    context.Context //nolint:containedctx // of New: a look-up serves many callers and belongs to none
	cancel context.CancelFunc
	work   sync.WaitGroup // look-ups under way
}

// New returns a client; it contacts nothing. Look-ups end with ctx or Close.
func New(ctx context.Context, cfg Config) (*Client, error) {
	name := registryOf(cfg.Cluster)
	addresses, user, err := parseAddresses(name, cfg.URLs)
	if err != nil {
		return nil, err
	}
	c := &Client{
		name: name, addresses: addresses, compile: cfg.Compile, wait: cfg.Wait, told: cfg.Told,
		login: login{user: cfg.Username, password: cfg.Password, token: cfg.Token},
	}
	if c.login == (login{}) && user != nil {
		password, _ := user.Password()
		c.login = login{user: user.Username(), password: password}
	}
	if c.wait <= 0 {
		c.wait = defaultWait
	}
	if c.compile == nil {
		c.compile = func(codec.Definition) (codec.Schema, error) { return nil, errors.New("there is no decoder for it") }
	}
	c.known.Store(&map[codec.ID]codec.Schema{})
	c.http = newHTTP(cfg.TLS)
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c, nil
}

// Close ends the look-ups under way and the connections. Callers of Schema that
// wait get an error.
func (c *Client) Close() {
	c.cancel()
	c.looks.close()
	c.work.Wait()
	c.http.CloseIdleConnections()
}

// Requests is how many requests were sent, each address and attempt counted.
func (c *Client) Requests() int64 { return c.requests.Load() }

// String names the registry, without its credentials.
func (c *Client) String() string { return c.name }

// GoString is String: no verb of fmt shows the credentials.
func (c *Client) GoString() string { return c.name }

func registryOf(cluster string) string {
	if cluster == "" {
		return "the registry"
	}
	return "the registry of " + cluster
}
