package fetch

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// session is a fetch session (KIP-227): the broker remembers what it was asked
// for, and a request says only what has changed. It belongs to one connection
// with one request in flight.
type session struct {
	id, epoch int32 // epoch 0 opens a session, in place of the one with that id
	sent      map[Partition]*want
	turn      int
}

func newSession() session { return session{sent: map[Partition]*want{}} }

// open reports whether the broker remembers something.
func (s *session) open() bool { return s.id != 0 && s.epoch > 0 }

// reset makes the next request open a new session with everything in it, at the
// positions that have been handed on: after an answer that was lost nobody knows
// what the broker remembers.
func (s *session) reset() {
	s.epoch = 0
	clear(s.sent)
}

// request makes the next request for exactly these parts. What is in the session
// and not among them is forgotten: a partition that is left in and not read has
// every request answered at once.
func (s *session) request(parts []*part, most int32, fl *flight) *kmsg.FetchRequest {
	if s.idChanged(parts) {
		s.reset()
	}
	if s.epoch == 0 {
		clear(s.sent)
	}
	s.turn++
	fl.wants = s.sent
	req := kmsg.NewPtrFetchRequest()
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	add := adder{req: req}
	for _, p := range parts {
		now := p.want(most)
		now.turn = s.turn
		if was := s.sent[p.key]; was == nil || !was.sameAs(now) {
			add.want(now)
		}
		s.sent[p.key] = now
		p.flight = fl
	}
	for key, w := range s.sent {
		if w.turn != s.turn {
			add.forget(w)
			delete(s.sent, key)
		}
	}
	return req
}

// idChanged reports whether a topic of the session is another one by now. To
// forget the one and add the other in one request would, for a broker that knows
// names only, forget both.
func (s *session) idChanged(parts []*part) bool {
	for _, p := range parts {
		if w := s.sent[p.key]; w != nil && w.at.TopicID != p.at.TopicID {
			return true
		}
	}
	return false
}

// answered takes note of the id in an answer. No id means that the broker's
// cache is full, or that it is too old: then every request asks for everything.
func (s *session) answered(id int32) {
	switch {
	case id == 0:
		s.id, s.epoch = 0, 0
	case s.epoch == math.MaxInt32:
		s.id, s.epoch = id, 1
	default:
		s.id = id
		s.epoch++
	}
}

// refused takes note of an answer's error.
func (s *session) refused(code int16) {
	s.reset()
	if code == kerr.FetchSessionIDNotFound.Code {
		s.id = 0
	}
}

// sendTailClose has the broker forget a session that nothing is left in.
func (f *Fetcher) sendTailClose(b *broker) {
	fl := &flight{b: b, role: cluster.Tail, started: time.Now(), closes: true}
	fl.req = b.session.closing()
	b.session = newSession()
	b.tail = fl
	f.launch(fl)
}

// closeSessions has the brokers forget all sessions, when nothing else runs any
// more. It does not matter if it can't.
func (f *Fetcher) closeSessions() {
	var closing sync.WaitGroup
	defer closing.Wait()
	for _, b := range f.brokers {
		if !b.session.open() || b.fails > 0 {
			continue
		}
		closing.Go(func() {
			cl, done, err := f.clients.use(cluster.Tail)
			if err != nil {
				return
			}
			defer done()
			ctx, cancel := context.WithTimeout(f.ctx(), f.cfg.timing.farewell)
			defer cancel()
			_, _ = cl.Broker(int(b.id)).Request(ctx, b.session.closing())
		})
	}
}

func (s *session) closing() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SessionID, req.SessionEpoch = s.id, -1
	return req
}

// adder puts partitions into a request, by topic. Name and id are both set: the
// version of the request, which is only known when it is sent, decides.
type adder struct {
	req       *kmsg.FetchRequest
	topics    map[topicKey]int
	forgotten map[topicKey]int
}

type topicKey struct {
	name string
	id   [16]byte
}

func (a *adder) want(w *want) {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = w.p.key.ID
	p.CurrentLeaderEpoch = w.epoch
	p.FetchOffset = w.at.Offset
	p.LastFetchedEpoch = w.at.Epoch
	p.PartitionMaxBytes = w.most
	key := topicKey{w.p.key.Topic, w.at.TopicID}
	i, ok := a.topics[key]
	if !ok {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = key.name, key.id
		i = len(a.req.Topics)
		a.req.Topics = append(a.req.Topics, t)
		if a.topics == nil {
			a.topics = map[topicKey]int{}
		}
		a.topics[key] = i
	}
	a.req.Topics[i].Partitions = append(a.req.Topics[i].Partitions, p)
}

func (a *adder) forget(w *want) {
	key := topicKey{w.p.key.Topic, w.at.TopicID}
	i, ok := a.forgotten[key]
	if !ok {
		t := kmsg.NewFetchRequestForgottenTopic()
		t.Topic, t.TopicID = key.name, key.id
		i = len(a.req.ForgottenTopics)
		a.req.ForgottenTopics = append(a.req.ForgottenTopics, t)
		if a.forgotten == nil {
			a.forgotten = map[topicKey]int{}
		}
		a.forgotten[key] = i
	}
	a.req.ForgottenTopics[i].Partitions = append(a.req.ForgottenTopics[i].Partitions, w.p.key.ID)
}
