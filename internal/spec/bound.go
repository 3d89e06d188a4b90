// Package spec owns the grammar of offsets: where to start, where to stop, for
// which partitions. It turns text into bounds and bounds into offsets, given
// the facts of a split and the time of day. It does no I/O, reads no clock and
// imports nothing of kcm but the shared words.
package spec

import (
	"fmt"
	"strconv"
	"time"
)

// Kind says what a Bound is measured from.
type Kind uint8

// The kinds of bound.
const (
	None   Kind = iota // not given
	Start              // N offsets after the log's start
	End                // N offsets from the log's end; N is zero or negative
	Stored             // this run's own commits or state file
	Group              // the commits of the group called Name
	Offset             // the offset N
	Time               // the first record whose timestamp is N ms since 1970 or later
)

// Bound is one end of a range. The zero Bound is "not given". As a start it is
// inclusive, as a stop exclusive.
type Bound struct {
	Kind Kind
	N    int64
	Name string // of a Group, else empty
}

// Given reports whether the bound says anything.
func (b Bound) Given() bool { return b.Kind != None }

// String gives the canonical spec of the bound alone: a form that ParseBound
// reads back to the same Bound, and "" for a bound that is not given.
func (b Bound) String() string {
	switch b.Kind {
	case Start:
		return relative("start", b.N)
	case End:
		return relative("end", b.N)
	case Stored:
		return "stored"
	case Group:
		return "group:" + b.Name
	case Offset:
		return strconv.FormatInt(b.N, 10)
	case Time:
		return "@" + formatTime(b.N)
	default:
		return ""
	}
}

func relative(word string, n int64) string {
	if n == 0 {
		return word
	}
	return fmt.Sprintf("%s%+d", word, n)
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// Range is a start and a stop, of which either may not be given: without a
// start the command's default holds, without a stop the range has no end of
// its own.
type Range struct {
	Start Bound
	Stop  Bound
	// Late is how many ms behind a Stop that is a time offsets end, so that records
	// out of order are found. The window's end stays where it is.
	Late int64
}

// String gives the canonical spec of the range, which Parse reads back to the
// same Range if Parse made it.
func (r Range) String() string {
	switch {
	case !r.Stop.Given():
		return r.Start.String()
	case r.Stop.Kind == Time:
		start := ""
		if r.Start.Kind == Time {
			start = formatTime(r.Start.N)
		}
		return "@" + start + ":" + formatTime(r.Stop.N)
	case r.Start.Kind == Offset:
		return r.Start.String() + ":" + r.Stop.String()
	default:
		return ":" + r.Stop.String()
	}
}

// OrElse returns the range with the bounds of def in place of those that are
// not given.
func (r Range) OrElse(def Range) Range {
	if !r.Start.Given() {
		r.Start = def.Start
	}
	if !r.Stop.Given() {
		r.Stop, r.Late = def.Stop, def.Late
	}
	return r
}

// stopTime is the time that the first offset not to read is looked up for, if
// Stop is a time.
func (r Range) stopTime() int64 { return plus(r.Stop.N, r.Late) }

// Times returns the timestamps, in ms since 1970, that Resolve asks Facts.At
// for, so that a caller can look them all up in one request. They are never
// negative: ListOffsets gives negative timestamps meanings of its own.
func (r Range) Times() []int64 {
	var times []int64
	if r.Start.Kind == Time && r.Start.N >= 0 {
		times = append(times, r.Start.N)
	}
	if r.Stop.Kind == Time && r.stopTime() >= 0 {
		times = append(times, r.stopTime())
	}
	return times
}

// Groups returns the names of the groups whose commits Resolve asks for.
func (r Range) Groups() []string {
	if r.Start.Kind == Group {
		return []string{r.Start.Name}
	}
	return nil
}

// Window is a span of record timestamps, in ms since 1970: Since is inclusive
// and Until exclusive. An open side is math.MinInt64 or math.MaxInt64.
type Window struct {
	Since int64
	Until int64
}

// Holds reports whether a record of timestamp ms lies in the window.
func (w Window) Holds(ms int64) bool {
	return ms >= w.Since && (ms < w.Until || w.Until == maxInt64)
}

// Window returns the timestamps that the range's times allow, and false when
// it names no time. Offsets are found by a binary search that trusts the order
// of timestamps, so records inside the offsets may lie outside the window.
func (r Range) Window() (Window, bool) {
	w := Window{Since: minInt64, Until: maxInt64}
	if r.Start.Kind == Time {
		w.Since = r.Start.N
	}
	if r.Stop.Kind == Time {
		w.Until = r.Stop.N
	}
	return w, r.Start.Kind == Time || r.Stop.Kind == Time
}
