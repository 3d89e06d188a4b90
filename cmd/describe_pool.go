package cmd

import (
	"context"
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// The times of a watch.
const (
	inquiryLimit = 5 * time.Second        // for one cluster to answer one question
	suspicious   = 500 * time.Millisecond // silence after which it is looked what is the matter
	leastWait    = 1500 * time.Millisecond
	remeet       = 30 * time.Second // after which a cluster is asked again who it is
	closingLimit = 200 * time.Millisecond
)

// pool asks clusters round after round. Its clients stay open, and each cluster
// has at most one question at a time: one that is slow or dead answers late or
// never, and the round of the others goes on without it.
type pool struct {
	env     *Env
	wait    time.Duration // for the clusters that answer in time
	view    *metadata.View
	desks   map[string]*desk
	later   bool // the first round is over
	closing sync.WaitGroup
}

func newPool(env *Env, interval time.Duration) *pool {
	return &pool{env: env, desks: map[string]*desk{}, wait: min(max(interval*3/4, leastWait), inquiryLimit)}
}

// each implements inquirer. In later rounds wrong settings are the error of
// their cluster alone.
func (p *pool) each(ctx context.Context, view *metadata.View, names []string, ask func(context.Context, respondent) (any, error)) ([]reply[any], error) {
	p.turnTo(view)
	desks := make([]*desk, len(names))
	for i, name := range names {
		d := p.desk(view.Cluster(name))
		if d.wrong != nil && !p.later {
			return nil, d.wrong
		}
		desks[i] = d
	}
	p.later = true
	round, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	for _, d := range desks {
		d.begin(ctx, ask, p.wait)
	}
	for _, d := range desks {
		if d.running != nil && !d.behind() {
			select {
			case <-d.running.done:
			case <-round.Done():
			}
		}
	}
	replies := make([]reply[any], len(desks))
	for i, d := range desks {
		replies[i] = d.reply(p.wait)
	}
	return replies, nil
}

// turnTo takes a view. Questions about the last one are void, and clusters that
// are gone or described in another way lose their clients.
func (p *pool) turnTo(view *metadata.View) {
	if view == p.view {
		return
	}
	p.view = view
	for name, d := range p.desks {
		d.forget()
		if m := view.Cluster(name); m == nil || !m.SameAs(d.meta) {
			p.retire(d)
			delete(p.desks, name)
		}
	}
}

// desk returns the desk of a cluster. Wrong settings are looked at again each
// time: they may be those of a file that the metadata only names.
func (p *pool) desk(m *metadata.Cluster) *desk {
	d := p.desks[m.Name]
	if d == nil {
		d = &desk{env: p.env, meta: m}
		p.desks[m.Name] = d
	}
	if d.cluster == nil {
		d.cluster, d.wrong = connect(p.env, m)
	}
	return d
}

// retire closes a desk in the background: a dead cluster may take its time.
func (p *pool) retire(d *desk) {
	d.forget()
	if d.cluster != nil {
		p.closing.Go(func() {
			d.asking.Wait() // a question that goes on would make new connections
			d.cluster.Close()
		})
	}
}

// close closes all clients, and waits a little for them.
func (p *pool) close() {
	for _, d := range p.desks {
		p.retire(d)
	}
	closed := make(chan struct{})
	go func() {
		p.closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closingLimit):
	}
}

// desk is where one cluster is asked.
type desk struct {
	env     *Env
	meta    *metadata.Cluster
	cluster *cluster.Cluster // nil when the settings are wrong
	wrong   error            // why
	running *inquiry         // nil: none
	last    reply[any]       // of the last inquiry that ended; none about another view
	lost    bool             // it gave nothing but the error of a cluster that is not to be had
	slow    bool             // it came after the round that it was for
	asking  sync.WaitGroup   // whatever talks to the cluster

	mu   sync.Mutex
	info cluster.Info
	at   time.Time // when info was got; zero: the cluster is not known to answer
}

// inquiry is a question under way. The fields behind done are for those who saw
// it closed.
type inquiry struct {
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}
	reply  reply[any]
	took   time.Duration
	lost   bool

	overdue bool // a round has waited for it, in vain
}

// forget gives up what is under way and what is known of answers.
func (d *desk) forget() {
	if d.running != nil {
		d.running.cancel()
	}
	d.running, d.last, d.lost, d.slow = nil, reply[any]{}, false, false
}

// begin asks, unless the last question is still open.
func (d *desk) begin(ctx context.Context, ask func(context.Context, respondent) (any, error), wait time.Duration) {
	d.take(wait)
	if d.running != nil || d.cluster == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	q := &inquiry{began: time.Now(), cancel: cancel, done: make(chan struct{})}
	d.running = q
	d.asking.Go(func() {
		defer cancel()
		defer close(q.done)
		answer, err := d.inquire(ctx, ask)
		q.reply = reply[any]{answer: answer, err: err, cluster: d.cluster}
		q.took, q.lost = time.Since(q.began), err != nil && !d.known()
	})
}

// take takes the answer of an inquiry that has ended.
func (d *desk) take(wait time.Duration) {
	if d.running == nil {
		return
	}
	select {
	case <-d.running.done:
		q := d.running
		d.running, d.last, d.lost, d.slow = nil, q.reply, q.lost, q.took > wait
	default:
	}
}

// behind reports whether a round does without waiting for the cluster.
func (d *desk) behind() bool { return d.lost || d.slow || d.running.overdue }

// reply is what a round shows. Figures of an earlier round are not shown again,
// but for a cluster that always answers late: its last answer is as fresh as
// they come.
func (d *desk) reply(wait time.Duration) reply[any] {
	if d.cluster == nil {
		return reply[any]{err: d.wrong}
	}
	d.take(wait)
	if d.running == nil {
		return d.last
	}
	d.running.overdue = true
	if d.lost {
		return d.last
	}
	age := time.Since(d.running.began)
	if d.slow && age < inquiryLimit {
		return d.last
	}
	err := fault.New(fault.Unreachable, "%s: no answer for %s", d.meta.Name, age.Round(100*time.Millisecond)).On(d.meta.Name)
	return reply[any]{err: err, cluster: d.cluster}
}

func (d *desk) known() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero()
}

// meet connects to the cluster, unless it has answered lately.
func (d *desk) meet(ctx context.Context) (cluster.Info, error) {
	d.mu.Lock()
	info, at := d.info, d.at
	d.mu.Unlock()
	if !at.IsZero() && time.Since(at) < remeet {
		return info, nil
	}
	info, err := meet(ctx, d.env, d.cluster)
	d.met(info, err)
	return info, err
}

// met notes what came of meeting the cluster, or that it cannot be reached.
func (d *desk) met(info cluster.Info, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.info, d.at = cluster.Info{}, time.Time{}
		return
	}
	d.info, d.at = info, time.Now()
}

// outcome is what a question led to.
type outcome struct {
	answer any
	err    error
}

// inquire puts a question. When a cluster that is known stays silent, a new
// contact is tried beside it, whose error tells for certain what is wrong; a
// look-up's own would say only that there was no answer.
func (d *desk) inquire(ctx context.Context, ask func(context.Context, respondent) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*inquiryLimit)
	defer cancel()
	answers := make(chan outcome, 1)
	known := d.known()
	d.asking.Go(func() {
		answer, err := ask(ctx, respondent{d.cluster, d.meet})
		answers <- outcome{answer, err}
	})
	timer := time.NewTimer(suspicious)
	defer timer.Stop()
	var o outcome
	select {
	case o = <-answers:
	case <-timer.C:
		o = d.doubt(ctx, answers, known)
	}
	if fault.KindOf(o.err) == fault.Unreachable {
		d.met(cluster.Info{}, o.err)
	}
	return o.answer, o.err
}

// doubt waits for an answer that is late. Of a cluster that is not known the
// question itself begins with a contact.
func (d *desk) doubt(ctx context.Context, answers <-chan outcome, known bool) outcome {
	if !known {
		return <-answers
	}
	contact := make(chan error, 1)
	d.asking.Go(func() {
		_, err := d.cluster.Connect(ctx)
		contact <- err
	})
	select {
	case o := <-answers:
		if fault.KindOf(o.err) != fault.Unreachable {
			return o
		}
		if err := <-contact; err != nil {
			return d.failed(err)
		}
		return o
	case err := <-contact:
		if err != nil {
			return d.failed(err)
		}
		return <-answers
	}
}

// failed is the outcome for a cluster that cannot be met any more.
func (d *desk) failed(err error) outcome {
	d.met(cluster.Info{}, err)
	return outcome{err: err}
}
