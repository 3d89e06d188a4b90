package record

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// encode writes headers in Kafka's form (KIP-98).
func encode(headers ...Header) Headers {
	var raw []byte
	for _, h := range headers {
		raw = append(binary.AppendVarint(raw, int64(len(h.Key))), h.Key...)
		if h.Value == nil {
			raw = binary.AppendVarint(raw, -1)
			continue
		}
		raw = append(binary.AppendVarint(raw, int64(len(h.Value))), h.Value...)
	}
	return Headers{Count: len(headers), Raw: raw}
}

func TestHeadersKeepOrderRepeatsNullAndEmpty(t *testing.T) {
	want := []Header{
		{[]byte("t"), []byte("1")},
		{[]byte("u"), []byte{0xff, 0}},
		{[]byte("t"), []byte("2")},
		{[]byte("v"), nil},
		{[]byte("w"), []byte{}},
		{[]byte(""), []byte("x")},
		{[]byte("long"), bytes.Repeat([]byte("y"), 1000)},
	}
	h := encode(want...)
	if !CheckHeaders(h.Count, h.Raw) {
		t.Fatal("well-formed headers are refused")
	}
	got := slices.Collect(h.All())
	if len(got) != len(want) {
		t.Fatalf("%d headers, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i].Key, want[i].Key) || !bytes.Equal(got[i].Value, want[i].Value) || (got[i].Value == nil) != (want[i].Value == nil) {
			t.Errorf("header %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestDamagedHeadersAreRefused(t *testing.T) {
	good := encode(Header{[]byte("key"), []byte("value")}, Header{[]byte("k"), nil})
	for _, tt := range []struct {
		name  string
		count int
		raw   []byte
	}{
		{"a negative count", -1, good.Raw},
		{"fewer than counted", 3, good.Raw},
		{"more than counted", 1, good.Raw},
		{"none counted and some there", 0, good.Raw},
		{"a count beyond all bytes", 1 << 30, good.Raw},
		{"cut in a value", 1, good.Raw[:7]},
		{"cut in a length", 1, []byte{0x80}},
		{"a null key", 1, []byte{1, 1}},
		{"a length of -2", 1, []byte{2, 'k', 3}},
		{"a length beyond the end", 1, append(binary.AppendVarint(nil, 1<<40), 'k')},
	} {
		if CheckHeaders(tt.count, tt.raw) {
			t.Errorf("%s: accepted", tt.name)
		}
	}
	if !CheckHeaders(0, nil) {
		t.Error("no headers at all are refused")
	}
}

func TestSplitsAreOrderedByAllTheirParts(t *testing.T) {
	splits := []Split{{"b", "a", 0}, {"a", "b", 1}, {"a", "b", 0}, {"a", "a", 10}, {"a", "a", 9}}
	slices.SortFunc(splits, Split.Compare)
	want := []Split{{"a", "a", 9}, {"a", "a", 10}, {"a", "b", 0}, {"a", "b", 1}, {"b", "a", 0}}
	if !slices.Equal(splits, want) {
		t.Errorf("got %v, want %v", splits, want)
	}
	if s := want[1].String(); s != "a/a/10" {
		t.Errorf("got %s", s)
	}
}

// What CheckHeaders accepts, All yields whole, and it uses up every byte.
func FuzzHeaders(f *testing.F) {
	good := encode(Header{[]byte("key"), []byte("value")}, Header{[]byte(""), nil})
	f.Add(2, good.Raw)
	f.Add(1, []byte{0x80})
	f.Add(0, []byte{})
	f.Fuzz(func(t *testing.T, count int, raw []byte) {
		if !CheckHeaders(count, raw) {
			return
		}
		h := Headers{Count: count, Raw: raw}
		if got := len(slices.Collect(h.All())); got != count {
			t.Errorf("%d headers, want %d", got, count)
		}
	})
}
