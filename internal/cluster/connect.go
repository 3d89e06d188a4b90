package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	connectLimit = 4800 * time.Millisecond // a user is told within five seconds
	quiet        = 300 * time.Millisecond  // after which the probe looks what is the matter
	reachLimit   = 1500 * time.Millisecond // for the advertised addresses
	reachMore    = 300 * time.Millisecond  // for the rest, once one broker was reached
	mostProbed   = 5
)

// Connect contacts the cluster and says what it is. It ends within 5 s (or with
// ctx) and its error says for certain what is wrong: the name does not resolve,
// the port refuses, TLS meets plain text, the password is wrong and so on. A
// cluster whose id is not the one in Config is refused (fault.Refused). Brokers
// of which it is known that they cannot be reached carry that in Err; when no
// broker can be reached the error is fault.Unreachable.
func (c *Cluster) Connect(ctx context.Context) (Info, error) {
	cl, err := c.Control()
	if err != nil {
		return Info{}, err
	}
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	info, err := c.meet(limited, cl)
	if err != nil {
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
			return Info{}, ctx.Err()
		}
		return Info{}, err
	}
	if c.id != "" && info.ClusterID != c.id {
		return Info{}, fault.New(fault.Refused, "%s: the cluster at %s has the id %s, not %s as the metadata says", c.name, info.Via, orNone(info.ClusterID), c.id).
			On(c.name).WithHint("correct bootstrap or clusterId, whichever is wrong")
	}
	c.book.advertised(info.Brokers)
	return info, c.reach(limited, &info)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

type met struct {
	info Info
	err  error
}

// meeting is one run of Connect: the control client's attempt and the probe's.
type meeting struct {
	c              *Cluster
	client, probes chan met
	probing        bool
	finding        error // what the probe found
}

// meet asks the control client and, when that fails or stays quiet, the probe,
// which tells causes that the client hides behind retries. Whoever gets an
// answer first ends it.
func (c *Cluster) meet(ctx context.Context, cl *kgo.Client) (Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &meeting{c: c, client: make(chan met, 1), probes: make(chan met, 1)}
	go func(to chan<- met) {
		info, err := askClient(ctx, cl)
		to <- met{info, err}
	}(m.client)
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		var done bool
		var out met
		select {
		case x := <-m.client:
			out, done = m.clientSays(ctx, x)
		case x := <-m.probes:
			out, done = m.probeSays(x)
		case <-timer.C:
			m.probe(ctx)
		case <-ctx.Done():
			out, done = met{err: m.finding}, true
			if m.finding == nil {
				out.err = c.sentences().silent(strings.Join(c.bootstrap, ", "))
			}
		}
		if done {
			return out.info, out.err
		}
	}
}

func (m *meeting) probe(ctx context.Context) {
	if m.probing {
		return
	}
	m.probing = true
	go func() {
		info, err := m.c.probeAll(ctx)
		m.probes <- met{info, err}
	}()
}

func (m *meeting) clientSays(ctx context.Context, x met) (met, bool) {
	if x.err == nil {
		x.info.Via = first(m.c.book.entrance(), m.c.bootstrap[0])
		return x, true
	}
	m.client = nil // never ready again
	m.probe(ctx)
	return met{err: m.finding}, m.finding != nil
}

// probeSays: silence may be slowness, for which the client waits on.
func (m *meeting) probeSays(x met) (met, bool) {
	if x.err == nil {
		m.c.book.entered(x.info.Via)
		return x, true
	}
	m.finding = x.err
	return x, m.client == nil || !isSilence(x.err)
}

func askClient(ctx context.Context, cl *kgo.Client) (Info, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return Info{}, err
	}
	return infoOf(resp), nil
}

func infoOf(m *kmsg.MetadataResponse) Info {
	info := Info{Controller: m.ControllerID}
	if m.ClusterID != nil {
		info.ClusterID = *m.ClusterID
	}
	for _, b := range m.Brokers {
		x := Broker{ID: b.NodeID, Host: b.Host, Port: b.Port}
		if b.Rack != nil {
			x.Rack = *b.Rack
		}
		info.Brokers = append(info.Brokers, x)
	}
	return info
}

// probeAll probes the bootstrap addresses at once; the first answer counts, or
// else the finding that says most.
func (c *Cluster) probeAll(ctx context.Context) (Info, error) {
	addrs := c.bootstrap[:min(len(c.bootstrap), mostProbed)]
	p := &probe{dialer: c.dialer, say: c.sentences(), login: c.login, id: c.tuning.ClientID}
	results := make(chan met, len(addrs))
	for _, a := range addrs {
		go func() {
			m, err := p.run(ctx, a)
			if err != nil {
				results <- met{err: err}
				return
			}
			info := infoOf(m)
			info.Via = a
			results <- met{info: info}
		}()
	}
	var found []error
	for range addrs {
		m := <-results
		if m.err == nil {
			return m.info, nil
		}
		found = append(found, m.err)
	}
	return Info{}, c.mostTelling(found)
}

// mostTelling picks the finding about an address that at least answered, and
// says how many more there are.
func (c *Cluster) mostTelling(found []error) error {
	best := found[0]
	for _, f := range found[1:] {
		if telling(f) > telling(best) {
			best = f
		}
	}
	f, ok := errors.AsType[*fault.Error](best)
	if !ok || len(found) == 1 {
		return best
	}
	var others []string
	for _, x := range found {
		if x != best {
			others = append(others, strings.TrimPrefix(x.Error(), c.name+": "))
		}
	}
	f.Message = fmt.Sprintf("%s; %s", f.Message, strings.Join(others, "; "))
	return f
}

func telling(err error) int {
	f, ok := errors.AsType[*fault.Error](err)
	_, noConnection := errors.AsType[*dialError](err)
	switch {
	case !ok:
		return 0
	case f.Kind == fault.Auth:
		return 3
	case noConnection:
		return 0
	case isSilence(err):
		return 1
	}
	return 2
}

// reach tries the addresses that the brokers advertise: a tunnel or a listener
// for another network lets a client in and then sends it elsewhere. The wait
// ends soon after one broker was reached.
func (c *Cluster) reach(ctx context.Context, info *Info) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	type reached struct {
		i   int
		err error
	}
	results := make(chan reached, len(info.Brokers))
	slots := make(chan struct{}, 32)
	for i, b := range info.Brokers {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			conn, err := c.dialer.tcp(ctx, b.Addr())
			if err == nil {
				_ = conn.Close()
				c.book.dialed(b.Addr(), nil)
			}
			results <- reached{i, err}
		}()
	}
	var bad error
	one, rest := false, (<-chan time.Time)(nil)
	for range info.Brokers {
		select {
		case r := <-results:
			if r.err == nil {
				if !one {
					one, rest = true, time.After(reachMore)
				}
				continue
			}
			b := &info.Brokers[r.i]
			c.book.dialed(b.Addr(), r.err)
			b.Err = c.sentences().advertised(info.Via, *b, r.err)
			bad = b.Err
		case <-rest:
			return nil
		}
	}
	if one || len(info.Brokers) == 0 {
		return nil
	}
	return bad
}

func (c *Cluster) sentences() sentences {
	return sentences{
		cluster: c.name, redact: c.redact,
		identity: c.dialer.tls != nil && c.dialer.tls.GetClientCertificate != nil,
	}
}

// redact takes the cluster's secrets out of a text that a library made.
func (c *Cluster) redact(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, masked)
	}
	return text
}
