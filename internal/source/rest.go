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
	var list []*delivery
	var of []cluster.TopicPartition
	for at, d := range r.live {
		w := r.want(at.want)
		if w != nil && r.drains(w) && d.leave == nil && (d.state == reading || d.state == rested) {
			list, of = append(list, d), append(of, d.split.at())
		}
	}
	if len(list) == 0 {
		return
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
		end, stable := o[0].Offset, o[1].Offset
		at := place{d.want, d.split.Topic, d.split.Partition}
		switch {
		case d.state == rested && end > d.split.left(d):
			late[at.topic] += end - d.split.left(d)
			delete(r.live, at)
			r.poke()
		case d.state == reading && end == d.ends && stable == end && d.split.read.Load() >= end:
			r.dismiss(at, d, quiet)
		}
		d.ends = end
	}
	for topic, n := range late {
		r.event(Event{Kind: Note, Text: fmt.Sprintf("%s/%s: %d more offsets were written after it had been drained: reading them", r.name, topic, n)})
	}
}
