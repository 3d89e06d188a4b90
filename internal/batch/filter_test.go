package batch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
)

// partition is a log of small batches, written as "a1 a2 b1 n1 a3 a! b. …": a
// letter is a producer (n none), a number a record of a transaction, "!" its
// abort and "." its commit; an upper-case letter writes outside transactions.
type partition struct {
	log     []byte
	aborted []batch.Aborted
	all     []string
	want    []string // what a reader of committed records sees
}

func written(script string) partition {
	var p partition
	open := map[byte][]int{} // by producer: where its records are in all
	first := map[byte]int64{}
	dropped := map[int]bool{}
	for offset, word := range strings.Fields(script) {
		who := word[0]
		id := int64(who|0x20) - 'a'
		switch {
		case word[1] == '!' || word[1] == '.':
			p.log = append(p.log, batchtest.Marker(int64(offset), id, 0, word[1] == '.')...)
			if word[1] == '!' && len(open[who]) > 0 {
				p.aborted = append(p.aborted, batch.Aborted{ProducerID: id, FirstOffset: first[who]})
				for _, i := range open[who] {
					dropped[i] = true
				}
			}
			delete(open, who)
			continue
		case who != 'n' && who > 'Z':
			if len(open[who]) == 0 {
				first[who] = int64(offset)
			}
			open[who] = append(open[who], len(p.all))
		}
		b := batchtest.New(batchtest.Record{Offset: int64(offset), Value: []byte(word)})
		if who != 'n' {
			b.ProducerID, b.ProducerEpoch, b.Sequence = id, 0, int32(offset)
			b.Transactional = who > 'Z'
		}
		p.log = append(p.log, b.Bytes()...)
		p.all = append(p.all, word)
	}
	for i, word := range p.all {
		if !dropped[i] {
			p.want = append(p.want, word)
		}
	}
	return p
}

// kept returns the values that pass f.
func passed(t *testing.T, log []byte, f *batch.Filter) []string {
	t.Helper()
	var got []string
	for b := log; ; {
		raw, h, rest, err := batch.Next(b)
		if errors.Is(err, batch.ErrCut) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if b = rest; f.Keep(h, raw) {
			recs, err := read(raw, 0)
			if err != nil || len(recs) != 1 {
				t.Fatal(recs, err)
			}
			got = append(got, string(recs[0].Value))
		}
	}
}

func TestFilter(t *testing.T) {
	for script, want := range map[string]string{
		"a1 a2 b1 n1 a3 a! b. c1 c2 c3 c!": "b1 n1",
		"a1 a! a2 a.":                      "a2",
		"a1 a. a2 a!":                      "a1",
		"a1 a! a2 a! a3 a. a4 a!":          "a3",
		"a1 b1 a! a2 b. a. b2 b!":          "b1 a2",
		"a1 a! A1 a2 a. A2":                "A1 a2 A2",
		"a1 A1 a2 a!":                      "A1",
		"a! b. n1":                         "n1",
		"a1 a. ":                           "a1",
		"a1 a! ":                           "",
	} {
		p := written(script)
		if got := strings.Join(passed(t, p.log, batch.NewFilter(p.aborted)), " "); got != want || got != strings.Join(p.want, " ") {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
		if got := passed(t, p.log, nil); !slices.Equal(got, p.all) {
			t.Errorf("%s: uncommitted reader got %v, want %v", script, got, p.all)
		}
	}
}

// TestFilterTakesAnyOrder because brokers do not promise one, and the list of a
// response may name transactions that began before its first batch.
func TestFilterTakesAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var words []string
		for i := range 40 {
			words = append(words, string("abcAn"[rng.IntN(5)])+fmt.Sprint(i))
			if rng.IntN(3) == 0 {
				words = append(words, string("abc"[rng.IntN(3)])+string("!."[rng.IntN(2)]))
			}
		}
		for _, who := range "abc" {
			words = append(words, string(who)+"!")
		}
		p := written(strings.Join(words, " "))
		list := slices.Clone(p.aborted)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		before := slices.Clone(list)
		if got := passed(t, p.log, batch.NewFilter(list)); !slices.Equal(got, p.want) {
			t.Fatalf("%v:\n got %v\nwant %v", words, got, p.want)
		}
		if !slices.Equal(list, before) {
			t.Fatal("the caller's list was changed")
		}
	}
}

func TestControlType(t *testing.T) {
	marker := func(key []byte, change func(*batchtest.Batch)) batch.Raw {
		b := batchtest.New(batchtest.Record{Offset: 1, Key: key, Value: make([]byte, 6)})
		b.ProducerID, b.Transactional, b.Control = 4, true, true
		if change != nil {
			change(&b)
		}
		return b.Bytes()
	}
	empty := batchtest.New(batchtest.Record{})
	empty.Control = true
	for name, c := range map[string]struct {
		raw  batch.Raw
		want string
	}{
		"abort":             {batchtest.Marker(5, 4, 0, false), "abort"},
		"commit":            {batchtest.Marker(5, 4, 0, true), "commit"},
		"abort, version 1":  {marker([]byte{0, 1, 0, 0}, nil), "abort"},
		"abort, longer":     {marker([]byte{0, 0, 0, 0, 9}, nil), "abort"},
		"leader change":     {marker([]byte{0, 0, 0, 2}, nil), "unknown"},
		"negative version":  {marker([]byte{0xff, 0, 0, 0}, nil), "unknown"},
		"short key":         {marker([]byte{0, 0, 0}, nil), "unknown"},
		"null key":          {marker(nil, nil), "unknown"},
		"no control batch":  {marker([]byte{0, 0, 0, 0}, func(b *batchtest.Batch) { b.Control = false }), "unknown"},
		"compressed":        {marker([]byte{0, 0, 0, 0}, func(b *batchtest.Batch) { b.Codec = batch.Gzip }), "unknown"},
		"without a record":  {empty.Wrap(0, nil), "unknown"},
		"with a cut record": {empty.Wrap(1, []byte{40, 0}), "unknown"},
		"message":           {batchtest.Message(1, batchtest.Record{}), "unknown"},
		"nothing":           {nil, "unknown"},
	} {
		if got := c.raw.ControlType().String(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
