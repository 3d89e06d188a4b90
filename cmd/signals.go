package cmd

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// systemSignals delivers the process's stop signals. A SIGHUP that the parent
// told us to ignore (nohup) stays ignored. SIGPIPE is caught and dropped, so
// that a closed stdout becomes an error of the write (EPIPE) instead of the
// process's death; unlike ignoring it, that is not handed on to child processes.
func systemSignals() (<-chan os.Signal, func()) {
	ch := make(chan os.Signal, 2)
	for _, s := range stopSignals {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue
		}
		signal.Notify(ch, s)
	}
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, failedWrites()...)
	return ch, func() {
		signal.Stop(ch)
		signal.Stop(pipes)
	}
}

// withSignals returns a context that the first signal cancels, with
// fault.Signaled as its cause, and a channel on which the second one is
// delivered: whoever sends twice does not want to wait for an orderly end.
func withSignals(env *Env) (ctx context.Context, second <-chan os.Signal, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if env.Signals == nil {
		return ctx, nil, func() { cancel(nil) }
	}
	signals, end := env.Signals()
	again := make(chan os.Signal, 1)
	done := make(chan struct{})
	go func() {
		var first os.Signal
		select {
		case first = <-signals:
			cancel(fault.Signaled{Signal: first})
		case <-done:
			return
		}
		for came := time.Now(); ; {
			select {
			case s := <-signals:
				if s == first && time.Since(came) < sameRequest {
					continue
				}
				again <- s
				return
			case <-done:
				return
			}
		}
	}()
	return ctx, again, func() {
		close(done)
		cancel(nil)
		end()
	}
}

// sameRequest is the time within which a signal that comes again is the same
// request: GNU timeout and some shells signal a process and then its group.
const sameRequest = 200 * time.Millisecond

// interruptible is a reader whose Read ends when done is closed. The read that it leaves
// behind takes what it gets with it: nothing may read on afterwards.
type interruptible struct {
	done <-chan struct{}
	r    io.Reader
}

// Read reads from the reader within.
func (i interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	got, buf := make(chan result, 1), make([]byte, len(p))
	go func() {
		n, err := i.r.Read(buf)
		got <- result{n, err}
	}()
	select {
	case r := <-got:
		return copy(p, buf[:r.n]), r.err
	case <-i.done:
		return 0, context.Canceled
	}
}

// stoppedBy returns the signal that ended ctx, and false if ctx goes on or
// ended for another reason. A follow that a signal stopped is done and returns
// nil; a run whose end was promised returns fault.Signaled.
func stoppedBy(ctx context.Context) (os.Signal, bool) {
	s, ok := context.Cause(ctx).(fault.Signaled)
	return s.Signal, ok
}
