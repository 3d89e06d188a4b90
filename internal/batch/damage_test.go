package batch_test

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// plain is one record of ten bytes: length, attributes, time, offset, key "k",
// value "vv", no headers.
var plain = []byte{18, 0, 0, 0, 2, 'k', 4, 'v', 'v', 0}

func TestNextRefusesNonsense(t *testing.T) {
	good := batchtest.New(batchtest.Record{Offset: 5}, batchtest.Record{Offset: 6}).Bytes()
	message := batchtest.Message(1, batchtest.Record{Offset: 5})
	for name, c := range map[string]struct {
		from   []byte
		at     int
		to     []byte
		reason string
	}{
		"negative length":        {good, 8, []byte{0xff, 0xff, 0xff, 0xff}, "its length of -1 is too small"},
		"least length":           {good, 8, []byte{0x80, 0, 0, 0}, "its length of -2147483648 is too small"},
		"length of nothing":      {good, 8, []byte{0, 0, 0, 0}, "its length of 0 is too small"},
		"length below format 2":  {good, 8, []byte{0, 0, 0, 48}, "its length of 48 is too small for format 2"},
		"length below format 1":  {message, 8, []byte{0, 0, 0, 21}, "its length of 21 is too small for format 1"},
		"format 3":               {good, 16, []byte{3}, "no such format as 3"},
		"format -1":              {good, 16, []byte{0xff}, "no such format as -1"},
		"negative offset":        {good, 0, []byte{0xff}, "its offset is negative"},
		"offset at the very end": {good, 0, []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, "its last offset is 1 behind its first"},
		"negative last offset":   {good, 23, []byte{0xff, 0xff, 0xff, 0xff}, "its last offset is -1 behind its first"},
		"negative count":         {good, 57, []byte{0x80}, "its number of records is -2147483646"},
		"message's offset":       {message, 0, []byte{0xff}, "no message can have this offset"},
	} {
		t.Run(name, func(t *testing.T) {
			b := append([]byte(nil), c.from...)
			copy(b[c.at:], c.to)
			_, _, _, err := batch.Next(b)
			damaged, ok := errors.AsType[*batch.DamagedError](err)
			if !ok || damaged.Reason != c.reason {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestCheckFindsEveryFlippedBit(t *testing.T) {
	recs := []batchtest.Record{{Offset: 5, Key: []byte("k"), Value: []byte("v")}}
	for _, good := range []batch.Raw{
		made(shapes[0], recs),
		batchtest.Message(0, recs[0]),
		batchtest.Message(1, recs[0]),
	} {
		if err := good.Check(); err != nil {
			t.Fatal(err)
		}
		first := 12 // the length has its own check; in format 2 the epoch is the broker's to change
		if good[16] == 2 {
			first = 17
		}
		for i := first * 8; i < len(good)*8; i++ {
			bad := append(batch.Raw(nil), good...)
			bad[i/8] ^= 1 << (i % 8)
			if bad[16] != good[16] {
				continue // another format has its checksum elsewhere
			}
			var damaged *batch.DamagedError
			if err := bad.Check(); !errors.As(err, &damaged) || damaged.Offset != 5 {
				t.Fatalf("bit %d: %v", i, err)
			}
		}
	}
	if err := batch.Raw(nil).Check(); err == nil {
		t.Error("nothing is no batch")
	}
}

func TestDamagedRecords(t *testing.T) {
	put := func(at int, b ...byte) []byte {
		out := append([]byte(nil), plain...)
		copy(out[at:], b)
		return out
	}
	padding := make([]byte, 40) // so that the reader takes its short way, too
	for name, c := range map[string]struct {
		count   int
		payload []byte
		good    int // records before the damage
		reason  string
	}{
		"more records than bytes":  {2, plain, 0, "2 records do not fit into 10 bytes"},
		"a record too many":        {2, append(append([]byte(nil), plain...), 12, 0, 0, 0, 1), 1, "a record goes beyond its end"},
		"bytes after the last":     {1, append(append([]byte(nil), plain...), 0), 1, "bytes follow its last record"},
		"length of zero":           {1, put(0, 0), 0, "a record goes beyond its end"},
		"negative length":          {1, put(0, 1), 0, "a record goes beyond its end"},
		"length beyond the batch":  {1, put(0, 20), 0, "a record goes beyond its end"},
		"length without an end":    {1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, "a record goes beyond its end"},
		"huge length":              {1, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 0, "a record goes beyond its end"},
		"length of 70 bits":        {1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 0, "a record goes beyond its end"},
		"key too long":             {1, put(4, 12), 0, "a record's key is broken"},
		"key of length -2":         {1, put(4, 3), 0, "a record's key is broken"},
		"value too long":           {1, put(6, 8), 0, "a record's value is broken"},
		"value of length -2":       {1, put(6, 3), 0, "a record's value is broken"},
		"value without count":      {1, put(6, 6), 0, "a record's number of headers is broken"},
		"value too short":          {1, put(6, 2), 0, "a record's headers are broken"},
		"headers that are missing": {1, put(9, 2), 0, "a record's headers are broken"},
		"negative headers":         {1, put(9, 1), 0, "a record's number of headers is broken"},
		"header with a null key":   {1, []byte{16, 0, 0, 0, 1, 1, 2, 1, 1}, 0, "a record's headers are broken"},
		"billions of headers":      {1, []byte{24, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0}, 0, "a record's headers are broken"},
		"offset behind the last":   {1, put(3, 6), 0, "a record's offset is not in its range"},
		"negative offset":          {1, put(3, 1), 0, "a record's offset is not in its range"},
		"record of only a length":  {1, []byte{2, 0, 0, 0, 0, 0, 0}, 0, "a record's key is broken"},
	} {
		for _, after := range [][]byte{nil, padding} {
			if after != nil && (c.reason == "bytes follow its last record" || c.count == 2 || name == "length beyond the batch" || strings.HasPrefix(name, "length without")) {
				continue // with bytes behind it this is another fault
			}
			t.Run(name, func(t *testing.T) {
				b := batchtest.New(batchtest.Record{Offset: 5}, batchtest.Record{Offset: 7})
				got, err := read(b.Wrap(c.count, append(append([]byte(nil), c.payload...), after...)), 0)
				damaged, ok := errors.AsType[*batch.DamagedError](err)
				if !ok || damaged.Offset != 5 || damaged.Reason != c.reason {
					t.Errorf("got %v, want %q", err, c.reason)
				}
				if len(got) != c.good {
					t.Errorf("%d records before it, want %d", len(got), c.good)
				}
			})
		}
	}
}

func TestUnknownCodec(t *testing.T) {
	for codec := batch.Codec(5); codec <= 7; codec++ {
		b := batchtest.New(batchtest.Record{Offset: 5})
		b.Codec = codec
		_, err := read(b.Wrap(1, []byte{1, 2, 3}), 0)
		unknown, ok := errors.AsType[*batch.CodecError](err)
		if !ok || unknown.Offset != 5 || unknown.Codec != codec {
			t.Errorf("codec %d: %v", codec, err)
		}
	}
	set := batchtest.Message(1, batchtest.Record{Offset: 5, Value: []byte("x")})
	set[17] = 4 // zstd came after the message sets
	_, err := read(batchtest.Seal(set), 0)
	if unknown, ok := errors.AsType[*batch.CodecError](err); !ok || unknown.Codec != batch.Zstd {
		t.Error(err)
	}
}

func TestDamagedCompression(t *testing.T) {
	recs := orders(40 << 10)
	for _, s := range shapes[1:] {
		t.Run(s.name, func(t *testing.T) {
			b := batchtest.New(recs...)
			b.Codec = s.codec
			whole := made(s, recs)[61:]
			for _, n := range []int{0, 1, 4, 7, 8, 15, 16, 20, len(whole) / 2, len(whole) - 1} {
				_, err := read(b.Wrap(len(recs), whole[:n]), 1<<20)
				if damaged, ok := errors.AsType[*batch.DamagedError](err); !ok || damaged.Offset != 5000 {
					t.Errorf("%d of %d bytes: %v", n, len(whole), err)
				}
			}
			_, err := read(b.Wrap(len(recs), append(append([]byte(nil), whole...), "garbage!"...)), 1<<20)
			if _, ok := errors.AsType[*batch.DamagedError](err); !ok {
				t.Errorf("garbage behind the data: %v", err)
			}
		})
	}
}

// TestBombs gives each codec data that grows a thousandfold or claims to, and
// looks at the memory that refusing it took.
func TestBombs(t *testing.T) {
	const limit, size = 1 << 20, 32 << 20
	zeros := make([]byte, size)
	payloads := map[string][]byte{}
	for _, s := range shapes[1:] {
		payloads[s.name] = batchtest.Compress(s.codec, s.framing, zeros)
	}
	claim := append([]byte(nil), payloads["snappy"]...)[:64]
	payloads["snappy that only claims"] = claim
	sized := batchtest.Compress(batch.LZ4, batchtest.LZ4Checksums, zeros[:1000])
	binary.LittleEndian.PutUint64(sized[6:], math.MaxInt64)
	payloads["lz4 with a broken claim"] = sized
	single := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0} // zstd: content of 2^62 bytes
	payloads["zstd that only claims"] = single
	for name, payload := range payloads {
		t.Run(name, func(t *testing.T) {
			b := batchtest.New(batchtest.Record{Offset: 5})
			switch {
			case strings.HasPrefix(name, "gzip"):
				b.Codec = batch.Gzip
			case strings.HasPrefix(name, "lz4"):
				b.Codec = batch.LZ4
			case strings.HasPrefix(name, "zstd"):
				b.Codec = batch.Zstd
			default:
				b.Codec = batch.Snappy
			}
			raw := batch.Raw(b.Wrap(1, payload))
			d := batch.NewDecoder(&batch.Pool{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := d.Decode(raw, limit)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
				t.Errorf("%d MiB were taken to refuse it", grown>>20)
			}
			if large, ok := errors.AsType[*batch.TooLargeError](err); ok {
				if large.Offset != 5 || large.Limit != limit || large.Size <= limit {
					t.Errorf("%+v", large)
				}
			} else if _, ok := errors.AsType[*batch.DamagedError](err); !ok || !strings.Contains(name, " ") {
				t.Errorf("got %v, want a *TooLargeError", err)
			}
		})
	}
}

func TestLimitIsExact(t *testing.T) {
	recs := orders(200 << 10)
	size := int64(len(made(shapes[0], recs)) - 61)
	for _, s := range shapes {
		if _, err := read(made(s, recs), size); err != nil {
			t.Errorf("%s: %v with a limit of just its size", s.name, err)
		}
		_, err := read(made(s, recs), size-1)
		if large, ok := errors.AsType[*batch.TooLargeError](err); !ok || large.Size < size || large.Limit != size-1 {
			t.Errorf("%s: %v with a limit one below its size", s.name, err)
		}
	}
}

func TestMessagesSayWhatAndWhere(t *testing.T) {
	for want, err := range map[string]error{
		"the batch at offset 7 is damaged: why":                                                  &batch.DamagedError{Offset: 7, Reason: "why"},
		"the batch at offset 7 is compressed with codec 6, which is not known":                   &batch.CodecError{Offset: 7, Codec: 6},
		"the batch at offset 7 takes at least 20 bytes when decompressed, above the limit of 10": &batch.TooLargeError{Offset: 7, Size: 20, Limit: 10},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// TestWalkAllocatesNothing also holds for headers.
func TestWalkAllocatesNothing(t *testing.T) {
	recs := orders(20 << 10)
	for i := range recs {
		recs[i].Headers = []record.Header{{Key: []byte("a"), Value: []byte("b")}}
	}
	d := batch.NewDecoder(&batch.Pool{})
	for _, s := range shapes {
		raw := made(s, recs)
		var rec record.Record
		n := 0
		allocs := testing.AllocsPerRun(20, func() {
			got, err := d.Decode(raw, 0)
			if err != nil {
				t.Fatal(err)
			}
			w := got.Records()
			for w.Next(&rec) {
				n++
			}
			got.Release()
		})
		// zstd's tables come from a sync.Pool, which forgets at random under the
		// race detector.
		if allocs > 0 && (s.codec != batch.Zstd || allocs > 8) {
			t.Errorf("%s: %v allocations a batch", s.name, allocs)
		}
		if n != 21*len(recs) {
			t.Errorf("%s: %d records", s.name, n)
		}
	}
}
