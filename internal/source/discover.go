package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/twmb/franz-go/pkg/kerr"
)

// lateContact is how long after the run's start "end" may still be taken from
// the log: later it is found by time, so that nothing written meanwhile is left out.
const lateContact = 100 * time.Millisecond

// firstPause is how long to wait before what was not found is looked for again:
// a topic that was just made may be unknown to some brokers for a moment.
const firstPause = 300 * time.Millisecond

// looks says when the cluster's topics are looked at again.
type looks struct {
	since   time.Time     // when reading began
	pause   time.Duration // before what was not found is looked for again
	refresh time.Time     // when everything is
	missing []error       // what was not found at the last look
	err     error         // why that look failed
}

func (l *looks) searching() bool { return l.err != nil || len(l.missing) > 0 }

// read finds the cluster's splits, starts them and looks after them until all
// are finished. What cannot be found yet is looked for again, and what a later
// plan wants is made so.
func (r *reader) read(ctx context.Context) error {
	r.lates = time.Since(r.e.Started) > lateContact
	l := &looks{since: time.Now(), pause: firstPause, refresh: time.Now().Add(r.refresh())}
	r.looks = l
	r.joinGroup()
	r.look(ctx, l)
	if l.err == nil {
		r.tellEngine()
	}
	if r.group == nil {
		r.e.begun.arrive(r)
	}
	for {
		if over, err := r.turn(ctx, l); over {
			return err
		}
	}
}

// turn does what is to be done, waits until something changes, and looks at the
// topics if that is why. It reports whether reading is over.
func (r *reader) turn(ctx context.Context, l *looks) (over bool, err error) {
	if r.hopeless(l.err, l.since) {
		return true, r.givenUp(l.err)
	}
	if err := r.grouped(ctx); err != nil {
		return true, err
	}
	if r.e.Bounded && time.Since(l.since) >= r.e.GiveUp {
		r.giveUp(l.missing)
		l.missing = nil
	}
	r.attend(l)
	changed := r.settle(ctx)
	r.lives()
	changed = r.adopt(ctx) || changed
	changed = r.regroup() || changed
	switch {
	case len(r.wants) == 0 && len(r.live) == 0:
		return true, errGone
	case changed:
	case !l.searching() && r.finishes() && r.hasShare(ctx):
		return true, nil
	case !r.wait(ctx, l):
		return true, ctx.Err()
	}
	r.lookAgain(ctx, l, changed)
	r.admit(ctx)
	r.goOver()
	return false, nil
}

// lookAgain looks at the topics if something has changed, has not been found yet
// or is to be looked at from time to time.
func (r *reader) lookAgain(ctx context.Context, l *looks, changed bool) {
	r.again = true
	due := !r.e.Exit && !time.Now().Before(l.refresh)
	if l.searching() || due || changed {
		r.look(ctx, l)
		if l.pause = min(2*l.pause, longestPause); changed || !l.searching() {
			l.pause = firstPause
		}
	}
	if due {
		r.watchEnds(ctx)
		l.refresh = time.Now().Add(r.refresh())
	}
}

// look discovers. A look that a plan has cut short found out nothing, and the
// next one comes at once.
func (r *reader) look(ctx context.Context, l *looks) {
	call, done := r.calling(ctx)
	defer done()
	l.missing, l.err = r.discover(call)
	if call.Err() == nil {
		return
	}
	if l.missing, l.err = nil, nil; ctx.Err() == nil {
		r.poke()
	}
}

// tellEngine tells which splits were found at the first look.
func (r *reader) tellEngine() {
	splits := r.group.allSplits()
	for at := range r.live {
		splits = append(splits, record.Split{Cluster: r.name, Topic: at.topic, Partition: at.partition})
	}
	r.e.found(splits)
}

// finishes reports that nothing is under way, and that nothing may come.
func (r *reader) finishes() bool {
	for _, w := range r.wants {
		if r.drains(w) && !r.allGiven(w) { // something may come late
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open == 0 && len(r.overs) == 0 && len(r.leaves) == 0 && !r.news
}

// refresh is how often a follow looks for partitions that have been added, and
// for topics that a pattern takes.
func (r *reader) refresh() time.Duration {
	if r.e.Refresh > 0 {
		return r.e.Refresh
	}
	if t := r.cluster.Tuning(); t.MetadataMaxAgeSet {
		return t.MetadataMaxAge
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
	if fault.KindOf(err) != fault.Unreachable && !r.patient() || r.e.Bounded && time.Since(since) >= r.e.GiveUp {
		return true
	}
	r.lost(err)
	return false
}

// wait sleeps until something changes, a follow's refresh is due or, if there is
// something to try again or to be watched, a while has passed. It returns false
// when ctx ends.
func (r *reader) wait(ctx context.Context, l *looks) bool {
	var timer <-chan time.Time
	switch {
	case len(r.leaves) > 0:
		timer = time.After(leavingPause)
	case r.restless():
		timer = time.After(groupPause)
	case l.searching() || len(r.waiting) > 0 || r.troubled():
		timer = time.After(min(l.pause, r.refresh()))
	case !r.e.Exit:
		timer = time.After(time.Until(l.refresh))
	}
	select {
	case <-r.wake:
	case <-timer:
	case <-ctx.Done():
		return false
	}
	return true
}

// leavingPause is how often what is on its way out is looked at.
const leavingPause = 100 * time.Millisecond

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
func (r *reader) discover(ctx context.Context) (missing []error, err error) {
	if len(r.wants) == 0 {
		return nil, nil
	}
	topics, err := r.cluster.Topics(ctx, r.names()...)
	if err != nil {
		return nil, err
	}
	r.back()
	found := r.match(topics)
	if err := r.identify(ctx, found); err != nil {
		return []error{err}, ctx.Err()
	}
	r.meet(found)
	r.subscribe(found)
	if err := r.noteEnds(ctx, found); err != nil {
		return nil, err
	}
	var fresh []*split
	for _, f := range found {
		splits, lacks := r.splits(ctx, f)
		r.tellFound(f.topic, splits)
		fresh = append(fresh, splits...)
		missing = append(missing, lacks...)
	}
	r.tellAbsent()
	missing = append(missing, r.unmatched(found)...)
	lacks, err := r.start(ctx, fresh)
	if err == nil {
		r.lookedUp()
	}
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
	wants []*wanted
}

// match finds which wants take which topics. A topic that is wanted by name and
// not among topics is one with an error.
func (r *reader) match(topics []cluster.Topic) []match {
	var list []match
	for _, t := range topics {
		m := match{topic: t}
		for _, w := range r.wants {
			if r.takes(t.Name) && w.takes(t) {
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
				list = append(list, match{topic: cluster.Topic{Name: t.Name, Err: kerr.UnknownTopicOrPartition}, wants: []*wanted{w}})
			}
		}
	}
	return list
}

// identify enters the cluster under its id, once it is known which topics it is
// read for, and at the run's start lets the others do so too. While two names for
// one cluster would give records twice, the one that came later waits.
func (r *reader) identify(ctx context.Context, found []match) error {
	topics := r.admitted(found)
	for _, l := range r.leaves {
		topics[l.topic] = true
	}
	passing, err := r.e.ids.enter(r, topics)
	if err != nil && r.e.ids.holds(r, r.held()) {
		r.e.wakeAll() // somebody may wait for what this one has left
	}
	switch {
	case err == nil:
		r.e.entered.arrive(r)
		if !r.late && !r.again {
			r.e.entered.wait(ctx, identityGrace)
		}
	case !r.late && !r.again && !r.missed:
		r.e.stop(err)
		<-ctx.Done()
	case !passing && !r.soon("twins") && !r.noted[err.Error()]:
		r.noted[err.Error()] = true
		r.event(Event{Kind: Failed, Text: fmt.Sprintf("%s; %s is not read while both are there", err, r.name), Hint: fault.HintOf(err)})
	}
	return err
}

// held are the topics that are under way.
func (r *reader) held() map[string]bool {
	topics := map[string]bool{}
	for at := range r.live {
		topics[at.topic] = true
	}
	return topics
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
	delete(r.away, m.topic.Name)
	r.checkPartitions(m.topic)
	for _, p := range m.topic.Partitions {
		if !r.e.Partitions.Has(p.ID) {
			continue
		}
		if r.group.note(m, p.ID); !r.group.owns(m.topic.Name, p.ID) {
			continue
		}
		for _, committed := range []bool{false, true} {
			wants := slices.DeleteFunc(slices.Clone(m.wants), func(w *wanted) bool {
				return w.Committed != committed || r.live[place{w.key(), m.topic.Name, p.ID}] != nil
			})
			for _, wants := range r.together(wants) {
				s := newSplit(r, splitKey{m.topic.Name, p.ID, committed}, wants)
				s.topic, s.topicID = m.topic, m.topic.ID
				fresh = append(fresh, s)
			}
		}
	}
	return fresh, nil
}

// checkPartitions tells, once, which partitions of a topic are wanted by number
// and do not exist, or that none of the wanted ones does. A span such as 0-9 may
// be longer than the topic.
// topicTrouble tells, once, what is wrong with a topic. It returns the error if
// the topic is worth looking for again.
// absentTopic is a topic that is not there, which has not been told.
// tellAbsent tells which topics are waited for.
// unmatched says which patterns match nothing, which a follow waits for.
