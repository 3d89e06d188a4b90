package source

import (
	"testing"

	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/spec"
)

// A delivery that was to end can go on only as long as nothing behind its end
// has been cut into chunks: they leave that out.
func TestWhatHasBeenLeftOutCannotGoOn(t *testing.T) {
	for _, c := range []struct {
		name         string
		ends, handed int64 // where it was to end, and up to where answers came after that
		want         bool
	}{
		{"nothing came", 0, 100, true},
		{"up to its end", 200, 200, true},
		{"behind its end", 0, 150, false},
		{"behind the log's end of that time", 120, 150, false},
	} {
		r := newReader(&engine{pipe: newPipeline(Options{Workers: 1, Sink: &swollen{}}, nil)}, "east", nil, nil)
		r.ctx = t.Context()
		d := &delivery{until: spec.Open, wish: spec.Open, window: always}
		s := newSplit(r, splitKey{topic: "orders"}, nil)
		s.deliveries = []*delivery{d}
		s.bound()
		s.chunks(fetch.Data{From: 0, Next: 100}, 0)
		s.read.Store(100)
		s.finishAt(d, c.ends)
		if c.handed > 100 {
			s.chunks(fetch.Data{From: 100, Next: c.handed}, 0)
			s.read.Store(c.handed)
		}
		if got := s.goOn(d); got != c.want {
			t.Errorf("%s: goes on: %v", c.name, got)
		}
		if c.want != (d.until == spec.Open) {
			t.Errorf("%s: until %d", c.name, d.until)
		}
	}
}
