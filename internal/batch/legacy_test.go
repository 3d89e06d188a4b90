package batch_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// few are records that a message set can hold, with a hole and odd times.
func few() []batchtest.Record {
	return []batchtest.Record{
		{Offset: 10, Time: 1_700_000_000_123, Key: []byte("k"), Value: []byte("a")},
		{Offset: 11, Time: -1, Value: []byte{}},
		{Offset: 12, Time: 1_700_000_000_123_456, Key: []byte{}},
		{Offset: 20, Time: -62135596800000, Value: []byte("d")},
	}
}

// legacyWanted is what few become: in format 0 they have no time.
func legacyWanted(magic byte, attributes int16) []kept {
	var all []kept
	for _, r := range few() {
		k := kept{Offset: r.Offset, Time: r.Time, Epoch: -1, Producer: -1, Attributes: attributes, Key: r.Key, Value: r.Value}
		if magic == 0 {
			k.Time = -1
		}
		all = append(all, k)
	}
	return all
}

func TestLegacySets(t *testing.T) {
	for _, magic := range []byte{0, 1} {
		for _, s := range append(shapes[1:7:7], shape{"lz4-broken", batch.LZ4, batchtest.LZ4Broken}) {
			t.Run(fmt.Sprintf("format %d %s", magic, s.name), func(t *testing.T) {
				set := batchtest.Set{Magic: magic, Codec: s.codec, Framing: s.framing, Records: few()}.Bytes()
				_, h, _, err := batch.Next(set)
				if err != nil || h.NumRecords != -1 || h.LastOffset() != 20 || h.Next() != 21 || h.Codec() != s.codec || h.Control() || h.Transactional() {
					t.Fatalf("%+v, %v", h, err)
				}
				got, err := read(set, 0)
				if magic == 1 && s.framing == batchtest.LZ4Broken {
					if _, ok := errors.AsType[*batch.DamagedError](err); !ok {
						t.Fatalf("format 1 does not have format 0's fault, got %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, legacyWanted(magic, int16(s.codec)))
			})
		}
		t.Run(fmt.Sprintf("format %d none", magic), func(t *testing.T) {
			var b []byte
			for _, r := range few() {
				b = append(b, batchtest.Message(magic, r)...)
			}
			got, err := read(b, 0)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, legacyWanted(magic, 0))
		})
	}
}

func TestLegacyTimeOfTheBroker(t *testing.T) {
	inner := slices.Concat(batchtest.Message(1, few()[0]), batchtest.AppendedMessage(few()[1]), batchtest.Message(0, few()[2]))
	type stamp struct {
		time int64
		kind record.TimestampType
	}
	for name, c := range map[string]struct {
		b    []byte
		want []stamp
	}{
		"of a message": {batchtest.AppendedMessage(batchtest.Record{Offset: 3, Time: 77}), []stamp{{77, record.LogAppendTime}}},
		"of a set": {
			batchtest.Set{Magic: 1, Codec: batch.Gzip, LogAppend: true, Time: 99}.Wrap(12, inner),
			[]stamp{{99, record.LogAppendTime}, {99, record.LogAppendTime}, {-1, record.CreateTime}},
		},
		"not when the set has none": { // as in Kafka's reader the set decides, not its messages
			batchtest.Set{Magic: 1, Codec: batch.Gzip, Time: 99}.Wrap(12, inner),
			[]stamp{{few()[0].Time, record.CreateTime}, {-1, record.CreateTime}, {-1, record.CreateTime}},
		},
		"format 0 does not know it": {
			batchtest.Set{Magic: 0, Codec: batch.Gzip, LogAppend: true}.Wrap(12, batchtest.Message(0, few()[2])),
			[]stamp{{-1, record.CreateTime}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, err := read(c.b, 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []stamp
			for _, r := range recs {
				got = append(got, stamp{r.Time, r.Stamp})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLegacyOffsets(t *testing.T) {
	at := func(magic byte, offsets ...int64) (b []byte) {
		for _, o := range offsets {
			b = append(b, batchtest.Message(magic, batchtest.Record{Offset: o, Value: []byte("v")})...)
		}
		return b
	}
	for name, c := range map[string]struct {
		magic  byte
		offset int64
		inner  []byte
		want   []int64
		reason string
	}{
		"relative, with a hole":   {1, 20, at(1, 0, 1, 2, 10), []int64{10, 11, 12, 20}, ""},
		"first ones cleaned away": {1, 20, at(1, 5, 10), []int64{15, 20}, ""},
		"set at offset 0":         {1, 0, at(1, 0, 1, 2), []int64{0, 1, 2}, ""},
		"absolute":                {0, 20, at(0, 10, 11, 20), []int64{10, 11, 20}, ""},
		"format 0 in format 1":    {1, 20, at(0, 0, 1), []int64{19, 20}, ""},
		"last beyond the set":     {1, 5, at(1, 0, 6), nil, "a compressed set ends behind its own offset"},
		"negative":                {1, 5, at(1, -1, 2), nil, "a message's offset is negative"},
		"no message":              {1, 5, nil, nil, "an empty compressed set"},
		"a set in a set":          {1, 5, batchtest.Set{Magic: 1, Codec: batch.Gzip}.Wrap(0, at(1, 0)), nil, "a compressed set holds another one"},
		"format 2 in format 1":    {1, 5, made(shapes[0], few()), nil, "a message of format 0 or 1 holds one of another format"},
		"cut":                     {1, 5, at(1, 0, 1)[:50], nil, "a message is cut"},
		"cut within a value":      {1, 5, at(1, 0, 1)[:69], nil, "a message goes beyond its end"},
	} {
		t.Run(name, func(t *testing.T) {
			recs, err := read(batchtest.Set{Magic: c.magic, Codec: batch.Snappy}.Wrap(c.offset, c.inner), 0)
			var got []int64
			for _, r := range recs {
				got = append(got, r.Offset)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if damaged, ok := errors.AsType[*batch.DamagedError](err); ok != (c.reason != "") || (ok && (damaged.Reason != c.reason || damaged.Offset != c.offset)) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestDamagedMessages(t *testing.T) {
	good := batchtest.Message(1, batchtest.Record{Offset: 5, Key: []byte("k"), Value: []byte("vv")})
	for reason, c := range map[string]struct {
		at int
		to byte
	}{
		"a message's key is broken":          {26, 0x7f},
		"a message's value is broken":        {31, 0x80},
		"a message is longer than its parts": {34, 1},
		"a compressed set without a value":   {17, 1},
	} {
		b := slices.Clone(good)
		b[c.at] = c.to
		if c.at == 17 {
			b = batchtest.Message(1, batchtest.Record{Offset: 5})
			b[17] = 1
		}
		_, err := read(batchtest.Seal(b), 0)
		if damaged, ok := errors.AsType[*batch.DamagedError](err); !ok || damaged.Reason != reason || damaged.Offset != 5 {
			t.Errorf("got %v, want %q", err, reason)
		}
	}
	inner := batchtest.Message(1, batchtest.Record{Value: []byte("v")})
	inner[len(inner)-1]++
	_, err := read(batchtest.Set{Magic: 1, Codec: batch.Gzip}.Wrap(5, inner), 0)
	if damaged, ok := errors.AsType[*batch.DamagedError](err); !ok || damaged.Reason != "a message in a compressed set has a wrong checksum" {
		t.Error(err)
	}
}
