package cluster

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kcm-cli/kcm/internal/fault"
)

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
	Produce             // writing to a cluster
)

const (
	controlSetup  = 3 * time.Second  // a dead broker must not eat a look-up's five seconds
	otherSetup    = 10 * time.Second // Java's default
	fetchOverhead = time.Minute
)

// Client makes a new client for a role; the caller closes it. It contacts
// nothing, and will begin with addresses that are known to answer, if any.
func (c *Cluster) Client(role Role, extra ...kgo.Opt) (*kgo.Client, error) {
	w, t := c.dialer.wire, c.tuning
	setup, answer := otherSetup, firstAnswer
	if role == Control {
		setup, answer = controlSetup, controlSetup
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.seeds()...),
		kgo.ClientID(t.ClientID),
		kgo.Dialer(c.dialer.with(setup, max(answer, t.RequestTimeout))),
		kgo.BrokerMaxReadBytes(w.maxRead),
		kgo.FetchMaxBytes(min(50<<20, w.maxRead)), // unused, but kgo compares the two
		kgo.ConnIdleTimeout(w.idle),
		kgo.MetadataMinAge(min(250*time.Millisecond, t.MetadataMaxAge)), // a moved leader is found soon
		kgo.MetadataMaxAge(t.MetadataMaxAge),
		kgo.RetryBackoffFn(t.backoff),
		kgo.WithHooks(append([]kgo.Hook{c.book}, c.hooks...)...),
	}
	if role == Control {
		// Version 10 of this request leaves out, without a word, the commits on topics
		// that were deleted.
		v := kversion.Stable()
		v.SetMaxKeyVersion(kmsg.OffsetFetch.Int16(), 9)
		// Version 10 of this one names topics by their ids alone.
		v.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), 9)
		opts = append(opts, kgo.MaxVersions(v))
	}
	if role == Tail || role == Bulk {
		opts = append(opts, kgo.RequestTimeoutOverhead(fetchOverhead))
	} else if t.RequestTimeout > 0 {
		opts = append(opts, kgo.RequestTimeoutOverhead(t.RequestTimeout))
	}
	if !w.pushMetrics {
		opts = append(opts, kgo.DisableClientMetrics())
	}
	if c.login != nil {
		opts = append(opts, kgo.SASL(c.login))
	}
	if role == Group {
		opts = append(opts, w.group()...)
		opts = append(opts, kgo.Dialer(c.dialer.enduring(c.dialer.with(setup, max(answer, t.RequestTimeout)))), kgo.RequestRetries(memberTries))
	}
	cl, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s: the settings do not fit together: %w", c.name, err).On(c.name)
	}
	return cl, nil
}

// group are the options of a group's member.
func (w wire) group() []kgo.Opt {
	var opts []kgo.Opt
	if w.session > 0 {
		opts = append(opts, kgo.SessionTimeout(w.session))
	}
	if w.heartbeat > 0 {
		opts = append(opts, kgo.HeartbeatInterval(w.heartbeat))
	}
	if w.rebalance > 0 {
		opts = append(opts, kgo.RebalanceTimeout(w.rebalance))
	}
	if w.instance != "" {
		opts = append(opts, kgo.InstanceID(w.instance))
	}
	return opts
}

// backoff is the pause before try n of a request, from 1: it doubles from
// retry.backoff.ms to retry.backoff.max.ms, a fifth of it left to chance.
func (t Tuning) backoff(n int) time.Duration {
	lo, hi := t.RetryBackoff, t.RetryBackoffMax
	if lo == 0 {
		lo = 100 * time.Millisecond
	}
	if hi == 0 {
		hi = time.Second
	}
	d := max(lo, min(hi, lo<<min(max(n-1, 0), 20)))
	return d*9/10 + rand.N(d/5+1) //nolint:gosec // spreading, not secrecy
}

// Control returns the cluster's own control client, made when first needed and
// closed by Close.
func (c *Cluster) Control() (*kgo.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control == nil {
		cl, err := c.Client(Control)
		if err != nil {
			return nil, err
		}
		c.control, c.seeded = cl, c.seeds()
	}
	return c.control, nil
}
