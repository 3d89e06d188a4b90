package source

import (
	"fmt"
	"slices"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/spec"
)

func (f *feed) restart(s *split) {
	delete(f.r.away, s.Topic)
	err := f.r.recreated(s, true)
	f.r.heardAnew(s)
	if err != nil {
		f.abandon(s, err)
		return
	}
	if s.over() {
		return
	}
	s.retire()
	n := newSplit(f.r, splitKey{s.Topic, s.Partition, s.committed}, nil)
	n.topic = s.topic
	n.topic.ID = [16]byte{} // not known yet
	n.quota = s.quota
	for _, w := range s.wants {
		old := f.r.live[s.place(w)]
		if old == nil || old.split != s {
			continue
		}
		if l := old.leave; l != nil {
			old.cut = "its topic was deleted and made again"
			f.r.gone(s.place(w), old, l)
			continue
		}
		d := &delivery{want: w.key(), stream: old.stream, split: n, until: spec.Open, wish: spec.Open, window: always, ends: -1}
		f.r.live[s.place(w)] = d
		n.wants, n.streams, n.deliveries = append(n.wants, w), append(n.streams, w.Stream.NameFor(s.Topic)), append(n.deliveries, d)
	}
	if len(n.deliveries) == 0 {
		f.forget(s)
		f.r.mu.Lock()
		f.r.open--
		f.r.mu.Unlock()
		return
	}
	at := fetch.Position{Offset: n.bound(), Epoch: -1}
	if !f.r.group.enter(n) {
		f.r.giveBack(n)
		return
	}
	f.r.e.pipe.ledger.open(n, -1)
	f.r.e.Monitor.begin(n)
	f.add(n, at)
}

// recreated applies the policy to a topic that was deleted and made again, during
// the reading of it or since it was last read.
func (r *reader) recreated(s *split, during bool) error {
	when := "while it was not read"
	if during {
		when = "while it was read"
	}
	text := s.Cluster + "/" + s.Topic + ": the topic was deleted and made again " + when
	switch {
	case r.e.OnRecreate == RecreateFail:
		return EndRun(fault.New(fault.Failed, "%s", text).On(r.name))
	case r.e.OnRecreate == RecreateStop:
		return fault.New(fault.Partial, "%s: not read any more", text).On(r.name)
	case r.e.Bounded && during:
		return fault.New(fault.Failed, "%s", text).On(r.name) // its end was that of the other one
	}
	if m := r.remade[s.Topic]; m != nil && m.told && m.id != s.position().TopicID {
		return nil // by partitions that only the new one has
	}
	if r.hear(s.Cluster + "/" + s.Topic + ": the topic was deleted and made again") {
		r.event(Event{Kind: Recreated, Split: s.Split, Text: text + ": reading the new one from its start"})
	}
	return nil
}

func (f *feed) missing(s *split, whole bool) {
	named := func(w *wanted) bool { return f.r.want(w.key()) != nil && f.r.want(w.key()).names(s.Topic) }
	if !f.r.e.Bounded && !slices.ContainsFunc(s.wants, named) {
		for _, w := range s.wants {
			if d := f.r.live[s.place(w)]; d != nil && d.split == s {
				f.r.dismiss(s.place(w), d, deleted)
			}
		}
		return
	}
	f.trouble[s.id] = trouble{time.Now(), "it does not exist any more"}
	if !whole {
		if text := fmt.Sprintf("%s/%s: some of its partitions do not exist any more; waiting for them", f.r.name, s.Topic); f.r.hear(text) {
			f.tell(Lost, s.Split, "%s", text)
		}
		return
	}
	f.r.absent[s.Topic] = true
	text := fmt.Sprintf("%s/%s: the topic does not exist any more; waiting for it", f.r.name, s.Topic)
	if news := !f.r.away[s.Topic] && f.r.hear(text); news {
		f.r.away[s.Topic] = true
		f.tell(Lost, s.Split, "%s", text)
	}
}

func (f *feed) recovered(s *split) {
	delete(f.r.away, s.Topic)
	if !f.r.absent[s.Topic] {
		f.tell(Back, s.Split, "%s: back", s)
	} else if text := fmt.Sprintf("%s/%s: back", f.r.name, s.Topic); f.r.hear(text) {
		f.tell(Back, s.Split, "%s", text)
	}
}

func (r *reader) hear(text string) bool {
	now := time.Now()
	last, heard := r.heard[text]
	r.heard[text] = now
	return !heard || now.Sub(last) > hearAgain
}

const hearAgain = 2 * time.Second
