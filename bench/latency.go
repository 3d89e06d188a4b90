package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// quantiles of the time from just before a record is produced to its line on
// stdout.
type quantiles struct {
	N                          int
	Least, P50, P90, P99, Most time.Duration
}

func quantilesOf(ds []time.Duration) *quantiles {
	ds = slices.Clone(ds)
	slices.Sort(ds)
	at := func(p float64) time.Duration { return ds[min(int(p*float64(len(ds))), len(ds)-1)] }
	return &quantiles{N: len(ds), Least: ds[0], P50: at(0.5), P90: at(0.9), P99: at(0.99), Most: ds[len(ds)-1]}
}

// latencyRow follows a topic to which a record comes every 20 ms.
func (k *kit) latencyRow() row {
	const topic = "kcm-bench-tail-" + runMark
	addr, _ := k.broker(east)
	return row{
		name:  "latency",
		title: "From producing to stdout, at the idle end",
		note: fmt.Sprintf("A record every %s, to one partition after the other, in %d rounds of %d; from just before it is handed to the producer to its line at the other end of the program's pipe, so the producer's way to the broker is in it. The kgo loop here writes its values as well.",
			probeEvery, k.o.rounds, k.o.probes),
		latency: true,
		contenders: []contender{
			{name: kcmRaw, argv: []string{k.kcm, "consume", "-b", east + "=" + addr, topic, "-o", "end", "-f", "raw"}},
			{name: kgoLoop, argv: []string{k.loop, "tail", addr, topic}},
			{name: kcatRaw, argv: []string{"kcat", "-b", addr, "-C", "-t", topic, "-o", "end", "-q", "-u"}, slow: true},
		},
		bars: []promise{{"99th percentile ms, kcm above the kgo loop", delay, kcmRaw, kgoLoop, 10}},
	}
}

// probeAll lets the programs take turns; those that are slow have one round.
func (k *kit) probeAll(ctx context.Context, cs []contender, out *outcome) error {
	out.Output = string(toPipe)
	out.Results = make([]result, len(cs))
	delays := make([][]time.Duration, len(cs))
	for turn := range k.o.rounds {
		for i, c := range cs {
			if c.slow && turn > 0 {
				continue
			}
			ds, err := k.probe(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			q := quantilesOf(ds)
			fmt.Fprintf(k.stderr, "turn %d: %-30s median %.1f ms, 99th percentile %.1f ms\n", turn+1, c.name, millis(q.P50), millis(q.P99))
			delays[i] = append(delays[i], ds...)
			out.Results[i] = result{Name: c.name, Delays: quantilesOf(delays[i])}
		}
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// probe runs c once, on a topic of its own.
func (k *kit) probe(ctx context.Context, c contender) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	addr, err := k.broker(east)
	if err != nil {
		return nil, err
	}
	k.runID++
	id := fmt.Sprintf("%x-%d", time.Now().UnixMilli(), k.runID)
	job := probeJob{Bootstrap: addr, Topic: "kcm-bench-tail-" + id, Records: k.o.probes}
	for _, a := range c.argv {
		job.Argv = append(job.Argv, strings.ReplaceAll(a, runMark, id))
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	out, err := k.child(ctx, probeWord, string(text))
	if err != nil {
		return nil, err
	}
	var ds []time.Duration
	if err := json.Unmarshal(out, &ds); err != nil {
		return nil, err
	}
	if len(ds) != k.o.probes {
		return nil, fmt.Errorf("%d of %d records came", len(ds), k.o.probes)
	}
	return ds, nil
}
