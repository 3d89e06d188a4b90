package fetch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
)

// part is one incarnation of a partition, from Add to the next Add or Remove.
// All but the first four fields belong to the loop.
type part struct {
	key   Partition
	until int64
	gone  atomic.Bool // it does not count any more: nothing of it is told
	// gate is held during calls of Fetched; all incarnations of a partition share
	// it, which keeps their calls apart.
	gate *sync.Mutex

	at      Position
	bounds  bounds // as last told
	stopped bool   // after an event that stops, until the next Add
	paused  bool
	caught  bool // CaughtUp has been told
	reached bool // the last answer reached the end: the tail is where it belongs
	alone   bool // an answer with it could not be received: ask for nothing else
	served  uint64

	flight   *flight // the last request that asked for it
	handing  bool    // a call of Fetched outlived its answer's grace
	checking bool    // it is being found out why its position is refused

	on           *broker // who is asked; nil while looking
	last         *broker // who was asked last
	joined       bool    // it is in on's session
	leader       int32   // -1 is unknown
	epoch        int32   // of the leader; -1 is unknown
	older        int     // look-ups in a row that knew an older epoch only
	replica      int32   // preferred by the leader; -1 is none
	replicaUntil time.Time

	fails  int       // in a row
	due    time.Time // not to be asked for before
	since  time.Time // since when it can't be read; zero while it can
	misses int       // look-ups in a row that did not find it
	told   told      // what has been
	newer  [16]byte  // another topic id that one look-up has seen
}

// told is what the last event about a trouble said; empty after Recovered.
type told string

const (
	leaderless told = "leaderless"
	missing    told = "missing"
)

// bounds of a partition: first offset, last stable offset, high watermark.
type bounds struct{ start, stable, end int64 }

func newPart(p Partition, at Position, until int64) *part {
	return &part{
		key: p, until: until, at: at, gate: new(sync.Mutex),
		bounds: bounds{-1, -1, -1}, leader: -1, epoch: -1, replica: -1,
	}
}

// busy reports whether something is under way that may move the position.
func (p *part) busy() bool {
	return p.flight != nil && !p.flight.landed || p.handing || p.checking
}

// wanted reports whether p is to be fetched at all.
func (p *part) wanted() bool { return !p.gone.Load() && !p.stopped && !p.paused }

// want is what one request asks of one partition, and how that was at the time.
type want struct {
	p        *part
	at       Position
	epoch    int32 // of the leader
	most     int32 // bytes
	bounds   bounds
	follower bool // a preferred replica is asked
	turn     int  // of a session
}

func (p *part) want(most int32) *want {
	return &want{p: p, at: p.at, epoch: p.epoch, most: most, bounds: p.bounds, follower: p.replica >= 0}
}

// sameAs reports whether a broker that remembers w needs no word about now.
func (w *want) sameAs(now *want) bool {
	return w.at == now.at && w.epoch == now.epoch && w.most == now.most
}

// outcome is what one answer said about one partition.
type outcome struct {
	fl        *flight
	w         *want
	code      int16
	next      int64 // the position behind what was whole
	epoch     int32 // of the batch before next
	bounds    bounds
	batches   []batch.Raw
	bytes     int // all that came, whole and wanted or not
	leader    int32
	leaderAt  int32 // its epoch
	diverging int64 // the end of what is common; -1 is nothing diverges
	replica   int32
	damage    *Damaged
	cut       int64 // size of the first batch if only a piece of it came
	state     atomic.Int32
	settled   bool // belongs to the loop
}

// States of handing on an outcome's data.
const (
	handingOn int32 = iota
	handedOn
	outlived // the answer did not wait for it
)

// limit is how far the answer could be read.
func (o *outcome) limit(committed bool) int64 {
	if committed && o.bounds.stable >= 0 {
		return o.bounds.stable
	}
	return o.bounds.end
}

// news reports whether there is something to call Fetched for.
func (o *outcome) news() bool {
	return o.code == 0 && (o.next > o.w.at.Offset || o.bounds != o.w.bounds)
}
