package source

import (
	"context"
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
)

// sieve leaves nothing of chunks; the third waits until the first two are
// through.
type sieve struct{ through chan struct{} }

func (s *sieve) Worker() Worker { return s }

func (s *sieve) Prepare(c *Chunk, _ int) (Block, error) {
	if c.next == 3 {
		<-s.through
	}
	return Block{Next: c.next}, nil
}

func (s *sieve) Write([]Block) error { return nil }

// What a filter has left nothing of is acknowledged once enough has been read
// for it: the writer does not gather for ever.
func TestEmptyBlocksAreNotGatheredForEver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &sieve{through: make(chan struct{})}
	var order []int64
	p := newPipeline(Options{Sink: s, Workers: 2, Limit: -1}, func(c *Chunk, _ Block, _ error) {
		if order = append(order, c.next); c.next == 2 {
			close(s.through)
		}
		if c.next == 3 {
			cancel()
		}
	})
	for n := range 3 {
		c := &Chunk{split: &split{}, next: int64(n + 1), batches: []batch.Raw{make([]byte, pendingBytes/2)}}
		if err := p.put(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { p.prepare(ctx) })
	}
	if err := p.write(ctx); err != context.Canceled {
		t.Errorf("the writer ended with %v", err)
	}
	all.Wait()
	if len(order) != 3 || order[0] != 1 || order[1] != 2 {
		t.Errorf("acknowledged in the order %v", order)
	}
}
