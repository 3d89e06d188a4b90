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
// with a CPU profile, and prints the functions that took the most.
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
	c.argv = append([]string{profiled, filepath.Join(dir, runMark+".prof")}, c.argv[1:]...)
	for range k.o.runs {
		if _, _, err := k.once(ctx, c, false); err != nil {
			return err
		}
	}
	profiles, err := filepath.Glob(filepath.Join(dir, "*.prof"))
	if err != nil || len(profiles) == 0 {
		return fmt.Errorf("no profiles (%w)", err)
	}
	fmt.Fprintf(stdout, "%d runs of %s, %s\n\n", k.o.runs, c.name, k.describe(c.work))
	for _, order := range []string{"-flat", "-cum"} {
		args := append([]string{"tool", "pprof", "-top", order, "-nodecount", "40", profiled}, profiles...)
		out, err := exec.CommandContext(ctx, "go", args...).Output()
		if err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args[:5], " "), err)
		}
		fmt.Fprintf(stdout, "%s\n", out)
	}
	return nil
}
