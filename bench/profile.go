package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// profile runs the contender that the first bar of a row is about, some times,
// with profiles, and prints the functions that took the most CPU time and those
// that held the most memory when the process was at its largest.
func (k *kit) profile(ctx context.Context, name string, stdout io.Writer) error {
	rows, err := choose(k.rows(), name)
	if err != nil {
		return err
	}
	profiled := filepath.Join(k.dir, "profiled")
	if err := build(ctx, profiled, module+"/bench/profiled"); err != nil {
		return err
	}
	for _, c := range rows[0].contenders {
		if c.name != rows[0].bars[0].a || rows[0].latency {
			continue
		}
		if why := k.lacks(c); why != "" {
			return fmt.Errorf("%s: %s", c.name, why)
		}
		return k.profileOne(ctx, c, profiled, stdout)
	}
	return errors.New("this row has no program that runs to an end")
}

func (k *kit) profileOne(ctx context.Context, c contender, profiled string, stdout io.Writer) error {
	if err := k.fill(ctx, c.work); err != nil {
		return err
	}
	dir := filepath.Join(k.dir, "profiles")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c.argv = append([]string{profiled, filepath.Join(dir, runMark)}, c.argv[1:]...)
	runs := 4 * k.o.runs // a run is short: 45 samples in the fastest row
	for range runs {
		if _, _, err := k.once(ctx, c, false); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%d runs of %s, %s\n\n", runs, c.name, k.describe(c.work))
	for _, args := range [][]string{
		{"-flat", filepath.Join(dir, "*.cpu")},
		{"-cum", filepath.Join(dir, "*.cpu")},
		{"-inuse_space", filepath.Join(dir, "*-1.heap")},
	} {
		if err := top(ctx, stdout, profiled, args[0], args[1]); err != nil {
			return err
		}
	}
	return show(stdout, filepath.Join(dir, "*.heap.txt"))
}

// top prints the functions of the profiles that a pattern names.
func top(ctx context.Context, stdout io.Writer, program, order, pattern string) error {
	profiles, err := filepath.Glob(pattern)
	if err != nil || len(profiles) == 0 {
		return fmt.Errorf("no profiles %s (%w)", pattern, err)
	}
	args := append([]string{"tool", "pprof", "-top", order, "-nodecount", "40", program}, profiles...)
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args[:5], " "), err)
	}
	fmt.Fprintf(stdout, "%s\n", out)
	return nil
}

// show prints what the memory was held for, in the first of the runs.
func show(stdout io.Writer, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s (%w)", pattern, err)
	}
	text, err := os.ReadFile(files[0])
	fmt.Fprintf(stdout, "memory at its highest in one run: %s", text)
	return err
}
