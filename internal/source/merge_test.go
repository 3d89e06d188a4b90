package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// log is what one split holds in these tests.
type log struct {
	name    string
	records []found
	end     int64
}

// mill is a pipeline that merges logs, with a sink that keeps lines.
type mill struct {
	p      *pipeline
	splits []*split
	logs   map[*split]*log
	left   atomic.Int32
	stop   context.CancelFunc
	writes sync.WaitGroup
	ended  error

	mu    sync.Mutex
	lines []string
	at    []time.Time // when each was written
	trial func(format string, args ...any)
}

func (m *mill) Worker() Worker { return m }

func (m *mill) Prepare(c *Chunk, limit int) (Block, error) {
	b := Block{Next: c.next}
	for _, r := range m.logs[c.split].records {
		if r.offset < c.first || r.offset >= c.next {
			continue
		}
		if limit >= 0 && b.Written == limit {
			b.Next = r.offset
			break
		}
		b.Data = fmt.Appendf(b.Data, "%s@%d\n", c.split.Topic, r.offset)
		b.Written++
		b.Cuts = append(b.Cuts, Cut{Time: r.time, Offset: r.offset, End: len(b.Data)})
	}
	return b, nil
}

func (m *mill) Write(blocks []Block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range blocks {
		for line := range strings.Lines(string(b.Data)) {
			m.lines = append(m.lines, strings.TrimSuffix(line, "\n"))
			m.at = append(m.at, time.Now())
		}
	}
	return nil
}

func (m *mill) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

// written does of the engine's what counts here.
func (m *mill) written(c *Chunk, b Block, err error) {
	before := c.split.next
	over, all := c.split.advance(c, b.Next, err)
	if c.split.next < before {
		m.trial("%s went back from %d to %d", c.split, before, c.split.next)
	}
	if len(over) == 0 {
		return
	}
	if c.split.stopped = all; m.left.Add(-1) == 0 {
		m.stop()
	}
}

func newMill(o Options, logs ...*log) *mill {
	m := &mill{logs: map[*split]*log{}, trial: func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }}
	o.Sink, o.Order, o.OrderWait, o.Workers, o.Pool = m, OrderTimestamp, 2*time.Second, 2, new(batch.Pool)
	o.Limit = cmp.Or(o.Limit, -1)
	o.fill()
	m.p = newPipeline(o, m.written)
	r := &reader{e: &engine{Options: o, pipe: m.p}, name: "east"}
	for _, l := range logs {
		s := newSplit(r, splitKey{topic: l.name}, nil)
		until := l.end
		if !o.Exit {
			until = spec.Open
		}
		s.deliveries = []*delivery{{split: s, until: until, window: always}}
		s.bind()
		m.logs[s] = l
		m.splits = append(m.splits, s)
		m.p.merge.open(s)
	}
	m.left.Store(int32(len(logs)))
	return m
}

// run starts the writer and the workers.
func (m *mill) run(ctx context.Context) {
	ctx, m.stop = context.WithCancel(ctx)
	for range 2 {
		m.writes.Go(func() { m.p.prepare(ctx) })
	}
	m.writes.Go(func() {
		m.ended = m.p.write(ctx)
		m.stop()
	})
}

// put hands in what a split has from one offset up to another.
func (m *mill) put(s *split, from, to int64) {
	_ = m.p.put(context.Background(), &Chunk{Split: s.Split, split: s, spans: s.spans, first: from, next: to, batches: []batch.Raw{make(batch.Raw, 100)}})
	s.read.Store(to)
}

// merged is the order that a merge has to give: that of each record's latest time
// so far in its split.
func merged(logs []*log) (lines []string, back int64) {
	type key struct {
		time int64
		log  *log
		line string
	}
	var keys []key
	for _, l := range logs {
		high := int64(least)
		for i, r := range l.records {
			high = max(high, r.time)
			keys = append(keys, key{high, l, fmt.Sprintf("%s@%d", l.name, r.offset)})
			if i > 0 && r.time < high {
				back++
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.log.name, b.log.name))
	})
	for _, k := range keys {
		lines = append(lines, k.line)
	}
	return lines, back
}

// someLogs are logs with few different times, so that many are equal or go back,
// and with offsets that do not exist.
func someLogs(t *rapid.T) []*log {
	var logs []*log
	for i := range rapid.IntRange(1, 6).Draw(t, "splits") {
		l := &log{name: string(rune('a' + i))}
		for range rapid.IntRange(0, 30).Draw(t, "records") {
			l.end += rapid.Int64Range(0, 3).Draw(t, "gap")
			l.records = append(l.records, found{rapid.Int64Range(-1, 20).Draw(t, "time"), l.end})
			l.end++
		}
		l.end += rapid.Int64Range(0, 2).Draw(t, "rest")
		logs = append(logs, l)
	}
	return logs
}

// TestAMergeWithAnEndHasOneOrder hands splits in by pieces, in any order of these.
func TestAMergeWithAnEndHasOneOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := someLogs(t)
		limit := rapid.SampledFrom([]int64{-1, 1, 7, 40}).Draw(t, "limit")
		m := newMill(Options{Exit: true, Bounded: true, Limit: limit}, logs...)
		m.run(t.Context())
		type piece struct {
			split    *split
			from, to int64
		}
		var pieces [][]piece
		for _, s := range m.splits {
			var list []piece
			for at, end := int64(0), m.logs[s].end; at < end || len(list) == 0; {
				to := min(end, at+rapid.Int64Range(1, 12).Draw(t, "piece"))
				list, at = append(list, piece{s, at, to}), to
			}
			pieces = append(pieces, list)
		}
		for len(pieces) > 0 {
			i := rapid.IntRange(0, len(pieces)-1).Draw(t, "next")
			m.put(pieces[i][0].split, pieces[i][0].from, pieces[i][0].to)
			if pieces[i] = pieces[i][1:]; len(pieces[i]) == 0 {
				pieces = slices.Delete(pieces, i, i+1)
			}
		}
		m.writes.Wait()
		want, back := merged(logs)
		if limit >= 0 && int64(len(want)) >= limit {
			want = want[:limit]
			if !errors.Is(m.ended, errLimit) {
				t.Errorf("ended with %v", m.ended)
			}
		}
		if got := m.all(); !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
		late, wentBack := m.p.merge.counts()
		if late != 0 || limit < 0 && wentBack > back {
			t.Errorf("%d late, %d back of %d", late, wentBack, back)
		}
		m.checkPositions(t)
	})
}

// checkPositions demands that each split stands behind what was written of it, and
// behind nothing else.
func (m *mill) checkPositions(t *rapid.T) {
	wrote := map[string]bool{}
	for _, line := range m.lines {
		wrote[line] = true
	}
	for _, s := range m.splits {
		for _, r := range m.logs[s].records {
			if line := fmt.Sprintf("%s@%d", s.Topic, r.offset); wrote[line] != (r.offset < s.next) {
				t.Errorf("%s was written: %v, and the position is %d", line, wrote[line], s.next)
			}
		}
	}
}

// every makes a log of n records, from one time on.
func every(name string, n int, first, step int64) *log {
	l := &log{name: name, end: int64(n)}
	for i := range n {
		l.records = append(l.records, found{first + int64(i)*step, int64(i)})
	}
	return l
}

func (m *mill) wantLines(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := m.all(); !slices.Equal(got, want) {
		t.Fatalf("after %s: got %v, want %v", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), got, want)
	}
}

// follow runs a test of a merge without an end, in which time passes at once.
func follow(t *testing.T, test func(t *testing.T, now int64)) {
	synctest.Test(t, func(t *testing.T) { test(t, time.Now().UnixMilli()) })
}

func TestAFollowWaitsForAnIdleSplitNoLongerThanItMay(t *testing.T) {
	follow(t, func(t *testing.T, now int64) {
		m := newMill(Options{}, every("a", 3, now, 1), every("b", 3, now-1, 1))
		m.run(t.Context())
		a, b := m.splits[0], m.splits[1]
		m.put(a, 0, 1)
		time.Sleep(1900 * time.Millisecond)
		m.wantLines(t)
		time.Sleep(200 * time.Millisecond)
		m.wantLines(t, "a@0")
		m.put(a, 1, 2)
		m.put(b, 0, 2)                      // b@0 is below what was written, and b@1 not above a@1
		m.wantLines(t, "a@0", "b@0", "b@1") // a@1 waits for what b may have next
		m.put(b, 2, 3)
		m.wantLines(t, "a@0", "b@0", "b@1", "a@1") // and b@2 for a
		time.Sleep(2 * time.Second)
		m.wantLines(t, "a@0", "b@0", "b@1", "a@1", "b@2")
		m.stop()
		m.writes.Wait()
		if late, back := m.p.merge.counts(); late != 1 || back != 0 {
			t.Errorf("%d late, %d back", late, back)
		}
	})
}

// TestEarlierArrivalsDoNotHoldBackForEver has each record of b stand before that of
// a, which waits.
func TestEarlierArrivalsDoNotHoldBackForEver(t *testing.T) {
	follow(t, func(t *testing.T, now int64) {
		m := newMill(Options{}, every("a", 1, now+5000, 1), every("b", 40, now, 1), every("idle", 0, 0, 0))
		m.run(t.Context())
		m.put(m.splits[0], 0, 1)
		for i := range int64(30) {
			time.Sleep(100 * time.Millisecond)
			m.put(m.splits[1], i, i+1)
		}
		synctest.Wait()
		i := slices.Index(m.all(), "a@0")
		if i < 0 {
			t.Fatal("it is held back still")
		}
		began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		if waited := m.at[i].Sub(began); waited > 2100*time.Millisecond {
			t.Errorf("it was held back for %s", waited)
		}
		m.stop()
		m.writes.Wait()
	})
}

// TestHistoryPassesAnIdleSplitAtFullSpeed waits once and not again for every piece.
func TestHistoryPassesAnIdleSplitAtFullSpeed(t *testing.T) {
	follow(t, func(t *testing.T, now int64) {
		m := newMill(Options{}, every("a", 1000, now-100_000, 1), every("idle", 0, 0, 0))
		m.run(t.Context())
		for i := range int64(100) {
			time.Sleep(30 * time.Millisecond)
			m.put(m.splits[0], 10*i, 10*i+10)
		}
		synctest.Wait()
		if got := len(m.all()); got != 1000 {
			t.Errorf("%d of 1000 records after 3 s", got)
		}
		m.stop()
		m.writes.Wait()
	})
}

// TestWhatLiesInTheFuturePassesWhenNothingMoreCanBeRead has times that are never
// old enough, and a split that holds all it may.
func TestWhatLiesInTheFuturePassesWhenNothingMoreCanBeRead(t *testing.T) {
	follow(t, func(t *testing.T, now int64) {
		m := newMill(Options{Memory: 1}, every("a", 2000, now+1_000_000, 1), every("idle", 0, 0, 0))
		m.run(t.Context())
		time.Sleep(3 * time.Second)
		for i := range int64(1000) { // 100 bytes each: more than the least share
			m.put(m.splits[0], i, i+1)
		}
		synctest.Wait()
		if got := len(m.all()); got == 0 {
			t.Error("it stands still")
		}
		m.stop()
		m.writes.Wait()
	})
}

func TestAGivenUpReaderIsNotWaitedFor(t *testing.T) {
	follow(t, func(t *testing.T, now int64) {
		m := newMill(Options{Exit: true, Bounded: true}, every("a", 2, now, 1), every("b", 2, now, 1))
		lost := &reader{e: m.splits[0].r.e, name: "lost"}
		m.p.merge.await(lost, true)
		m.run(t.Context())
		m.put(m.splits[0], 0, 2)
		m.put(m.splits[1], 0, 1)
		time.Sleep(time.Hour)
		m.wantLines(t)
		m.p.merge.await(lost, false)
		m.wantLines(t, "a@0", "b@0")
		left := make(chan struct{})
		go func() {
			m.p.merge.leave(t.Context(), m.splits[0].r)
			close(left)
		}()
		<-left
		m.wantLines(t, "a@0", "b@0", "a@1")
		m.stop()
		m.writes.Wait()
	})
}

func TestEqualTimesGoByClusterTopicAndPartition(t *testing.T) {
	a := &lane{split: &split{Split: record.Split{Cluster: "a", Topic: "z", Partition: 9}}}
	b := &lane{split: &split{Split: record.Split{Cluster: "b", Topic: "a", Partition: 10}}}
	c := &lane{split: &split{Split: record.Split{Cluster: "b", Topic: "a", Partition: 9}}}
	m := &merger{lanes: []*lane{b, c, a}, of: map[*split]*lane{}, memory: 1}
	m.rank()
	if a.rank != 0 || c.rank != 1 || b.rank != 2 {
		t.Errorf("ranks %d, %d, %d", a.rank, c.rank, b.rank)
	}
}

func TestHeapGivesTheLeastKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h heads
		var want []headed
		for i, at := range rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 40).Draw(t, "times") {
			x := headed{time: at, rank: i}
			h.push(x)
			want = append(want, x)
		}
		slices.SortFunc(want, func(a, b headed) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rank, b.rank)) })
		for i, w := range want {
			if h[0] != w {
				t.Fatalf("%d is %v, want %v", i, h[0], w)
			}
			if next, some := h.second(); some != (i+1 < len(want)) || some && next != want[i+1] {
				t.Fatalf("behind %d comes %v", i, next)
			}
			h.pop()
		}
	})
}
