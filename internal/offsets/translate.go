package offsets

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Via is a way to translate.
type Via string

// The ways, the most exact first. ViaAuto takes for each partition the most exact
// that there is.
const (
	ViaAuto        Via = "auto"
	ViaMap         Via = "map"         // kcm's own map
	ViaSyncs       Via = "syncs"       // MirrorMaker 2's offset syncs
	ViaCheckpoints Via = "checkpoints" // MirrorMaker 2's checkpoints
	ViaTimestamp   Via = "timestamp"   // the time of the next record
)

// Status says how sure a translated offset is.
type Status string

// The statuses. None of them goes beyond a record that the group has not read.
const (
	Exact    Status = "exact"    // the group goes on where it was
	Bounded  Status = "bounded"  // it reads records again, at most as many as Bound says
	Pending  Status = "pending"  // it cannot be translated yet
	Unmapped Status = "unmapped" // it cannot be translated
)

// Translated is a group's commit in one partition of the source in terms of the
// target.
type Translated struct {
	Partition           // of the target; Topic is empty if it has none there
	Stream       string // that the source's topic was selected by
	SourceTopic  string
	SourceOffset int64  // the commit on the source; of Checkpointed the one that the checkpoint is for
	Checkpointed bool   // the source does not have the commit, or could not be asked
	Offset       *int64 // on the target; nil unless Exact or Bounded
	Metadata     string // of the commit
	Status       Status
	Bound        *int64 // how many records may be read again at most; nil is unknown
	Via          Via    // empty if nothing says where the commit is, or nothing had to
	Note         string // why, and what is odd about it
	outside      bool   // the offset was brought into the target's range
}

// TranslatedGroup is a group with its partitions, in order.
type TranslatedGroup struct {
	Group      string
	Partitions []Translated
}

// Sure reports whether every partition has an offset.
func (g TranslatedGroup) Sure() bool {
	return !slices.ContainsFunc(g.Partitions, func(t Translated) bool { return t.Offset == nil })
}

// unbounded is a finding's most when nothing limits it.
const unbounded = math.MaxInt64

// finding is what one way says about a position. The true place on the target
// lies from offset to most; bound is how many records of the source lie between,
// at most, where that is known from the source, else -1.
type finding struct {
	via    Via
	status Status
	offset int64
	most   int64
	bound  int64
	note   string
	capped bool // most holds although nothing was found
}

func (f finding) found() bool { return f.status == Exact || f.status == Bounded }

// limits are the start and the end of a partition of the target; known is false
// if it was not possible to ask.
type limits struct {
	start, end int64
	known      bool
}

// weigh turns findings about one position into one: that with the greatest
// offset, as none of them is beyond the true place, and of equals the first.
// What the others know of its greatest place counts too: what lies beyond it is of
// another time, such as the checkpoint of a topic that was made again since.
func weigh(findings []finding, end limits) finding {
	best, most, bound := finding{}, int64(unbounded), int64(-1)
	if end.known {
		most = end.end
	}
	most = min(most, discard(findings))
	for _, f := range findings {
		if !f.found() {
			continue
		}
		switch {
		case !best.found() || f.offset > best.offset:
			best, bound = f, f.bound
		case f.offset == best.offset && f.status == Exact && best.status != Exact:
			best, bound = f, 0
		case f.offset == best.offset && f.bound >= 0 && (bound < 0 || f.bound < bound):
			bound = f.bound
		}
	}
	if !best.found() {
		return refusal(findings)
	}
	best.most = most
	return best.measured(bound, end)
}

// discard takes out findings beyond the greatest place that all of them allow, which
// it returns.
func discard(findings []finding) (most int64) {
	most = unbounded
	for _, f := range findings {
		if f.found() || f.capped {
			most = min(most, f.most)
		}
	}
	for i := range findings {
		f := &findings[i]
		if f.found() && f.offset > most {
			*f = finding{via: f.via, status: Unmapped, note: number(f.offset) + " by " + string(f.via) + " lies beyond " + number(most) +
				", where the commit is at most by the offset syncs: the topic was made again, or is copied anew"}
		}
	}
	return most
}

// refusal chooses what to say when nothing was found: what may still come first.
func refusal(findings []finding) finding {
	best := finding{status: Unmapped}
	for i, f := range findings {
		if i == 0 || f.status == Pending && best.status != Pending {
			best = f
		}
	}
	return best
}

// measured says how far a finding may be from the true place.
func (f finding) measured(bySource int64, end limits) finding {
	if f.status == Exact {
		f.bound = 0
		return f
	}
	f.bound = -1
	if f.most != unbounded {
		f.bound = max(f.most-f.offset, 0)
	}
	if bySource >= 0 && (f.bound < 0 || bySource < f.bound) {
		f.bound = bySource
	}
	switch atEnd := end.known && f.offset >= end.end; {
	case f.via == ViaTimestamp: // times may lie
	case bySource == 0, f.bound == 0 && !atEnd:
		f.status = Exact
	case atEnd && bySource > 0:
		// What is read again is not there yet.
		f.bound = bySource
		f.note = join(f.note, "the target ends there: what is copied later may have been read already")
	case atEnd:
		f.note = join(f.note, "the target ends there; whether the copy has come to the commit is not known")
	}
	return f
}

// join puts two remarks together.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// confine keeps an offset within the target's range. What is beyond an end is of
// a topic that has lost records since, or was made again: only where it is empty
// nothing can be left out by going on there.
func (f finding) confine(l limits) (finding, bool) {
	switch {
	case !f.found() || !l.known:
		return f, false
	case f.offset > l.end && l.start == l.end:
		f.note = join(f.note, "moved from "+number(f.offset)+" to the end, as the target is empty")
		f.offset, f.status, f.bound = l.end, Bounded, 0
		return f, true
	case f.offset > l.end:
		return finding{via: f.via, status: Unmapped, note: number(f.offset) + " lies beyond the target's end " + number(l.end) + ": the topic was made again there, or has lost records"}, false
	case f.offset < l.start:
		if f.offset > 0 {
			f.note = join(f.note, "moved from "+number(f.offset)+" to the start: what lay before is gone on the target")
		}
		f.offset = l.start
		return f, f.note != ""
	default:
		return f, false
	}
}

// apply puts a finding into a row, whose numbers are kept in the given two.
func (t *Translated) apply(f finding, l limits, numbers []int64) {
	f, t.outside = f.confine(l)
	t.Status, t.Note, t.Via = f.status, join(t.Note, f.note), f.via
	if !f.found() {
		return
	}
	numbers[0], numbers[1] = f.offset, f.bound
	t.Offset = &numbers[0]
	if f.bound >= 0 {
		t.Bound = &numbers[1]
	}
}

// Outside reports whether the offset that was found lies outside the target's
// range, and was moved to its start or end.
func (t Translated) Outside() bool { return t.outside }

// find is what a checkpoint says about a position that a group has on the source;
// known is false if only the checkpoint tells.
func (e *checkpoint) find(position int64, known bool) finding {
	f := finding{status: Bounded, offset: e.downstream, most: unbounded, bound: -1}
	switch {
	case known && position < e.upstream:
		return finding{status: Pending, note: "the group has gone back to " + number(position) + " after its checkpoint, which is for " + number(e.upstream)}
	case known && position > e.upstream:
		f.note = "the checkpoint is for " + number(e.upstream)
	}
	if e.fell >= 0 {
		f.note = join(f.note, "the checkpoint before was further, at "+number(e.fell))
	}
	return f
}

func compareTranslated(a, b Translated) int {
	return cmp.Or(ComparePartitions(a.Partition, b.Partition), cmp.Compare(a.SourceTopic, b.SourceTopic))
}

// timeText shows a record's time.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
