package source

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// mostNamed is how many partitions with the same trouble are told one by one.
const mostNamed = 3

// lacking are splits of one topic that cannot be started for the same reason.
type lacking struct {
	splits []*split
	err    error
	reason string
}

// lack puts a split to those of its topic with the same trouble.
func lack(list []lacking, s *split, err error) []lacking {
	reason := strings.TrimPrefix(err.Error(), s.Cluster+": ")
	reason = strings.TrimPrefix(reason, s.Cluster+"/"+s.Topic+": ")
	i := slices.IndexFunc(list, func(l lacking) bool { return l.reason == reason && l.splits[0].Topic == s.Topic })
	if i < 0 {
		return append(list, lacking{[]*split{s}, err, reason})
	}
	list[i].splits = append(list[i].splits, s)
	return list
}

// waitsFor tells, once for each split, that some cannot be started yet, and
// returns that as one error for each trouble or, if they are few, each split.
func (r *reader) waitsFor(list []lacking) (missing []error) {
	for _, l := range list {
		parts := [][]*split{l.splits}
		if len(l.splits) <= mostNamed {
			parts = slices.Collect(slices.Chunk(l.splits, 1))
		}
		for _, splits := range parts {
			err := fault.New(fault.KindOf(l.err), "%s: %s", placeOf(splits), l.reason).On(r.name)
			if hint := fault.HintOf(l.err); hint != "" {
				err = err.WithHint("%s", hint)
			}
			missing = append(missing, err)
			if r.unheard(splits) {
				r.note(splits[0].Split, err, "; trying again")
			}
		}
	}
	return missing
}

// unheard reports whether nothing has been told yet about some of the splits.
func (r *reader) unheard(splits []*split) (some bool) {
	for _, s := range splits {
		some = some || !r.absent[s.String()]
		r.absent[s.String()] = true
	}
	return some
}

// placeOf names splits of one topic.
func placeOf(splits []*split) string {
	if len(splits) == 1 {
		return splits[0].String()
	}
	var ids []string
	for _, s := range splits[:min(len(splits), mostNamed)] {
		ids = append(ids, strconv.Itoa(int(s.Partition)))
	}
	more := ""
	if n := len(splits) - len(ids); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s/%s, partitions %s%s", splits[0].Cluster, splits[0].Topic, strings.Join(ids, ", "), more)
}

// byTopic sorts splits and parts them by topic.
func byTopic(splits []*split) (topics [][]*split) {
	slices.SortFunc(splits, func(a, b *split) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for _, s := range splits {
		if n := len(topics); n > 0 && topics[n-1][0].Topic == s.Topic {
			topics[n-1] = append(topics[n-1], s)
		} else {
			topics = append(topics, []*split{s})
		}
	}
	return topics
}
