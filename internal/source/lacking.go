package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

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
	for _, l := range gather(list) {
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
			if !r.passing(l) && r.unheard(splits) {
				r.note(splits[0].Split, err, "; trying again")
			}
		}
	}
	return missing
}

// gather puts topics with the same trouble together if they are many.
func gather(list []lacking) (out []lacking) {
	topics := map[string]int{}
	for _, l := range list {
		topics[l.reason]++
	}
	at := map[string]int{}
	for _, l := range list {
		i, there := at[l.reason]
		switch {
		case topics[l.reason] <= mostNamed:
			out = append(out, l)
		case there:
			out[i].splits = append(out[i].splits, l.splits...)
		default:
			at[l.reason] = len(out)
			out = append(out, lacking{slices.Clone(l.splits), l.err, l.reason})
		}
	}
	return out
}

// passing reports whether a trouble will be over in a moment: a topic that has
// just been made, or a leader that has just moved, is not known everywhere yet.
func (r *reader) passing(l lacking) bool {
	if !errors.Is(l.err, kerr.NotLeaderForPartition) && !errors.Is(l.err, kerr.UnknownTopicOrPartition) {
		return false
	}
	return r.soon(l.splits[0].String())
}

// soon reports whether a trouble is so new that it may be over in a moment.
func (r *reader) soon(what string) bool {
	key := "passing " + what
	since, known := r.heard[key]
	if !known {
		since = time.Now()
		r.heard[key] = since
	}
	return time.Since(since) < passingGrace
}

// passingGrace is how long such trouble is not worth a line.
const passingGrace = 2 * time.Second

// unheard reports whether nothing has been told yet about some of the splits.
func (r *reader) unheard(splits []*split) (some bool) {
	for _, s := range splits {
		some = some || !r.absent[s.String()]
		r.absent[s.String()] = true
	}
	return some
}

// placeOf names splits of one topic, or their topics if they are of several.
func placeOf(splits []*split) string {
	if len(splits) == 1 {
		return splits[0].String()
	}
	if topics := topicsOf(splits); len(topics) > 1 {
		return splits[0].Cluster + ", " + topicsText(topics)
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

func topicsOf(splits []*split) (topics []string) {
	for _, s := range splits {
		topics = append(topics, s.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// topicsText names some of many topics.
func topicsText(topics []string) string {
	more := ""
	if n := len(topics) - mostNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "topics " + strings.Join(topics[:min(len(topics), mostNamed)], ", ") + more
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
