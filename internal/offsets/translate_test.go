package offsets

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kcm-cli/kcm/internal/mirror"
	"github.com/kcm-cli/kcm/internal/record"
)

func syncRecord(topic string, partition int32, upstream, downstream int64) *record.Record {
	s := mirror.OffsetSync{Topic: []byte(topic), Partition: partition, Upstream: upstream, Downstream: downstream}
	return &record.Record{Key: s.AppendKey(nil), Value: s.AppendValue(nil)}
}

// checkpointRecord makes a checkpoint of partition, upstream and downstream offset.
func checkpointRecord(group, topic string, offsets [3]int64, metadata string) *record.Record {
	c := mirror.Checkpoint{Group: []byte(group), Topic: []byte(topic), Partition: int32(offsets[0]), Upstream: offsets[1], Downstream: offsets[2], Metadata: []byte(metadata)}
	return &record.Record{Key: c.AppendKey(nil), Value: c.AppendValue(nil)}
}

func syncsOf(pairs ...int64) *offsetSyncs {
	s := newOffsetSyncs()
	for i := 0; i < len(pairs); i += 2 {
		s.add(syncRecord("t", 0, pairs[i], pairs[i+1]))
	}
	return s
}

// The positions are those of MirrorMaker 2's OffsetSyncStoreTest.
func TestSyncsTranslateAsMirrorMaker2Does(t *testing.T) {
	at := Partition{Topic: "t"}
	for _, tt := range []struct {
		name   string
		syncs  *offsetSyncs
		at     int64
		status Status
		want   int64
	}{
		{"behind the only one", syncsOf(100, 200), 150, Bounded, 201},
		{"the newest itself", syncsOf(100, 200, 150, 251), 150, Exact, 251},
		{"before the oldest", syncsOf(100, 200, 150, 251), 5, Unmapped, 0},
		{"the target went back", syncsOf(100, 200, 150, 251, 200, 10), 200, Exact, 10},
		{"what was before that is gone", syncsOf(100, 200, 150, 251, 200, 10), 150, Unmapped, 0},
		{"the source went back", syncsOf(100, 200, 150, 251, 200, 10, 20, 20), 20, Exact, 20},
		{"and is gone too", syncsOf(100, 200, 150, 251, 200, 10, 20, 20), 10, Unmapped, 0},
		{"no sync at all", syncsOf(), 5, Pending, 0},
		{"0 is a position", syncsOf(0, 0, 1, 1), 0, Exact, 0},
		{"copied twice", syncsOf(5, 5, 5, 9), 6, Bounded, 10},
		{"two in one place", syncsOf(5, 5, 7, 5), 6, Unmapped, 0},
		{"said twice", syncsOf(5, 5, 5, 5, 8, 8), 6, Bounded, 6},
	} {
		f := tt.syncs.find(at, tt.at, limits{})
		if f.status != tt.status || f.offset != tt.want {
			t.Errorf("%s: %s %d, want %s %d", tt.name, f.status, f.offset, tt.status, tt.want)
		}
	}
}

// Syncs of a target that was made again since say nothing, though the offsets of
// some of them lie in the new one too.
func TestSyncsOfAnotherTarget(t *testing.T) {
	s := syncsOf(0, 0, 100, 100)
	for end, want := range map[int64]Status{0: Unmapped, 50: Unmapped, 100: Unmapped, 101: Bounded} {
		if f := s.find(Partition{Topic: "t"}, 2, limits{0, end, true}); f.status != want {
			t.Errorf("end %d: %+v", end, f)
		}
	}
}

// MirrorMaker 2 forgets most syncs; here each that was read counts.
func TestEverySyncCounts(t *testing.T) {
	s := newOffsetSyncs()
	for u := int64(0); u <= 10_000; u += 10 {
		s.add(syncRecord("t", 3, u, u))
	}
	for _, p := range []int64{1, 4841, 9635, 10_000, 10_007} {
		f := s.find(Partition{Topic: "t", Partition: 3}, p, limits{})
		want := p/10*10 + 1
		if p%10 == 0 {
			want = p
		}
		if f.offset != want || f.offset > p {
			t.Errorf("%d is translated to %d, want %d", p, f.offset, want)
		}
	}
	if f := s.find(Partition{Topic: "t", Partition: 2}, 5, limits{}); f.status != Pending {
		t.Errorf("another partition: %+v", f)
	}
}

// Whatever was copied with holes on either side, no position is translated behind
// a record that was not read, and the bound holds.
func TestNothingUnreadIsLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		up, down := int64(r.IntN(5)), int64(r.IntN(5))
		var list []offsetSync // every record
		s := newOffsetSyncs()
		runs := Runs{}
		for range 40 {
			list = append(list, offsetSync{up, down})
			runs = append(runs, Run{up, down, 1})
			if r.IntN(5) == 0 {
				s.add(syncRecord("t", 0, up, down))
			}
			up, down = up+1+int64(r.IntN(3)), down+1+int64(r.IntN(2))
		}
		end := down + int64(r.IntN(2))
		for p := int64(0); p < up+3; p++ {
			next, behind := end, int64(0) // the place of the first record at or after p
			for i := len(list) - 1; i >= 0 && list[i].upstream >= p; i-- {
				next = list[i].downstream
			}
			f := s.find(Partition{Topic: "t"}, p, limits{0, end, true})
			f.via = ViaSyncs
			f = weigh([]finding{f}, limits{0, end, true})
			for _, one := range list {
				if one.upstream < p && one.downstream >= f.offset {
					behind++
				}
			}
			if f.found() && (f.offset > next || behind > f.bound || f.status == Exact && behind > 0) {
				t.Fatalf("%d: %+v, next %d, %d again; syncs %v", p, f, next, behind, s.of)
			}
			if got, ok := runs.Position(p); !ok || got != min(next, list[len(list)-1].downstream+1) {
				t.Fatalf("map: %d is %d, want %d", p, got, next)
			}
		}
	}
}

func TestRuns(t *testing.T) {
	runs := Runs{{10, 0, 5}, {20, 5, 3}, {23, 9, 1}}
	for p, want := range map[int64]int64{0: 0, 10: 0, 14: 4, 15: 5, 19: 5, 20: 5, 22: 7, 23: 9, 24: 10, 99: 10} {
		if got, ok := runs.Position(p); !ok || got != want {
			t.Errorf("%d: %d, %v, want %d", p, got, ok, want)
		}
	}
	if _, ok := (Runs{}).Position(1); ok {
		t.Error("an empty map has a position")
	}
}

func TestCheckpoints(t *testing.T) {
	s := newCheckpoints(func(group string) bool { return group != "other" })
	for _, r := range []*record.Record{
		checkpointRecord("g", "a.t", [3]int64{0, 300, 30}, ""),
		checkpointRecord("other", "a.t", [3]int64{0, 1, 1}, ""),
		checkpointRecord("g", "a.t", [3]int64{1, 5, 5}, "m"),
		checkpointRecord("g", "a.t", [3]int64{0, 500, 50}, ""),
		checkpointRecord("g", "a.t", [3]int64{2, 9, 9}, ""),
		checkpointRecord("g", "a.t", [3]int64{3, 9, 9}, ""),
		checkpointRecord("g", "a.t", [3]int64{3, 8, 7}, ""),
		{Key: checkpointRecord("g", "a.t", [3]int64{2, 0, 0}, "").Key},
		{Key: checkpointRecord("g", "a.t", [3]int64{8, 0, 0}, "").Key},
		{Key: []byte{1}, Value: []byte{}},
		{Value: []byte{0}},
		{Key: checkpointRecord("g", "a.t", [3]int64{0, 0, 0}, "").Key, Value: []byte{0, 1, 2}},
		checkpointRecord("g", "a.t", [3]int64{0, 600, -1}, ""),
		{Key: append(checkpointRecord("g", "a.t", [3]int64{1, 0, 0}, "").Key, 7), Value: checkpointRecord("", "", [3]int64{0, 6, 6}, "n").Value},
	} {
		s.add(0, r)
	}
	want := []checkpoint{
		{at: spot("a.t", 0), upstream: 500, downstream: 50, fell: -1},
		{at: spot("a.t", 1), upstream: 6, downstream: 6, fell: -1, metadata: "n"},
		{at: spot("a.t", 3), upstream: 8, downstream: 7, fell: 9},
	}
	if got := standing(s); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if s.damage != (Damage{Malformed: 3, Version: 1, Trailing: 1}) || s.damage.Bad() != 4 || s.seen != 14 {
		t.Errorf("%+v of %d", s.damage, s.seen)
	}
}

// Of records in two partitions of the topic the one that was written later counts.
func TestCheckpointsOfTwoPartitions(t *testing.T) {
	s := newCheckpoints(func(string) bool { return true })
	late := checkpointRecord("g", "a.t", [3]int64{0, 5, 5}, "")
	late.Timestamp = 9
	s.add(1, late)
	early := checkpointRecord("g", "a.t", [3]int64{0, 3, 3}, "")
	early.Timestamp = 8
	s.add(0, early)
	if got := standing(s); len(got) != 1 || got[0].downstream != 5 {
		t.Errorf("%+v", got)
	}
}

func TestWeigh(t *testing.T) {
	syncs := func(f finding) finding { f.via = ViaSyncs; return f }
	all := limits{0, 100, true}
	for _, tt := range []struct {
		name     string
		findings []finding
		end      limits
		want     finding
	}{
		{
			"a checkpoint between two that were read",
			[]finding{{via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1}},
			all,
			finding{via: ViaCheckpoints, status: Bounded, offset: 50, most: 100, bound: 50},
		},
		{
			"syncs are nearer",
			[]finding{syncs(finding{status: Bounded, offset: 60, most: 70, bound: 4}), {via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1}},
			all,
			finding{via: ViaSyncs, status: Bounded, offset: 60, most: 70, bound: 4},
		},
		{
			"a checkpoint is nearer, the next sync bounds it",
			[]finding{syncs(finding{status: Bounded, offset: 40, most: 55, bound: 30}), {via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1}},
			all,
			finding{via: ViaCheckpoints, status: Bounded, offset: 50, most: 55, bound: 5},
		},
		{
			"nothing lies between",
			[]finding{syncs(finding{status: Bounded, offset: 60, most: unbounded, bound: 0})},
			all,
			finding{via: ViaSyncs, status: Exact, offset: 60, most: 100, bound: 0},
		},
		{
			"at the end, with something missing",
			[]finding{syncs(finding{status: Bounded, offset: 100, most: unbounded, bound: 7})},
			all,
			finding{via: ViaSyncs, status: Bounded, offset: 100, most: 100, bound: 7, note: "the target ends there: what is copied later may have been read already"},
		},
		{
			"at the end, unknown",
			[]finding{{via: ViaCheckpoints, status: Bounded, offset: 100, most: unbounded, bound: -1}},
			all,
			finding{via: ViaCheckpoints, status: Bounded, offset: 100, most: 100, bound: 0, note: "the target ends there; whether the copy has come to the commit is not known"},
		},
		{
			"no end is known",
			[]finding{{via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1}},
			limits{},
			finding{via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1},
		},
		{
			"what may come is said first",
			[]finding{syncs(finding{status: Unmapped, note: "a"}), {via: ViaCheckpoints, status: Pending, note: "b"}},
			all,
			finding{via: ViaCheckpoints, status: Pending, note: "b"},
		},
		{"times may lie", []finding{{via: ViaTimestamp, status: Bounded, offset: 9, most: unbounded, bound: 0}}, all, finding{via: ViaTimestamp, status: Bounded, offset: 9, most: 100, bound: 0}},
		{
			"an exact one of equals",
			[]finding{{via: ViaCheckpoints, status: Bounded, offset: 50, most: unbounded, bound: -1}, syncs(finding{status: Exact, offset: 50, most: 50})},
			all,
			finding{via: ViaSyncs, status: Exact, offset: 50, most: 50},
		},
	} {
		if got := weigh(tt.findings, tt.end); got != tt.want {
			t.Errorf("%s:\n%+v, want\n%+v", tt.name, got, tt.want)
		}
	}
}

func TestConfine(t *testing.T) {
	at := func(offset int64) finding {
		return finding{via: ViaCheckpoints, status: Bounded, offset: offset, bound: 3}
	}
	for _, tt := range []struct {
		name    string
		f       finding
		l       limits
		want    finding
		outside bool
	}{
		{"inside", at(5), limits{0, 9, true}, at(5), false},
		{"not known", at(50), limits{}, at(50), false},
		{"beyond an empty end", at(100), limits{0, 0, true}, finding{via: ViaCheckpoints, status: Bounded, note: "moved from 100 to the end, as the target is empty"}, true},
		{
			"beyond the end", at(100),
			limits{0, 50, true},
			finding{via: ViaCheckpoints, status: Unmapped, note: "100 lies beyond the target's end 50: the topic was made again there, or has lost records"},
			false,
		},
		{
			"before the start", at(5),
			limits{8, 50, true},
			finding{via: ViaCheckpoints, status: Bounded, offset: 8, bound: 3, note: "moved from 5 to the start: what lay before is gone on the target"},
			true,
		},
		{"0 is wherever the target begins", finding{status: Exact}, limits{8, 50, true}, finding{status: Exact, offset: 8}, false},
		{"nothing found", finding{status: Pending}, limits{8, 50, true}, finding{status: Pending}, false},
	} {
		if got, outside := tt.f.confine(tt.l); got != tt.want || outside != tt.outside {
			t.Errorf("%s: %+v %v, want %+v", tt.name, got, outside, tt.want)
		}
	}
}

func TestCheckpointAndCommit(t *testing.T) {
	e := &checkpoint{upstream: 500, downstream: 50, fell: 60}
	for _, tt := range []struct {
		position int64
		known    bool
		status   Status
		note     string
	}{
		{500, true, Bounded, "the checkpoint before was further, at 60"},
		{500, false, Bounded, "the checkpoint before was further, at 60"},
		{650, true, Bounded, "the checkpoint is for 500; the checkpoint before was further, at 60"},
		{300, true, Pending, "the group has gone back to 300 after its checkpoint, which is for 500"},
	} {
		if f := e.find(tt.position, tt.known); f.status != tt.status || f.note != tt.note {
			t.Errorf("%d: %+v", tt.position, f)
		}
	}
}

type fixedMap struct {
	runs   Runs
	copied int64
}

func (m fixedMap) Position(at Partition, p int64) (string, int64, int64, bool) {
	offset, ok := m.runs.Position(p)
	return "copy." + at.Topic, offset, m.copied, ok && at.Partition == 0
}

func TestOwnMap(t *testing.T) {
	m := fixedMap{Runs{{10, 0, 5}}, 15}
	for _, tt := range []struct {
		m      Map
		at     Partition
		p      int64
		topic  string
		status Status
		offset int64
	}{
		{m, spot("t", 0), 12, "copy.t", Exact, 2},
		{m, spot("t", 0), 15, "copy.t", Exact, 5},
		{m, spot("t", 0), 16, "copy.t", Pending, 5},
		{m, spot("t", 1), 12, "", Unmapped, 0},
		{nil, spot("t", 0), 12, "", Unmapped, 0},
	} {
		topic, f := inMap(tt.m, tt.at, tt.p)
		if topic != tt.topic || f.status != tt.status || f.offset != tt.offset || (f.note == "") != (f.status == Exact) {
			t.Errorf("%v %d: %s %+v", tt.at, tt.p, topic, f)
		}
	}
}

func TestReversedSyncs(t *testing.T) {
	back := syncsOf(100, 0, 150, 40).reversed(func(topic string) string { return "east." + topic })
	if f := back.find(Partition{Topic: "east.t"}, 41, limits{}); f.status != Bounded || f.offset != 151 {
		t.Errorf("%+v", f)
	}
	if f := back.find(Partition{Topic: "east.t"}, 0, limits{}); f.status != Exact || f.offset != 100 {
		t.Errorf("%+v", f)
	}
}

func FuzzTopicRecords(f *testing.F) {
	for _, r := range []*record.Record{checkpointRecord("g", "a.t", [3]int64{1, 5, 6}, "m"), syncRecord("t", 1, 5, 6), {Key: []byte{0}}, {Value: []byte{0}}} {
		f.Add(r.Key, r.Value, r.Key, r.Value)
	}
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte) {
		c, s := newCheckpoints(func(string) bool { return true }), newOffsetSyncs()
		for _, r := range []*record.Record{{Key: k1, Value: v1}, {Key: k2, Value: v2}, {Key: k1, Value: v2}} {
			c.add(0, r)
			s.add(r)
		}
		for _, e := range standing(c) {
			if e.upstream < 0 || e.downstream < 0 || e.at.Partition < 0 || e.deleted {
				t.Errorf("%+v", e)
			}
		}
		for at, list := range s.of {
			for i, one := range list {
				if i > 0 && (one.upstream <= list[i-1].upstream || one.downstream <= list[i-1].downstream) {
					t.Errorf("%v", list)
				}
				if got := s.find(at, one.upstream, limits{}); got.status != Exact || got.offset != one.downstream {
					t.Errorf("%v: %+v", one, got)
				}
			}
		}
		if c.seen != 3 || c.damage.Bad() > 3 || s.damage.Bad() > 3 {
			t.Errorf("%+v %+v", c.damage, s.damage)
		}
	})
}

// standing are the checkpoints that were not deleted.
func standing(s *checkpoints) (list []checkpoint) {
	for e := range s.all {
		list = append(list, *e)
	}
	return list
}
