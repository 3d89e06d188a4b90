// Package source is the engine: it finds the partitions that the wanted streams
// live on, reads them from every cluster at once, bounds them, hands whole
// chunks to a sink and moves a split's position only when the sink has written.
//
// It knows neither formats nor files: what happens to a chunk is the business
// of the Sink that it is given. It has no view of the terminal either: whatever
// is worth telling is an Event.
package source

import (
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// Options say what to read, from where to where, and who gets it.
type Options struct {
	Wants    []Want
	Clusters map[string]*cluster.Cluster // by name; every cluster of Wants

	// Updates are later plans, to be followed without a pause of what does not
	// change; nil: there are none.
	Updates <-chan Plan

	// Admit is asked before anything of a cluster is read, with all topics that
	// are, and again when they change. Its error ends the run. It may be called from
	// several goroutines at once; nil admits everything.
	Admit func(clusterID, cluster string, topics []cluster.Topic) error

	Topic      func(string) bool // narrows topics; nil takes all
	Partitions spec.Partitions   // narrows partitions; empty takes all

	Offsets spec.Offsets // the command's own; wins over the starts of Wants
	Start   spec.Bound   // where nothing says otherwise
	Exit    bool         // stop each split at the end that it has when it is first seen
	Bounded bool         // the run has an end of its own: a cluster is given up after GiveUp
	Limit   int64        // deliveries to write at most; negative is no limit
	// PerSplit is how many deliveries each split gives to each stream at most; 0 is
	// no limit. A split that has given them is finished.
	PerSplit int64
	Order    Order // in which deliveries are written
	// OrderWait is how long a run that follows holds something back for a split
	// that has nothing.
	OrderWait time.Duration
	// Tail begins at the last so many records of all that there are, whatever
	// Offsets and the starts of Wants say: those that the merge of the last Tail
	// records of each split has at its end. They come merged by timestamp. 0 is none;
	// Start must be the end.
	Tail int64
	// Timeout ends the run, as if all had been read, when nothing has come for so
	// long; 0 is never. It counts from the last delivery that was written, from the
	// last progress below the ends that there were when reading began, or from when
	// all clusters had been looked at.
	Timeout time.Duration

	WaitTopics bool      // a missing topic is waited for; otherwise it is a failure
	FailFast   bool      // the first cluster that cannot be reached ends the run
	OnGap      GapPolicy // what to do when the log no longer has a position
	GapAtStart bool      // OnGap holds as well for an offset or a commit at which Offsets has a split begin; otherwise it begins at the log's start, and that is told
	OnRecreate RecreatePolicy
	OnRemove   RemovePolicy

	DrainTimeout time.Duration // for what is removed; 0 is 30 s, 90 s with read_committed
	Retain       time.Duration // how long a position is kept of what has left; 0 is 24 h, negative not at all
	Refresh      time.Duration // how often topics and the ends of draining sources are looked at; 0 is 10 s, or the cluster's metadata.max.age.ms

	GiveUp time.Duration // how long a cluster may give no contact
	Keeper Keeper        // of positions beyond the run; nil is none
	Past   Past          // read before the logs; nil is none
	// Group is the consumer group to join on every cluster; empty is none. Reading
	// begins at its commits, and what has been written is committed. It takes the
	// place of a Keeper.
	Group         string
	GroupProtocol GroupProtocol
	Memory        int64       // bytes of batches on their way, over all clusters; 0 is 12 MiB and 1 MiB for each
	MaxBatch      int64       // bytes of a decompressed batch; 0 is 512 MiB
	Pool          *batch.Pool // of decompressed batches; nil makes one
	Started       time.Time   // when this run began

	Workers int // that prepare chunks at once; 0 is one per processor, at least 2
	Sink    Sink
	Monitor *Monitor    // shows how far the run is; may be nil
	Event   func(Event) // called from several goroutines at once
}

// Order is the order in which deliveries are written. That of a split is always
// kept.
type Order string

// The orders of --order.
const (
	OrderNone      Order = "none"      // as they come
	OrderTimestamp Order = "timestamp" // merged by timestamp over all splits
)

// GapPolicy says what to do when the start of the log has passed a position.
type GapPolicy string

// The policies of --on-gap.
const (
	GapSkip GapPolicy = "skip" // read on at the log's start
	GapStop GapPolicy = "stop" // stop that split
	GapFail GapPolicy = "fail" // end the run
)

// RemovePolicy says how what a plan no longer has is left.
type RemovePolicy string

// The policies of --on-remove.
const (
	RemoveDrain RemovePolicy = "drain" // read to the ends seen at removal
	RemoveStop  RemovePolicy = "stop"  // leave it where it is
)

// RecreatePolicy says what to do about a topic that was deleted and made again.
type RecreatePolicy string

// The policies of --on-recreate.
const (
	RecreateStart RecreatePolicy = "start" // read the new one from its start
	RecreateStop  RecreatePolicy = "stop"  // stop that split
	RecreateFail  RecreatePolicy = "fail"  // end the run
)

// Sink takes what the engine delivers.
type Sink interface {
	// Worker makes one preparer. Several work at once, each on one goroutine.
	Worker() Worker
	// Write writes blocks in the order given, one call at a time. When it
	// returns nil they are out, and their splits' positions may move.
	Write(blocks []Block) error
}

// Forwarder is a Sink that learns later whether what it was given has arrived,
// because it goes to another cluster.
type Forwarder interface {
	Sink
	// Forward sends blocks on, in the order of their splits, and does not wait for
	// that. It calls done once for each of them, by its index: with the block as it
	// was, or with an error and what has arrived of it in Written and Next. An error
	// stops the split; of what it was given for the split behind that block nothing
	// may arrive. Done may be called from any goroutine, and within Forward.
	Forward(blocks []Block, done func(i int, b Block, err error))
}

// Worker makes chunks ready for writing, beside fetching.
type Worker interface {
	// Prepare makes at most limit deliveries of c ready; limit < 0 is no limit.
	// An error stops the split, after what the block holds has been written.
	Prepare(c *Chunk, limit int) (Block, error)
}

// Block is a chunk made ready by a Worker.
type Block struct {
	Split   record.Split // which it is of; the engine sets it
	Load    any          // what the Sink wants with Data or in place of it
	Size    int          // bytes that are to be written besides Data
	Data    []byte       // what is to be written; whole deliveries only
	Written int          // deliveries in Data
	Cuts    []Cut        // where each of them ends; only if the Chunk asks for it
	// ByStream is how many of these each of the Chunk's Streams has; nil where there
	// is one stream only.
	ByStream []int
	Filtered int    // deliveries that a filter has left out
	Dropped  int    // deliveries left out because they could not be decoded
	Undone   int    // deliveries whose key or value could not be decoded
	Flaw     string // where the first of these is, and why
	Failed   int    // deliveries left out because a filter failed for them
	Failure  string // where the first of these is, and why
	Next     int64  // the split's position once all has been written
	Free     func() // gives Data back; may be nil
}

// Count counts n deliveries to a stream, by its index among the Chunk's, as
// written.
func (b *Block) Count(stream, n int) {
	b.Written += n
	if b.ByStream != nil {
		b.ByStream[stream] += n
	}
}

// CountAll counts n deliveries to each of so many streams.
func (b *Block) CountAll(streams, n int) {
	for i := range streams {
		b.Count(i, n)
	}
}

// Stats is what a run read and wrote.
type Stats struct {
	Records  int64 // deliveries written
	Bytes    int64 // bytes written
	Dropped  int64
	Undone   int64
	Flaw     string // about the first that could not be decoded
	Failed   int64
	Failure  string // about the first that failed
	Late     int64  // deliveries that came when Order had passed their time
	Back     int64  // deliveries with an earlier time than one before them in their split
	Clusters map[string]ClusterStats
	// Uncommitted says that the last commits of some clusters failed (fault.Partial),
	// or of all; nil if they have all been committed, or there was nothing to commit.
	Uncommitted error
}

// ClusterStats is a cluster's part of Stats.
type ClusterStats struct {
	Splits  int // found and not failed before they were read
	Records int64
	Err     error // the first reason why the cluster, or a part of it, gave no full result
	Stopped bool  // some of its splits were stopped: by a policy, or by what they hold
	Faults  int   // how many such reasons there were; each has been told as an Event
	// Target is the cluster that some of these reasons are about, if it is another
	// one, to which the records go; Own says that others are about this one.
	Target string
	Own    bool
}

// Event is something that happened to a cluster or a split while reading. Its
// text needs no more than a prefix to be shown.
type Event struct {
	Kind  EventKind
	Split record.Split // Topic is empty when the event is about the whole cluster
	Text  string
	Hint  string

	Stream     string          // of Added and Removed
	Partitions int             // of Added and Removed: how many
	Positions  map[int32]int64 // where each partition begins or was left
	Cut        bool            // of Removed: it was to be drained and has not been

	Depth int // how often details must be asked for to be told; 0 is always
}

// EventKind classes events for machine readers.
type EventKind string

// The kinds of event.
const (
	Begun     EventKind = "begun" // every cluster has been looked at once, or does not answer
	Lost      EventKind = "lost"
	Back      EventKind = "back"
	Gap       EventKind = "gap"
	Recreated EventKind = "recreated"
	Added     EventKind = "added"   // a later plan, or the cluster itself, brought partitions
	Drained   EventKind = "drained" // partitions have left, read to their ends
	Removed   EventKind = "removed" // partitions have left before their ends
	Note      EventKind = "note"
	Failed    EventKind = "failed"
)
