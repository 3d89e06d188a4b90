package batch_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// kept is a record that outlives its batch.
type kept struct {
	Offset, Time int64
	Stamp        record.TimestampType
	Epoch        int32
	Producer     int64
	Attributes   int16
	Key, Value   []byte
	Headers      []record.Header
}

func keep(r record.Record) kept {
	k := kept{
		Offset: r.Offset, Time: r.Timestamp, Stamp: r.TimestampType, Epoch: r.LeaderEpoch, Producer: r.ProducerID,
		Attributes: r.Attributes, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value),
	}
	for h := range r.Headers.All() {
		k.Headers = append(k.Headers, record.Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	return k
}

// read cuts, checks, decodes and walks all batches of b.
func read(b []byte, limit int64) ([]kept, error) {
	d := batch.NewDecoder(&batch.Pool{Poison: true})
	var all []kept
	for {
		raw, _, rest, err := batch.Next(b)
		if errors.Is(err, batch.ErrCut) {
			return all, nil
		}
		if err == nil {
			err = raw.Check()
		}
		if err != nil {
			return all, err
		}
		recs, err := walk(d, raw, limit)
		all = append(all, recs...)
		if err != nil {
			return all, err
		}
		b = rest
	}
}

func walk(d *batch.Decoder, raw batch.Raw, limit int64) ([]kept, error) {
	got, err := d.Decode(raw, limit)
	if err != nil {
		return nil, err
	}
	defer got.Release()
	var all []kept
	w := got.Records()
	var rec record.Record
	for w.Next(&rec) {
		all = append(all, keep(rec))
	}
	if w.Err() == nil && len(all) != got.Len() {
		return all, fmt.Errorf("%d records walked, Len is %d", len(all), got.Len())
	}
	if w.Next(&rec) {
		return all, errors.New("a record after the last")
	}
	return all, w.Err()
}

// mixed are records of every kind: null and empty keys and values, headers,
// lengths of one to four bytes, holes, times forwards and back.
func mixed() []batchtest.Record {
	big := bytes.Repeat([]byte("abcdefghij, "), 100_000)
	return []batchtest.Record{
		{Offset: 1000, Time: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v")},
		{Offset: 1001, Time: 1_700_000_000_063, Value: []byte{}},
		{Offset: 1002, Time: 1_699_999_999_936, Key: []byte{}},
		{Offset: 1003, Time: 1_700_000_008_192, Key: bytes.Repeat([]byte("x"), 63), Value: bytes.Repeat([]byte("y"), 64)},
		{Offset: 1070, Time: 1_700_001_048_576, Value: big[:8191], Headers: []record.Header{
			{Key: []byte("a"), Value: nil}, {Key: []byte("a"), Value: []byte{}}, {Key: []byte{}, Value: []byte("z")},
		}},
		{Offset: 9300, Time: 1, Key: big[:8192], Value: big},
		{Offset: 2_000_000, Time: math.MaxInt64, Key: []byte("last"), Value: []byte("of\x00all")},
		{Offset: math.MaxInt32 + 1000, Time: math.MinInt64, Headers: []record.Header{{Key: []byte("only"), Value: []byte("headers")}}},
	}
}

func wanted(recs []batchtest.Record, b batchtest.Batch) []kept {
	var all []kept
	attributes := int16(b.Codec)
	if b.Transactional {
		attributes |= 16
	}
	for _, r := range recs {
		all = append(all, kept{
			Offset: r.Offset, Time: r.Time, Epoch: b.LeaderEpoch, Producer: b.ProducerID, Attributes: attributes,
			Key: r.Key, Value: r.Value, Headers: r.Headers,
		})
	}
	return all
}

func same(t *testing.T, got, want []kept) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("record %d:\n got %.300s\nwant %.300s", i, fmt.Sprint(got[i]), fmt.Sprint(want[i]))
		}
	}
}

func TestEveryCodecRoundTrip(t *testing.T) {
	for _, s := range shapes {
		for _, recs := range [][]batchtest.Record{mixed(), orders(300 << 10), {{Offset: 0}}} {
			t.Run(fmt.Sprint(s.name, len(recs)), func(t *testing.T) {
				b := batchtest.New(recs...)
				b.Codec, b.Framing, b.LeaderEpoch, b.ProducerID, b.Transactional = s.codec, s.framing, 7, 42, true
				got, err := read(slices.Concat(b.Bytes(), b.Bytes()), 0)
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, append(wanted(recs, b), wanted(recs, b)...))
			})
		}
	}
}

func TestHeader(t *testing.T) {
	b := batchtest.New(batchtest.Record{Offset: 100, Time: 5}, batchtest.Record{Offset: 103, Time: 4})
	b.Last, b.LeaderEpoch, b.Codec, b.ProducerID, b.ProducerEpoch, b.Sequence = 110, 3, batch.Zstd, 9, 2, 77
	b.LogAppend, b.Transactional, b.DeleteHorizon, b.MaxTime = true, true, true, 99
	bytes := b.Bytes()
	raw, h, rest, err := batch.Next(append(bytes, 1, 2, 3))
	if err != nil || len(raw) != len(bytes) || len(rest) != 3 {
		t.Fatal(len(raw), len(rest), err)
	}
	if h.CRC == 0 {
		t.Error("no checksum")
	}
	want := batch.Header{
		BaseOffset: 100, Length: int32(len(bytes) - 12), LeaderEpoch: 3, Magic: 2, CRC: h.CRC, Attributes: 4 | 8 | 16 | 64,
		LastOffsetDelta: 10, BaseTimestamp: 5, MaxTimestamp: 99, ProducerID: 9, ProducerEpoch: 2, BaseSequence: 77, NumRecords: 2,
	}
	if h != want {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	if h.LastOffset() != 110 || h.Next() != 111 || h.Codec() != batch.Zstd || h.Size() != int64(len(bytes)) {
		t.Error(h.LastOffset(), h.Next(), h.Codec(), h.Size())
	}
	if !h.LogAppend() || !h.Transactional() || h.Control() || !h.DeleteHorizon() {
		t.Error("wrong attributes")
	}
	recs, err := read(bytes, 0)
	if err != nil || len(recs) != 2 {
		t.Fatal(recs, err)
	}
	for _, r := range recs {
		if r.Time != 99 || r.Stamp != record.LogAppendTime {
			t.Errorf("time %d %v, want the batch's", r.Time, r.Stamp)
		}
	}
	if _, err := batch.Raw(append(bytes, 0)).Head(); err == nil {
		t.Error("a byte behind the batch is not noticed")
	}
	if got := fmt.Sprint(batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd, batch.Codec(5)); got != "none gzip snappy lz4 zstd codec 5" {
		t.Error(got)
	}
}

func TestTimesWrapAsStored(t *testing.T) {
	for _, times := range [][2]int64{
		{math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64}, {-1, math.MaxInt64}, {1_700_000_000_123_456, -1}, {253402300800000, -62135596800000},
	} {
		got, err := read(batchtest.New(batchtest.Record{Time: times[0]}, batchtest.Record{Offset: 1, Time: times[1]}).Bytes(), 0)
		if err != nil || len(got) != 2 || got[0].Time != times[0] || got[1].Time != times[1] {
			t.Errorf("%v: got %v, %v", times, got, err)
		}
	}
}

func TestCut(t *testing.T) {
	for _, whole := range [][]byte{
		made(shapes[4], mixed()),
		batchtest.Message(0, batchtest.Record{Offset: 7, Value: []byte("v")}),
		batchtest.Message(1, batchtest.Record{Offset: 7, Value: []byte("v")}),
	} {
		for n := range min(len(whole), 3000) {
			raw, h, rest, err := batch.Next(whole[:n])
			if !errors.Is(err, batch.ErrCut) || raw != nil || len(rest) != n {
				t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
			}
			if n < 12 && h.Length != 0 {
				t.Fatalf("%d bytes: a length of %d from nowhere", n, h.Length)
			}
			if n >= 12 && h.Size() != int64(len(whole)) {
				t.Fatalf("%d bytes: size %d, want %d", n, h.Size(), len(whole))
			}
		}
	}
	first := batchtest.New(batchtest.Record{Offset: 5}).Bytes()
	got, err := read(append(first, first[:40]...), 0)
	if err != nil || len(got) != 1 {
		t.Errorf("a whole and a cut batch: %d records, %v", len(got), err)
	}
}

func TestNothingCompactedAway(t *testing.T) {
	// The cleaner keeps a batch without records for the sake of its offsets.
	b := batchtest.New(batchtest.Record{Offset: 10}, batchtest.Record{Offset: 20})
	_, h, _, err := batch.Next(b.Wrap(0, nil))
	if err != nil || h.Next() != 21 {
		t.Fatal(h.Next(), err)
	}
	got, err := read(b.Wrap(0, nil), 0)
	if err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
}

func TestLegacyHeaderHasNoProducer(t *testing.T) {
	_, h, _, err := batch.Next(batchtest.AppendedMessage(batchtest.Record{Offset: 7, Time: 11}))
	if err != nil {
		t.Fatal(err)
	}
	want := batch.Header{
		BaseOffset: 7, Length: h.Length, LeaderEpoch: -1, Magic: 1, CRC: h.CRC, Attributes: 8, BaseTimestamp: 11,
		MaxTimestamp: 11, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, NumRecords: 1,
	}
	if h != want {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
}
