package batch_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
)

// everyFlag is a batch whose head has something in every field.
func everyFlag() batchtest.Batch {
	b := batchtest.New(
		batchtest.Record{Offset: 500, Time: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v")},
		batchtest.Record{Offset: 501, Time: -1},
	)
	b.LeaderEpoch, b.ProducerID, b.ProducerEpoch, b.Sequence = 7, 42, 3, 99
	b.Transactional, b.DeleteHorizon = true, true
	return b
}

func TestRestampedBytes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stamp batch.Stamp
		want  string
	}{
		{"idempotent", batch.Stamp{ProducerID: 0x1122334455667788, Epoch: 2, Sequence: 1000}, "" +
			"0000000000000000" + "00000046" + "ffffffff" + "02" + "2450813d" + "0000" + "00000001" + "0000018bcfe56800" + "0000018bcfe56800" +
			"1122334455667788" + "0002" + "000003e8" + "00000002" + "1000000002" + "6b" + "02" + "76" + "00" + "16" + "00" + "81a0abfef962" + "02" + "01" + "01" + "00"},
		{"in a transaction", batch.Stamp{ProducerID: 1, Transactional: true}, "" +
			"0000000000000000" + "00000046" + "ffffffff" + "02" + "2463630c" + "0010" + "00000001" + "0000018bcfe56800" + "0000018bcfe56800" +
			"0000000000000001" + "0000" + "00000000" + "00000002" + "1000000002" + "6b" + "02" + "76" + "00" + "16" + "00" + "81a0abfef962" + "02" + "01" + "01" + "00"},
	} {
		raw := batch.Raw(everyFlag().Bytes())
		raw.Restamp(tt.stamp)
		if got := hex.EncodeToString(raw); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A restamped batch is read by another client as the one that it was.
func TestRestampedBatchesHaveTheSameRecords(t *testing.T) {
	for _, s := range shapes {
		b := batchtest.New(orders(40 << 10)...)
		b.Codec, b.Framing, b.LeaderEpoch, b.ProducerID, b.Transactional, b.DeleteHorizon = s.codec, s.framing, 7, 42, true, true
		raw := batch.Raw(b.Bytes())
		before := bytes.Clone(raw[61:])
		want, err := byKgo(response{log: b.Bytes()}, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		raw.Restamp(batch.Stamp{ProducerID: 5, Epoch: 1, Sequence: 9})
		if err := raw.Check(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if !bytes.Equal(raw[61:], before) {
			t.Fatalf("%s: the records were touched", s.name)
		}
		got, err := byKgo(response{log: raw}, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i].Offset, want[i].Epoch, want[i].Producer = int64(i), -1, 5
		}
		same(t, got, want)
	}
}

func TestCopyable(t *testing.T) {
	ok := func() batchtest.Batch { return batchtest.New(orders(1 << 10)...) }
	for _, tt := range []struct {
		name string
		raw  []byte
		want bool
	}{
		{"an ordinary one", ok().Bytes(), true},
		{"with every flag that is cleared", everyFlag().Bytes(), true},
		{"compressed", made(shapes[7], orders(1<<10)), true},
		{"a hole in the middle", batchtest.New(few()...).Bytes(), false},
		{"a hole at the end", func() []byte { b := ok(); b.Last++; return b.Bytes() }(), false},
		{"empty", func() []byte { b := ok(); b.Records = nil; return b.Bytes() }(), false},
		{"of the broker's time", func() []byte { b := ok(); b.LogAppend = true; return b.Bytes() }(), false},
		{"a marker", batchtest.Marker(5, 1, 0, true), false},
		{"of format 1", batchtest.Message(1, batchtest.Record{Value: []byte("v")}), false},
		{"of an unknown codec", func() []byte { b := ok().Bytes(); b[22] |= 7; return batchtest.Seal(b) }(), false},
	} {
		h, err := batch.Raw(tt.raw).Head()
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := h.Copyable(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestSequencesWrapAtTheLargest(t *testing.T) {
	for _, tt := range []struct {
		s    int32
		n    int
		want int32
	}{{0, 1, 1}, {5, 10, 15}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 2, 5, 2}} {
		if got := batch.NextSequence(tt.s, tt.n); got != tt.want {
			t.Errorf("%d records behind %d: %d, want %d", tt.n, tt.s, got, tt.want)
		}
	}
}

// Whatever is copyable is, restamped, good for whoever reads it, and has the same
// records.
func FuzzRestamp(f *testing.F) {
	f.Add(everyFlag().Bytes(), int64(7), int16(1), int32(5))
	f.Add(made(shapes[4], orders(1<<10)), int64(-1), int16(-1), int32(-1))
	f.Add(batchtest.Marker(5, 1, 0, true), int64(0), int16(0), int32(0))
	f.Fuzz(func(t *testing.T, b []byte, id int64, epoch int16, seq int32) {
		raw, h, _, err := batch.Next(b)
		if err != nil || !h.Copyable() {
			return
		}
		d := batch.NewDecoder(&batch.Pool{})
		want, wantErr := walk(d, raw, 1<<20)
		copied := bytes.Clone(raw)
		batch.Raw(copied).Restamp(batch.Stamp{ProducerID: id, Epoch: epoch, Sequence: seq})
		if err := batch.Raw(copied).Check(); err != nil {
			t.Fatal(err)
		}
		got, gotErr := walk(d, copied, 1<<20)
		if (wantErr == nil) != (gotErr == nil) || len(got) != len(want) {
			t.Fatalf("%d records (%v), before %d (%v)", len(got), gotErr, len(want), wantErr)
		}
		for i := range got {
			if got[i].Offset != want[i].Offset-h.BaseOffset || got[i].Producer != id || got[i].Epoch != -1 || got[i].Attributes != int16(h.Codec()) {
				t.Fatalf("record %d: %+v", i, got[i])
			}
			got[i].Offset, got[i].Producer, got[i].Epoch, got[i].Attributes = want[i].Offset, want[i].Producer, want[i].Epoch, want[i].Attributes
		}
		same(t, got, want)
	})
}
