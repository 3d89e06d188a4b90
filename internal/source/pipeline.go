package source

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/fetch"
)

// errLimit ends a run that has written all that it was asked for.
var errLimit = errors.New("limit reached")

// pipeline prepares chunks on several workers and writes them in the order in
// which they came, which keeps the order of every split.
type pipeline struct {
	sink    Sink
	limit   int64 // deliveries still to be written; < 0 is no limit
	pool    *batch.Pool
	spare   preparer
	written func(*Chunk, Block, error) // called by the writer when a chunk is through

	mu    sync.Mutex // order of work = order of queue
	count int64      // jobs that were put in
	queue chan *job
	work  chan *job

	room room
	idle idle
	// recalling is set while the past is read.
	recalling atomic.Bool
	keeping
	forwarding
	merge *merger       // nil: what comes first is written first
	ended atomic.Bool   // nobody waits for the workers any more
	solo  bool          // one worker only, which prepares in order
	over  chan struct{} // closed when nothing is written any more
}

type job struct {
	number int64 // from 1 on
	chunk  *Chunk
	block  Block
	size   int // of the block as it was prepared
	err    error
	ready  chan struct{}
	sent   bool // of a Forwarder: nothing more is to come of it

	// Of a merger.
	came    time.Time
	isReady bool  // guarded by its mu
	full    bool  // with it the split has given all it may
	through int   // deliveries that have been written
	first   int64 // position behind these
	raw     int   // bytes that were fetched for it
}

// pendingBytes is how much the writer gathers before it writes although more
// blocks are ready. What was read for it counts too: of blocks that a filter has
// left next to nothing of, it would gather until there is no memory to fetch
// with.
const pendingBytes = 1 << 20

func newPipeline(o Options, written func(*Chunk, Block, error)) *pipeline {
	p := &pipeline{
		sink: o.Sink, limit: o.Limit, pool: o.Pool, written: written,
		queue: make(chan *job, 4*o.Workers), work: make(chan *job, 4*o.Workers), solo: o.Workers == 1,
	}
	p.over = make(chan struct{})
	p.keeping = newKeeping(o)
	p.forwarding = newForwarding(o)
	p.spare = p.preparer()
	p.merge = newMerger(o, p)
	p.room.free.L = &p.room.mu
	return p
}

// preparer is a worker with what it decompresses with.
type preparer struct {
	worker  Worker
	decoder *batch.Decoder
	ended   func() bool // nobody waits for it any more
}

func (p *pipeline) preparer() preparer {
	return preparer{p.sink.Worker(), batch.NewDecoder(p.pool), p.ended.Load}
}

func (p preparer) prepare(c *Chunk, limit int) (Block, error) {
	c.decoder, c.ended = p.decoder, p.ended
	return p.worker.Prepare(c, limit)
}

// put hands c over. It waits while the sink is behind, and gives up when ctx ends.
func (p *pipeline) put(ctx context.Context, c *Chunk) error {
	if p.merge != nil {
		p.merge.put(c)
		return ctx.Err()
	}
	j := &job{chunk: c, ready: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	j.number = p.count
	select {
	case p.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.work <- j // never blocks for long: work is as deep as queue, and workers only work
	return nil
}

// cut makes chunks of an answer.
func (p *pipeline) cut(s *split, d fetch.Data) []*Chunk {
	if p.merge == nil {
		return s.chunks(d, chunkBytes)
	}
	chunks := s.chunks(d, p.merge.pieceBytes())
	p.merge.detach(chunks)
	d.Release()
	return chunks
}

// prepare is one worker's loop.
func (p *pipeline) prepare(ctx context.Context) {
	if p.merge != nil {
		p.merge.prepare(ctx)
		return
	}
	w := p.preparer()
	defer context.AfterFunc(ctx, p.end)()
	for {
		select {
		case j := <-p.work:
			if !p.room.enter(j.number) {
				return
			}
			j.block, j.err = p.ahead(w, j.chunk)
			if errors.Is(j.err, errEnded) {
				return
			}
			j.size = len(j.block.Data)
			p.room.fill(j.size)
			close(j.ready)
		case <-ctx.Done():
			return
		}
	}
}

// end lets the workers go, in the middle of a chunk too.
func (p *pipeline) end() {
	p.ended.Store(true)
	p.room.stop()
}

// errEnded is what a chunk fails with that nobody waits for any more.
var errEnded = errors.New("the run has ended")

// write is the writer's loop. It returns errLimit, errIdle, the sink's error or
// ctx's.
func (p *pipeline) write(ctx context.Context) error {
	if p.merge != nil {
		return p.merge.write(ctx)
	}
	var jobs []*job
	var bytes, read int
	for {
		j, err := p.next(ctx, len(jobs) == 0)
		if err != nil {
			return err
		}
		if j != nil {
			done := p.trim(j)
			if errors.Is(j.err, errEnded) {
				return ctx.Err()
			}
			jobs, bytes, read = append(jobs, j), bytes+len(j.block.Data), read+j.chunk.size()
			if !done && bytes < pendingBytes && read < pendingBytes {
				continue
			}
		}
		if err := p.flush(jobs); err != nil {
			return err
		}
		if p.limit == 0 {
			return errLimit
		}
		jobs, bytes, read = jobs[:0], 0, 0
	}
}

// next returns the next job once it is ready. Without wait it returns nil
// instead of waiting, so that what is pending gets written first.
func (p *pipeline) next(ctx context.Context, wait bool) (*job, error) {
	if !wait {
		select {
		case j := <-p.queue:
			return j, p.ready(ctx, j)
		default:
			return nil, nil
		}
	}
	for {
		select {
		case j := <-p.queue:
			return j, p.ready(ctx, j)
		case <-p.due():
			if err := p.now(); err != nil {
				return nil, err
			}
		case done := <-p.asked:
			done <- p.now()
		case <-p.news:
			p.settle()
		case <-p.idle.begun:
			p.idle.begin()
		case <-p.idle.over():
			if p.idled() {
				return nil, errIdle
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *pipeline) ready(ctx context.Context, j *job) error {
	p.room.await(j.number)
	select {
	case <-j.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trim drops what must not be written: chunks of a split that has been stopped,
// and deliveries beyond the limits. It reports whether that of the run is reached.
func (p *pipeline) trim(j *job) (done bool) {
	s := j.chunk.split
	if s.stopped || s.disowned.Load() {
		j.block, j.err = Block{Next: -1, Free: j.block.Free}, nil
		return false
	}
	if j.err != nil {
		s.stopped = true
	}
	if most := s.quota.within(p.limit); most >= 0 && int64(j.block.Written) > most {
		free(j.block)
		j.block, j.err = p.spare.prepare(j.chunk, int(most))
	}
	if s.quota.take(j.block.Written) {
		s.stopped, j.chunk.full, j.err = true, true, nil // what is wrong behind the last one is nobody's business
	}
	if p.limit < 0 {
		return false
	}
	p.limit -= int64(j.block.Written)
	return p.limit <= 0
}

func (p *pipeline) flush(jobs []*job) error {
	bytes := 0
	p.dropDisowned(jobs)
	blocks := make([]Block, 0, len(jobs))
	for _, j := range jobs {
		j.block.Split = j.chunk.Split
		if bytes += j.block.bytes(); j.block.bytes() > 0 {
			blocks = append(blocks, j.block)
		}
	}
	if p.to != nil {
		p.hand(jobs)
	} else if err := p.writeOut(jobs, blocks); err != nil {
		return err
	}
	return p.wrote(bytes)
}

// bytes is how much there is to be written.
func (b *Block) bytes() int { return len(b.Data) + b.Size }

func (p *pipeline) writeOut(jobs []*job, blocks []Block) error {
	if len(blocks) > 0 {
		if err := p.sink.Write(blocks); err != nil {
			for _, j := range jobs {
				p.ledger.attempt(j.chunk, j.block)
			}
			return err
		}
	}
	p.idle.saw(jobs)
	for _, j := range jobs {
		p.through(j)
	}
	return nil
}

// through ends a job that has been written.
func (p *pipeline) through(j *job) {
	p.written(j.chunk, j.block, j.err)
	p.ledger.add(j.chunk, j.block)
	free(j.block)
	p.room.fill(-j.size)
	if j.chunk.release != nil {
		j.chunk.release()
	}
}

// finish keeps the positions of everything that has been written. It is called
// when write has returned.
func (p *pipeline) finish(ctx context.Context) error {
	p.settleAll(ctx)
	if p.ledger == nil {
		return nil
	}
	by := time.Now().Add(lastGrace)
	p.spare.ended = func() bool { return time.Now().After(by) }
	prepare := func(c *Chunk, limit int) (Block, error) {
		b, err := p.spare.prepare(c, limit)
		if errors.Is(err, errEnded) {
			b.Next = -1 // which says nothing
		}
		return b, err
	}
	if p.solo { // who numbers records cannot prepare them twice
		prepare = nil
	}
	p.ledger.last(prepare)
	return p.now()
}

// lastGrace is how long it may take to find the last record that was taken, which
// takes milliseconds unless a filter is very slow.
const lastGrace = 5 * time.Second

func free(b Block) {
	if b.Free != nil {
		b.Free()
	}
}
