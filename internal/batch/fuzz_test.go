package batch_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// typed fails on an error that callers do not know how to tell.
func typed(t *testing.T, err error) {
	t.Helper()
	_, damaged := errors.AsType[*batch.DamagedError](err)
	_, codec := errors.AsType[*batch.CodecError](err)
	_, large := errors.AsType[*batch.TooLargeError](err)
	if err != nil && !damaged && !codec && !large {
		t.Fatalf("an error of no known type: %v", err)
	}
}

// asKgo fails when kcm reads b without an error and kgo reads anything else.
func asKgo(t *testing.T, b []byte) {
	t.Helper()
	got, err := byKcm(response{log: b}, 0, false)
	typed(t, err)
	if err != nil {
		return
	}
	next := int64(0) // kgo drops, as Java's consumer does, what does not ascend
	got = slices.DeleteFunc(got, func(k kept) bool {
		back := k.Offset < next
		next = max(next, k.Offset+1)
		return back
	})
	want, err := byKgo(response{log: b}, 0, false)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d records, kgo has %d: %v", len(got), len(want), err)
	}
	for i, k := range got {
		if k.Time != want[i].Time && (k.Time < -9_000_000_000_000 || k.Time > 9_000_000_000_000) {
			k.Time = want[i].Time // kgo cannot keep it
		}
		if !reflect.DeepEqual(k, want[i]) {
			t.Fatalf("record %d:\n got %#v\nwant %#v", i, k, want[i])
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(made(shapes[0], few()))
	f.Add(made(shapes[4], few()))
	f.Add(slices.Concat(batchtest.Message(0, few()[0]), batchtest.Message(1, few()[0])))
	f.Add(batchtest.Marker(4, 1, 0, true))
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		cut, last := 0, int64(-1)
		for rest := b; ; {
			raw, h, after, err := batch.Next(rest)
			if errors.Is(err, batch.ErrCut) {
				if raw != nil || len(after) != len(rest) || (h.Length != 0 && h.Size() <= int64(len(rest)) && len(rest) >= 17) {
					t.Fatalf("cut, but %d of %d bytes are there", len(rest), h.Size())
				}
				break
			}
			if typed(t, err); err != nil {
				break
			}
			if int64(len(raw)) != h.Size() || len(raw)+len(after) != len(rest) || h.Next() <= h.BaseOffset || h.Next() <= 0 {
				t.Fatalf("%+v of %d bytes, %d left of %d", h, len(raw), len(after), len(rest))
			}
			if again, err := raw.Head(); err != nil || again != h {
				t.Fatalf("%+v, then %+v: %v", h, again, err)
			}
			typed(t, raw.Check())
			raw.ControlType()
			cut, last, rest = cut+len(raw), h.Next(), after
		}
		if cut > len(b) || (cut > 0 && last <= 0) {
			t.Fatal(cut, last)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range shapes {
		f.Add(byte(s.codec), made(s, orders(700))[61:])
		f.Add(byte(s.codec), made(s, few()[:1])[61:])
	}
	f.Fuzz(func(t *testing.T, codec byte, payload []byte) {
		const limit = 1 << 20
		pool := &batch.Pool{}
		d := batch.NewDecoder(pool)
		b := batchtest.New(batchtest.Record{Offset: 5})
		b.Codec = batch.Codec(codec & 7)
		for range 2 { // the second time with buffers and hints of the first
			got, err := d.Decode(b.Wrap(0, payload), limit)
			if typed(t, err); err != nil {
				continue
			}
			if b.Codec != batch.None && got.Size() > limit {
				t.Fatalf("%d bytes, above the limit", got.Size())
			}
			got.Release()
		}
		if pool.Kept() > batch.DefaultPoolBytes {
			t.Fatalf("the pool keeps %d bytes", pool.Kept())
		}
	})
}

func FuzzWalk(f *testing.F) {
	f.Add(int32(4), int32(99), made(shapes[0], few())[61:])
	f.Add(int32(1), int32(9), plain)
	f.Add(int32(2), int32(9), append(slices.Clone(plain), plain...))
	withHeaders := []batchtest.Record{{Key: []byte("k"), Headers: []record.Header{{Key: []byte("a")}, {Key: []byte("b"), Value: []byte("c")}}}, {Offset: 1}}
	f.Add(int32(2), int32(9), made(shapes[0], withHeaders)[61:])
	f.Add(int32(5), int32(9000), made(shapes[0], orders(800))[61:])
	f.Fuzz(func(t *testing.T, count, last int32, payload []byte) {
		b := batchtest.New(batchtest.Record{Offset: 5, Time: 1000}, batchtest.Record{Offset: 5 + int64(max(last, 0))})
		asKgo(t, b.Wrap(int(count), payload))
	})
}

func FuzzLegacy(f *testing.F) {
	set := slices.Concat(batchtest.Message(1, few()[0]), batchtest.AppendedMessage(few()[1]), batchtest.Message(0, few()[2]))
	f.Add(byte(1), byte(0), int64(99), set)
	f.Add(byte(0), byte(1), int64(20), set)
	f.Add(byte(1), byte(2+8), int64(0), set)
	f.Add(byte(1), byte(3), int64(7), set[:50])
	f.Fuzz(func(t *testing.T, magic, attributes byte, offset int64, inner []byte) {
		for b := inner; len(b) >= 26; { // mend the checksums, which hide everything else
			size := int64(12) + int64(int32(uint32(b[8])<<24|uint32(b[9])<<16|uint32(b[10])<<8|uint32(b[11])))
			if size < 26 || size > int64(len(b)) || b[16] > 1 {
				break
			}
			batchtest.Seal(b[:size])
			b = b[size:]
		}
		s := batchtest.Set{Magic: magic & 1, Codec: batch.Codec(attributes & 3), LogAppend: attributes&8 != 0, Time: 4711}
		for _, b := range [][]byte{inner, s.Wrap(offset, inner)} {
			got, err := read(b, 1<<20)
			typed(t, err)
			for _, k := range got {
				if k.Offset < 0 || k.Epoch != -1 || k.Producer != -1 {
					t.Fatalf("%+v", k)
				}
			}
		}
	})
}

func FuzzFilter(f *testing.F) {
	f.Add("a1a2b1n1a3a!b.c1c!")
	f.Add("a1a!A1a2a.")
	f.Add("b!b1b!b.a!a.")
	f.Fuzz(func(t *testing.T, script string) {
		var words []string
		for i := 0; i+1 < len(script) && len(words) < 60; i += 2 {
			who, what := script[i], script[i+1]
			if strings.IndexByte("abcABCn", who) < 0 || (strings.IndexByte("ABCn", who) >= 0 && (what == '!' || what == '.')) {
				continue
			}
			if what != '!' && what != '.' {
				what = '1'
			}
			words = append(words, string([]byte{who, what}))
		}
		p := written(strings.Join(append(words, "a!", "b.", "c!"), " "))
		slices.Reverse(p.aborted)
		if got := passed(t, p.log, batch.NewFilter(p.aborted)); !slices.Equal(got, p.want) {
			t.Fatalf("%v:\n got %v\nwant %v", words, got, p.want)
		}
		kgo, err := byKgo(response{p.log, p.aborted}, 0, true)
		if err != nil || len(kgo) != len(p.want) {
			t.Fatalf("%v: kgo has %d records, want %v: %v", words, len(kgo), p.want, err)
		}
	})
}

// FuzzLZ4 has the library's reader, which takes frames apart in another way, as
// its oracle.
func FuzzLZ4(f *testing.F) {
	data := made(shapes[0], orders(1000))
	for _, framing := range []batchtest.Framing{batchtest.Plain, batchtest.LZ4Linked, batchtest.LZ4Checksums, batchtest.LZ4Broken} {
		f.Add(batchtest.Compress(batch.LZ4, framing, data))
		f.Add(batchtest.Compress(batch.LZ4, framing, bytes.Repeat(data, 70)))
	}
	f.Add(append([]byte{0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9}, batchtest.Compress(batch.LZ4, batchtest.Plain, data)...))
	f.Fuzz(func(t *testing.T, frame []byte) {
		want, wantErr := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
		got, err := batch.NewDecoder(&batch.Pool{}).UnLZ4(frame, 1<<22)
		switch {
		case err == nil && len(got) > 1<<22:
			t.Fatalf("%d bytes, above the limit", len(got))
		case len(want) > 1<<22:
			return
		case err == nil && wantErr == nil && !bytes.Equal(got, want):
			t.Fatalf("%d bytes, and %d other ones by the library", len(got), len(want))
		case err == nil && wantErr != nil && !errors.Is(wantErr, lz4.ErrInvalidFrameChecksum):
			t.Fatalf("%d bytes, and the library says %v", len(got), wantErr)
		case err != nil && wantErr == nil && len(frame) > 0 && !bytes.Contains(frame, []byte{0x02, 0x21, 0x4c, 0x18}):
			t.Fatalf("%v, and the library has %d bytes", err, len(want))
		}
	})
}
