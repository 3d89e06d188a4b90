package offsets

import (
	"slices"

	"github.com/kcm-cli/kcm/internal/mirror"
	"github.com/kcm-cli/kcm/internal/record"
)

// sync says that the record at an offset of the source is at another one of the
// target.
type offsetSync struct{ upstream, downstream int64 }

// offsetSyncs are all syncs of a topic of offset syncs that can still be used, by
// partition of the source. MirrorMaker 2 keeps up to 64 of a partition in memory
// (OffsetSyncStore.java), ever fewer the older they are; here it is every one that
// the topic still has, so that translation is as near as the syncs are.
type offsetSyncs struct {
	of     map[Partition][]offsetSync // ascending in both offsets
	keys   map[string]Partition       // by the records' keys
	damage Damage
	seen   int // records

	unclear map[Partition]bool // has syncs of which the flow is not known
}

func newOffsetSyncs() *offsetSyncs {
	return &offsetSyncs{of: map[Partition][]offsetSync{}, keys: map[string]Partition{}, unclear: map[Partition]bool{}}
}

// add takes the next record.
func (s *offsetSyncs) add(r *record.Record) {
	s.seen++
	sync, err := mirror.ParseOffsetSync(r.Key, r.Value)
	if err != nil || !sync.Deleted && (sync.Upstream < 0 || sync.Downstream < 0) || sync.Partition < 0 {
		s.damage.count(err)
		return
	}
	if sync.Extra > 0 {
		s.damage.Trailing++
	}
	at, ok := s.keys[string(r.Key)]
	if !ok {
		at = Partition{Topic: string(sync.Topic), Partition: sync.Partition}
		s.keys[string(r.Key)] = at
	}
	if sync.Deleted {
		delete(s.of, at)
		return
	}
	s.of[at] = appendSync(s.of[at], offsetSync{sync.Upstream, sync.Downstream})
}

// appendSync adds a newer sync. Where the source or the target went back, one of
// them was made again or is copied anew: what was said of the time before may be
// about other records, and is dropped as MirrorMaker 2 drops it.
func appendSync(list []offsetSync, s offsetSync) []offsetSync {
	if n := len(list); n > 0 {
		switch last := list[n-1]; {
		case s == last:
			return list
		case s.upstream < last.upstream, s.downstream < last.downstream:
			list = list[:0]
		case s.upstream == last.upstream:
			list = list[:n-1] // copied again, as after a crash
		case s.downstream == last.downstream:
			list = list[:0] // two records cannot share a place
		}
	}
	return append(list, s)
}

// find translates a position. The result is never behind the first record at or
// after the position: where syncs leave a gap it is right behind the record that
// the nearest earlier one is about.
func (s *offsetSyncs) find(at Partition, position int64, end limits) finding {
	list := s.of[at]
	if s.unclear[at] {
		return finding{status: Unmapped, note: "the offset syncs may be of the flow the other way: topics keep their names, and nothing tells"}
	}
	if len(list) == 0 {
		return finding{status: Pending, note: "nothing of the partition has been mirrored yet: there is no offset sync for it"}
	}
	if newest := list[len(list)-1].downstream; end.known && newest >= end.end {
		// A sync is written once its record is on the target.
		return finding{status: Unmapped, note: "the newest offset sync is for " + number(newest) + ", beyond the target's end " + number(end.end) +
			": the topic was made again there, or has lost records"}
	}
	i, same := slices.BinarySearchFunc(list, position, func(s offsetSync, p int64) int { return compareInt(s.upstream, p) })
	if same {
		return finding{status: Exact, offset: list[i].downstream, most: list[i].downstream}
	}
	if i == 0 {
		return finding{
			status: Unmapped, most: list[0].downstream, capped: true,
			note: "the commit lies before the oldest offset sync, which is for " + number(list[0].upstream),
		}
	}
	near := list[i-1]
	f := finding{status: Bounded, offset: near.downstream + 1, most: unbounded, bound: position - near.upstream - 1}
	if i < len(list) {
		f.most = list[i].downstream
	}
	return f
}

// reversed are the syncs for the way back: positions of the target in terms of the
// source.
func (s *offsetSyncs) reversed(rename func(topic string) string) *offsetSyncs {
	back := newOffsetSyncs()
	for at, list := range s.of {
		turned := make([]offsetSync, len(list))
		for i, one := range list {
			turned[i] = offsetSync{one.downstream, one.upstream}
		}
		back.of[Partition{Topic: rename(at.Topic), Partition: at.Partition}] = turned
	}
	return back
}
