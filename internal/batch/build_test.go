package batch_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// asRecord is a test's record as a walker would show it.
func asRecord(r batchtest.Record) *record.Record {
	rec := &record.Record{Offset: r.Offset, Timestamp: r.Time, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		raw := append(binary.AppendVarint(rec.Headers.Raw, int64(len(h.Key))), h.Key...)
		if h.Value == nil {
			raw = append(raw, 1)
		} else {
			raw = append(binary.AppendVarint(raw, int64(len(h.Value))), h.Value...)
		}
		rec.Headers = record.Headers{Count: rec.Headers.Count + 1, Raw: raw}
	}
	return rec
}

// built puts records into one batch.
func built(b *batch.Builder, codec batch.Codec, recs []batchtest.Record) (batch.Raw, []int64) {
	for _, r := range recs {
		b.Add(asRecord(r))
	}
	return b.Finish(codec, nil)
}

var codecs = []batch.Codec{batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd}

// What is built is read back the same by this package and by another client,
// whatever the codec, and again when the builder is used again.
func TestBuiltBatchesRoundTrip(t *testing.T) {
	var b batch.Builder
	for _, codec := range codecs {
		for _, recs := range [][]batchtest.Record{mixed(), orders(300 << 10), few(), {{Offset: 3}}} {
			raw, offsets := built(&b, codec, recs)
			h, err := raw.Head()
			if err != nil || raw.Check() != nil {
				t.Fatalf("%s: %v, %v", codec, err, raw.Check())
			}
			if !h.Copyable() || h.BaseOffset != 0 || h.LeaderEpoch != -1 || h.ProducerID != -1 || h.ProducerEpoch != -1 || h.BaseSequence != -1 {
				t.Errorf("%s: the head is %+v", codec, h)
			}
			if len(recs) > 100 && h.Codec() != codec {
				t.Errorf("%d records are compressed with %s, want %s", len(recs), h.Codec(), codec)
			}
			want := wanted(recs, batchtest.Batch{Codec: h.Codec(), LeaderEpoch: -1, ProducerID: -1})
			var from []int64
			latest := int64(math.MinInt64)
			for i := range want {
				from, latest = append(from, recs[i].Offset), max(latest, recs[i].Time)
				want[i].Offset = int64(i)
			}
			if !slices.Equal(offsets, from) || h.MaxTimestamp != latest {
				t.Errorf("%s: offsets %v, latest %d", codec, offsets, h.MaxTimestamp)
			}
			got, err := read(raw, 0)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
			asKgo(t, raw)
		}
	}
}

func TestWhatDoesNotShrinkIsNotCompressed(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 200<<10)
	_, _ = rng.Read(noise)
	for _, codec := range codecs {
		var b batch.Builder
		raw, _ := built(&b, codec, []batchtest.Record{{Value: noise}})
		if h, _ := raw.Head(); h.Codec() != batch.None || len(raw) > len(noise)+61+20 {
			t.Errorf("%s: %d bytes with %s", codec, len(raw), h.Codec())
		}
	}
}

func TestSizesAreKnownBeforehand(t *testing.T) {
	var b batch.Builder
	for _, r := range mixed() {
		before := b.Size()
		rec := asRecord(r)
		b.Add(rec)
		if grown := b.Size() - before; grown > batch.SizeOf(rec) || grown+50 < batch.SizeOf(rec) {
			t.Errorf("a record took %d bytes, at most %d were announced", grown, batch.SizeOf(rec))
		}
	}
	size := b.Size()
	if raw, _ := b.Finish(batch.None, bytes.Repeat([]byte{0xff}, 4<<20)); len(raw) != size {
		t.Errorf("%d bytes, want %d", len(raw), size)
	}
	if b.Len() != 0 || b.Size() != 61 {
		t.Errorf("the next batch begins with %d records and %d bytes", b.Len(), b.Size())
	}
}

func FuzzBuild(f *testing.F) {
	f.Add(int64(0), int64(1), []byte("k"), []byte("v"), []byte{}, byte(3))
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), []byte(nil), bytes.Repeat([]byte("ab"), 70_000), []byte("x"), byte(4))
	f.Fuzz(func(t *testing.T, one, two int64, a, b, c []byte, codec byte) {
		recs := []batchtest.Record{
			{Time: one, Key: a, Value: b, Headers: []record.Header{{Key: append([]byte{}, c...)}}},
			{Offset: 1, Time: two, Value: c, Headers: []record.Header{{Key: append([]byte{}, a...), Value: append([]byte{}, b...)}, {Key: []byte{}, Value: []byte{}}}},
			{Offset: 2, Time: -1, Key: b},
		}
		raw, _ := built(new(batch.Builder), batch.Codec(codec%5), recs)
		h, err := raw.Head()
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range recs { // an empty slice is no null, whoever made it
			for _, f := range []*[]byte{&recs[i].Key, &recs[i].Value} {
				if *f != nil && len(*f) == 0 {
					*f = []byte{}
				}
			}
		}
		same(t, got, wanted(recs, batchtest.Batch{Codec: h.Codec(), LeaderEpoch: -1, ProducerID: -1}))
	})
}
