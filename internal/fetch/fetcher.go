package fetch

import (
	"sync"
	"sync/atomic"
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

	timing timing
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
	cfg     Config
	clients clients

	mu      sync.Mutex
	index   map[Partition]*part // the incarnation of each that counts
	mailbox []func()            // what the loop is to do
	over    bool                // Run has ended
	handing sync.WaitGroup      // calls of Fetched, so that Run can wait for them

	wake     chan struct{}
	limit    atomic.Int32  // of LimitPartition; 0 is none
	clock    atomic.Uint64 // counts answers, to take partitions in turn
	finished chan struct{} // closed when nothing of the Fetcher runs any more

	state
}

// New makes a Fetcher that does nothing until Run.
func New(cfg Config) *Fetcher {
	cfg.fill()
	return &Fetcher{
		cfg:      cfg,
		clients:  clients{make: cfg.Client},
		index:    map[Partition]*part{},
		wake:     make(chan struct{}, 1),
		finished: make(chan struct{}),
		state: state{
			topics:  map[string]map[int32]*part{},
			brokers: map[int32]*broker{},
			addrs:   map[int32]string{},
			stale:   map[string]struct{}{},
		},
	}
}

func (c *Config) fill() {
	c.MaxWait = within(c.MaxWait, time.Millisecond, 500*time.Millisecond)
	c.MaxBytes = within(c.MaxBytes, leastBytes, mostBytes)
	c.MinBytes = max(c.MinBytes, 1)
	if c.PartitionMaxBytes <= 0 {
		c.PartitionMaxBytes = 1 << 20
	}
	if c.BulkLanes <= 0 {
		c.BulkLanes = 3
	}
	c.BulkLanes = min(c.BulkLanes, 4)
	if c.Budget == nil {
		c.Budget = NewBudget(64 << 20)
	}
	c.timing.fill()
}

// within returns v, or most if v is not set or too much.
func within[T int32 | time.Duration](v, least, most T) T {
	if v <= 0 || v > most {
		return most
	}
	return max(v, least)
}

// Add reads a partition from a position on, until its position is ≥ until; a
// negative until is no end. On a partition that is there already it begins anew:
// no event of the time before comes any more, and data of the time before at
// most in a call of Fetched that has begun. It does not block.
func (f *Fetcher) Add(p Partition, at Position, until int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	n := newPart(p, at, until)
	if old := f.index[p]; old != nil {
		old.gone.Store(true)
		n.gate = old.gate
		f.send(func() { f.drop(old) })
	}
	f.index[p] = n
	f.send(func() { f.admit(n) })
}

// Remove stops reading a partition and forgets it. It waits for a running call
// of Fetched for it, so it must not be called from within one; after it has
// returned there is no more of it.
func (f *Fetcher) Remove(p Partition) {
	f.mu.Lock()
	old := f.index[p]
	delete(f.index, p)
	if old != nil {
		old.gone.Store(true)
		f.send(func() { f.drop(old) })
	}
	f.mu.Unlock()
	if old != nil {
		old.gate.Lock()   // a call that has begun ends first
		old.gate.Unlock() //nolint:staticcheck // an empty critical section is the wait
	}
}

// LimitPartition bounds what one request asks of one partition, in bytes, besides
// Config.PartitionMaxBytes. A batch that is larger comes whole all the same, when
// it is the partition's turn. It does not block.
func (f *Fetcher) LimitPartition(bytes int64) {
	f.limit.Store(int32(min(bytes, mostBytes)))
}

// limited returns most, or the limit of a partition if that is less.
func (f *Fetcher) limited(most int32) int32 {
	if limit := f.limit.Load(); limit > 0 {
		return min(most, limit)
	}
	return most
}

// Pause stops fetching a partition until Resume. What has been asked for
// already is still handed on. It does not block.
func (f *Fetcher) Pause(p Partition) { f.setPaused(p, true) }

// Resume ends a Pause. It does not block.
func (f *Fetcher) Resume(p Partition) { f.setPaused(p, false) }

func (f *Fetcher) setPaused(p Partition, paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.index[p]; n != nil {
		f.send(func() { f.pause(n, paused) })
	}
}

// post has the loop do something.
func (f *Fetcher) post(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(do)
}

// send is post for those who hold f.mu.
func (f *Fetcher) send(do func()) {
	f.mailbox = append(f.mailbox, do)
	select {
	case f.wake <- struct{}{}:
	default: // the loop has been woken and will look
	}
}

func (f *Fetcher) mail() []func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.mailbox
	f.mailbox = nil
	return m
}
