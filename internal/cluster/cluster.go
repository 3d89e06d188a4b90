// Package cluster turns a cluster's description into kgo clients: TLS, SASL,
// Java and librdkafka properties, the cluster's identity, checks and look-ups
// of metadata and offsets. It turns the errors of clients, networks and brokers
// into sentences with a hint. It must not fetch records and never lets a
// look-up create a topic.
package cluster

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is one cluster, described and checked but not contacted until it is
// asked something. All its methods may be called at once from several
// goroutines.
type Cluster struct{ name string }

// New checks cfg completely and reads the key material that it names, without
// contacting anything. Its errors are of kind fault.Usage and name the key and
// where it was set.
func New(cfg Config) (*Cluster, error) { return nil, errTodo }

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.name }

// Bootstrap returns the addresses that are dialed first, host:port each.
func (c *Cluster) Bootstrap() []string { return nil }

// Rack returns client.rack, for KIP-392's fetching from the nearest replica;
// empty when it is not set.
func (c *Cluster) Rack() string { return c.Tuning().Rack }

// Tuning returns what the properties say about things that other packages do.
func (c *Cluster) Tuning() Tuning { return Tuning{} }

// Ignored returns the known client properties that mean nothing to kcm, in the
// order in which they were given.
func (c *Cluster) Ignored() []Property { return nil }

// Role says what a client is for; it decides limits and timeouts.
type Role uint8

// The roles of a cluster's clients: a long poll holds up everything behind it
// on its connection, so that metadata, splits at their end, splits that are
// behind and group membership each have a client of their own.
const (
	Control Role = iota // metadata, offsets, epochs, ping; never a fetch
	Tail                // fetches at the end of splits
	Bulk                // fetches of splits that are behind
	Group               // membership and commits; never a fetch
)

// Client makes a new client for a role; the caller closes it. It contacts
// nothing.
func (c *Cluster) Client(role Role, extra ...kgo.Opt) (*kgo.Client, error) { return nil, errTodo }

// Control returns the cluster's own control client, made when first needed and
// closed by Close.
func (c *Cluster) Control() (*kgo.Client, error) { return nil, errTodo }

// Close closes the control client.
func (c *Cluster) Close() {}

// Connect contacts the cluster and says what it is. It ends within 5 s (or with
// ctx) and its error says for certain what is wrong: the name does not resolve,
// the port refuses, TLS meets plain text, the password is wrong and so on. A
// cluster whose id is not the one in Config is refused (fault.Refused). Brokers
// of which it is known that they cannot be reached carry that in Err; when no
// broker can be reached the error is fault.Unreachable.
func (c *Cluster) Connect(ctx context.Context) (Info, error) { return Info{}, errTodo }

// Explain turns an error of a client, a broker or the network into a
// *fault.Error that names the cluster (and the topic, unless empty), has the
// right kind and says more than "context deadline exceeded" where more is known.
// It returns nil for nil, context.Canceled and errors that are a *fault.Error
// already as they are.
func (c *Cluster) Explain(err error, topic string) error { return err }

var errTodo = errors.New("not there yet")
