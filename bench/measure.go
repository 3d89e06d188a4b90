package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is one run of one contender.
type sample struct {
	wall time.Duration
	cpu  time.Duration // user and system time of the process
	rss  int64         // peak resident bytes; 0 where the system does not tell
}

// result is all runs of one contender.
type result struct {
	name    string
	samples []sample
}

// spread is the least, the median and the greatest of a measured value.
type spread struct{ low, mid, high float64 }

func (r result) spread(of func(sample) float64) spread {
	var vs []float64
	for _, s := range r.samples {
		vs = append(vs, of(s))
	}
	slices.Sort(vs)
	mid := vs[len(vs)/2]
	if len(vs)%2 == 0 {
		mid = (vs[len(vs)/2-1] + mid) / 2
	}
	return spread{vs[0], mid, vs[len(vs)-1]}
}

func (r result) wall() spread { return r.spread(func(s sample) float64 { return s.wall.Seconds() }) }
func (r result) cpu() spread  { return r.spread(func(s sample) float64 { return s.cpu.Seconds() }) }
func (r result) rss() spread  { return r.spread(func(s sample) float64 { return float64(s.rss) / 1e6 }) }

// measureAll checks once that every contender yields every record, then lets
// them take turns, so that a slow minute of the machine hits all of them.
func measureAll(ctx context.Context, o options, cs []contender, stderr io.Writer) ([]result, error) {
	for _, c := range cs {
		n, err := countRecords(ctx, c)
		if err != nil {
			return nil, err
		}
		if n != o.records {
			return nil, fmt.Errorf("%s gave %d records, not %d", c.name, n, o.records)
		}
	}
	fmt.Fprintf(stderr, "each of %d contenders gave %d records\n", len(cs), o.records)
	results := make([]result, len(cs))
	for i := range cs {
		results[i].name = cs[i].name
	}
	for turn := range o.warmups + o.runs {
		for i, c := range cs {
			s, err := measure(ctx, c)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(stderr, "turn %d: %-17s %6.2fs  cpu %6.2fs  %4.0f MB\n",
				turn-o.warmups+1, c.name, s.wall.Seconds(), s.cpu.Seconds(), float64(s.rss)/1e6)
			if turn >= o.warmups {
				results[i].samples = append(results[i].samples, s)
			}
		}
	}
	return results, nil
}

// measure runs c with its output thrown away by the kernel.
func measure(ctx context.Context, c contender) (sample, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return sample{}, err
	}
	defer func() { _ = null.Close() }()
	cmd, problems := command(ctx, c)
	cmd.Stdout = null
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s", c.name, err, problems)
	}
	wall := time.Since(began)
	ps := cmd.ProcessState
	return sample{wall: wall, cpu: ps.UserTime() + ps.SystemTime(), rss: peakRSS(ps)}, nil
}

// countRecords runs c once more, into a pipe, and counts what it gives.
func countRecords(ctx context.Context, c contender) (int, error) {
	cmd, problems := command(ctx, c)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	lines, last, err := countLines(out)
	if waitErr := cmd.Wait(); waitErr != nil {
		return 0, fmt.Errorf("%s: %w\n%s", c.name, waitErr, problems)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	if c.printsCount {
		return strconv.Atoi(strings.TrimSpace(last))
	}
	return lines, nil
}

// countLines counts the line ends of r and returns the last bytes with them.
func countLines(r io.Reader) (lines int, last string, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		lines += bytes.Count(buf[:n], []byte("\n"))
		if n > 0 {
			last = string(buf[max(0, n-64):n])
		}
		if err == io.EOF {
			return lines, last, nil
		}
		if err != nil {
			return lines, last, err
		}
	}
}

func command(ctx context.Context, c contender) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	problems := new(bytes.Buffer)
	cmd.Stderr = problems
	return cmd, problems
}
