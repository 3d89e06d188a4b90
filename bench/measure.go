package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is one run of one contender.
type sample struct {
	Wall time.Duration
	CPU  time.Duration // user and system time of the process and its children
	RSS  int64         // peak resident bytes; 0 where the system does not tell
}

// runLimit ends a program that hangs.
const runLimit = 5 * time.Minute

// attempt is a contender about to be run once.
type attempt struct {
	contender
	cmd      *exec.Cmd
	problems *bytes.Buffer
	dir      string
	target   string
	counted  bool
}

// once runs c. With counted it tells how many records c gave instead of how long
// it took, and reads the output that is thrown away otherwise.
func (k *kit) once(ctx context.Context, c contender, counted bool) (sample, int, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	s, n, err := k.onceIn(ctx, c, counted)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not done after %s: %w", runLimit, err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return s, n, err
}

func (k *kit) onceIn(ctx context.Context, c contender, counted bool) (s sample, n int, err error) {
	r, err := k.prepare(ctx, c)
	if err != nil {
		return s, 0, err
	}
	r.counted = counted
	defer func() { err = errors.Join(err, k.cleanUp(ctx, r)) }()
	if s, n, err = r.run(); err != nil || !counted {
		return s, n, err
	}
	switch c.counts {
	case byFiles:
		n, err = countFiles(r.dir)
	case byTarget:
		n, err = k.countTarget(ctx, r.target)
	case bySummary:
		n, err = countTold(r.problems.String())
	}
	return s, n, err
}

// prepare makes what a run needs that is not measured.
func (k *kit) prepare(ctx context.Context, c contender) (*attempt, error) {
	k.runID++
	id := fmt.Sprintf("%x-%d", time.Now().UnixMilli(), k.runID)
	dir, err := os.MkdirTemp(k.o.dir, "kcm-bench-run-")
	if err != nil {
		return nil, err
	}
	r := &attempt{contender: c, dir: dir, target: strings.ReplaceAll(c.target, runMark, id), problems: new(bytes.Buffer)}
	if r.target != "" {
		addr, err := k.broker(west)
		if err == nil {
			_, err = k.child(ctx, topicWord, "create", addr, r.target)
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	registry := ""
	if slices.Contains(c.argv, registryMark) {
		if registry, err = k.registry(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	argv := make([]string, len(c.argv))
	for i, a := range c.argv {
		argv[i] = strings.NewReplacer(dirMark, dir, runMark, id, registryMark, registry).Replace(a)
	}
	r.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	r.cmd.Stderr = r.problems
	r.cmd.Env = cleanEnv(dir)
	r.cmd.WaitDelay = 5 * time.Second
	killWhole(r.cmd)
	return r, nil
}

// cleanEnv is the environment without settings of kcm.
func cleanEnv(dir string) []string {
	env := []string{"XDG_CONFIG_HOME=" + dir}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "KCM_") && !strings.HasPrefix(e, "XDG_CONFIG_HOME=") {
			env = append(env, e)
		}
	}
	return env
}

func (k *kit) cleanUp(ctx context.Context, r *attempt) error {
	err := os.RemoveAll(r.dir)
	if r.target == "" || ctx.Err() != nil {
		return err
	}
	addr, broken := k.broker(west)
	if broken == nil {
		_, broken = k.child(ctx, topicWord, "delete", addr, r.target)
	}
	return errors.Join(err, broken)
}

// run runs the program; n are the records that it wrote to stdout, when they
// have to be counted and are counted there.
func (r *attempt) run() (s sample, n int, err error) {
	var out *os.File
	drained := make(chan error, 1)
	switch {
	case r.out == toFile:
		out, err = os.Create(filepath.Join(r.dir, "stdout"))
		drained <- nil
	case r.out == toPipe || r.counted:
		out, err = r.drain(&n, drained)
	default:
		out, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		drained <- nil
	}
	if err != nil {
		return s, 0, err
	}
	r.cmd.Stdout = out
	began := time.Now()
	err = r.cmd.Start()
	_ = out.Close() // the program has its own
	if err == nil {
		err = r.cmd.Wait()
	}
	s.Wall = time.Since(began)
	if err != nil {
		return s, 0, fmt.Errorf("%w\n%s", err, tail(r.problems.String()))
	}
	if err := <-drained; err != nil {
		return s, 0, err
	}
	ps := r.cmd.ProcessState
	s.CPU, s.RSS = ps.UserTime()+ps.SystemTime(), peakRSS(ps)
	return s, n, nil
}

// drain makes a pipe and reads it, after the stall, to its end.
func (r *attempt) drain(n *int, drained chan<- error) (*os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer func() { _ = from.Close() }()
		if !r.counted {
			time.Sleep(r.stall)
			drained <- discard(from)
			return
		}
		lines, last, err := countLines(from)
		if *n = lines; r.counts == byNumber && err == nil {
			*n, err = strconv.Atoi(strings.TrimSpace(last))
		}
		drained <- err
	}()
	return to, nil
}

func discard(r io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		if _, err := r.Read(buf); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// tail is the end of what a program said on stderr.
func tail(s string) string { return s[max(0, len(s)-2000):] }
