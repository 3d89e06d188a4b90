package cmd

import (
	"sync"
	"time"

	"github.com/kcm-cli/kcm/internal/source"
)

// How often progress is told.
const (
	liveEvery = 250 * time.Millisecond // the line on a terminal
	jsonEvery = time.Second            // lines of JSON

	// liveAfter is when the line is drawn first: what is done by then needs none,
	// and what reads the records may write to the same terminal.
	liveAfter = time.Second
)

// progressOptions say what of a run's progress is told, and how.
type progressOptions struct {
	live  bool // a line on a terminal that is drawn anew and anew
	off   bool // nothing at all
	limit int64
	width func() int // of the terminal; nil is unknown
}

// progress tells on stderr how far a run is while it goes on, and what has
// become of it at the end.
type progress struct {
	progressOptions
	n        *Notices
	snapshot func(now time.Time) source.Snapshot
	began    time.Time
	pace     pace
	end      chan struct{}
	ended    sync.WaitGroup
}

// startProgress begins to tell; the caller calls stop when the run is over, and
// then summary.
func startProgress(n *Notices, snapshot func(time.Time) source.Snapshot, opt progressOptions) *progress {
	p := &progress{progressOptions: opt, n: n, snapshot: snapshot, began: time.Now(), end: make(chan struct{})}
	p.pace.add(p.began, source.Snapshot{})
	switch {
	case opt.off:
	case n.JSON():
		p.every(jsonEvery, p.tellJSON)
	case opt.live && !n.Quiet():
		p.every(liveEvery, p.draw)
	}
	return p
}

func (p *progress) every(d time.Duration, tell func()) {
	p.ended.Go(func() {
		ticks := time.NewTicker(d)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				tell()
			case <-p.end:
				return
			}
		}
	})
}

// stop ends the telling.
func (p *progress) stop() {
	close(p.end)
	p.ended.Wait()
	p.n.Status("")
}

// summary tells, in one line, what was read from where.
func (p *progress) summary() {
	now := time.Now()
	snap := p.snapshot(now)
	switch {
	case p.off:
	case p.n.JSON():
		p.tellJSON()
		p.n.Event("summary", "", summaryFields(snap, now.Sub(p.began))...)
	case len(snap.Flows) > 0:
		p.n.Notef("%s", summaryText(snap, now.Sub(p.began)))
	}
}

// sample is how far a run is at one moment, and how fast.
type sample struct {
	source.Snapshot
	perSecond float64       // records
	eta       time.Duration // -1 is unknown
}

func (p *progress) sample() sample {
	now := time.Now()
	s := sample{Snapshot: p.snapshot(now), eta: -1}
	p.pace.add(now, s.Snapshot)
	var offsets float64
	s.perSecond, offsets = p.pace.rates()
	if !s.Endless && !s.Short && s.Total.Lag >= 0 {
		s.eta = timeFor(s.Total.Lag, offsets)
	}
	if p.limit >= 0 && (!s.Short || reading(s.Snapshot)) {
		if rest := timeFor(p.limit-s.Total.Records, s.perSecond); rest >= 0 && (s.eta < 0 || rest < s.eta) {
			s.eta = rest
		}
	}
	return s
}

// reading reports whether some cluster may still give something.
func reading(s source.Snapshot) bool {
	for _, c := range s.Clusters {
		if c.State == source.ClusterReading {
			return true
		}
	}
	return false
}

// timeFor is how long n takes at a rate a second; -1 if it never ends.
func timeFor(n int64, rate float64) time.Duration {
	const longest = float64(10000 * time.Hour)
	switch d := float64(n) / rate * float64(time.Second); {
	case n <= 0:
		return 0
	case rate <= 0 || d > longest:
		return -1
	default:
		return time.Duration(d)
	}
}

// pace knows how fast a run has been in the last seconds.
type pace struct{ points []point }

type point struct {
	at               time.Time
	records, offsets int64
}

// paceOver is the time over which rates are taken.
const paceOver = 5 * time.Second

func (p *pace) add(now time.Time, s source.Snapshot) {
	p.points = append(p.points, point{now, s.Total.Records, s.Offsets})
	for len(p.points) > 2 && now.Sub(p.points[1].at) >= paceOver {
		p.points = p.points[1:]
	}
}

// rates are records and offsets per second.
func (p *pace) rates() (records, offsets float64) {
	first, last := p.points[0], p.points[len(p.points)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	return float64(last.records-first.records) / seconds, float64(last.offsets-first.offsets) / seconds
}
