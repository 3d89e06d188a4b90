package fetch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// flight is one Fetch request on its way.
type flight struct {
	b        *broker
	role     cluster.Role
	req      *kmsg.FetchRequest
	wants    map[Partition]*want // all that the answer may speak of; not changed in flight
	started  time.Time
	most     int  // MaxBytes
	reserved int  // of the budget
	closes   bool // the session, and asks for nothing
	again    bool // addresses are looked up anew first: the last request failed
	cancel   context.CancelFunc
	down     chan struct{} // closed when its goroutine ends

	landed bool      // belongs to the loop, as does:
	next   []*broker // whose parts waited for it
}

// bulkRequest asks for parts outside of any session, without waiting.
func (f *Fetcher) bulkRequest(parts []*part, fl *flight) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SessionEpoch = -1
	fl.wants = make(map[Partition]*want, len(parts))
	most := f.limited(max(f.cfg.PartitionMaxBytes, int32(fl.most/len(parts))))
	if parts[0].alone {
		most = 1 // whole batches come all the same: the first one (KIP-74)
	}
	add := adder{req: req}
	for _, p := range parts {
		w := p.want(most)
		fl.wants[p.key] = w
		p.flight = fl
		add.want(w)
	}
	return req
}

// launch sends a request.
func (f *Fetcher) launch(fl *flight) {
	req, b := fl.req, fl.b
	req.MinBytes = f.cfg.MinBytes
	req.MaxBytes = int32(fl.most)
	if f.cfg.Committed {
		req.IsolationLevel = 1
	}
	if fl.started.After(b.plainUntil) {
		req.Rack = f.cfg.Rack
	}
	fl.again = b.fails > 0
	fl.down = make(chan struct{})
	ctx, cancel := context.WithCancel(f.ctx())
	fl.cancel = cancel
	b.flights[fl] = struct{}{}
	f.sent++
	go f.fly(ctx, fl)
}

// fly waits for the answer, hands on what is in it and tells the loop.
func (f *Fetcher) fly(ctx context.Context, fl *flight) {
	defer close(fl.down)
	defer fl.cancel()
	resp, err := f.request(ctx, fl)
	if err != nil {
		f.cfg.Budget.give(fl.reserved)
		f.post(func() { f.land(fl, nil, nil, err) })
		return
	}
	outs := f.read(resp, fl)
	bytes := 0
	for _, o := range outs {
		bytes += o.held()
	}
	if left := fl.reserved - bytes; left >= 0 {
		f.cfg.Budget.give(left)
	} else {
		f.cfg.Budget.take(-left)
	}
	f.handOn(outs)
	f.post(func() { f.land(fl, resp, outs, nil) })
}

func (f *Fetcher) request(ctx context.Context, fl *flight) (*kmsg.FetchResponse, error) {
	cl, done, err := f.clients.use(fl.role)
	if err != nil {
		return nil, err
	}
	defer done()
	late := time.AfterFunc(f.cfg.timing.slow, func() { f.post(func() { f.doubt(fl) }) })
	defer late.Stop()
	// The broker may have another address by now, and a client asks for those
	// only when it has to. A client that does not know the broker would ask one
	// address after the other, for as long as a long poll may take each.
	if known := knows(cl, fl.b.id); fl.again || !known {
		if err := f.refresh(ctx, cl); err != nil && !known {
			return nil, err
		}
	}
	resp, err := cl.Broker(int(fl.b.id)).Request(ctx, fl.req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.FetchResponse), nil
}

func knows(cl *kgo.Client, broker int32) bool {
	one := *cl.Broker(int(broker))
	return slices.ContainsFunc(cl.DiscoveredBrokers(), func(b *kgo.Broker) bool { return *b == one })
}

// refresh has a client look up where the brokers are. Each attempt goes to the
// next broker, and one that does not answer is not waited for by the others.
func (f *Fetcher) refresh(ctx context.Context, cl *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.timing.slow)
	defer cancel()
	const most = 8
	failed := make(chan error, most)
	ask := func() {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{} // nil would be all of them
		_, err := cl.Request(ctx, req)
		failed <- err
	}
	hedge := time.NewTicker(f.cfg.timing.slow / 10)
	defer hedge.Stop()
	asked, open := 1, 1
	go ask()
	for open > 0 {
		select {
		case err := <-failed:
			if open--; err == nil || open == 0 {
				return err
			}
		case <-hedge.C:
			if asked < most {
				asked, open = asked+1, open+1
				go ask()
			}
		}
	}
	return nil
}

// handOn calls Fetched for each outcome that has something, at once, and waits
// a little: usually the calls return quickly. One that does not is waited for
// by its partition only.
func (f *Fetcher) handOn(outs []*outcome) {
	calls := 0
	returned := make(chan struct{}, len(outs))
	for _, o := range outs {
		if !o.news() {
			o.state.Store(handedOn)
			continue
		}
		calls++
		go func() {
			f.hand(o)
			returned <- struct{}{}
			if !o.state.CompareAndSwap(handingOn, handedOn) {
				f.post(func() { f.settle(o, true) })
			}
		}()
	}
	grace := time.NewTimer(f.cfg.timing.grace)
	defer grace.Stop()
	for ; calls > 0; calls-- {
		select {
		case <-returned:
		case <-grace.C:
			calls = 1
		}
	}
	for _, o := range outs {
		o.state.CompareAndSwap(handingOn, outlived)
	}
}

// hand calls Fetched with what o holds, unless nobody wants it any more.
func (f *Fetcher) hand(o *outcome) {
	p := o.w.p
	d := Data{
		Partition: p.key, TopicID: o.w.at.TopicID, Batches: o.batches,
		From: o.w.at.Offset, Next: o.next, Epoch: o.epoch,
		LogStart: o.bounds.start, Stable: o.bounds.stable, End: o.bounds.end,
		Bytes: o.held(),
	}
	if d.Bytes > 0 {
		d.release = sync.OnceFunc(func() { f.cfg.Budget.give(d.Bytes) })
	}
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		d.Release()
		return
	}
	f.handing.Add(1)
	f.mu.Unlock()
	defer f.handing.Done()
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.gone.Load() {
		d.Release()
		return
	}
	f.cfg.Handler.Fetched(d)
}
