package spec

import (
	"fmt"
	"slices"
)

// Open is the Until of a range that has no end.
const Open int64 = maxInt64

// Facts is what a cluster said about one split at one moment.
type Facts struct {
	Start int64 // the first offset
	End   int64 // where "end" is: the high watermark, or the last stable offset for read_committed

	// Stored is this run's own position, nil if there is none.
	Stored *int64
	// Committed gives a group's commit; nil when no range names a group.
	Committed func(group string) (int64, bool)
	// At gives the first offset whose record has a timestamp of ms or later,
	// and false if there is none; nil when no range names a time.
	At func(ms int64) (int64, bool)

	// Follow says that the run goes on past End: places beyond it are waited
	// for instead of cut off.
	Follow bool
}

// Bounds is a range in offsets.
type Bounds struct {
	From  int64 // the first offset to read
	Until int64 // the first offset not to read; Open without an end
	// Cut is not nil when Until was found by a time.
	Cut *Cut
	// Waits says that From lies beyond the end of the log: nothing can be
	// fetched there until the log has grown that far.
	Waits bool
	// Lost is how many offsets right below From were asked for, by number or by a
	// group's commit, and are gone: the log starts at From.
	Lost  int64
	Notes []Note
}

// Cut tells more about an Until that a cluster named for a time. It may be the
// place of a transaction's marker, which has a time as well but is no record:
// reading ends at the first record of Time or later from Until on, and at Last in
// any case.
type Cut struct {
	Time int64 // ms since 1970
	Last int64 // an offset, or Open
}

// Empty reports whether there is nothing to read between the bounds.
func (b Bounds) Empty() bool { return b.From >= b.Until }

// Note tells of a place that is not quite what was asked for. A Minor one is
// only worth telling to somebody who asked for details.
type Note struct {
	Text  string
	Minor bool

	nothing bool // there is nothing to read: whatever else there is to tell does not matter
}

// Resolve turns the range into offsets. A start that is not given is the end
// when following and else the log's start. Whatever is asked for outside the
// log is moved to its nearest end and told in the notes.
func (r Range) Resolve(f Facts) Bounds {
	b := Bounds{Until: Open}
	b.resolveStop(r, f)
	b.resolveStart(r.Start, f)
	if i := slices.IndexFunc(b.Notes, func(n Note) bool { return n.nothing }); i >= 0 {
		b.Notes = b.Notes[i : i+1]
	}
	return b
}

func (b *Bounds) resolveStart(s Bound, f Facts) {
	fallback, word := f.Start, "start"
	if f.Follow {
		fallback, word = f.End, "end"
	}
	switch s.Kind {
	case Start:
		b.clampStart(f, plus(f.Start, s.N), fmt.Sprintf("asked for %s", s), false)
	case End:
		b.clampStart(f, plus(f.End, s.N), fmt.Sprintf("asked for %s", s), true)
	case Offset:
		b.startAt(f, s.N)
	case Time:
		b.From = f.Start
		if s.N < 0 {
			return
		}
		n, ok := f.At(s.N)
		if !ok {
			b.note(true, "%s is after the last record: starting at the end, %d", formatTime(s.N), f.End)
			n = f.End
		}
		b.From = min(max(n, f.Start), f.End)
	case Stored:
		if f.Stored == nil {
			b.From = fallback
			b.note(true, "no position is stored: starting at the %s, %d", word, fallback)
			return
		}
		b.clampStart(f, *f.Stored, fmt.Sprintf("the stored offset is %d", *f.Stored), false)
	case Group:
		n, ok := f.Committed(s.Name)
		if !ok {
			b.From = fallback
			b.note(false, "group %s has no commit: starting at the %s, %d", s.Name, word, fallback)
			return
		}
		b.clampStart(f, n, fmt.Sprintf("group %s is at offset %d", s.Name, n), false)
		b.Lost = max(0, b.From-n)
	default:
		b.From = fallback
	}
}

// startAt places an explicit offset, the one kind of start that may lie ahead
// of the log on purpose.
func (b *Bounds) startAt(f Facts, n int64) {
	asked := fmt.Sprintf("asked for offset %d", n)
	if n <= f.End {
		b.clampStart(f, n, asked, false)
		b.Lost = max(0, b.From-n)
		return
	}
	b.From = n
	if f.Follow {
		b.Waits = true
		b.note(false, "%s, the log ends at %d: waiting until it gets there", asked, f.End)
		return
	}
	b.From = f.End
	b.nothing("%s, the log ends at %d: nothing to read", asked, f.End)
}

func (b *Bounds) clampStart(f Facts, n int64, asked string, minor bool) {
	b.From = n
	if n < f.Start {
		b.From = f.Start
		b.note(minor, "%s, the log starts at %d: starting there", asked, f.Start)
	}
	if n > f.End {
		b.From = f.End
		b.note(minor, "%s, the log ends at %d: starting there", asked, f.End)
	}
}

func (b *Bounds) resolveStop(r Range, f Facts) {
	switch s := r.Stop; s.Kind {
	case Start:
		b.Until = plus(f.Start, s.N)
	case End:
		b.Until = max(plus(f.End, s.N), f.Start)
		return
	case Offset:
		b.Until = s.N
		if r.liesBefore(f.Start) {
			b.nothing("asked to stop at offset %d, the log starts at %d: nothing to read", s.N, f.Start)
		}
	case Time:
		at := r.stopTime()
		if at < 0 {
			b.Until = f.Start
			return
		}
		n, ok := f.At(at)
		switch {
		case ok:
			b.Until, b.Cut = n, &Cut{Time: at, Last: Open}
			if !f.Follow {
				b.Cut.Last = f.End
			}
		case !f.Follow:
			b.note(true, "%s is after the last record: stopping at the end, %d", formatTime(at), f.End)
			b.Until = f.End
		}
	default:
		return
	}
	if !f.Follow && b.Until > f.End {
		b.note(r.Stop.Kind != Offset, "asked to stop at offset %d, the log ends at %d: stopping there", b.Until, f.End)
		b.Until = f.End
	}
}

// liesBefore reports whether a range that stops at an offset lies before the
// log, and asks for something there.
func (r Range) liesBefore(start int64) bool {
	return r.Stop.N < start || r.Stop.N == start && r.Start.Kind == Offset && r.Start.N < start
}

func (b *Bounds) note(minor bool, format string, args ...any) {
	b.Notes = append(b.Notes, Note{Text: fmt.Sprintf(format, args...), Minor: minor})
}

func (b *Bounds) nothing(format string, args ...any) {
	b.Notes = append(b.Notes, Note{Text: fmt.Sprintf(format, args...), nothing: true})
}

// plus adds without overflow.
func plus(a, n int64) int64 {
	switch {
	case n > 0 && a > maxInt64-n:
		return maxInt64
	case n < 0 && a < minInt64-n:
		return minInt64
	default:
		return a + n
	}
}
