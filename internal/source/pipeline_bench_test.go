package source

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// copier is a sink that copies values and drops them, as the format raw does.
type copier struct{ spare sync.Pool }

func (s *copier) Worker() Worker { return s }

func (s *copier) Prepare(c *Chunk, _ int) (Block, error) {
	buf, _ := s.spare.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	out, n := (*buf)[:0], 0
	err := c.Records(func(r *record.Record, _ int) bool {
		out, n = append(append(out, r.Value...), '\n'), n+1
		return true
	})
	*buf = out
	return Block{Data: out, Written: n, Next: c.next, Free: func() { s.spare.Put(buf) }}, err
}

func (s *copier) Write([]Block) error { return nil }

// BenchmarkPipeline is the way of a chunk of one batch, as it came from a broker,
// to the sink and back: everything that is done for records but fetching.
func BenchmarkPipeline(b *testing.B) {
	for _, bb := range []struct {
		name    string
		records int
	}{{"16KiB", 110}, {"1MiB", 7000}} {
		for _, codec := range []batch.Codec{batch.LZ4, batch.Zstd} {
			b.Run(fmt.Sprintf("%s/%v", bb.name, codec), func(b *testing.B) { benchmarkPipeline(b, bb.records, codec) })
		}
	}
}

func benchmarkPipeline(b *testing.B, records int, codec batch.Codec) {
	var recs []batchtest.Record
	size := 0
	for i := range records {
		value := fmt.Appendf(nil, `{"id":%d,"customer":"c-%06d","status":"paid","amount":%d.%02d,"at":%d,"note":"%s"}`,
			i, i*7919%1_000_000, i%500, i%100, 1_700_000_000_000+i, strings.Repeat("z", i%64))
		recs = append(recs, batchtest.Record{Offset: int64(i), Time: 1_700_000_000_000, Value: value})
		size += len(value)
	}
	made := batchtest.New(recs...)
	made.Codec = codec
	raw := batch.Raw(made.Bytes())

	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	written := 0
	o := Options{Sink: &copier{}, Workers: runtime.GOMAXPROCS(0) + 1, Limit: -1, Pool: &batch.Pool{}}
	p := newPipeline(o, nil)
	p.written = func(_ *Chunk, block Block, err error) {
		if err != nil {
			b.Error(err)
		}
		if written += block.Written; written == b.N*records {
			cancel()
		}
	}
	var all sync.WaitGroup
	for range o.Workers {
		all.Go(func() { p.prepare(ctx) })
	}
	all.Go(func() { _ = p.write(ctx) })
	of := &split{}
	chunk := Chunk{
		Streams: []string{"orders"}, split: of, batches: slices.Clip([]batch.Raw{raw}), next: int64(records),
		spans: []span{{until: spec.Open, window: always}}, maxBatch: 64 << 20,
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		c := chunk
		if p.put(ctx, &c) != nil {
			break
		}
	}
	all.Wait()
	if written != b.N*records {
		b.Errorf("%d records were written, not %d", written, b.N*records)
	}
}
