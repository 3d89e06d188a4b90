package source

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// swollen is a sink whose blocks are larger than what they are made of.
type swollen struct {
	block    int
	prepared atomic.Int64
	wait     chan struct{}
	order    []int64
}

func (s *swollen) Worker() Worker { return s }

func (s *swollen) Prepare(c *Chunk, _ int) (Block, error) {
	s.prepared.Add(1)
	return Block{Data: make([]byte, s.block), Next: c.next}, nil
}

func (s *swollen) Write([]Block) error {
	<-s.wait
	return nil
}

// A sink that stands still keeps the workers from making ever more ready, and
// when it goes on everything comes, in order.
func TestWorkersKeepNearTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunks, block = 64, 3 << 20
		ctx, cancel := context.WithCancel(t.Context())
		s := &swollen{block: block, wait: make(chan struct{})}
		o := Options{Sink: s, Workers: 4, Limit: -1}
		p := newPipeline(o, func(c *Chunk, _ Block, _ error) { s.order = append(s.order, c.next) })
		var all sync.WaitGroup
		for range o.Workers {
			all.Go(func() { p.prepare(ctx) })
		}
		all.Go(func() { _ = p.write(ctx) })
		all.Go(func() {
			for i := range int64(chunks) {
				if p.put(ctx, &Chunk{split: &split{}, next: i}) != nil {
					return
				}
			}
		})
		synctest.Wait()
		// Two fill the room, of which the writer holds one, and every worker may have
		// begun one before it was full.
		if n := s.prepared.Load(); n < 2 || n > 3+int64(o.Workers) {
			t.Errorf("%d blocks of %d bytes prepared while the sink stands still", n, block)
		}
		close(s.wait)
		synctest.Wait()
		for i, n := range s.order {
			if n != int64(i) {
				t.Fatalf("chunk %d came as number %d", n, i)
			}
		}
		if len(s.order) != chunks {
			t.Errorf("%d of %d chunks were written", len(s.order), chunks)
		}
		cancel()
		all.Wait()
	})
}
