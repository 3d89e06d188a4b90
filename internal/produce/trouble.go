package produce

import (
	"fmt"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// trouble is why nothing arrives at one place. It is told once it has lasted, and
// when it is over. It is guarded by the Writer's mu.
type trouble struct {
	w     *Writer
	key   partitionKey // id -1: of a broker, or of the cluster
	since time.Time    // zero: there is none
	told  bool
	err   error
}

func (t *trouble) init(w *Writer, key partitionKey) { t.w, t.key = w, key }

func (t *trouble) note(now time.Time, err error) {
	if t.err = err; t.since.IsZero() {
		t.since = now
	}
}

// clear ends the trouble, if there is any.
func (t *trouble) clear() {
	if t.since.IsZero() {
		return
	}
	if t.told {
		t.event(Back, t.place()+": back", "")
	}
	t.since, t.told, t.err = time.Time{}, false, nil
}

// place is what the trouble is about.
func (t *trouble) place() string {
	name := t.w.cfg.Cluster.Name()
	if t.key.topic == "" {
		return name
	}
	return fmt.Sprintf("%s/%s/%d", name, t.key.topic, t.key.id)
}

func (t *trouble) event(kind EventKind, text, hint string) {
	ev := Event{Kind: kind, Topic: t.key.topic, Partition: t.key.id, Text: text, Hint: hint}
	t.w.work.Go(func() { t.w.cfg.Event(ev) }) // which may take its time, and a lock is held
}

// tellAfter tells trouble that has lasted, and says when it will have.
func (t *trouble) tellAfter(now time.Time, d time.Duration, due *deadline) {
	if t.since.IsZero() || t.told {
		return
	}
	if at := t.since.Add(d); now.Before(at) {
		due.by(at)
		return
	}
	t.told = true
	t.event(Lost, t.place()+": lost: "+t.reason()+"; trying again", fault.HintOf(t.explained()))
}

// reason is the explained error without the place, which stands before it.
func (t *trouble) reason() string {
	text := t.explained().Error()
	name := t.w.cfg.Cluster.Name()
	for _, prefix := range []string{name + "/" + t.key.topic + ": ", name + ": "} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return rest
		}
	}
	return text
}

func (t *trouble) explained() error { return t.w.forWriting(t.err, t.key.topic) }

// watch looks after what takes too long: it tells it, has leaders looked up
// again, and gives up what has been tried for long enough.
func (w *Writer) watch(now time.Time, due *deadline) (done answers) {
	needed := map[*broker]bool{}
	for p := range w.troubled {
		needed[p.failedOn] = true
	}
	told := false
	for _, b := range w.brokers {
		w.watchBroker(b, now, due)
		if len(b.flights) == 0 && !needed[b] {
			b.trouble.clear() // others lead what it led
		}
		b.trouble.tellAfter(now, w.cfg.timing.tell, due)
		told = told || b.trouble.told
	}
	if !told || w.contact.told {
		w.contact.tellAfter(now, w.cfg.timing.tell, due)
	}
	for p := range w.troubled {
		if len(p.queue)+len(p.flight) == 0 {
			p.since, p.failedOn = time.Time{}, nil
			delete(w.troubled, p)
			continue
		}
		p.trouble.tellAfter(now, w.cfg.timing.tell, due)
	}
	return w.giveUp(now, due)
}

// watchBroker notices a broker that does not answer.
func (w *Writer) watchBroker(b *broker, now time.Time, due *deadline) {
	if len(b.flights) == 0 {
		return
	}
	oldest := b.flights[0].sent
	if b.throttle.After(oldest) {
		oldest = b.throttle
	}
	if at := oldest.Add(w.cfg.timing.silent << min(b.slow, 3)); now.Before(at) {
		due.by(at)
		return
	}
	if b.trouble.since.IsZero() {
		b.trouble.note(oldest, fault.New(fault.Unreachable, "%s: broker %d does not answer", w.cfg.Cluster.Name(), b.id).On(w.cfg.Cluster.Name()))
	}
	for _, r := range b.flights {
		for _, x := range r.batches {
			p := w.partitions[partitionKey{x.Topic.Name, x.Partition}]
			w.stuck(p, oldest)
			w.homeless[p] = struct{}{} // another one may lead it by now
		}
	}
	due.by(now.Add(w.cfg.timing.longest))
}

// giveUp fails what waits at partitions that have taken nothing for too long.
func (w *Writer) giveUp(now time.Time, due *deadline) (done answers) {
	if w.cfg.GiveUp <= 0 {
		return nil
	}
	for p := range w.troubled {
		if p.since.IsZero() {
			continue
		}
		if at := p.since.Add(w.cfg.GiveUp); now.Before(at) {
			due.by(at)
			continue
		}
		for _, x := range p.flight {
			if x.flying {
				x.sentTo.cancel() // it comes back, and is given up then
			}
		}
		done = append(done, w.failAll(p, w.givenUp(p.key.topic, p.cause()))...)
		if len(p.flight) == 0 {
			p.since = time.Time{}
		} else {
			due.by(now.Add(w.cfg.timing.backoff))
		}
	}
	return done
}

// cause is what keeps a partition from taking anything.
func (p *partition) cause() error {
	w := p.trouble.w
	switch {
	case w.contact.err != nil:
		return w.contact.err
	case p.failedOn != nil && p.failedOn.trouble.err != nil:
		return p.failedOn.trouble.err
	case p.leader != nil && p.leader.trouble.err != nil:
		return p.leader.trouble.err
	default:
		return p.trouble.err
	}
}

// givenUp is the error with which something is given up.
func (w *Writer) givenUp(topic string, cause error) error {
	c := w.cfg.Cluster
	if cause == nil || fault.KindOf(w.forWriting(cause, topic)) == fault.Unreachable {
		return fault.New(fault.Unreachable, "%s: given up after %s without contact", c.Name(), w.cfg.GiveUp).On(c.Name())
	}
	text := strings.TrimPrefix(w.forWriting(cause, topic).Error(), c.Name()+"/"+topic+": ")
	return fault.New(fault.Partial, "%s/%s: given up after %s: %s", c.Name(), topic, w.cfg.GiveUp, text).On(c.Name())
}

// outOfContact notes that a look-up found nobody.
func (w *Writer) outOfContact(err error) {
	w.mu.Lock()
	w.contact.note(time.Now(), err)
	w.mu.Unlock()
	w.poke()
}

func (w *Writer) inContact() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contact.clear()
}
