package fetch

import "github.com/kcm-cli/kcm/internal/batch"

// Handler takes what a Fetcher reads and learns.
type Handler interface {
	// Fetched takes whole batches of one partition. It is called by several
	// goroutines at once, but for one partition never before the last call has
	// returned. While it blocks its partition is not fetched, and others are.
	Fetched(Data)
	// Event takes news. It is called from one goroutine, which does everything
	// else, too: it must not block. It may call Add, Pause and Resume. The events
	// of a partition come after the data that lies before them.
	Event(Event)
}

// Data is what one answer held of one partition. Its slices are the reader's to
// keep and must not be written to.
type Data struct {
	Partition
	TopicID [16]byte // zero where the cluster has no topic ids
	// Batches are checked, in order, and hold something to deliver: control
	// batches are gone, and under Config.Committed aborted ones. The first may
	// begin before From and the last may end behind the until of Add: whoever
	// walks the records drops those. Empty when there was nothing to deliver.
	Batches []batch.Raw
	// From is the position that was asked for and Next the one behind what has
	// been seen; it is also behind batches that were dropped. They are equal when
	// only LogStart, Stable or End are news.
	From, Next int64
	Epoch      int32 // leader epoch of the last batch before Next; -1 is unknown
	// LogStart, Stable and End are the partition's first offset, last stable
	// offset and high watermark; -1 is unknown.
	LogStart, Stable, End int64
	Bytes                 int // what the batches take in the budget
	release               func()
}

// Release gives the bytes of the batches back to the budget. It must be called
// once when they are no longer needed; more calls do nothing.
func (d Data) Release() {
	if d.release != nil {
		d.release()
	}
}

// Position is where to go on after d.
func (d Data) Position() Position {
	return Position{Offset: d.Next, Epoch: d.Epoch, TopicID: d.TopicID}
}

// Event is one of the types below that have a Partition, or Lost or Back.
type Event interface{ event() }

// Lost says that a request to a broker failed or stayed unanswered for 5 s, and
// so did one retry. Partitions that it leads are not read until Back.
type Lost struct {
	Broker int32  // -1: no broker at all answers look-ups
	Addr   string // host:port as the cluster advertises it; empty for -1
	Err    error  // as kgo made it
}

// Back says that a broker which was Lost has answered again.
type Back struct {
	Broker int32
	Addr   string
	Moved  bool // it did not answer, but has nothing left to read: others lead it all
}

// Gap says that the log now starts behind the position: [From, To) can't be
// read any more. The partition is stopped.
type Gap struct {
	Partition
	From, To int64
}

// Beyond says that the position, which this reader did not reach by reading, is
// behind the partition's end. The partition is stopped.
type Beyond struct {
	Partition
	At, End int64
}

// Truncated says that what had been read of [To, From) is no longer in the log,
// or is something else now (KIP-320): an unclean election lost it. The partition
// is stopped. To = From when offsets alone do not show the loss.
type Truncated struct {
	Partition
	From, To int64
}

// Recreated says that the topic was deleted and made again, so that positions
// of the old one mean nothing. The partition is stopped. Both ids are zero on
// clusters that have none.
type Recreated struct {
	Partition
	Old, New [16]byte
}

// Missing says that the topic, or this partition of it, does not exist. It is
// looked for until it is there or removed.
type Missing struct {
	Partition
	Topic bool // the whole topic
}

// Denied says that the cluster refuses to let the topic be read. The partition
// is stopped.
type Denied struct {
	Partition
	Err error
}

// TooLarge says that the batch at Offset cannot be fetched: alone it is above
// Limit, or did not arrive in time. The partition is stopped.
type TooLarge struct {
	Partition
	Offset      int64
	Size, Limit int64 // bytes; 0 is unknown
	Err         error
}

// Damaged says that the batch at Offset is not what was written. What was before
// it has been handed on. The partition is stopped.
type Damaged struct {
	Partition
	Offset int64
	Err    error
}

// NoLeader says that the partition has had no leader, or one that answers
// nothing but Err, for a while. It is tried on. It does not come for partitions
// of a broker that is Lost.
type NoLeader struct {
	Partition
	Err error
}

// Recovered ends a Missing or NoLeader: the partition is read again.
type Recovered struct{ Partition }

// Done says that the position has reached the until of Add. The partition is
// stopped.
type Done struct {
	Partition
	At int64
}

// CaughtUp says that the position has reached the high watermark, for the first
// time since Add.
type CaughtUp struct {
	Partition
	At int64
}

func (Lost) event()      {}
func (Back) event()      {}
func (Gap) event()       {}
func (Beyond) event()    {}
func (Truncated) event() {}
func (Recreated) event() {}
func (Missing) event()   {}
func (Denied) event()    {}
func (TooLarge) event()  {}
func (Damaged) event()   {}
func (NoLeader) event()  {}
func (Recovered) event() {}
func (Done) event()      {}
func (CaughtUp) event()  {}
