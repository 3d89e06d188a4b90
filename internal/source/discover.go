package source

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
	"github.com/twmb/franz-go/pkg/kerr"
)

// lateContact is how long after the run's start "end" may still be taken from
// the log: later it is found by time, so that nothing written meanwhile is left out.
const lateContact = time.Second

// firstPause is how long to wait before what was not found is looked for again:
// a topic that was just made may be unknown to some brokers for a moment.
const firstPause = 300 * time.Millisecond

// read finds the cluster's splits, starts them and looks after them until all
// are finished. What cannot be found yet is looked for again.
func (r *reader) read(ctx context.Context, info cluster.Info) error {
	r.lates = time.Since(r.e.Started) > lateContact
	since, pause := time.Now(), firstPause
	refresh := time.Now().Add(r.refresh())
	missing, err := r.discover(ctx, info.ClusterID)
	if err == nil {
		var splits []record.Split
		for key := range r.settled {
			splits = append(splits, record.Split{Cluster: r.name, Topic: key.topic, Partition: key.partition})
		}
		r.e.found(splits)
	}
	r.e.begun.arrive(r)
	for {
		if r.hopeless(err, since) {
			return r.givenUp(err)
		}
		if r.e.Bounded && time.Since(since) >= r.e.GiveUp {
			r.giveUp(missing)
			missing = nil
		}
		r.settle(ctx)
		searching := err != nil || len(missing) > 0
		if !searching && r.unfinished() == 0 {
			return nil
		}
		if !r.wait(ctx, pause, refresh, searching || len(r.waiting) > 0) {
			return ctx.Err()
		}
		r.again = true
		if due := !r.e.Bounded && !time.Now().Before(refresh); searching || due {
			missing, err = r.discover(ctx, info.ClusterID)
			pause = min(max(2*pause, firstPause), 5*time.Second)
			refresh = time.Now().Add(r.refresh())
		}
		r.admit(ctx)
	}
}

// refresh is how often a follow looks for partitions that have been added, and
// for topics that a pattern takes.
func (r *reader) refresh() time.Duration {
	if age := r.cluster.Tuning().MetadataMaxAge; age > 0 {
		return age
	}
	return usualRefresh
}

const usualRefresh = 10 * time.Second

// hopeless reports whether an error of discover ends the cluster. A lost
// contact does not, except in a bounded run after a while.
func (r *reader) hopeless(err error, since time.Time) bool {
	if err == nil {
		return false
	}
	if fault.KindOf(err) != fault.Unreachable || (r.e.Bounded && time.Since(since) >= r.e.GiveUp) {
		return true
	}
	r.lost(err)
	return false
}

// wait sleeps until something changes, a follow's refresh is due or, if there is
// something to try again or trouble to be watched, a while has passed. It
// returns false when ctx ends.
func (r *reader) wait(ctx context.Context, pause time.Duration, refresh time.Time, retry bool) bool {
	var timer <-chan time.Time
	switch {
	case retry || r.troubled():
		timer = time.After(pause)
	case !r.e.Bounded:
		timer = time.After(time.Until(refresh))
	}
	select {
	case <-r.wake:
	case <-timer:
	case <-ctx.Done():
		return false
	}
	return true
}

// giveUp ends what a bounded run has looked for in vain. What was the matter has
// been told when the search began, and is not told again.
func (r *reader) giveUp(missing []error) {
	for _, err := range missing {
		if place := placeIn(err); r.noted[place] && place != r.name {
			err = fault.New(fault.KindOf(err), "%s: given up after %s", place, r.e.GiveUp).On(r.name)
		}
		r.fail(err)
	}
}

// note tells what is missing, and that it is looked for again.
func (r *reader) note(s record.Split, err error, again string) {
	r.noted[placeIn(err)] = true
	r.event(Event{Kind: Note, Split: s, Text: err.Error() + again, Hint: fault.HintOf(err)})
}

// placeIn is what stands before an error's first colon: what it is about.
func placeIn(err error) string {
	place, _, _ := strings.Cut(err.Error(), ": ")
	return place
}

// discover looks every wanted topic up and starts the splits that are not under
// way yet. It returns why some cannot be started yet; its error is about the
// cluster as a whole.
func (r *reader) discover(ctx context.Context, id string) (missing []error, err error) {
	topics, err := r.cluster.Topics(ctx, r.names()...)
	if err != nil {
		return nil, err
	}
	r.back()
	found := r.match(topics)
	if err := r.identify(ctx, id, found); err != nil {
		return nil, err
	}
	var fresh []*split
	for _, f := range found {
		splits, lacks := r.splits(ctx, f)
		r.tellFound(f.topic, splits)
		fresh = append(fresh, splits...)
		missing = append(missing, lacks...)
	}
	missing = append(missing, r.unmatched(found)...)
	lacks, err := r.start(ctx, fresh)
	return append(missing, lacks...), err
}

// names are the topics to ask for; none, which asks for all, if there is a pattern.
func (r *reader) names() []string {
	var names []string
	for _, w := range r.wants {
		for _, t := range w.Source.Topics {
			if t.Regexp != nil {
				return nil
			}
			if r.takes(t.Name) && !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

func (r *reader) takes(topic string) bool { return r.e.Topic == nil || r.e.Topic(topic) }

// match is a topic and the wants that take it.
type match struct {
	topic cluster.Topic
	wants []Want
}

// match finds which wants take which topics. A topic that is wanted by name and
// not among topics is one with an error.
func (r *reader) match(topics []cluster.Topic) []match {
	var list []match
	for _, t := range topics {
		m := match{topic: t}
		for _, w := range r.wants {
			if r.takes(t.Name) && wanted(w, t) {
				m.wants = append(m.wants, w)
			}
		}
		if len(m.wants) > 0 {
			list = append(list, m)
		}
	}
	for _, w := range r.wants {
		for _, t := range w.Source.Topics {
			i := slices.IndexFunc(list, func(m match) bool { return m.topic.Name == t.Name })
			if t.Regexp == nil && r.takes(t.Name) && i < 0 {
				list = append(list, match{topic: cluster.Topic{Name: t.Name, Err: kerr.UnknownTopicOrPartition}, wants: []Want{w}})
			}
		}
	}
	return list
}

func wanted(w Want, t cluster.Topic) bool {
	for _, entry := range w.Source.Topics {
		if entry.Matches(t.Name) && (entry.Regexp == nil || !t.Internal || strings.HasPrefix(entry.String(), "/_")) {
			return true
		}
	}
	return false
}

// identify enters the cluster under its id, once it is known which topics it is
// read for, and lets the others do so too.
func (r *reader) identify(ctx context.Context, id string, found []match) error {
	topics := map[string]bool{}
	for _, m := range found {
		if m.topic.Err == nil {
			topics[m.topic.Name] = true
		}
	}
	if err := r.e.ids.enter(id, r.name, topics); err != nil {
		r.e.stop(err)
		<-ctx.Done()
		return ctx.Err()
	}
	r.e.entered.arrive(r)
	r.e.entered.wait(ctx, identityGrace)
	return nil
}

// splits makes the splits of a topic that are not under way yet, or says why
// there are none.
func (r *reader) splits(ctx context.Context, m match) (fresh []*split, missing []error) {
	if m.topic.Err != nil {
		if err := r.topicTrouble(ctx, m); err != nil {
			return nil, []error{err}
		}
		return nil, nil
	}
	r.checkPartitions(m.topic)
	for _, p := range m.topic.Partitions {
		if !r.e.Partitions.Has(p.ID) {
			continue
		}
		for _, committed := range []bool{false, true} {
			wants := slices.DeleteFunc(slices.Clone(m.wants), func(w Want) bool { return w.Committed != committed })
			key := splitKey{m.topic.Name, p.ID, committed}
			if len(wants) > 0 && !r.settled[key] {
				s := newSplit(r.name, key, wants)
				s.appeared = r.absent[s.Topic] || (r.again && !r.absent[s.String()])
				fresh = append(fresh, s)
			}
		}
	}
	return fresh, nil
}

// checkPartitions tells, once, which partitions of a topic are wanted by number
// and do not exist, or that none of the wanted ones does. A span such as 0-9 may
// be longer than the topic.
func (r *reader) checkPartitions(t cluster.Topic) {
	key := splitKey{topic: t.Name, partition: -1}
	if r.settled[key] || len(r.e.Partitions) == 0 || len(t.Partitions) == 0 {
		return
	}
	r.settled[key] = true
	exists := func(s spec.Span) bool {
		return slices.ContainsFunc(t.Partitions, func(p cluster.Partition) bool { return s.From <= p.ID && p.ID <= s.To })
	}
	var absent spec.Partitions
	for _, s := range r.e.Partitions {
		if !exists(s) && (s.From == s.To || !slices.ContainsFunc(r.e.Partitions, exists)) {
			absent = append(absent, s)
		}
	}
	if len(absent) > 0 {
		r.fail(fault.New(fault.Failed, "%s/%s: no partition %s; it has %d, from 0 on", r.name, t.Name, absent, len(t.Partitions)).On(r.name))
	}
}

// topicTrouble tells, once, what is wrong with a topic. It returns the error if
// the topic is worth looking for again.
func (r *reader) topicTrouble(ctx context.Context, m match) error {
	name, key := m.topic.Name, splitKey{topic: m.topic.Name, partition: -1}
	if r.settled[key] {
		return nil
	}
	err := r.cluster.Explain(m.topic.Err, name)
	gone := cluster.IsMissing(m.topic.Err)
	if gone {
		err = r.missingTopic(ctx, name)
	}
	if fault.KindOf(err) == fault.Auth || (gone && !r.e.WaitTopics && r.again) {
		r.settled[key] = true
		r.fail(err)
		return nil
	}
	if gone && !r.again {
		return err
	}
	if !r.absent[name] {
		r.absent[name] = true
		r.note(record.Split{}, err, "; waiting for it")
	}
	return err
}

func (r *reader) missingTopic(ctx context.Context, name string) error {
	err := fault.New(fault.Failed, "%s/%s: no such topic", r.name, name).On(r.name)
	if near, e := r.cluster.Nearest(ctx, name); e == nil && len(near) > 0 {
		err = err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err
}

// unmatched says which patterns match nothing, which a follow waits for.
func (r *reader) unmatched(found []match) (missing []error) {
	for _, w := range r.wants {
		for _, t := range w.Source.Topics {
			key := splitKey{topic: t.String(), partition: -1}
			hit := slices.ContainsFunc(found, func(m match) bool { return t.Matches(m.topic.Name) })
			if t.Regexp == nil || hit || r.settled[key] {
				continue
			}
			err := fault.New(fault.Failed, "%s: no topic matches %s", r.name, t).On(r.name)
			if r.e.Bounded && !r.e.WaitTopics {
				r.settled[key] = true
				r.fail(err)
				continue
			}
			if !r.absent[t.String()] {
				r.absent[t.String()] = true
				r.note(record.Split{}, err, "; waiting for one")
			}
			missing = append(missing, err)
		}
	}
	return missing
}
