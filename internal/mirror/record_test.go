package mirror

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"testing"
)

func integer(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The records that Kafka's own classes wrote are read, and written the same.
func TestRecordsAreKafkas(t *testing.T) {
	seen := map[string]int{}
	for _, f := range lines(t) {
		if f[0] == "policy" || f[0] == "topic" {
			continue
		}
		seen[f[0]]++
		key, value := hexed(t, f[len(f)-2]), hexed(t, f[len(f)-1])
		var want, got any
		var err error
		var k, v []byte
		switch f[0] {
		case "checkpoint":
			c := Checkpoint{
				Group: []byte(f[1]), Topic: []byte(f[2]), Partition: int32(integer(t, f[3])),
				Upstream: integer(t, f[4]), Downstream: integer(t, f[5]), Metadata: hexed(t, f[6]),
			}
			want, k, v = c, c.AppendKey(nil), c.AppendValue(nil)
			got, err = ParseCheckpoint(key, value)
		case "sync":
			s := OffsetSync{Topic: []byte(f[1]), Partition: int32(integer(t, f[2])), Upstream: integer(t, f[3]), Downstream: integer(t, f[4])}
			want, k, v = s, s.AppendKey(nil), s.AppendValue(nil)
			got, err = ParseOffsetSync(key, value)
		case "heartbeat":
			h := Heartbeat{Source: []byte(f[1]), Target: []byte(f[2]), Timestamp: integer(t, f[3])}
			want, k, v = h, h.AppendKey(nil), h.AppendValue(nil)
			got, err = ParseHeartbeat(key, value)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", f, got, err)
		}
		if !bytes.Equal(k, key) || !bytes.Equal(v, value) {
			t.Errorf("%s is written as %x %x", f, k, v)
		}
	}
	if seen["checkpoint"] != 3 || seen["sync"] != 1 || seen["heartbeat"] != 1 {
		t.Errorf("the file has %v", seen)
	}
}

func TestTombstones(t *testing.T) {
	c, err := ParseCheckpoint(Checkpoint{Group: []byte("g"), Topic: []byte("t"), Partition: 3}.AppendKey(nil), nil)
	if err != nil || !c.Deleted || string(c.Group) != "g" || string(c.Topic) != "t" || c.Partition != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	s, err := ParseOffsetSync(OffsetSync{Topic: []byte("t")}.AppendKey(nil), nil)
	if err != nil || !s.Deleted || string(s.Topic) != "t" {
		t.Errorf("%+v, %v", s, err)
	}
	h, err := ParseHeartbeat(Heartbeat{Source: []byte("a")}.AppendKey(nil), nil)
	if err != nil || !h.Deleted || string(h.Source) != "a" {
		t.Errorf("%+v, %v", h, err)
	}
}

// Bytes behind the record are counted, as MirrorMaker 2 passes over them.
func TestExtra(t *testing.T) {
	c := Checkpoint{Group: []byte("g"), Topic: []byte("t"), Upstream: 7, Downstream: 8}
	got, err := ParseCheckpoint(append(c.AppendKey(nil), 1), append(c.AppendValue(nil), 2, 3))
	if err != nil || got.Extra != 3 || got.Downstream != 8 {
		t.Errorf("%+v, %v", got, err)
	}
	s := OffsetSync{Topic: []byte("t")}
	if got, err := ParseOffsetSync(s.AppendKey(nil), append(s.AppendValue(nil), 0)); err != nil || got.Extra != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	h := Heartbeat{}
	if got, err := ParseHeartbeat(append(h.AppendKey(nil), 0, 0), h.AppendValue(nil)); err != nil || got.Extra != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDamage(t *testing.T) {
	checkpoint := Checkpoint{Group: []byte("group"), Topic: []byte("topic"), Metadata: []byte("m")}
	key, value := checkpoint.AppendKey(nil), checkpoint.AppendValue(nil)
	parse := func(key, value []byte) error { _, err := ParseCheckpoint(key, value); return err }
	for n := range len(key) {
		if err := parse(key[:n], value); !errors.Is(err, ErrMalformed) {
			t.Errorf("a key of %d bytes: %v", n, err)
		}
	}
	for n := range len(value) {
		if err := parse(key, value[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("a value of %d bytes: %v", n, err)
		}
	}
	for _, tt := range []struct {
		name string
		err  error
		is   error
		want string
	}{
		{"no key", parse(nil, value), ErrMalformed, "malformed: no key"},
		{"version 1", parse(key, append([]byte{0, 1}, value[2:]...)), ErrVersion, "unsupported version 1"},
		{"metadata that is null", parse(key, append(value[:18:18], 0xff, 0xff)), ErrMalformed, "malformed: metadata has a length of -1"},
		{"a group that is null", parse([]byte{0xff, 0xff}, value), ErrMalformed, "malformed: group has a length of -1"},
		{"a long group", parse([]byte{0x7f, 0xff, 'g'}, value), ErrMalformed, "malformed: group takes 32767 bytes of 1"},
	} {
		if !errors.Is(tt.err, tt.is) || tt.err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	if _, err := ParseHeartbeat(Heartbeat{}.AppendKey(nil), []byte{0, 2, 0, 0, 0, 0, 0, 0, 0, 0}); !errors.Is(err, ErrVersion) {
		t.Errorf("a heartbeat of version 2: %v", err)
	}
	if _, err := ParseOffsetSync(OffsetSync{}.AppendKey(nil), make([]byte, 15)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a sync that is cut off: %v", err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	c := Checkpoint{Group: []byte("group"), Topic: []byte("topic"), Metadata: []byte("m")}
	key, value := c.AppendKey(nil), c.AppendValue(nil)
	if n := testing.AllocsPerRun(100, func() { _, _ = ParseCheckpoint(key, value) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is read is written the same again, but for extra bytes.
func FuzzRecords(f *testing.F) {
	c := Checkpoint{Group: []byte("g"), Topic: []byte("a.t"), Partition: 1, Upstream: 5, Downstream: 6, Metadata: []byte("m")}
	f.Add(c.AppendKey(nil), c.AppendValue(nil))
	s := OffsetSync{Topic: []byte("t"), Upstream: 1, Downstream: 2}
	f.Add(s.AppendKey(nil), s.AppendValue(nil))
	h := Heartbeat{Source: []byte("a"), Target: []byte("b"), Timestamp: 3}
	f.Add(h.AppendKey(nil), h.AppendValue(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if c, err := ParseCheckpoint(key, value); err == nil && !c.Deleted {
			same(t, pair{key, value}, pair{c.AppendKey(nil), c.AppendValue(nil)}, c.Extra)
		}
		if s, err := ParseOffsetSync(key, value); err == nil && !s.Deleted {
			same(t, pair{key, value}, pair{s.AppendKey(nil), s.AppendValue(nil)}, s.Extra)
		}
		if h, err := ParseHeartbeat(key, value); err == nil && !h.Deleted {
			same(t, pair{key, value}, pair{h.AppendKey(nil), h.AppendValue(nil)}, h.Extra)
		}
	})
}

type pair struct{ key, value []byte }

func same(t *testing.T, read, written pair, extra int) {
	t.Helper()
	more := len(read.key) - len(written.key) + len(read.value) - len(written.value)
	if !bytes.HasPrefix(read.key, written.key) || !bytes.HasPrefix(read.value, written.value) || more != extra {
		t.Errorf("%x is written as %x with %d more", read, written, extra)
	}
}
