package source

import (
	"context"
	"fmt"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// watchEnds looks at the ends of what is draining. A partition whose end has not
// moved since the last look, with no transaction open, and that has been read out
// is let go; one of those that gets a record after that is read again.
func (r *reader) watchEnds(ctx context.Context) {
	list := r.draining()
	if len(list) == 0 {
		return
	}
	of := make([]cluster.TopicPartition, len(list))
	for i, d := range list {
		of[i] = d.split.at()
	}
	call, done := r.calling(ctx)
	defer done()
	offsets, err := r.cluster.Offsets(call, of, cluster.End(), cluster.Stable())
	if err != nil {
		if call.Err() == nil {
			r.lost(err)
		}
		return
	}
	late := map[string]int64{}
	for _, d := range list {
		o := offsets[d.split.at()]
		if len(o) != 2 || o[0].Err != nil || o[1].Err != nil {
			d.ends = -1
			continue
		}
		late[d.split.Topic] += r.judge(d, o[0].Offset, o[1].Offset)
	}
	for topic, n := range late {
		if n > 0 {
			what := "more offsets were"
			if n == 1 {
				what = "more offset was"
			}
			r.event(Event{Kind: Note, Text: fmt.Sprintf("%s/%s: %d %s written after it had been drained: reading on", r.name, topic, n, what)})
			r.poke()
		}
	}
}

// draining returns what is read of draining sources, or has been.
func (r *reader) draining() (list []*delivery) {
	for at, d := range r.live {
		w := r.want(at.want)
		if w != nil && r.drains(w) && d.leave == nil && !d.split.recalling() && (d.state == reading || d.state == rested) {
			list = append(list, d)
		}
	}
	return list
}

// judge lets a delivery of a draining source go if it is quiet, or takes it back,
// by the ends that its log has now. It returns how much came too late.
func (r *reader) judge(d *delivery, end, stable int64) (late int64) {
	at := place{d.want, d.split.Topic, d.split.Partition}
	switch {
	case d.state == rested && end > d.split.left(d):
		late = end - d.split.left(d)
		delete(r.live, at)
	case d.state == reading && end == d.ends && stable == end && d.split.read.Load() >= end:
		r.dismiss(at, d, quiet)
	}
	d.ends = end
	return late
}
