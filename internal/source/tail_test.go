package source

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/record"
)

// TestTheLastRecordsAreTheEndOfTheMergeOfEachSplitsLast also merges from where the
// splits begin, which has to give these records in this order.
func TestTheLastRecordsAreTheEndOfTheMergeOfEachSplitsLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := someLogs(t)
		n := rapid.IntRange(1, 60).Draw(t, "n")
		last := make([]*log, len(logs))
		for i, l := range logs {
			last[i] = &log{name: l.name, records: l.records[max(0, len(l.records)-n):]}
		}
		want, _ := merged(last)
		want = want[max(0, len(want)-n):]

		tail := newTail(Options{Tail: int64(n), Bounded: true})
		r := &reader{}
		tail.expect(r)
		for range 2 {
			if !tail.search(r) {
				t.Fatal("a reader may search again until it has handed in")
			}
		}
		splits := map[*split]*log{}
		for _, l := range rapid.Permutation(last).Draw(t, "order") {
			s := &split{Split: record.Split{Topic: l.name}, r: r}
			splits[s] = l
			tail.offer(picks(s, l.records))
		}
		begin, err := tail.choose(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var rest []*log
		for s, l := range splits {
			if from, some := begin[s]; some {
				i := slices.IndexFunc(l.records, func(f found) bool { return f.offset == from })
				rest = append(rest, &log{name: l.name, records: l.records[i:]})
			}
		}
		if got, _ := merged(rest); !slices.Equal(got, want) {
			t.Fatalf("the last %d are %v\nwant %v", n, got, want)
		}
	})
}

func TestASearchFindsTheLastRecordsBehindHoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &log{}
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			l.end += rapid.SampledFrom([]int64{0, 0, 1, 50}).Draw(t, "hole")
			l.records = append(l.records, found{l.end, l.end})
			l.end++
		}
		l.end += rapid.SampledFrom([]int64{0, 1, 200}).Draw(t, "rest")
		start := rapid.Int64Range(0, l.end).Draw(t, "start")
		n := rapid.IntRange(1, 50).Draw(t, "n")
		s := &search{n: n, start: start, end: l.end, from: l.end, pin: -1}
		var looked int64
		for steps := 0; s.next(); steps++ {
			if steps > 12 {
				t.Fatal("it goes back in too many steps")
			}
			looked += s.upTo - s.from
			for _, r := range l.records {
				if r.offset >= s.from && r.offset < s.upTo {
					s.step = append(s.step, r)
				}
			}
			s.ended()
		}
		var want []found
		for _, r := range l.records {
			if r.offset >= start {
				want = append(want, r)
			}
		}
		want = want[max(0, len(want)-n):]
		if !slices.Equal(s.list, want) {
			t.Fatalf("found %v, want %v", s.list, want)
		}
		if looked > l.end-start {
			t.Errorf("looked at %d of %d offsets", looked, l.end-start)
		}
	})
}

// TestManyOffersKeepTheLastOnly has far more records than are asked for.
func TestManyOffersKeepTheLastOnly(t *testing.T) {
	tail := newTail(Options{Tail: 10, Bounded: true})
	s := &split{Split: record.Split{Topic: "a"}}
	for i := range int64(500) {
		list := make([]found, 10)
		for k := range list {
			list[k] = found{10*i + int64(k), 10*i + int64(k)}
		}
		tail.offer(picks(s, list))
	}
	if len(tail.found) > 3*10+1024 {
		t.Errorf("%d are kept", len(tail.found))
	}
	tail.cut()
	if got := fmt.Sprint(tail.found[0].offset, len(tail.found)); got != "4990 10" {
		t.Errorf("the last ones begin at %s", got)
	}
}

// TestAFollowDoesNotWaitForAClusterThatGivesNoContact has one that never answers.
func TestAFollowDoesNotWaitForAClusterThatGivesNoContact(t *testing.T) {
	follow(t, func(t *testing.T, _ int64) {
		tail := newTail(Options{Tail: 1, OrderWait: 100})
		here, lost := &reader{}, &reader{}
		tail.expect(here)
		tail.expect(lost)
		tail.search(here)
		s := &split{r: here}
		tail.offer(picks(s, []found{{7, 3}}))
		begin, err := tail.choose(t.Context(), here)
		if err != nil || begin[s] != 3 || !tail.without(lost) || tail.without(here) {
			t.Errorf("begins at %v, %v", begin, err)
		}
		if tail.search(lost) {
			t.Error("it still takes part")
		}
	})
}
