package batch_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

func decoded(t *testing.T, pool *batch.Pool, s shape) (*batch.Batch, record.Record) {
	t.Helper()
	b, err := batch.NewDecoder(pool).Decode(made(s, []batchtest.Record{{Offset: 1, Value: []byte("value")}}), 0)
	if err != nil {
		t.Fatal(err)
	}
	w := b.Records()
	var rec record.Record
	if !w.Next(&rec) || string(rec.Value) != "value" {
		t.Fatal("no record")
	}
	return b, rec
}

func TestPoisonedAfterTheLastRelease(t *testing.T) {
	for _, s := range shapes {
		b, rec := decoded(t, &batch.Pool{Poison: true}, s)
		b.Retain()
		b.Release()
		if string(rec.Value) != "value" {
			t.Errorf("%s: gone with a reference left", s.name)
		}
		b.Release()
		if !bytes.Equal(rec.Value, bytes.Repeat([]byte{0xdb}, 5)) {
			t.Errorf("%s: %q is still there", s.name, rec.Value)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestReleaseTwicePanics(t *testing.T) {
	for _, poison := range []bool{true, false} {
		b, _ := decoded(t, &batch.Pool{Poison: poison}, shapes[4])
		b.Release()
		if !panics(b.Release) {
			t.Errorf("poison %v: no panic", poison)
		}
	}
	b, _ := decoded(t, &batch.Pool{Poison: true}, shapes[0])
	b.Release()
	if !panics(b.Retain) {
		t.Error("a released batch was retained")
	}
}

// TestUncompressedStaysWhereItIs unless the pool has to poison it.
func TestUncompressedStaysWhereItIs(t *testing.T) {
	raw := made(shapes[0], []batchtest.Record{{Value: []byte("value")}})
	for poison, want := range map[bool]string{false: "VALUE", true: "value"} {
		b, err := batch.NewDecoder(&batch.Pool{Poison: poison}).Decode(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(raw, []byte("value"))
		copy(raw[at:], "VALUE")
		w := b.Records()
		var rec record.Record
		if !w.Next(&rec) || string(rec.Value) != want {
			t.Errorf("poison %v: got %q, want %q", poison, rec.Value, want)
		}
		copy(raw[at:], "value")
		b.Release()
		if string(raw[at:at+5]) != "value" {
			t.Error("the caller's bytes were overwritten")
		}
	}
}

// TestOnePoolManyWorkers is for the race detector.
func TestOnePoolManyWorkers(t *testing.T) {
	pool := &batch.Pool{Max: 1 << 20}
	recs := orders(50 << 10)
	var wg sync.WaitGroup
	for _, s := range shapes {
		raw := made(s, recs)
		wg.Go(func() {
			d := batch.NewDecoder(pool)
			for range 50 {
				b, err := d.Decode(raw, 0)
				if err != nil {
					t.Error(err)
					return
				}
				b.Retain()
				wg.Go(func() {
					defer b.Release()
					w, n := b.Records(), 0
					var rec record.Record
					for ; w.Next(&rec); n++ {
						if !bytes.Equal(rec.Value, recs[n].Value) {
							t.Errorf("%s: record %d is another batch's", s.name, n)
							return
						}
					}
					if n != len(recs) || w.Err() != nil {
						t.Error(n, w.Err())
					}
				})
				b.Release()
			}
		})
	}
	wg.Wait()
}

func TestPoolKeepsNoMoreThanItMay(t *testing.T) {
	held := func(pool *batch.Pool, sizes ...int) int {
		var batches []*batch.Batch
		for _, size := range sizes {
			raw := made(shapes[2], []batchtest.Record{{Value: make([]byte, size)}})
			b, err := batch.NewDecoder(pool).Decode(raw, 0)
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
		}
		for _, b := range batches {
			b.Release()
		}
		return pool.Kept()
	}
	for name, c := range map[string]struct{ got, want int }{
		"three small ones":         {held(&batch.Pool{}, 1000, 1000, 1000), 3 * 16 << 10},
		"as many as fit":           {held(&batch.Pool{Max: 2 << 20}, 1<<20-100, 1<<20-100, 1<<20-100), 2 << 20},
		"none that is larger":      {held(&batch.Pool{Max: 1 << 20}, 3<<20), 0},
		"none above 16 MiB":        {held(&batch.Pool{}, 17<<20), 0},
		"none when it is poisoned": {held(&batch.Pool{Poison: true}, 1000, 1<<20), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, c.got, c.want)
		}
	}
}
