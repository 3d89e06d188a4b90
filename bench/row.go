package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// row is one comparison: programs that take turns, and what kcm promises of them.
type row struct {
	name       string // for -rows: a family, a slash, a topic
	title      string
	note       string // what a reader of the table has to know
	contenders []contender
	bars       []promise
	latency    bool // the contenders follow, and records on their way are timed
}

// result is all runs of one contender.
type result struct {
	Name    string
	Samples []sample
	Records int        `json:",omitempty"` // that it read in each
	Delays  *quantiles `json:",omitempty"` // of the latency row
}

// spread is the least, the median and the greatest of a measured value.
type spread struct{ low, mid, high float64 }

func (r result) spread(of func(sample) float64) spread {
	var vs []float64
	for _, s := range r.Samples {
		vs = append(vs, of(s))
	}
	slices.Sort(vs)
	mid := vs[len(vs)/2]
	if len(vs)%2 == 0 {
		mid = (vs[len(vs)/2-1] + mid) / 2
	}
	return spread{vs[0], mid, vs[len(vs)-1]}
}

func (r result) wall() spread { return r.spread(func(s sample) float64 { return s.Wall.Seconds() }) }
func (r result) cpu() spread  { return r.spread(func(s sample) float64 { return s.CPU.Seconds() }) }
func (r result) rss() spread  { return r.spread(func(s sample) float64 { return float64(s.RSS) / 1e6 }) }

// outcome is a row that was measured.
type outcome struct {
	Row, Title, Note string
	Works            []string // what the topics hold
	Output           string   // where the output went
	When             time.Time
	Took             time.Duration
	Results          []result
	LeftOut          []string `json:",omitempty"` // programs that could not run, with the reason
	Bars             []bar
	Failed           string `json:",omitempty"`
}

// measureRow fills the topics, leaves out whom it has to, checks that the others
// give the records that they should, and lets them take turns.
func (k *kit) measureRow(ctx context.Context, r row) outcome {
	began := time.Now()
	out := outcome{Row: r.name, Title: r.title, Note: r.note, When: began.UTC().Truncate(time.Second)}
	var able []contender
	for _, c := range r.contenders {
		if why := k.lacks(c); why != "" {
			out.LeftOut = append(out.LeftOut, c.name+": "+why)
			fmt.Fprintf(k.stderr, "left out: %s: %s\n", c.name, why)
			continue
		}
		able = append(able, c)
	}
	if err := k.measureAble(ctx, r, able, &out); err != nil {
		out.Failed = err.Error()
	}
	out.Bars = judge(r.bars, out)
	out.Took = time.Since(began)
	return out
}

func (k *kit) measureAble(ctx context.Context, r row, able []contender, out *outcome) error {
	if r.latency {
		return k.probeAll(ctx, able, out)
	}
	for _, c := range able {
		if err := k.fill(ctx, c.work); err != nil {
			return err
		}
		if about := k.describe(c.work); !slices.Contains(out.Works, about) {
			out.Works = append(out.Works, about)
		}
	}
	out.Output = outputs(able)
	if err := k.checkCounts(ctx, able); err != nil {
		return err
	}
	return k.takeTurns(ctx, able, out)
}

// outputs names the places where the output goes.
func outputs(cs []contender) string {
	var text string
	var seen []place
	for _, c := range cs {
		if slices.Contains(seen, c.out) {
			continue
		}
		seen = append(seen, c.out)
		if text != "" {
			text += ", "
		}
		text += string(c.out)
	}
	return text
}

// checkCounts runs each contender once to see that it gives what it should; that
// also warms up.
func (k *kit) checkCounts(ctx context.Context, cs []contender) error {
	first := -1
	for _, c := range cs {
		_, n, err := k.once(ctx, c, true)
		if err != nil {
			return err
		}
		want := c.want
		switch {
		case want == 0:
			want = c.work.total()
		case want < 0 && first < 0:
			first, want = n, n
		case want < 0:
			want = first
		}
		if n != want || n == 0 {
			return fmt.Errorf("%s gave %d records, not %d", c.name, n, want)
		}
	}
	return nil
}

// takeTurns lets a slow minute of the machine hit all of them.
func (k *kit) takeTurns(ctx context.Context, cs []contender, out *outcome) error {
	out.Results = make([]result, len(cs))
	for i, c := range cs {
		out.Results[i].Name, out.Results[i].Records = c.name, c.work.total()
	}
	for turn := range max(k.o.runs, k.o.slowRuns) {
		for i, c := range cs {
			if c.slow && turn >= k.o.slowRuns || !c.slow && turn >= k.o.runs {
				continue
			}
			s, _, err := k.once(ctx, c, false)
			if err != nil {
				return err
			}
			fmt.Fprintf(k.stderr, "turn %d: %-30s %6.2fs  cpu %6.2fs  %4.0f MB\n",
				turn+1, c.name, s.Wall.Seconds(), s.CPU.Seconds(), float64(s.RSS)/1e6)
			out.Results[i].Samples = append(out.Results[i].Samples, s)
		}
	}
	return nil
}
