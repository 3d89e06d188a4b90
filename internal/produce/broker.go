package produce

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is one broker that leads something. Everything but lane is guarded by
// the Writer's mu.
type broker struct {
	id       int32
	ready    []*partition // that something can be sent of, in turn
	flights  []*request   // without an answer, in the order in which they were sent
	lane     chan *request
	written  chan struct{} // capacity 1: a request has left, see send
	throttle time.Time     // its quota holds back requests until then
	slow     int           // how often it has answered after it was taken for silent
	trouble  trouble
}

// request is a Produce request on its way.
type request struct {
	broker  *broker
	body    *kmsg.ProduceRequest
	batches []*Batch
	ctx     context.Context //nolint:containedctx // handed from the loop to the lane
	cancel  context.CancelFunc
	sent    time.Time
}

// broker returns the state of a broker, made when first needed.
func (w *Writer) broker(id int32) *broker {
	b := w.brokers[id]
	if b == nil {
		b = &broker{id: id, lane: make(chan *request, mostFlying), written: make(chan struct{}, 1)}
		b.trouble.init(w, partitionKey{id: -1})
		w.brokers[id] = b
		w.work.Go(func() { w.sendAll(b) })
	}
	return b
}

// load fills requests for a broker as long as there is something ready and room.
func (w *Writer) load(b *broker) (done answers) {
	for len(b.flights) < mostFlying && len(b.ready) > 0 {
		r := w.fill(b, &done)
		if len(r.batches) == 0 {
			return done
		}
		r.ctx, r.cancel = context.WithCancel(w.ctx)
		r.sent = time.Now()
		b.flights = append(b.flights, r)
		b.lane <- r // has room for as many as may fly
	}
	return done
}

// fill takes a batch of each ready partition, up to the size of a request.
func (w *Writer) fill(b *broker, done *answers) *request {
	r := &request{broker: b, body: kmsg.NewPtrProduceRequest()}
	r.body.Acks, r.body.TimeoutMillis = -1, int32(w.cfg.timing.request/time.Millisecond)
	topics := map[*Topic]int{}
	var later []*partition
	size := 0
	for size < fullRequest && len(b.ready) > 0 {
		p := b.ready[0]
		b.ready = b.ready[1:]
		if p.leader != b {
			p.listed = false
			w.list(p)
			w.poke() // the other one may have had its turn
			continue
		}
		x := w.take(p, done)
		if x == nil {
			p.listed = false // whoever frees it lists it again
			continue
		}
		size += len(x.Raw)
		r.add(x, topics)
		if len(p.queue) == 0 || len(p.flight) >= p.window() {
			p.listed = false
			continue
		}
		later = append(later, p)
	}
	b.ready = append(b.ready, later...)
	return r
}

func (r *request) add(x *Batch, topics map[*Topic]int) {
	i, ok := topics[x.Topic]
	if !ok {
		i = len(r.body.Topics)
		topics[x.Topic] = i
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.TopicID = x.Topic.Name, x.Topic.identity.id
		r.body.Topics = append(r.body.Topics, t)
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = x.Partition, x.Raw
	r.body.Topics[i].Partitions = append(r.body.Topics[i].Partitions, p)
	x.flying, x.sentTo = true, r
	r.batches = append(r.batches, x)
}

// sendAll sends a broker's requests in order.
func (w *Writer) sendAll(b *broker) {
	for {
		select {
		case r := <-b.lane:
			w.send(b, r)
		case <-w.ctx.Done():
			return
		}
	}
}

// send sends a request and returns when it has left, not when it is answered. The
// client takes requests from several goroutines in any order; that one has left is
// known from its hook, and the next must not come before.
func (w *Writer) send(b *broker, r *request) {
	select {
	case <-b.written: // of a request that failed all the same
	default:
	}
	over := make(chan struct{})
	w.work.Go(func() {
		defer close(over)
		resp, err := w.client.Broker(int(b.id)).Request(r.ctx, r.body)
		w.landed(r, resp, err)
		r.cancel()
	})
	select {
	case <-b.written:
	case <-over:
	}
}

// writeHook tells when Produce requests leave and when a quota holds them back.
type writeHook struct{ w *Writer }

// OnBrokerWrite implements kgo.HookBrokerWrite.
//
//nolint:revive // the number of arguments is kgo's
func (h writeHook) OnBrokerWrite(meta kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key != 0 {
		return
	}
	h.w.mu.Lock()
	b := h.w.brokers[meta.NodeID]
	h.w.mu.Unlock()
	if b == nil {
		return
	}
	select {
	case b.written <- struct{}{}:
	default:
	}
}

// OnBrokerThrottle implements kgo.HookBrokerThrottle: the client waits, and that
// is no trouble.
func (h writeHook) OnBrokerThrottle(meta kgo.BrokerMetadata, interval time.Duration, _ bool) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if b := h.w.brokers[meta.NodeID]; b != nil {
		b.throttle = time.Now().Add(interval)
	}
}

// landed takes the answer to a request, or why there is none.
func (w *Writer) landed(r *request, resp kmsg.Response, err error) {
	now := time.Now()
	byBatch := map[*Batch]error{}
	var written *kmsg.ProduceResponse
	if p, ok := resp.(*kmsg.ProduceResponse); err == nil && ok {
		byBatch = r.match(p)
		written = p
	}
	w.mu.Lock()
	r.leave(w, now, err)
	var done answers
	turned := map[*partition]struct{}{}
	for _, b := range r.batches {
		p := w.partitions[partitionKey{b.Topic.Name, b.Partition}]
		b.flying = false
		cause := err
		if err == nil {
			var answered bool
			if cause, answered = byBatch[b]; !answered {
				cause = kerr.UnknownServerError
			}
		}
		if cause == nil {
			done = append(done, w.arrive(p, b))
			w.doubt(b.Topic, written)
		} else {
			b.err = cause
			p.turning = true
		}
		if p.turning {
			turned[p] = struct{}{}
		}
	}
	for p := range turned {
		done = append(done, w.settle(p, now)...)
	}
	w.mu.Unlock()
	w.poke()
	done.call()
}

// leave takes a request off its broker's list.
func (r *request) leave(w *Writer, now time.Time, err error) {
	b := r.broker
	for i, f := range b.flights {
		if f == r {
			b.flights = append(b.flights[:i], b.flights[i+1:]...)
			break
		}
	}
	switch {
	case err == nil:
		if b.trouble.told && now.Sub(r.sent) > w.cfg.timing.silent {
			b.slow++ // it was not dead, and is not told so soon again
		}
		b.trouble.clear()
		w.contact.clear()
	case w.ctx.Err() == nil && r.ctx.Err() == nil: // not given up by the Writer itself
		b.trouble.note(now, err)
		w.client.ForceMetadataRefresh() // it may have another address by now
	}
}

// match finds the answer for each batch; a missing one is none.
func (r *request) match(resp *kmsg.ProduceResponse) map[*Batch]error {
	type place struct {
		topic     string
		id        [16]byte
		partition int32
	}
	found := map[place]error{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			var err error
			if code := kerr.ErrorForCode(p.ErrorCode); code != nil && code != kerr.DuplicateSequenceNumber {
				err = refusal(code, p)
			}
			found[place{t.Topic, t.TopicID, p.Partition}] = err
		}
	}
	ids := map[string][16]byte{}
	for i := range r.body.Topics {
		ids[r.body.Topics[i].Topic] = r.body.Topics[i].TopicID
	}
	said := map[*Batch]error{}
	for _, b := range r.batches {
		at := place{topic: b.Topic.Name, partition: b.Partition}
		if resp.Version >= 13 { // by the topic's id (KIP-516)
			at.topic, at.id = "", ids[b.Topic.Name]
		}
		if err, ok := found[at]; ok {
			said[b] = err
		}
	}
	return said
}

// arrive notes that a batch is in the cluster.
func (w *Writer) arrive(p *partition, b *Batch) func() {
	b.arrived = true
	w.progress(p)
	w.counts.Topics[b.Topic.Name] += int64(b.Records)
	if b.Built {
		w.counts.Built++
	} else {
		w.counts.Raw++
	}
	if !p.turning {
		for len(p.flight) > 0 && p.flight[0].arrived {
			p.flight = p.flight[1:]
		}
		w.list(p)
	}
	return b.answer(nil)
}
