package source

import (
	"time"

	"github.com/kcm-cli/kcm/internal/record"
)

// Place is what a position is kept for: a partition of a physical cluster, as
// one stream takes it.
type Place struct {
	ClusterID    string // of the physical cluster; empty if it tells none
	record.Split        // with the name that the cluster has in this run
	Stream       string // the ID of the Want
}

// Mark is how far a place has been written out.
type Mark struct {
	Place
	TopicID [16]byte // zero if it is not known
	Offset  int64    // of the next record
	Epoch   int32    // leader epoch of the batch before Offset; -1 if it is not known
	Left    bool     // the place is not read any more, because the metadata has dropped it
}

// Keeper keeps positions beyond the run.
type Keeper interface {
	// Find returns where a place was left. It is asked when reading of the place is
	// about to begin, by several goroutines at once. An error stops that split.
	Find(p Place) (m Mark, known bool, err error)
	// Keep stores the marks that have changed since the last call. The writer calls
	// it, never during a call of the Sink: every second or 64 MiB if there is
	// something new, less often if it takes longer than that, and once when the run
	// ends, however it ends. An error ends the run.
	Keep(marks []Mark) error
}

// Syncer is a Sink whose writes are durable only after Sync, which the writer
// calls before positions are kept or committed.
type Syncer interface{ Sync() error }

// Taker is a Sink with a reader that takes later what was written, such as a
// pipe. Positions follow what has been taken.
type Taker interface {
	// Taken is how many bytes of all writes have been taken, those of a Write that
	// failed too. At the end of a run what waits for a reader that is still there
	// counts as taken. It may be called from any goroutine, and beside Write.
	Taken(end bool) int64
}

// When positions are kept.
const (
	keepEvery = time.Second
	keepBytes = 64 << 20
)

// keeping is the writer's part in keeping positions. The zero keeping keeps none.
type keeping struct {
	ledger *ledger
	sync   func() error
	keep   func([]Mark) error
	asked  chan chan error // for positions to be kept at once
	last   time.Time       // when they were kept
	pause  time.Duration   // until the next time
	bytes  int64           // written since
}

func newKeeping(o Options) keeping {
	if o.Keeper == nil {
		return keeping{}
	}
	k := keeping{ledger: newLedger(), sync: func() error { return nil }, keep: o.Keeper.Keep, asked: make(chan chan error), last: time.Now(), pause: keepEvery}
	if s, ok := o.Sink.(Syncer); ok {
		k.sync = s.Sync
	}
	if t, ok := o.Sink.(Taker); ok {
		k.ledger.taken = t.Taken
	}
	return k
}

// due fires when positions are to be kept; nil is never.
func (k *keeping) due() <-chan time.Time {
	if k.ledger == nil || !k.ledger.news() {
		return nil
	}
	return time.After(time.Until(k.last.Add(k.pause)))
}

// wrote keeps positions if enough has been written since the last time.
func (k *keeping) wrote(bytes int) error {
	if k.ledger == nil {
		return nil
	}
	if k.bytes += int64(bytes); k.bytes < keepBytes && time.Since(k.last) < k.pause {
		return nil
	}
	return k.now()
}

// now keeps the positions of all that has been taken. Where that takes its time,
// because there are thousands of files, the next time is put off: a run that did
// nothing else would not get on.
func (k *keeping) now() error {
	began := time.Now()
	defer func() {
		k.last, k.bytes = time.Now(), 0
		k.pause = max(keepEvery, k.last.Sub(began))
	}()
	if !k.ledger.news() {
		return nil
	}
	if err := k.sync(); err != nil {
		return err
	}
	marks := k.ledger.collect()
	if len(marks) == 0 {
		return nil
	}
	return k.keep(marks)
}

// known returns where a place was left in an earlier run.
func (r *reader) known(w *wanted, s record.Split) (Mark, bool, error) {
	if r.e.Keeper == nil {
		return Mark{}, false, nil
	}
	return r.e.Keeper.Find(Place{ClusterID: r.id, Split: s, Stream: w.key()})
}

// knowsOthers reports whether other partitions of a topic have been read by an
// earlier run: one that has not is new, and begins at its beginning.
func (r *reader) knowsOthers(w *wanted, s *split) bool {
	if r.e.Keeper == nil {
		return false
	}
	at := place{want: w.key(), topic: s.Topic, partition: -1}
	known, asked := r.familiar[at]
	for _, p := range s.topic.Partitions {
		if asked || known {
			break
		}
		_, known, _ = r.known(w, record.Split{Cluster: r.name, Topic: s.Topic, Partition: p.ID})
	}
	r.familiar[at] = known
	return known
}
