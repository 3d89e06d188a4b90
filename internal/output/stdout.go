package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ErrClosedPipe is returned by Stdout when nobody reads any more. It ends a run
// quietly and is no failure.
var ErrClosedPipe = errors.New("standard output was closed")

// Stdout writes to the standard output, every Write in full.
// It is safe for use by several goroutines at once.
//
// In a Go program a write to a closed pipe on descriptor 1 raises SIGPIPE,
// which ends the process unless the program listens for that signal: call
// signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) at start.
// signal.Ignore would be handed on to child processes.
type Stdout struct {
	mu      sync.Mutex
	w       io.Writer
	err     error        // the first failure; it stays
	pipe    *os.File     // w if it is a pipe
	written atomic.Int64 // bytes
}

// NewStdout makes a Stdout that writes to w without a buffer.
func NewStdout(w io.Writer) *Stdout {
	s := &Stdout{w: w}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			s.pipe = f
		}
	}
	return s
}

// Widen makes room in a pipe, so that a writer and a reader of much do not wait for
// each other at every turn. More is then on its way that no reader has taken.
func (s *Stdout) Widen() {
	if s.pipe != nil {
		widen(s.pipe)
	}
}

// Taken returns how many of the bytes written the reader of a pipe has taken; all
// of them if it is no pipe or if that cannot be told. At the end of a run all
// counts as taken that lies in a pipe which still has a reader. It may be called
// beside Write.
func (s *Stdout) Taken(end bool) int64 {
	written := s.written.Load()
	if s.pipe == nil {
		return written
	}
	n, reader := unread(s.pipe)
	if end && reader {
		return written
	}
	return max(written-n, 0)
}

// Write writes all of b. Its errors are ErrClosedPipe or of kind fault.Failed,
// and once there was one it is returned by every call.
func (s *Stdout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for done < len(b) && s.err == nil {
		n, err := s.w.Write(b[done:])
		done += n
		s.written.Add(int64(n))
		switch {
		case errors.Is(err, syscall.EAGAIN):
			// Another program has made the pipe that we share non-blocking.
			time.Sleep(time.Millisecond)
		case err != nil:
			s.err = writeError(err)
		case n == 0:
			s.err = writeError(io.ErrShortWrite)
		}
	}
	return done, s.err
}

func writeError(err error) error {
	if isClosedPipe(err) {
		return ErrClosedPipe
	}
	// The path of standard output says nothing to the user.
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fault.New(fault.Failed, "cannot write to standard output: %w", err)
}
