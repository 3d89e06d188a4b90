package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	agreeLimit   = 300 * time.Millisecond  // for the rest of the bootstrap addresses, once one has answered
	mostTold     = 4                       // findings beside the most telling one
)

// Connect contacts the cluster and says what it is. It ends within 5 s (or with
// ctx) and its error says for certain what is wrong: the name does not resolve,
// the port refuses, TLS meets plain text, the password is wrong and so on. A
// cluster whose id is not the one in Config is refused (fault.Refused), and so are
// bootstrap addresses that lead to several clusters. Brokers of which it is known
// that they cannot be reached carry that in Err; when no broker can be reached
// the error is fault.Unreachable.
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
	if len(c.bootstrap) > 1 {
		c.reseed()
	}
	return info, c.reach(limited, &info)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

type met struct {
	via  string // the bootstrap address; empty from the control client
	info Info
	err  error
}

// meeting is one run of Connect: the control client's attempt and the probes of
// the bootstrap addresses.
type meeting struct {
	c              *Cluster
	client, probes chan met
	probing        bool
	heard          []met // what the probes said
	finding        error // what is wrong, when all probes failed
}

// meet asks the control client and, when that fails or stays quiet, the probes,
// which tell causes that the client hides behind retries. Whoever gets an
// answer first ends it. Several addresses are probed in any case, since they may
// belong to several clusters.
func (c *Cluster) meet(ctx context.Context, cl *kgo.Client) (Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &meeting{c: c, client: make(chan met, 1), probes: make(chan met, len(c.bootstrap))}
	go func(to chan<- met) {
		info, err := askClient(ctx, cl)
		to <- met{info: info, err: err}
	}(m.client)
	if len(c.bootstrap) > 1 {
		m.probe(ctx)
	}
	info, err := m.first(ctx)
	if err != nil {
		return Info{}, err
	}
	m.others(ctx)
	return info, m.agree(info)
}

// first waits for the first answer, or for certainty that none comes.
func (m *meeting) first(ctx context.Context) (Info, error) {
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
				out.err = m.c.sentences().silent(strings.Join(m.c.bootstrap, ", "))
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
	for _, addr := range m.c.bootstrap {
		go func() {
			info, err := m.c.probe(ctx, addr)
			m.probes <- met{addr, info, err}
		}()
	}
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
	m.heard = append(m.heard, x)
	if x.err == nil {
		m.c.book.entered(x.via)
		return x, true
	}
	if len(m.heard) < len(m.c.bootstrap) {
		return x, false
	}
	m.finding = m.c.mostTelling(m.heard)
	return met{err: m.finding}, m.client == nil || !isSilence(m.finding)
}

// others listens a little longer to the addresses that have not answered yet.
func (m *meeting) others(ctx context.Context) {
	if len(m.c.bootstrap) == 1 {
		return
	}
	timer := time.NewTimer(agreeLimit)
	defer timer.Stop()
	for len(m.heard) < len(m.c.bootstrap) {
		select {
		case x := <-m.probes:
			m.heard = append(m.heard, x)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// agree refuses bootstrap addresses of several clusters: a client would read
// whichever answers first.
func (m *meeting) agree(info Info) error {
	ids := map[string]string{info.Via: info.ClusterID}
	for _, x := range m.heard { // of what the client says, the address is a guess
		if x.err == nil {
			ids[x.via] = x.info.ClusterID
		}
	}
	one := ""
	for _, addr := range m.c.bootstrap {
		switch id := ids[addr]; {
		case id == "":
		case one == "":
			one = addr
		case id != ids[one]:
			return fault.New(fault.Refused, "%s: bootstrap names several clusters: the one at %s has the id %s, the one at %s has the id %s",
				m.c.name, one, ids[one], addr, id).
				On(m.c.name).WithHint("give each cluster a name and a bootstrap of its own")
		}
	}
	return nil
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
	var info Info
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

// probe asks one bootstrap address who the cluster is.
func (c *Cluster) probe(ctx context.Context, addr string) (Info, error) {
	p := &probe{dialer: c.dialer, say: c.sentences(), login: c.login, id: c.tuning.ClientID}
	m, err := p.run(ctx, addr)
	if ctx.Err() == nil || err == nil {
		c.book.answered(addr, err == nil)
	}
	if err != nil {
		return Info{}, err
	}
	info := infoOf(m)
	info.Via = addr
	return info, nil
}

// mostTelling picks the finding about an address that at least answered, and
// says what is wrong with the others.
func (c *Cluster) mostTelling(found []met) error {
	slices.SortFunc(found, func(a, b met) int {
		return cmp.Compare(slices.Index(c.bootstrap, a.via), slices.Index(c.bootstrap, b.via))
	})
	best := found[0].err
	for _, f := range found[1:] {
		if telling(f.err) > telling(best) {
			best = f.err
		}
	}
	f, ok := errors.AsType[*fault.Error](best)
	if !ok || len(found) == 1 {
		return best
	}
	var others []string
	for _, x := range found {
		if x.err != best && len(others) < mostTold {
			others = append(others, strings.TrimPrefix(x.err.Error(), c.name+": "))
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
			results <- reached{i, c.visit(ctx, b.Addr())}
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
			b.Err = c.sentences().advertised(info.Via, *b, r.err)
			c.book.found(b.Addr(), b.Err)
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

// visit finds out whether an address that a broker advertises is a listener as
// it should be: a client behind a TLS address may be sent to a plain one. Whoever
// accepts and is slow to answer counts as reached.
func (c *Cluster) visit(ctx context.Context, addr string) error {
	p := &probe{dialer: c.dialer, say: c.sentences(), login: c.login, id: c.tuning.ClientID}
	conn, _, _, err := p.begin(ctx, addr)
	if err == nil {
		_ = conn.Close()
	}
	switch de, noConnection := errors.AsType[*dialError](err); {
	case noConnection && !de.tls:
		c.book.dialed(addr, de)
		return de
	case isSilence(err):
		err = nil
	}
	c.book.dialed(addr, nil)
	return err
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
