//go:build kafka

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// place is a topic of a cluster.
type place struct{ cluster, topic string }

func (p place) String() string { return p.cluster + "/" + p.topic }

// ledger takes lines of -J and knows of each split of each stream which record
// has to come next and when the last one came. A record's value has to be
// cluster/topic/partition/offset.
type ledger struct {
	mu     sync.Mutex
	splits map[string]*track
	faults []string
}

// track is one split: its key is stream@cluster/topic/partition.
type track struct {
	next int64
	last time.Time
	gaps []span // between two records, those worth noting
}

type span struct{ from, to time.Time }

func (s span) length() time.Duration { return s.to.Sub(s.from) }

// worthNoting is far above what lies between two records of a steady writer.
const worthNoting = 10 * time.Millisecond

func newLedger() *ledger { return &ledger{splits: map[string]*track{}} }

// take is for option each.
func (g *ledger) take(line []byte) { g.enter(line, time.Now()) }

func (g *ledger) enter(line []byte, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	split, offset, err := entry(line)
	if err != nil {
		g.faults = append(g.faults, err.Error())
		return
	}
	s := g.splits[split]
	if s == nil {
		s = &track{}
		g.splits[split] = s
	} else if now.Sub(s.last) >= worthNoting {
		s.gaps = append(s.gaps, span{s.last, now})
	}
	s.last = now
	switch {
	case offset < s.next:
		g.faults = append(g.faults, fmt.Sprintf("%s: offset %d again, behind %d", split, offset, s.next-1))
		return
	case offset > s.next:
		g.faults = append(g.faults, fmt.Sprintf("%s: lost %d to %d", split, s.next, offset-1))
	}
	s.next = offset + 1
}

// entry reads the members that matter; their order is fixed.
func entry(line []byte) (split string, offset int64, err error) {
	rest, ok := line, true
	member := func(open, end string) string {
		_, after, found := bytes.Cut(rest, []byte(open))
		text, left, ended := bytes.Cut(after, []byte(end))
		ok = ok && found && ended
		rest = left
		return string(text)
	}
	stream, cluster, topic := member(`{"stream":"`, `"`), member(`"cluster":"`, `"`), member(`"topic":"`, `"`)
	partition, number, value := member(`"partition":`, ","), member(`"offset":`, ","), member(`"value":"`, `"`)
	offset, bad := strconv.ParseInt(number, 10, 64)
	if want := cluster + "/" + topic + "/" + partition + "/" + number; !ok || bad != nil || value != want {
		return "", 0, fmt.Errorf("not the record that was written at %s: %.300q", want, line)
	}
	return stream + "@" + cluster + "/" + topic + "/" + partition, offset, nil
}

// next returns how many records of a split have come.
func (g *ledger) next(split string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.splits[split]; s != nil {
		return s.next
	}
	return 0
}

// known are the splits of which a record has come.
func (g *ledger) known() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for split := range g.splits {
		all = append(all, split)
	}
	slices.Sort(all)
	return all
}

// widest returns the longest time without a record of a split, of those that
// reach into w.
func (g *ledger) widest(split string, w span) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.splits[split]
	if s == nil {
		return 0
	}
	most := time.Duration(0)
	if s.last.Before(w.to) {
		most = w.to.Sub(s.last)
	}
	for _, gap := range s.gaps {
		if gap.to.After(w.from) && gap.from.Before(w.to) {
			most = max(most, gap.length())
		}
	}
	return most
}

// wrong are the faults so far, with the rest of many counted.
func (g *ledger) wrong() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.faults) > 20 {
		return append(slices.Clone(g.faults[:20]), fmt.Sprintf("and %d more", len(g.faults)-20))
	}
	return slices.Clone(g.faults)
}

// check fails the test for every record that was lost, repeated or not in order.
func (g *ledger) check(t *testing.T) {
	t.Helper()
	for _, f := range g.wrong() {
		t.Error(f)
	}
}

func TestTheLedgerFindsEveryFault(t *testing.T) {
	at := time.Now()
	for name, tc := range map[string]struct {
		lines []string
		want  string
	}{
		"whole":           {[]string{"0 0", "1 0", "0 1", "0 2", "1 1"}, ""},
		"lost":            {[]string{"0 0", "0 3"}, "orders@east/t/0: lost 1 to 2"},
		"lost at first":   {[]string{"1 2"}, "orders@east/t/1: lost 0 to 1"},
		"repeated":        {[]string{"0 0", "0 1", "0 1"}, "orders@east/t/0: offset 1 again, behind 1"},
		"out of order":    {[]string{"0 0", "0 2", "0 1"}, "orders@east/t/0: lost 1 to 1; orders@east/t/0: offset 1 again, behind 2"},
		"all over again":  {[]string{"0 0", "0 1", "0 0", "0 1"}, "orders@east/t/0: offset 0 again, behind 1; orders@east/t/0: offset 1 again, behind 1"},
		"another's value": {[]string{"0 0 east/t/0/1"}, "not the record that was written at east/t/0/0"},
	} {
		g := newLedger()
		for i, l := range tc.lines {
			var p, o int
			value := ""
			if n, _ := fmt.Sscanf(l, "%d %d %s", &p, &o, &value); n == 2 {
				value = fmt.Sprintf("east/t/%d/%d", p, o)
			}
			g.enter(fmt.Appendf(nil, `{"stream":"orders","cluster":"east","topic":"t","partition":%d,"offset":%d,"timestamp":1,"timestamp_type":"create","key":null,"value":"%s","headers":[]}`, p, o, value),
				at.Add(time.Duration(i)*time.Second))
		}
		got := strings.Join(g.wrong(), "; ")
		if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	g := newLedger()
	g.enter([]byte("kcm: a line that is no record"), at)
	if len(g.wrong()) != 1 {
		t.Errorf("a line that is no record passes: %q", g.wrong())
	}
}

func TestTheLedgerMeasuresPauses(t *testing.T) {
	g, at := newLedger(), time.Now()
	for i, ms := range []int{0, 5, 10, 300, 305, 900} {
		g.enter(fmt.Appendf(nil, `{"stream":"s","cluster":"c","topic":"t","partition":0,"offset":%d,"timestamp":1,"value":"c/t/0/%d"}`, i, i), at.Add(time.Duration(ms)*time.Millisecond))
	}
	g.check(t)
	for _, tc := range []struct{ from, to, want int }{
		{0, 9, 0}, {0, 11, 290}, {100, 200, 290}, {301, 304, 0}, {200, 800, 595}, {310, 320, 595}, {700, 1000, 595}, {901, 1000, 100}, {901, 2000, 1100},
	} {
		w := span{at.Add(time.Duration(tc.from) * time.Millisecond), at.Add(time.Duration(tc.to) * time.Millisecond)}
		if got := g.widest("s@c/t/0", w); got != time.Duration(tc.want)*time.Millisecond {
			t.Errorf("%d to %d ms: %v, want %d ms", tc.from, tc.to, got, tc.want)
		}
	}
}

// scribe writes to topics of one cluster all the time, a few records every few
// milliseconds, each acknowledged, whose values a ledger knows.
type scribe struct {
	t    *testing.T
	c    *kafkatest.Cluster
	cl   *kgo.Client
	ends chan struct{} // closed when all is written
	stop chan struct{}

	mu     sync.Mutex
	splits []*written
}

// written is one split of a scribe's.
type written struct {
	at        place
	partition int32
	sent      int64
	acked     atomic.Int64
}

// write starts a scribe, who ends after total records in all, or with stopped.
func write(t *testing.T, c *kafkatest.Cluster, perSecond, total int) *scribe {
	t.Helper()
	s := &scribe{
		t: t, c: c, ends: make(chan struct{}), stop: make(chan struct{}),
		cl: c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression())),
	}
	go s.run(perSecond, total)
	t.Cleanup(func() { s.stopped() })
	return s
}

// add has partitions of a topic written to from now on.
func (s *scribe) add(topic string, partitions int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range partitions {
		s.splits = append(s.splits, &written{at: place{s.c.Name(), topic}, partition: p})
	}
}

func (s *scribe) run(perSecond, total int) {
	defer close(s.ends)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began, turn, sent := time.Now(), 0, 0
	for sent < total {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		due := min(total, int(time.Since(began).Seconds()*float64(perSecond)))
		s.mu.Lock()
		for ; sent < due && len(s.splits) > 0; sent++ {
			s.send(s.splits[turn%len(s.splits)])
			turn++
		}
		s.mu.Unlock()
	}
}

func (s *scribe) send(w *written) {
	r := &kgo.Record{Topic: w.at.topic, Partition: w.partition, Value: fmt.Appendf(nil, "%s/%d/%d", w.at, w.partition, w.sent)}
	w.sent++
	s.cl.Produce(context.WithoutCancel(s.t.Context()), r, func(r *kgo.Record, err error) {
		if err != nil {
			s.t.Errorf("write to %s: %v", w.at, err)
			return
		}
		w.acked.Add(1)
	})
}

// stopped ends the scribe and returns when all is written.
func (s *scribe) stopped() {
	s.t.Helper()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	<-s.ends
	s.flush()
}

// finished waits for the last of the scribe's records.
func (s *scribe) finished() {
	s.t.Helper()
	select {
	case <-s.ends:
	case <-time.After(10 * time.Minute):
		s.t.Fatal("the scribe does not end")
	}
	s.flush()
}

func (s *scribe) flush() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
	defer cancel()
	if err := s.cl.Flush(ctx); err != nil {
		s.t.Errorf("flush: %v", err)
	}
}

// acked returns how many records each split has by now.
func (s *scribe) acked() map[place][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[place][]int64{}
	for _, w := range s.splits {
		all[w.at] = append(all[w.at], w.acked.Load())
	}
	return all
}
