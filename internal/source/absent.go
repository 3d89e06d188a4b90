package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

func (r *reader) checkPartitions(t cluster.Topic) {
	if r.checked[t.Name] || len(r.e.Partitions) == 0 || len(t.Partitions) == 0 {
		return
	}
	r.checked[t.Name] = true
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

func (r *reader) topicTrouble(ctx context.Context, m match) error {
	name := m.topic.Name
	if r.checked[name] {
		return nil
	}
	err := r.cluster.Explain(m.topic.Err, name)
	gone := cluster.IsMissing(m.topic.Err)
	news := !r.absent[name] && !r.away[name]
	if gone && r.again && news {
		err = r.missingTopic(ctx, name)
	}
	if fault.KindOf(err) == fault.Auth || (gone && !r.e.WaitTopics && r.again) {
		r.checked[name] = true
		r.fail(err)
		return nil
	}
	if gone && !r.again {
		return err
	}
	if r.absent[name] = true; news {
		r.away[name] = gone
		r.untold = append(r.untold, absentTopic{name, err})
	}
	return err
}

type absentTopic struct {
	name string
	err  error
}

func (r *reader) tellAbsent() {
	list := r.untold
	r.untold = nil
	if len(list) <= mostNamed {
		for _, a := range list {
			r.note(record.Split{}, a.err, "; waiting for it")
		}
		return
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.name
		r.noted[placeIn(a.err)] = true
	}
	r.event(Event{Kind: Note, Text: fmt.Sprintf("%s: %s do not exist; waiting for them", r.name, topicsText(names))})
}

func (r *reader) missingTopic(ctx context.Context, name string) error {
	err := fault.New(fault.Failed, "%s/%s: no such topic", r.name, name).On(r.name)
	if len(r.untold) >= mostNamed { // each look for names like it costs a request
		return err
	}
	if near, e := r.cluster.Nearest(ctx, name); e == nil && len(near) > 0 {
		err = err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err
}

func (r *reader) unmatched(found []match) (missing []error) {
	for _, w := range r.wants {
		for _, t := range w.Source.Topics {
			hit := slices.ContainsFunc(found, func(m match) bool { return t.Matches(m.topic.Name) })
			if t.Regexp == nil || hit || r.checked[t.String()] {
				continue
			}
			err := fault.New(fault.Failed, "%s: no topic matches %s", r.name, t).On(r.name)
			if r.e.Bounded && !r.e.WaitTopics {
				r.checked[t.String()] = true
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
