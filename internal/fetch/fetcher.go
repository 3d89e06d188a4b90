package fetch

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// Config says what to fetch from and how. Zero values are the defaults.
type Config struct {
	Cluster string // its name, for errors
	// Client makes a client for the role Control, Tail or Bulk; whatever it made
	// the Fetcher closes. Fetching clients want RequestTimeoutOverhead 60 s.
	Client    func(cluster.Role) (*kgo.Client, error)
	Committed bool    // read_committed: up to the stable offset, aborted batches dropped
	Rack      string  // client.rack (KIP-392); empty reads from leaders only
	Budget    *Budget // nil: a budget of its own of 64 MiB
	Handler   Handler

	MaxWait           time.Duration // long poll at the end of partitions; default and most 500 ms
	MinBytes          int32         // default 1
	MaxBytes          int32         // of an answer, before the budget; default and most 8 MiB
	PartitionMaxBytes int32         // of a partition in it, when it is not alone; default 1 MiB
	BulkLanes         int           // requests in flight per broker for what is behind; default 3, 1 to 4
}

// Partition names one partition of the cluster.
type Partition struct {
	Topic string
	ID    int32
}

// Position is where to read on.
type Position struct {
	Offset int64
	// Epoch is the leader epoch of the batch before Offset (LastFetchedEpoch). It
	// is -1 for a position that was not reached by reading: a spec, a foreign
	// commit, a skip.
	Epoch int32
	// TopicID is the topic that Offset belongs to; zero takes whichever has the
	// name when it is first looked up.
	TopicID [16]byte
}

// Fetcher reads partitions of one cluster. Its methods may be called from any
// goroutine, also before Run.
type Fetcher struct {
	cfg Config
}

// New makes a Fetcher that does nothing until Run.
func New(cfg Config) *Fetcher { return &Fetcher{cfg: cfg} }

// Add reads a partition from a position on, until its position is ≥ until; a
// negative until is no end. On a partition that is there already it begins anew:
// no event of the time before comes any more, and data of the time before at
// most in a call of Fetched that has begun. It does not block.
func (f *Fetcher) Add(p Partition, at Position, until int64) {}

// Remove stops reading a partition and forgets it. It waits for a running call
// of Fetched for it, so it must not be called from within one; after it has
// returned there is no more of it.
func (f *Fetcher) Remove(p Partition) {}

// Pause stops fetching a partition until Resume. What has been asked for
// already is still handed on. It does not block.
func (f *Fetcher) Pause(p Partition) {}

// Resume ends a Pause. It does not block.
func (f *Fetcher) Resume(p Partition) {}

// Run fetches until ctx ends and returns nil then, within a second even if a
// call of Fetched hangs. Clients are closed in the background. It may be called
// once.
func (f *Fetcher) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
