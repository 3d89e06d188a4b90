package fetch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// lookUp asks for a look-up of p's topic.
func (f *Fetcher) lookUp(p *part) {
	if !p.gone.Load() && !p.stopped {
		f.stale[p.key.Topic] = struct{}{}
	}
}

// lookup starts the look-up of topics that is due, and says when the next is.
func (f *Fetcher) lookup(now time.Time) time.Time {
	if f.looking {
		return time.Time{}
	}
	if !now.Before(f.refreshAt) {
		f.refreshAt = now.Add(f.cfg.timing.refresh)
		for topic := range f.topics {
			f.stale[topic] = struct{}{}
		}
	}
	switch {
	case len(f.stale) == 0:
		return f.refreshAt
	case now.Before(f.lookAt):
		return f.lookAt
	}
	f.refreshAt = now.Add(f.cfg.timing.refresh)
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for topic := range f.stale {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	clear(f.stale)
	f.looking = true
	f.chores.Go(func() {
		resp, err := f.askAny(req)
		f.post(func() { f.found(req, resp, err) })
	})
	return time.Time{}
}

// found takes the result of a look-up. What is still to be looked up after it
// is asked for again, less and less often.
func (f *Fetcher) found(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse, err error) {
	now := time.Now()
	f.looking = false
	if err == nil {
		f.learn(resp, now)
	} else if !f.lost && f.lookups > 0 {
		f.lost = true
		f.cfg.Handler.Event(Lost{Broker: -1, Err: err})
	}
	for _, t := range req.Topics {
		for _, p := range f.topics[*t.Topic] {
			if p.on == nil || err != nil {
				f.lookUp(p)
			}
		}
	}
	if len(f.stale) == 0 {
		f.lookups, f.lookAt = 0, now.Add(f.cfg.timing.poll)
		return
	}
	f.lookups++
	f.lookAt = now.Add(growing(f.lookups, 2*f.cfg.timing.poll, f.cfg.timing.longest*2/5))
}

// inContact ends the loss of every broker: one has answered. The others may be
// back as well, so none is waited for any longer.
func (f *Fetcher) inContact() {
	if !f.lost {
		return
	}
	f.lost = false
	f.cfg.Handler.Event(Back{Broker: -1})
	for _, b := range f.brokers {
		b.retryAt, b.dirty = time.Time{}, true
	}
}

func (f *Fetcher) learn(resp *kmsg.MetadataResponse, now time.Time) {
	f.inContact()
	for _, b := range resp.Brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		f.addrs[b.NodeID] = addr
		if known := f.brokers[b.NodeID]; known != nil {
			known.addr = addr
		}
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		byID := make(map[int32]*kmsg.MetadataResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			byID[t.Partitions[j].Partition] = &t.Partitions[j]
		}
		for id, p := range f.topics[*t.Topic] {
			if !p.stopped {
				f.learnPart(p, t, byID[id], now)
			}
		}
	}
	f.forgetBrokers()
}

// learnPart takes what a look-up says about one partition; mp is nil if the
// topic does not have it.
func (f *Fetcher) learnPart(p *part, t *kmsg.MetadataResponseTopic, mp *kmsg.MetadataResponseTopicPartition, now time.Time) {
	err := kerr.ErrorForCode(t.ErrorCode)
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		f.stop(p, Denied{p.key, err})
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.InvalidTopicException):
		f.notFound(p, true)
	case err != nil:
		f.noLeader(p, now, err)
	case f.recreated(p, t.TopicID):
	case mp == nil:
		f.notFound(p, false)
	case mp.Leader < 0 || mp.ErrorCode == kerr.LeaderNotAvailable.Code:
		f.noLeader(p, now, kerr.LeaderNotAvailable)
	case mp.LeaderEpoch >= 0 && mp.LeaderEpoch < p.epoch && p.older < 3:
		p.older++ // from a broker that has not heard of the last election yet
		f.lookUp(p)
	default:
		p.older, p.misses = 0, 0
		p.leader, p.epoch = mp.Leader, mp.LeaderEpoch
		f.place(p)
	}
}

// notFound is a partition that a look-up did not find. It is told, and no longer
// asked for, when the next does not either: brokers hear of a new topic one
// after the other.
func (f *Fetcher) notFound(p *part, topic bool) {
	p.misses++
	f.lookUp(p)
	if p.misses == 1 {
		return
	}
	f.unplace(p)
	if p.told != missing {
		p.told = missing
		f.cfg.Handler.Event(Missing{Partition: p.key, Topic: topic})
	}
}

func (f *Fetcher) noLeader(p *part, now time.Time, err error) {
	f.troubled(p, now, err)
	f.unplace(p)
	p.leader = -1
	f.lookUp(p)
}

// recreated reports whether the topic has another id than the one that the
// position belongs to, and stops p if a second look-up says so, too: a broker
// may not have heard of the new topic yet. On clusters without ids, a topic that
// was missing and is there again is another one.
func (f *Fetcher) recreated(p *part, id [16]byte) bool {
	var none [16]byte
	switch {
	case id == none && p.at.TopicID == none:
		if p.told == missing {
			f.stop(p, Recreated{Partition: p.key})
			return true
		}
		return false
	case p.at.TopicID == none:
		p.at.TopicID = id
		return false
	case id == none || id == p.at.TopicID:
		p.newer = none
		return false
	case id == p.newer:
		f.stop(p, Recreated{p.key, p.at.TopicID, id})
	default:
		p.newer = id
		f.lookUp(p)
	}
	return true
}

// forgetBrokers drops brokers that nothing is read from. A lost one is not
// missed if what it led is led by others.
func (f *Fetcher) forgetBrokers() {
	for id, b := range f.brokers {
		if !b.empty() || len(b.flights) > 0 || b.session.open() || b.pinging {
			continue
		}
		if b.lost && f.homeless > 0 {
			continue
		}
		if b.lost {
			f.cfg.Handler.Event(Back{Broker: id, Addr: b.addr, Moved: true})
		}
		delete(f.brokers, id)
	}
}

// ask sends a request to one broker on the control client and gives it up when
// it takes too long.
func (f *Fetcher) ask(id int32, req kmsg.Request) (kmsg.Response, error) {
	cl, done, err := f.clients.use(cluster.Control)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(f.ctx(), f.cfg.timing.slow)
	defer cancel()
	return cl.Broker(int(id)).Request(ctx, req)
}

// askAny asks the brokers one after the other, without waiting long for one,
// until one answers: to leave that to kgo would hide what is wrong with each.
func (f *Fetcher) askAny(req *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	cl, done, err := f.clients.use(cluster.Control)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(f.ctx(), 2*f.cfg.timing.slow)
	defer cancel()
	brokers := cl.DiscoveredBrokers()
	rand.Shuffle(len(brokers), func(i, j int) { brokers[i], brokers[j] = brokers[j], brokers[i] })
	brokers = append(brokers, cl.SeedBrokers()...)
	type answer struct {
		resp kmsg.Response
		err  error
	}
	answers := make(chan answer, len(brokers))
	asked, open := 0, 0
	ask := func(b *kgo.Broker) {
		asked, open = asked+1, open+1
		mine := *req
		go func() {
			resp, err := b.Request(ctx, &mine)
			answers <- answer{resp, err}
		}()
	}
	hedge := time.NewTicker(f.cfg.timing.slow / 5)
	defer hedge.Stop()
	err = errors.New("no broker is known")
	for open > 0 || asked < len(brokers) {
		if open == 0 {
			ask(brokers[asked])
		}
		select {
		case a := <-answers:
			if a.err == nil {
				return a.resp.(*kmsg.MetadataResponse), nil
			}
			open--
			err = a.err
		case <-hedge.C:
			if asked < len(brokers) {
				ask(brokers[asked])
			}
		}
	}
	return nil, err
}
