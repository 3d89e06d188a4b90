package produce

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// elsewhere has the leader of a partition looked up: it may have moved.
func (w *Writer) elsewhere(p *partition) {
	p.leader = nil
	w.homeless[p] = struct{}{}
}

// seekLeaders starts a look-up if one is due.
func (w *Writer) seekLeaders(now time.Time, due *deadline) {
	switch {
	case len(w.homeless) == 0:
		w.lookups = 0
		return
	case w.lookingUp:
		return
	case now.Before(w.lookAt):
		due.by(w.lookAt)
		return
	}
	byName := map[string]*Topic{}
	var names []string
	for p := range w.homeless {
		if byName[p.key.topic] == nil {
			byName[p.key.topic] = p.topic
			names = append(names, p.key.topic)
		}
	}
	w.lookingUp = true
	w.work.Go(func() {
		found, err := w.cfg.Cluster.Topics(w.ctx, names...)
		w.found(found, err)
	})
}

// found takes the result of a look-up. Leaders that are still missing are looked
// for less and less often.
func (w *Writer) found(topics []cluster.Topic, err error) {
	now := time.Now()
	w.mu.Lock()
	w.lookingUp = false
	w.lookups++
	w.lookAt = now.Add(growing(w.lookups, w.cfg.timing.backoff, w.cfg.timing.longest))
	if err != nil && w.ctx.Err() == nil {
		w.contact.note(now, err)
		for p := range w.homeless {
			w.stuck(p, now)
		}
	}
	if err == nil {
		w.contact.clear()
	}
	var done answers
	for i := range topics {
		done = append(done, w.learn(&topics[i], now)...)
	}
	w.mu.Unlock()
	w.poke()
	done.call()
}

// learn takes what a look-up says about one topic.
func (w *Writer) learn(t *cluster.Topic, now time.Time) (done answers) {
	for p := range w.homeless { // all of one name are of one Topic
		if p.key.topic == t.Name {
			done = w.identify(p.topic, t)
			break
		}
	}
	leaders := map[int32]cluster.Partition{}
	for _, p := range t.Partitions {
		leaders[p.ID] = p
	}
	for p := range w.homeless {
		if p.key.topic != t.Name {
			continue
		}
		found, ok := leaders[p.key.id]
		switch {
		case t.Err != nil:
			w.leaderless(p, now, t.Err)
		case !ok:
			w.leaderless(p, now, w.cfg.Cluster.Explain(kerr.UnknownTopicOrPartition, t.Name))
		case found.Leader < 0:
			w.leaderless(p, now, found.Err)
		case p.topic.doubted(): // looked up once more
		default:
			delete(w.homeless, p)
			w.moveTo(p, w.broker(found.Leader))
		}
	}
	return done
}

// moveTo gives a partition its leader. What the one before has not answered is
// given up if that is another one: it may never answer.
func (w *Writer) moveTo(p *partition, b *broker) {
	p.leader = b
	for _, x := range p.flight {
		if x.flying && x.sentTo.broker != b {
			x.sentTo.cancel()
		}
	}
	w.list(p)
}

func (w *Writer) leaderless(p *partition, now time.Time, err error) {
	w.stuck(p, now)
	p.trouble.note(now, err)
}

// stuck notes since when nothing of a partition arrives.
func (w *Writer) stuck(p *partition, now time.Time) {
	if len(p.queue)+len(p.flight) == 0 {
		return
	}
	if p.since.IsZero() {
		p.since = now
	}
	w.troubled[p] = struct{}{}
}

// want has a producer id asked for.
func (w *Writer) want(x *producer) {
	if !x.asked {
		x.asked = true
		w.asking = append(w.asking, x)
	}
}

// askProducers asks for the producer ids that are missing.
func (w *Writer) askProducers(now time.Time, due *deadline) {
	for _, x := range w.asking {
		switch {
		case x.asking:
		case now.Before(x.at):
			due.by(x.at)
		default:
			x.asking = true
			w.work.Go(func() { w.answered(x, w.initProducer(x)) })
		}
	}
}

func (w *Writer) initProducer(x *producer) error {
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.timing.request)
	defer cancel()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp, err := req.RequestWith(ctx, w.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil {
		w.mu.Lock()
		x.id, x.epoch = resp.ProducerID, resp.ProducerEpoch
		w.mu.Unlock()
	}
	return err
}

// answered takes the answer to a request for a producer id. One that is refused
// for good fails everything that waits for it.
func (w *Writer) answered(x *producer, err error) {
	now := time.Now()
	w.mu.Lock()
	x.asking = false
	var done answers
	switch {
	case w.ctx.Err() != nil:
	case err == nil:
		x.ready, x.err = true, nil
		w.asking = without(w.asking, x)
		for _, p := range w.partitions {
			if p.producer == x {
				w.list(p)
			}
		}
	case isFinal(err):
		x.tries++
		x.at = now.Add(w.cfg.timing.longest)
		for _, p := range w.partitions {
			if p.producer == x {
				done = append(done, w.failAll(p, w.forWriting(err, ""))...)
			}
		}
	default:
		x.tries++
		x.at = now.Add(growing(x.tries, w.cfg.timing.backoff, w.cfg.timing.longest))
		w.contact.note(now, err)
		for _, p := range w.partitions {
			if p.producer == x {
				w.stuck(p, now)
			}
		}
	}
	w.mu.Unlock()
	w.poke()
	done.call()
}

func isFinal(err error) bool {
	return errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.UnsupportedVersion) || fault.KindOf(err) == fault.Auth
}

func without(list []*producer, x *producer) []*producer {
	var rest []*producer
	for _, y := range list {
		if y != x {
			rest = append(rest, y)
		}
	}
	return rest
}

// failAll fails everything that waits at a partition and is not on its way.
func (w *Writer) failAll(p *partition, err error) (done answers) {
	for _, b := range p.queue {
		b.Lane.fail(err)
		done = append(done, b.answer(err))
	}
	p.queue = nil
	return done
}

// stamp gives a batch its producer and sequence, unless it has them.
func (w *Writer) stamp(p *partition, b *Batch) {
	if !b.stamped {
		b.stamped, b.seq, b.producer = true, p.next, p.producer
		p.next = batch.NextSequence(p.next, b.Records)
	}
	b.Raw.Restamp(batch.Stamp{ProducerID: b.producer.id, Epoch: b.producer.epoch, Sequence: b.seq})
}
