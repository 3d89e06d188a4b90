package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/record"
)

// pairsOf encodes headers; a value of "null" is null.
func pairsOf(pairs ...string) record.Headers {
	var h record.Headers
	for i := 0; i < len(pairs); i += 2 {
		h.Raw = appendBytes(h.Raw, []byte(pairs[i]))
		if pairs[i+1] == "null" {
			h.Raw = appendBytes(h.Raw, nil)
		} else {
			h.Raw = appendBytes(h.Raw, []byte(pairs[i+1]))
		}
		h.Count++
	}
	return h
}

const guidFramed = "\x01abcdefghijklmnop"

var guidID = ID{GUID: [16]byte([]byte(guidFramed[1:]))}

func TestFinder(t *testing.T) {
	for _, c := range []struct {
		name    string
		key     bool
		wide    bool
		raw     []byte
		headers record.Headers
		want    Found
		wrong   bool
	}{
		{name: "in front", raw: []byte("\x00\x00\x00\x01\x02xy"), want: Found{ID: ID{Number: 258}, Payload: []byte("xy")}},
		{name: "and nothing behind it", raw: []byte("\x00\x00\x00\x00\x02"), want: Found{ID: ID{Number: 2}, Payload: []byte{}}},
		{name: "eight bytes", wide: true, raw: []byte("\x00\x00\x00\x00\x01\x00\x00\x00\x02x"), want: Found{ID: ID{Number: 1<<32 + 2}, Payload: []byte("x")}},
		{name: "null"},
		{name: "empty", raw: []byte{}},
		{name: "text", raw: []byte("text")},
		{name: "short", raw: []byte{0, 0, 0, 1}},
		{name: "no number", raw: []byte{0, 0, 0, 0, 0, 7}},
		{name: "a negative number", raw: []byte{0, 0x80, 0, 0, 0, 7}},
		{name: "a GUID in front, which nobody writes", raw: []byte(guidFramed)},
		{name: "a header", raw: []byte("\x00\x00\x00\x00\x09z"), headers: pairsOf("a", "b", valueHeader, guidFramed), want: Found{ID: guidID, Payload: []byte("\x00\x00\x00\x00\x09z"), InHeader: true}},
		{name: "a header with more", raw: []byte("z"), headers: pairsOf(valueHeader, guidFramed+"\x02\x00"), want: Found{ID: guidID, Payload: []byte("\x02\x00z"), InHeader: true}},
		{name: "a header of a tombstone", headers: pairsOf(valueHeader, "\x00\x00\x00\x00\x05"), want: Found{ID: ID{Number: 5}, InHeader: true}},
		{name: "the last of several", raw: []byte("z"), headers: pairsOf(valueHeader, "?", valueHeader, "\x00\x00\x00\x00\x05"), want: Found{ID: ID{Number: 5}, Payload: []byte("z"), InHeader: true}},
		{name: "the last is null", raw: []byte("\x00\x00\x00\x00\x09z"), headers: pairsOf(valueHeader, guidFramed, valueHeader, "null"), want: Found{ID: ID{Number: 9}, Payload: []byte("z")}},
		{name: "the other side's", key: true, raw: []byte("k"), headers: pairsOf(valueHeader, guidFramed)},
		{name: "the key's", key: true, raw: []byte("k"), headers: pairsOf(keyHeader, guidFramed), want: Found{ID: guidID, Payload: []byte("k"), InHeader: true}},
		{name: "a wrong header", raw: []byte("\x00\x00\x00\x00\x09z"), headers: pairsOf(valueHeader, "?"), wrong: true},
	} {
		got, err := NewFinder(c.key, c.wide).Find(c.raw, &record.Record{Headers: c.headers})
		if (err != nil) != c.wrong || got.ID != c.want.ID || got.InHeader != c.want.InHeader || !bytes.Equal(got.Payload, c.want.Payload) ||
			(got.Payload == nil) != (c.want.Payload == nil) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestReframe(t *testing.T) {
	for _, c := range []struct {
		raw      string
		from, to bool // wide
		id       ID
		want     string
	}{
		{raw: "0000000007aabb", id: ID{Number: 1<<31 - 1}, want: "007fffffffaabb"},
		{raw: "0000000007", id: ID{Number: 8}, want: "0000000008"},
		{raw: "000000000000000007aa", from: true, id: ID{Number: 8}, want: "0000000008aa"},
		{raw: "0000000007aa", to: true, id: ID{Number: 8}, want: "000000000000000008aa"},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewFinder(false, c.from).Reframe([]byte("x"), raw, c.id, c.to)
		if text := hex.EncodeToString(raw); err != nil || hex.EncodeToString(got) != "78"+c.want || text != c.raw {
			t.Errorf("%s: %x, %v; it is %s now", c.raw, got, err, text)
		}
	}
	if _, err := NewFinder(false, false).Reframe(nil, []byte("text"), ID{Number: 1}, false); err == nil {
		t.Error("what is not framed has got another id")
	}
}

func TestHeadersWithOtherIDs(t *testing.T) {
	list := pairsOf("a", "null", keyHeader, guidFramed, valueHeader, "\x00\x00\x00\x00\x05", "", "", valueHeader, guidFramed+"\x02\x00", valueHeader, "null")
	asked := []ID{}
	other := ID{GUID: [16]byte{1: 9}}
	got, err := NewFinder(false, false).AppendHeaders(nil, list, false, func(id ID) (ID, error) {
		asked = append(asked, id)
		if id.Number > 0 {
			return ID{Number: id.Number + 1}, nil
		}
		return other, nil
	})
	want := pairsOf("a", "null", keyHeader, guidFramed, valueHeader, "\x00\x00\x00\x00\x06", "", "", valueHeader, "\x01"+string(other.GUID[:])+"\x02\x00", valueHeader, "null")
	if err != nil || !bytes.Equal(got, want.Raw) || !slices.Equal(asked, []ID{{Number: 5}, guidID}) {
		t.Errorf("%q, %v, asked %v", got, err, asked)
	}
	if !record.CheckHeaders(want.Count, got) {
		t.Error("they are not well-formed")
	}
	unknown := errors.New("unknown")
	if _, err := NewFinder(false, false).AppendHeaders(nil, list, false, func(ID) (ID, error) { return ID{}, unknown }); !errors.Is(err, unknown) {
		t.Error(err)
	}
	if _, err := NewFinder(false, false).AppendHeaders(nil, pairsOf(valueHeader, "?"), false, nil); err == nil {
		t.Error("a header without an id goes through")
	}
}

// What is found can be put back, byte for byte.
func FuzzReframe(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x07payload"), false)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x07"), true)
	f.Add([]byte(guidFramed), false)
	f.Fuzz(func(t *testing.T, raw []byte, wide bool) {
		x := NewFinder(false, wide)
		found, err := x.Find(raw, &record.Record{})
		if err != nil {
			t.Fatal(err)
		}
		if found.ID == (ID{}) {
			return
		}
		again, err := x.Reframe(nil, raw, found.ID, wide)
		if err != nil || !bytes.Equal(again, raw) {
			t.Errorf("%x became %x, %v", raw, again, err)
		}
	})
}
