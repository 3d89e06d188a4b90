package produce

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/cluster"
)

// Config says where to and how. Zero values are the defaults.
type Config struct {
	Cluster *cluster.Cluster
	// GiveUp is how long a partition, or the whole cluster, may take nothing before
	// what is to be written there fails; 0 is for ever.
	GiveUp time.Duration
	Create bool        // make topics that are missing
	Event  func(Event) // called from several goroutines at once; nil drops them

	timing timing
}

// Event is something that happened to the cluster or a partition while writing.
type Event struct {
	Kind  EventKind
	Topic string // empty when it is about a broker or the whole cluster
	// Partition is -1 when it is about the whole topic.
	Partition int32
	Text      string
	Hint      string
}

// EventKind classes events.
type EventKind string

// The kinds of event.
const (
	Lost    EventKind = "lost"    // nothing is taken for a while, and tried again
	Back    EventKind = "back"    // it is again
	Created EventKind = "created" // a topic was made
	Note    EventKind = "note"
)

// timing are the times of a Writer, which tests shorten.
type timing struct {
	tell    time.Duration // how long trouble lasts before it is told
	silent  time.Duration // how long a request may go unanswered before that is trouble
	backoff time.Duration // before something is tried again, the first time
	longest time.Duration // and at most
	request time.Duration // what a broker may take for a request
	// identity is how often the ids of topics are looked up that are written to by
	// name.
	identity time.Duration
}

func (t *timing) fill() {
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
	}{
		{&t.tell, 1500 * time.Millisecond},
		{&t.silent, 3500 * time.Millisecond},
		{&t.backoff, 50 * time.Millisecond},
		{&t.longest, time.Second},
		{&t.request, 10 * time.Second},
		{&t.identity, 2 * time.Second},
	} {
		if *d.of == 0 {
			*d.of = d.usual
		}
	}
}

const (
	mostFlying  = 5       // requests that a broker has at once; of one partition it remembers as many batches (KIP-98)
	fullRequest = 1 << 20 // bytes at which a request is sent although more is ready
)

// Writer writes to one cluster. Its methods may be called from any goroutine.
type Writer struct {
	cfg    Config
	client *kgo.Client
	ctx    context.Context //nolint:containedctx // of New: everything ends with it
	stop   context.CancelFunc
	work   sync.WaitGroup
	wake   chan struct{} // capacity 1: there may be something to do

	topicsMu sync.Mutex
	topics   map[string]*Topic

	mu         sync.Mutex
	partitions map[partitionKey]*partition
	brokers    map[int32]*broker
	homeless   map[*partition]struct{} // whose leader is not known
	waiting    map[*partition]struct{} // until their retryAt
	troubled   map[*partition]struct{}
	producer   *producer // that all partitions begin with
	asking     []*producer
	lookingUp  bool
	lookAt     time.Time
	lookups    int     // in a row without a leader for everyone
	contact    trouble // with the cluster as a whole
	checks     checking
	closed     bool
	counts     Counts
}

// Counts is what has been written.
type Counts struct {
	Topics  map[string]int64 // records that have arrived, by topic
	Raw     int64            // batches that went as they were stored
	Built   int64            // batches that were made of records
	Renewed int64            // times that a producer id was given up
}

// New makes a Writer. Nothing is contacted before there is something to do; when
// ctx ends nothing more is tried.
func New(ctx context.Context, cfg Config) (*Writer, error) {
	cfg.timing.fill()
	if cfg.Event == nil {
		cfg.Event = func(Event) {}
	}
	ctx, stop := context.WithCancel(ctx)
	w := &Writer{
		cfg: cfg, ctx: ctx, stop: stop, wake: make(chan struct{}, 1), topics: map[string]*Topic{},
		partitions: map[partitionKey]*partition{}, brokers: map[int32]*broker{}, producer: &producer{},
		homeless: map[*partition]struct{}{}, waiting: map[*partition]struct{}{}, troubled: map[*partition]struct{}{},
		counts: Counts{Topics: map[string]int64{}}, checks: checking{topics: map[*Topic]struct{}{}, at: time.Now().Add(cfg.timing.identity)},
	}
	w.contact.init(w, partitionKey{id: -1})
	var err error
	if w.client, err = cfg.Cluster.Client(cluster.Produce, kgo.WithHooks(writeHook{w})); err != nil {
		stop()
		return nil, err
	}
	w.work.Go(w.run)
	return w, nil
}

// Close stops writing. What has not arrived by then is answered with
// context.Canceled.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.client.Close()
	w.work.Wait()
}

// Counts returns what has been written so far.
func (w *Writer) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts
	c.Topics = make(map[string]int64, len(w.counts.Topics))
	for t, n := range w.counts.Topics {
		c.Topics[t] = n
	}
	return c
}

// run does what there is to do until ctx ends, then answers what is left.
func (w *Writer) run() {
	defer w.abandon()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := w.step(time.Now())
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(0, time.Until(next)))
		}
		select {
		case <-w.wake:
		case <-timer.C:
		case <-w.ctx.Done():
			return
		}
	}
}

func (w *Writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// step starts whatever can be started and says when to look again.
func (w *Writer) step(now time.Time) (next time.Time) {
	var due deadline
	w.mu.Lock()
	var done answers
	w.rouse(now, &due)
	w.seekLeaders(now, &due)
	w.askProducers(now, &due)
	w.check(now, &due)
	for _, b := range w.brokers {
		done = append(done, w.load(b)...)
	}
	done = append(done, w.watch(now, &due)...)
	w.mu.Unlock()
	done.call()
	return due.at
}

// deadline is the earliest of several times.
type deadline struct{ at time.Time }

func (d *deadline) by(t time.Time) {
	if !t.IsZero() && (d.at.IsZero() || t.Before(d.at)) {
		d.at = t
	}
}

// answers are what batches' owners are told once no lock is held.
type answers []func()

func (a answers) call() {
	for _, f := range a {
		f()
	}
}

// abandon answers everything that has not been written when the Writer ends.
func (w *Writer) abandon() {
	w.mu.Lock()
	w.closed = true
	var done answers
	for _, p := range w.partitions {
		for _, b := range p.queue {
			done = append(done, b.answer(w.ctx.Err()))
		}
		p.queue = nil
	}
	w.mu.Unlock()
	done.call()
}

// Batch is a batch of one partition to be written.
type Batch struct {
	Topic     *Topic
	Partition int32
	// Raw is one whole batch of format 2, Copyable and not changed by anybody else
	// until it is answered: its head is rewritten in place.
	Raw     batch.Raw
	Records int
	First   int64   // offset that its first record comes from
	Offsets []int64 // and of all; nil: one after the other from First on
	Built   bool    // it was made of records, and not stored like that
	Lane    *Lane

	block    *block
	seq      int32
	stamped  bool // it has a sequence, with which it may have been sent
	flying   bool // a request with it is not answered
	arrived  bool
	err      error // why it is to be sent again
	sentTo   *request
	producer *producer
}

// offset is where a record of the batch comes from.
func (b *Batch) offset(i int) int64 {
	if b.Offsets != nil {
		return b.Offsets[i]
	}
	return b.First + int64(i)
}

// answer tells the lane, once no lock is held.
func (b *Batch) answer(err error) func() {
	return func() { b.Lane.heard(b, err) }
}

// write queues batches in their order.
func (w *Writer) write(list []*Batch) {
	var done answers
	w.mu.Lock()
	for _, b := range list {
		if w.closed {
			done = append(done, b.answer(context.Canceled))
			continue
		}
		if err := b.Topic.identity.err; err != nil {
			b.Lane.fail(err)
			done = append(done, b.answer(err))
			continue
		}
		p := w.partition(b.Topic, b.Partition)
		p.queue = append(p.queue, b)
		w.list(p)
	}
	w.mu.Unlock()
	w.poke()
	done.call()
}
