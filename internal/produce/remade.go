package produce

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// A topic that somebody deletes and makes again under its name is another one: what
// was written is gone, and what comes must not go into the new one as if nothing had
// happened. Produce names topics by their ids from version 13 on (KIP-516), so such a
// broker takes nothing for the old one. By name it takes everything: there the id is
// looked up while something is being written, every timing.identity.

// identity is what is known of a topic's id. It is guarded by the Writer's mu.
type identity struct {
	id    [16]byte // zero: brokers before 2.8 have none
	other [16]byte // the one that the last look-up found, if that is not id
	err   error    // why nothing more is written to the topic; nil if it is the one that it was
}

// checking looks after the ids of topics that are written to by name.
type checking struct {
	topics map[*Topic]struct{} // something has been written since the last look-up
	at     time.Time           // the next one
	on     bool                // one is under way
}

// identify compares a topic with what a look-up has found under its name. It is
// another one when that is found twice: a broker that lags behind may name an older one.
func (w *Writer) identify(t *Topic, found *cluster.Topic) (done answers) {
	switch at := &t.identity; {
	case found.Err != nil || found.ID == [16]byte{} || at.err != nil:
	case at.id == [16]byte{}:
		at.id = found.ID
	case found.ID == at.id:
		at.other = [16]byte{}
	case found.ID != at.other:
		at.other = found.ID
	default:
		return w.replaced(t)
	}
	return nil
}

// doubted reports whether the last look-up found another topic under the name.
func (t *Topic) doubted() bool { return t.identity.other != [16]byte{} }

// replaced ends all writing to a topic that has been made again.
func (w *Writer) replaced(t *Topic) (done answers) {
	name := w.cfg.Cluster.Name()
	t.identity.err = fault.New(fault.Partial, "%s/%s: the topic was deleted and made again while it was written to: nothing is written to the new one, which lacks %s",
		name, t.Name, wroteText(w.counts.Topics[t.Name])).On(name).
		WithHint("start again to write to the new one, with -o where it is to begin")
	for _, p := range w.partitions {
		if p.topic != t {
			continue
		}
		for _, b := range p.flight {
			if b.flying {
				b.sentTo.cancel() // it comes back, and is failed then
			}
		}
		done = append(done, w.failAll(p, t.identity.err)...)
		p.forget()
	}
	return done
}

func wroteText(n int64) string {
	if n == 0 {
		return "nothing yet"
	}
	return counted(n, "record") + " of this run"
}

// forget ends what is tried for a partition, silently.
func (p *partition) forget() {
	w := p.trouble.w
	p.since, p.failedOn = time.Time{}, nil
	p.trouble.since, p.trouble.told, p.trouble.err = time.Time{}, false, nil
	delete(w.homeless, p)
	delete(w.troubled, p)
	delete(w.waiting, p)
}

// failBack fails what came back of a partition whose topic has been made again.
func (w *Writer) failBack(p *partition, back []*Batch) (done answers) {
	err := p.topic.identity.err
	for _, b := range back {
		b.Lane.fail(err)
		done = append(done, b.answer(err))
	}
	return append(done, w.failAll(p, err)...)
}

// doubt notes that a topic has been written to by its name.
func (w *Writer) doubt(t *Topic, resp *kmsg.ProduceResponse) {
	if resp.Version < 13 && t.identity.id != [16]byte{} && t.identity.err == nil {
		w.checks.topics[t] = struct{}{}
	}
}

// check looks up the ids of topics that may be other ones by now.
func (w *Writer) check(now time.Time, due *deadline) {
	c := &w.checks
	switch {
	case c.on || len(c.topics) == 0:
		return
	case now.Before(c.at):
		due.by(c.at)
		return
	}
	c.on = true
	var names []string
	for t := range c.topics {
		names = append(names, t.Name)
	}
	w.work.Go(func() {
		found, err := w.cfg.Cluster.Topics(w.ctx, names...)
		w.checked(found, err)
	})
}

// checked takes the result of a look-up of ids. One that fails is made again: what
// is wrong with the cluster is told by whoever writes to it.
func (w *Writer) checked(found []cluster.Topic, err error) {
	w.mu.Lock()
	w.checks.on, w.checks.at = false, time.Now().Add(w.cfg.timing.identity)
	var done answers
	if err == nil {
		was := w.checks.topics
		w.checks.topics = map[*Topic]struct{}{}
		for t := range was {
			for i := range found {
				if found[i].Name == t.Name {
					done = append(done, w.identify(t, &found[i])...)
				}
			}
			if t.doubted() && t.identity.err == nil {
				w.checks.topics[t] = struct{}{}
				w.checks.at = time.Now().Add(w.cfg.timing.backoff)
			}
		}
	}
	w.mu.Unlock()
	w.poke()
	done.call()
}
