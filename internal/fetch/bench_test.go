package fetch

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// BenchmarkFetch reads 100 MB of lz4 batches of 16 kB from 12 partitions. The
// embedded cluster's share of the time is in it.
func BenchmarkFetch(b *testing.B) {
	rig := kafkatest.Fake(b, kafkatest.Options{Fake: []kfake.Opt{kfake.SyntheticFetch(kfake.SyntheticBatch{
		Records: 120, RecordBytes: 140, RandomFrac: 1, Compression: kgo.Lz4Compression(),
	})}})
	c := rig.Cluster("one")
	c.CreateTopic("t", 12, nil)
	const each = 12 * 500 * 120 // records
	for b.Loop() {
		var bytes, batches atomic.Int64
		r := newReader(b, c, func(_ *reader, cfg *Config) {
			cfg.Handler = handlerFunc(func(d Data) {
				bytes.Add(int64(d.Bytes))
				batches.Add(int64(len(d.Batches)))
				d.Release()
			})
		})
		for p := range int32(12) {
			r.from("t", p, 0, each/12)
		}
		r.until("all Done", func() bool { return r.done() == 12 })
		if n := batches.Load(); n < each/120 {
			b.Fatalf("%d batches, want %d or a few more", n, each/120)
		}
		b.SetBytes(bytes.Load())
		b.StopTimer()
		r.end()
		b.StartTimer()
	}
}

func (r *reader) done() int {
	answer := make(chan int)
	r.post(func() {
		n := 0
		for _, p := range r.topics["t"] {
			if p.stopped {
				n++
			}
		}
		answer <- n
	})
	return <-answer
}
