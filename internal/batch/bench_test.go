package batch_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// orders returns records with JSON values of about 140 bytes, size bytes of
// them.
func orders(size int) []batchtest.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	var recs []batchtest.Record
	for total := 0; total < size; {
		n := len(recs)
		value := fmt.Appendf(nil, `{"order_id":%d,"customer":"customer-%06d","item":"%c%c-%04d","quantity":%d,"price":%.2f,"currency":"EUR","status":"%s","at":%d}`,
			1_000_000+n, rng.IntN(1_000_000), 'A'+rng.IntN(26), 'A'+rng.IntN(26), rng.IntN(10_000), rng.IntN(9)+1,
			rng.Float64()*500, []string{"new", "paid", "shipped"}[rng.IntN(3)], 1_700_000_000_000+n*13)
		recs = append(recs, batchtest.Record{Offset: int64(5000 + n), Time: 1_700_000_000_000 + int64(n/8), Value: value})
		total += len(value) + 12
	}
	return recs
}

type shape struct {
	name    string
	codec   batch.Codec
	framing batchtest.Framing
}

// shapes are all codecs in all framings.
var shapes = []shape{
	{"none", batch.None, batchtest.Plain},
	{"gzip", batch.Gzip, batchtest.Plain},
	{"snappy", batch.Snappy, batchtest.Plain},
	{"xerial", batch.Snappy, batchtest.Xerial},
	{"lz4", batch.LZ4, batchtest.Plain},
	{"lz4-linked", batch.LZ4, batchtest.LZ4Linked},
	{"lz4-sums", batch.LZ4, batchtest.LZ4Checksums},
	{"zstd", batch.Zstd, batchtest.Plain},
	{"zstd-sized", batch.Zstd, batchtest.ZstdSized},
}

func made(s shape, recs []batchtest.Record) []byte {
	b := batchtest.New(recs...)
	b.Codec, b.Framing = s.codec, s.framing
	return b.Bytes()
}

var sizes = []struct {
	name string
	n    int
}{{"16K", 16 << 10}, {"1M", 1 << 20}}

// BenchmarkWalk is what a record costs once its batch is decompressed.
func BenchmarkWalk(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			raw := made(shapes[4], orders(size.n))
			d := batch.NewDecoder(&batch.Pool{})
			got, err := d.Decode(raw, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer got.Release()
			var sum int
			var rec record.Record
			b.ReportAllocs()
			b.SetBytes(int64(got.Size()))
			for b.Loop() {
				w := got.Records()
				for w.Next(&rec) {
					sum += len(rec.Value)
				}
				if w.Err() != nil {
					b.Fatal(w.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(got.Len()), "ns/record")
		})
	}
}

// BenchmarkRead is all that a record costs: cut, checksum, decompression, walk.
func BenchmarkRead(b *testing.B) {
	for _, size := range sizes {
		recs := orders(size.n)
		for _, s := range shapes {
			b.Run(size.name+"/"+s.name, func(b *testing.B) {
				raw := batch.Raw(made(s, recs))
				d := batch.NewDecoder(&batch.Pool{})
				var rec record.Record
				bytes, n := 0, 0
				b.ReportAllocs()
				for b.Loop() {
					one, _, _, err := batch.Next(raw)
					if err == nil {
						err = one.Check()
					}
					if err != nil {
						b.Fatal(err)
					}
					got, err := d.Decode(one, 64<<20)
					if err != nil {
						b.Fatal(err)
					}
					bytes, n = got.Size(), got.Len()
					w := got.Records()
					for w.Next(&rec) {
						_ = rec.Value
					}
					if w.Err() != nil {
						b.Fatal(w.Err())
					}
					got.Release()
				}
				b.SetBytes(int64(bytes))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			})
		}
	}
}

// BenchmarkDecode is decompression alone.
func BenchmarkDecode(b *testing.B) {
	for _, size := range sizes {
		recs := orders(size.n)
		for _, s := range shapes {
			b.Run(size.name+"/"+s.name, func(b *testing.B) {
				raw := batch.Raw(made(s, recs))
				d := batch.NewDecoder(&batch.Pool{})
				bytes := 0
				b.ReportAllocs()
				for b.Loop() {
					got, err := d.Decode(raw, 64<<20)
					if err != nil {
						b.Fatal(err)
					}
					bytes = got.Size()
					got.Release()
				}
				b.SetBytes(int64(bytes))
			})
		}
	}
}

// BenchmarkLZ4Reader is the library's own reader on the same frames, for
// comparison with BenchmarkDecode.
func BenchmarkLZ4Reader(b *testing.B) {
	for _, size := range sizes {
		recs := orders(size.n)
		for _, s := range shapes[4:7] {
			b.Run(size.name+"/"+s.name, func(b *testing.B) {
				raw := batch.Raw(made(s, recs))
				var src bytes.Reader
				r := lz4.NewReader(&src)
				buf := make([]byte, 2*size.n)
				n := 0
				b.ReportAllocs()
				for b.Loop() {
					src.Reset(raw[61:])
					r.Reset(&src)
					var err error
					if n, err = io.ReadFull(r, buf); err != io.ErrUnexpectedEOF {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(n))
			})
		}
	}
}
