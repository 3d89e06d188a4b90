package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// notRead stands for where a delivery begins that a policy keeps from being read,
// which has been told.
const notRead = "nowhere"

// mostListed is up to how many partitions a line lists one by one.
const mostListed = 8

// addition are partitions of one topic that one stream has come to read.
type addition struct {
	stream     string
	topic      string
	all        int // partitions of the topic
	partitions []int32
	how        string // where they begin
	from       map[int32]int64
	drains     bool
}

// tellAdded tells what has come while the run goes on, a line for each topic and
// stream, and where it begins.
func (r *reader) tellAdded(come []*delivery) {
	if !r.again && !r.late || r.group.firstShare(come) {
		return
	}
	var list []*addition
	for _, d := range come {
		if d.how == notRead {
			continue
		}
		s := d.split
		at := slices.IndexFunc(list, func(a *addition) bool { return a.stream == d.stream && a.topic == s.Topic && a.how == d.how })
		if at < 0 {
			at = len(list)
			w := r.want(d.want)
			list = append(list, &addition{stream: d.stream, topic: s.Topic, all: len(s.topic.Partitions), how: d.how, from: map[int32]int64{}, drains: w != nil && r.drains(w)})
		}
		list[at].partitions = append(list[at].partitions, s.Partition)
		list[at].from[s.Partition] = d.from
	}
	for _, a := range list {
		r.event(a.event(r))
	}
}

// tellDraining tells which sources are to be left when they are quiet, if that is
// news.
func (r *reader) tellDraining(before []*wanted) {
	for _, w := range r.wants {
		if was := keyed(before, w.key()); r.drains(w) && was != nil && !r.drains(was) {
			text := fmt.Sprintf("%s of %s is draining: it is left when it has been quiet for %s", r.name, w.Stream.Name, r.refresh())
			r.event(Event{Kind: Note, Text: text})
		}
	}
}

func (a *addition) event(r *reader) Event {
	text := fmt.Sprintf("+ %s/%s (%s)", r.name, a.topic, partitionsText(a.partitions, a.all))
	if a.stream != a.topic {
		text += " for " + a.stream
	}
	if a.how != "" {
		text += ", from " + a.how
	}
	if a.drains {
		text += ", draining"
	}
	ev := Event{Kind: Added, Text: text, Stream: a.stream, Partitions: len(a.partitions), Positions: a.from}
	ev.Split.Topic = a.topic
	return ev
}

// partitionsText says how many partitions, and which if they are not all.
func partitionsText(ids []int32, all int) string {
	switch n := len(ids); {
	case n == 1 && all == 1:
		return "1 partition"
	case n == all:
		return fmt.Sprintf("%d partitions", n)
	case n > mostListed:
		return fmt.Sprintf("%d of %d partitions", n, all)
	}
	slices.Sort(ids)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	if len(ids) == 1 {
		return "partition " + texts[0]
	}
	return "partitions " + strings.Join(texts, ", ")
}

// startText says where something begins that came while the run goes on.
func startText(b spec.Bound, started time.Time) string {
	switch {
	case b.Kind == spec.Start && b.N == 0:
		return "its start"
	case b.Kind == spec.Time && b.N == started.UnixMilli():
		return "the first record since this run began"
	default:
		return b.String()
	}
}

// tellDrain tells that a drain takes its time.
func (r *reader) tellDrain(l *leaving) {
	if l.told || time.Since(l.since) < slowDrain {
		return
	}
	l.told = true
	var rest int64
	for d := range l.rest {
		rest += max(0, d.target-d.split.read.Load())
	}
	text := fmt.Sprintf("%s/%s is draining: %d offsets to go", r.name, l.topic, rest)
	r.event(Event{Kind: Note, Text: text, Split: record.Split{Topic: l.topic}, Stream: l.stream})
}

// slowDrain is after how long a drain is worth a line before its end.
const slowDrain = 3 * time.Second

// tellLeft tells that a topic has left, where, and what was not read of it.
func (r *reader) tellLeft(l *leaving) {
	ev := Event{Kind: Removed, Stream: l.stream, Partitions: len(l.ends), Positions: l.ends, Cut: len(l.cut) > 0}
	ev.Split.Topic = l.topic
	place := fmt.Sprintf("- %s/%s", r.name, l.topic)
	left := slices.Sorted(maps.Keys(l.cut))
	switch {
	case l.why == deleted:
		ev.Text = place + " deleted"
	case len(left) > 0 && len(l.ends) == 0:
		ev.Text = fmt.Sprintf("%s removed; %s", place, strings.Join(left, "; "))
	case len(left) > 0:
		ev.Text = fmt.Sprintf("%s not drained: %s; left at %s", place, strings.Join(left, "; "), positionsText(l.ends))
	case len(l.ends) == 0:
		ev.Text = place + " removed"
	case l.why == quiet || l.drains:
		ev.Kind, ev.Text = Drained, fmt.Sprintf("%s drained at %s", place, positionsText(l.ends))
	default:
		ev.Text = fmt.Sprintf("%s left at %s", place, positionsText(l.ends))
	}
	if l.stream != l.topic {
		ev.Text += ", for " + l.stream
	}
	r.event(ev)
}

// tellUnread tells that a cluster has left that never gave contact.
func (r *reader) tellUnread(wants []*wanted) {
	for _, w := range wants {
		for _, t := range w.Source.Topics {
			ev := Event{Kind: Removed, Text: fmt.Sprintf("- %s/%s removed; the cluster gave no contact", r.name, t), Stream: w.Stream.Name}
			ev.Split.Topic = t.String()
			r.event(ev)
		}
	}
}

// positionsText lists positions by partition, or says how many there are.
func positionsText(ends map[int32]int64) string {
	if len(ends) > mostListed {
		return fmt.Sprintf("the positions of %d partitions", len(ends))
	}
	var list []string
	for _, id := range slices.SortedFunc(maps.Keys(ends), cmp.Compare) {
		list = append(list, fmt.Sprintf("%d:%d", id, ends[id]))
	}
	return strings.Join(list, " ")
}
