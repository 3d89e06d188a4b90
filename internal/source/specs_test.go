package source_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// log is one partition as others see it.
type log struct {
	topic              string
	partition          int32
	start, stable, end int64
	group              int64 // commit; -1 is none
	records            []*kgo.Record
	committed          map[int64]bool // offsets of records that read_committed gives
}

// midnight is when the logs of TestEverySpec begin, and hour when it is read.
var (
	midnight = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	hour     = midnight.Add(time.Hour)
)

// ticks are n records in a partition, one each ten seconds from second first on.
func ticks(partition int32, first, n int) (list []kafkatest.Record) {
	for i := range n {
		at := midnight.Add(time.Duration(first+10*i) * time.Second)
		list = append(list, kafkatest.Record{Partition: partition, Value: []byte("v"), Time: at.UnixMilli()})
	}
	return list
}

// logs fills a topic with partitions of every shape.
func logs(t *testing.T, c *kafkatest.Cluster, topic, group string) []log {
	t.Helper()
	c.CreateTopic(topic, 10, nil)
	commits := map[int32]int64{0: 5, 1: 3, 3: 10, 4: 6, 5: 999, 8: 1, 9: 0}
	c.Produce(topic, ticks(0, 0, 20)...)
	c.Produce(topic, ticks(1, 0, 20)...)
	c.DeleteRecords(topic, 1, 7)
	// 2 stays empty.
	c.Produce(topic, ticks(3, 0, 10)...)
	c.DeleteRecords(topic, 3, 10)
	tx := c.Begin(topic)
	tx.Produce(topic, ticks(4, 0, 5)...)
	tx.Commit()
	for i, end := range []func(){tx.Abort, tx.Commit, tx.Abort} { // ends with a marker
		tx.Again()
		tx.Produce(topic, ticks(4, 50+30*i, 3)...)
		end()
	}
	c.Produce(topic, ticks(5, 0, 4)...)
	tx.Again() // stays open
	tx.Produce(topic, ticks(5, 40, 3)...)
	tx.Produce(topic, ticks(7, 0, 2)...)
	c.Produce(topic, ticks(5, 70, 2)...)
	c.Produce(topic, ticks(7, 20, 2)...)
	for _, s := range []int{50, 10, 90, 0, 60, 20, 100} {
		c.Produce(topic, ticks(6, s, 1)...)
	}
	c.Produce(topic, ticks(8, 30, 1)...)
	other := c.Begin(topic + "-other")
	other.Produce(topic, ticks(9, 0, 3)...)
	other.Abort() // nothing but what was aborted
	for p, at := range commits {
		c.Commit(group, topic, p, at)
	}
	list := make([]log, 10)
	for p := range list {
		list[p] = log{topic: topic, partition: int32(p), group: -1, committed: map[int64]bool{}}
		if at, ok := commits[int32(p)]; ok {
			list[p].group = at
		}
	}
	survey(t, c, topic, list)
	return list
}

// survey fills in what ordinary clients find.
func survey(t *testing.T, c *kafkatest.Cluster, topic string, list []log) {
	t.Helper()
	eventually(t, "the transactions that were ended are", func() bool {
		starts, err1 := c.Admin().ListStartOffsets(t.Context(), topic)
		stables, err2 := c.Admin().ListCommittedOffsets(t.Context(), topic)
		ends, err3 := c.Admin().ListEndOffsets(t.Context(), topic)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		for p := range list {
			s, _ := starts.Lookup(topic, int32(p))
			m, _ := stables.Lookup(topic, int32(p))
			e, _ := ends.Lookup(topic, int32(p))
			list[p].start, list[p].stable, list[p].end = s.Offset, m.Offset, e.Offset
		}
		return list[4].end == 18 && list[4].stable == 18 && list[9].stable == 4 && list[9].end == 4
	})
	if list[5].stable != 4 || list[7].stable != 0 {
		t.Fatalf("the open transaction is not: %+v", list)
	}
	for _, level := range []kgo.IsolationLevel{kgo.ReadUncommitted(), kgo.ReadCommitted()} {
		each(t, c, list, level, func(l *log, r *kgo.Record) {
			if level == kgo.ReadCommitted() {
				l.committed[r.Offset] = true
			} else {
				l.records = append(l.records, r)
			}
		})
	}
}

// each gives every record of a topic as an ordinary client reads it, up to the
// markers at the ends.
func each(t *testing.T, c *kafkatest.Cluster, list []log, level kgo.IsolationLevel, take func(*log, *kgo.Record)) {
	t.Helper()
	topic := list[0].topic
	at := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	for _, l := range list {
		if end := map[bool]int64{true: l.stable, false: l.end}[level == kgo.ReadCommitted()]; l.start < end {
			at[l.partition], left[l.partition] = kgo.NewOffset().At(l.start), end
		}
	}
	cl, err := kgo.NewClient(append(c.ClientOpts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				take(&list[r.Partition], r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
}

// place is a start or stop, worked out by hand for a log that ends at end.
type placing func(l *log, end int64) (offset int64, noted bool)

func within(l *log, end, n int64) int64 { return min(max(n, l.start), end) }

// The ways to say a place; noted is what a user has to be told of.
func fromStart(n int64) placing {
	return func(l *log, end int64) (int64, bool) { return within(l, end, l.start+n), l.start+n > end }
}

func fromEnd(n int64) placing {
	return func(l *log, end int64) (int64, bool) { return within(l, end, end-n), false }
}

func at(n int64) placing {
	return func(l *log, end int64) (int64, bool) { return within(l, end, n), n < l.start || n > end }
}

func committedBy() placing {
	return func(l *log, end int64) (int64, bool) {
		if l.group < 0 {
			return l.start, true
		}
		return within(l, end, l.group), l.group < l.start || l.group > end
	}
}

// atTime is the first record of that many seconds or later.
func atTime(seconds float64) placing {
	return func(l *log, end int64) (int64, bool) {
		ms := midnight.UnixMilli() + int64(seconds*1000)
		for _, r := range l.records {
			if r.Timestamp.UnixMilli() >= ms {
				return min(r.Offset, end), false
			}
		}
		return end, false
	}
}

func stopAt(n int64) placing {
	return func(l *log, end int64) (int64, bool) { return min(n, end), n < l.start || n > end }
}

// specCase is a spec and what it means.
type specCase struct {
	text         string
	start, stop  placing
	since, until float64 // seconds; NaN is none
}

var none = math.NaN()

func specCases(group string) []specCase {
	stamp := func(s float64, layout string) string {
		return midnight.Add(time.Duration(s * float64(time.Second))).Format(layout)
	}
	end := fromEnd(0)
	list := []specCase{
		{"start", fromStart(0), end, none, none},
		{"earliest", fromStart(0), end, none, none},
		{"oldest", fromStart(0), end, none, none},
		{"beginning", fromStart(0), end, none, none},
		{"end", end, end, none, none},
		{"latest", end, end, none, none},
		{"newest", end, end, none, none},
		{"group:" + group, committedBy(), end, none, none},
		{":end", fromStart(0), end, none, none},
	}
	for _, n := range []int64{0, 1, 2, 3, 5, 6, 9, 10, 15, 18, 19, 20, 21, 5000, math.MaxInt64} {
		text := fmt.Sprint(n)
		list = append(list,
			specCase{"start+" + text, fromStart(min(n, 1<<40)), end, none, none}, specCase{"+" + text, fromStart(min(n, 1<<40)), end, none, none},
			specCase{"end-" + text, fromEnd(min(n, 1<<40)), end, none, none}, specCase{"-" + text, fromEnd(min(n, 1<<40)), end, none, none},
			specCase{text, at(n), end, none, none}, specCase{text + ":end", at(n), end, none, none},
			specCase{":" + text, fromStart(0), stopAt(n), none, none})
		for _, m := range []int64{n, n + 1, n + 4, 20} {
			if m >= n && n < math.MaxInt64 {
				list = append(list, specCase{fmt.Sprintf("%d:%d", n, m), at(n), stopAt(m), none, none})
			}
		}
	}
	for _, s := range []float64{-3600, 0, 9.999, 10, 10.001, 35, 50, 55, 69, 100, 190, 191, 3599} {
		t1, t2 := atTime(s), atTime(s+40)
		list = append(list,
			specCase{"@" + stamp(s, "2006-01-02T15:04:05.999Z07:00"), t1, end, s, none},
			specCase{"@" + stamp(s, "2006-01-02T15:04:05.999") + ":", t1, end, s, none},
			specCase{"@" + fmt.Sprint(midnight.UnixMilli()+int64(s*1000)), t1, end, s, none},
			specCase{"@" + fmt.Sprintf("%d000000:", midnight.UnixMilli()+int64(s*1000)), t1, end, s, none},
			specCase{"@:" + stamp(s, time.RFC3339Nano), fromStart(0), t1, none, s},
			specCase{"@" + stamp(s, time.RFC3339Nano) + ":40s", t1, t2, s, s + 40},
			specCase{"@" + stamp(s, time.RFC3339Nano) + ":" + stamp(s+40, "2006-01-02T15:04:05.999"), t1, t2, s, s + 40})
		if s == math.Trunc(s) {
			list = append(list, specCase{"@" + fmt.Sprint(midnight.Unix()+int64(s)), t1, end, s, none},
				specCase{fmt.Sprintf("@-%ds", int64(3600-s)), t1, end, s, none},
				specCase{fmt.Sprintf("@:-%ds", int64(3600-s)), fromStart(0), t1, none, s})
		}
	}
	return append(list,
		specCase{"@2024-01-01", atTime(0), end, 0, none}, specCase{"@2024-01-01T00:01", atTime(60), end, 60, none},
		specCase{"@2024-01-01T02:01:00+02:00:1m", atTime(60), atTime(120), 60, 120},
		specCase{"@2024-01-01:1d", atTime(0), atTime(86400), 0, 86400}, specCase{"@-1h:-59m", atTime(0), atTime(60), 0, 60},
		specCase{"@:2024-01-02", fromStart(0), atTime(86400), none, 86400}, specCase{"@2023-12-31:2024-01-01", atTime(-86400), atTime(0), -86400, 0},
		specCase{"@:2025-01-01", fromStart(0), atTime(366 * 86400), none, 366 * 86400}, specCase{"@2025-01-01", atTime(366 * 86400), end, 366 * 86400, none},
		specCase{"@-1h30m:+31m", atTime(-1800), atTime(60), -1800, 60})
}

// wants are the offsets that a case gives of a log, and whether its place has to
// be told.
func (sc specCase) wants(l *log, committed bool) (offsets []int64, noted bool) {
	end := l.end
	if committed {
		end = l.stable
	}
	from, n1 := sc.start(l, end)
	until, n2 := sc.stop(l, end)
	for _, r := range l.records {
		s := float64(r.Timestamp.UnixMilli()-midnight.UnixMilli()) / 1000
		if r.Offset >= from && r.Offset < min(until, end) && !(s < sc.since) && !(s >= sc.until) && (!committed || l.committed[r.Offset]) {
			offsets = append(offsets, r.Offset)
		}
	}
	return offsets, n1 || n2
}

// TestEverySpec reads partitions of every shape by every form of a spec, at both
// levels of isolation, and compares with what an ordinary client has found there.
func TestEverySpec(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		c, topic, group := rig.Cluster("east"), rig.Name("specs"), rig.Name("group")
		list := logs(t, c, topic, group)
		cases := specCases(group)
		for _, committed := range []bool{false, true} {
			read := func(values []string, of func(p int32) specCase) {
				t.Helper()
				got, noted := readSpecs(t, c, topic, values, committed)
				for i := range list {
					l := &list[i]
					want, tell := of(l.partition).wants(l, committed)
					if !slices.Equal(got[l.partition], want) || noted != nil && noted[l.partition] != tell {
						t.Errorf("-o %q, committed %v, %s, partition %d (%d, %d, %d; group %d): offsets %v, told %v; want %v, %v",
							values, committed, of(l.partition).text, i, l.start, l.stable, l.end, l.group, got[l.partition], noted[l.partition], want, tell)
					}
				}
			}
			for _, sc := range cases {
				read([]string{sc.text}, func(int32) specCase { return sc })
			}
			// Several for one partition: the most exact one holds, wherever it stands.
			rng := rand.New(rand.NewPCG(1, uint64(len(cases))))
			for range 40 {
				pick := func() specCase { return cases[rng.IntN(len(cases))] }
				all, p1, p4, p6 := pick(), pick(), pick(), pick()
				values := []string{
					all.text, "1=" + pick().text, "east/1=" + p1.text, "4=" + pick().text, "east/4=" + pick().text, topic + ":4=" + p4.text,
					"east/" + topic + ":6=" + p6.text, topic + ":6=" + pick().text, "west/5=" + pick().text, "nope:5=" + pick().text, "7=" + pick().text, "7=" + all.text,
				}
				if rng.IntN(2) == 0 {
					slices.Reverse(values[:10])
				}
				read(values, func(p int32) specCase {
					if sc, ok := map[int32]specCase{1: p1, 4: p4, 6: p6}[p]; ok {
						return sc
					}
					return all
				})
			}
		}
	})
}

// readSpecs runs the engine once over the topic and returns the offsets that came
// of each partition, and which of them were told of; nil when those are too many.
func readSpecs(t *testing.T, c *kafkatest.Cluster, topic string, values []string, committed bool) (got map[int32][]int64, noted map[int32]bool) {
	t.Helper()
	r := newRun(t, []*kafkatest.Cluster{c}, stream("s", topic, "east")).bounded()
	r.opts.Wants[0].Committed = committed
	got, noted = map[int32][]int64{}, map[int32]bool{}
	many := false
	r.opts.Event = func(ev source.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case ev.Kind != source.Note:
		case ev.Split.Topic == "": // too many to be told one by one
			many = true
		case ev.Depth == 0:
			noted[ev.Split.Partition] = true
		}
	}
	var err error
	if r.opts.Offsets, err = spec.ParseOffsets(values, hour); err != nil {
		t.Fatalf("%q: %v", values, err)
	}
	if _, err := r.run(t.Context()); err != nil {
		t.Fatalf("%q: %v", values, err)
	}
	for _, line := range r.sink.all() {
		var p int32
		var offset int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(line, "s east/"+topic+"/"), "%d@%d", &p, &offset); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		got[p] = append(got[p], offset)
	}
	if many {
		noted = nil
	}
	return got, noted
}
