package source

import (
	"slices"
	"sync"

	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/spec"
)

// found is a record that exists.
type found struct{ time, offset int64 }

// searchedRecords is of how many records at most the times are held at once: splits
// are searched in groups.
const searchedRecords = 4 << 20

// findTail has splits begin at the last records of all.
func (r *reader) findTail(splits []*split, f facts) error {
	t := r.e.tail
	if t == nil {
		return nil
	}
	if !t.search(r) {
		if r.e.Exit && len(splits) > 0 {
			r.event(Event{Kind: Note, Text: placeOf(splits) + ": found when the last records had been chosen: not read"})
		}
		return nil
	}
	var list []*search
	for _, s := range splits {
		if f.trouble(s) == nil && !r.cameBack(s) {
			list = append(list, r.newSearch(s, f))
		}
	}
	group := max(1, searchedRecords/min(t.n, searchedRecords))
	for some := range slices.Chunk(list, group) {
		if err := r.search(some); err != nil {
			return err
		}
		for _, one := range some {
			t.offer(picks(one.split, one.list))
			one.list = nil
		}
	}
	begin, err := t.choose(r.ctx, r)
	if err != nil {
		return err
	}
	for _, one := range list {
		s := one.split
		s.tailed, s.tail, s.tailFrom = true, one.end, one.end
		if from, some := begin[s]; some {
			s.tailFrom = from
		}
		if one.pin >= 0 {
			s.tailFrom = min(s.tailFrom, one.pin)
		}
	}
	return nil
}

// cameBack reports whether some of a split has been read before: it goes on there.
func (r *reader) cameBack(s *split) bool {
	return slices.ContainsFunc(s.wants, func(w *wanted) bool {
		back, err := r.comeback(s, w)
		return back != nil || err != nil
	})
}

// search looks for the last records of one split.
type search struct {
	split *split
	n     int
	spans []span // what is wanted of it
	start int64  // of the log
	end   int64  // what lies behind it is no part of the last records
	from  int64  // up to where it has been searched
	upTo  int64  // and where the present step ends
	pin   int64  // what cannot be read, and is to be told when reading comes to it; -1 is nothing

	mu   sync.Mutex
	list []found // in order, those of the present step in step
	step []found
	open bool // the present step has not ended
}

func (r *reader) newSearch(s *split, f facts) *search {
	sf := r.facts(s, f)
	one := &search{split: s, n: r.e.tail.n, start: sf.Start, pin: -1}
	for _, w := range s.wants {
		rg := r.ranges(s, w)
		stop := spec.Range{Start: spec.Bound{Kind: spec.Start}, Stop: rg.source.Stop}.Resolve(sf)
		until := stop.Until
		if stop.Cut != nil {
			until = stop.Cut.Last
		}
		until = min(until, sf.End)
		one.spans = append(one.spans, span{sf.Start, until, window(rg)})
		one.end = max(one.end, until)
	}
	one.from = one.end
	return one
}

// next begins a step: further back than the last one by as much as lies behind it.
// It reports whether there is anything left to search.
func (s *search) next() bool {
	if s.pin >= 0 || len(s.list) >= s.n || s.from <= s.start {
		return false
	}
	s.upTo = s.from
	s.from = max(s.start, s.upTo-max(int64(s.n), s.end-s.upTo))
	s.step, s.open = nil, true
	return true
}

// ended takes what a step has found.
func (s *search) ended() {
	if drop := len(s.step) + len(s.list) - s.n; drop > 0 {
		s.step = s.step[min(drop, len(s.step)):]
	}
	s.list = append(slices.Clip(s.step), s.list...)
	s.step = nil
}

// search finds the last records of splits.
func (r *reader) search(list []*search) error {
	list = slices.Clone(list)
	for len(list) > 0 {
		list = slices.DeleteFunc(list, func(s *search) bool { return !s.next() })
		for rest := list; len(rest) > 0; {
			some, others := atOnce(rest)
			if err := r.step(some); err != nil {
				return err
			}
			rest = others
		}
		for _, s := range list {
			s.ended()
		}
	}
	return nil
}

// atOnce takes from a list what one fetcher can read at once.
func atOnce(list []*search) (some, others []*search) {
	has := map[fetch.Partition]bool{}
	for _, s := range list {
		if s.split.committed != list[0].split.committed || has[s.split.id] {
			others = append(others, s)
			continue
		}
		has[s.split.id] = true
		some = append(some, s)
	}
	return some, others
}
