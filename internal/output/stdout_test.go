package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

// slow writes one byte at a time and refuses every second call.
type slow struct {
	bytes.Buffer
	calls int
}

func (s *slow) Write(b []byte) (int, error) {
	if s.calls++; s.calls%2 == 0 {
		return 0, syscall.EAGAIN
	}
	n, err := s.Buffer.Write(b[:1])
	if err == nil && n < len(b) {
		err = syscall.EAGAIN
	}
	return n, err
}

func TestStdoutWritesInFull(t *testing.T) {
	w := &slow{}
	n, err := NewStdout(w).Write([]byte("twelve bytes"))
	if n != 12 || err != nil || w.String() != "twelve bytes" {
		t.Errorf("wrote %d, %v: %q", n, err, w.String())
	}
}

type short struct{}

func (short) Write([]byte) (int, error) { return 0, nil }

func TestStdoutNoProgress(t *testing.T) {
	_, err := NewStdout(short{}).Write([]byte("x"))
	if err == nil || err.Error() != "cannot write to standard output: short write" || fault.KindOf(err) != fault.Failed {
		t.Errorf("got %v", err)
	}
}

func TestStdoutClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	out := NewStdout(w)
	if n, err := out.Write([]byte("read")); n != 4 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := out.Write([]byte("unread")); n != 0 || !errors.Is(err, ErrClosedPipe) {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	pr, pw := io.Pipe()
	if err := pr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStdout(pw).Write([]byte("x")); !errors.Is(err, ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestStdoutFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is Linux's")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	_, err = NewStdout(full).Write([]byte("x"))
	if err == nil || err.Error() != "cannot write to standard output: no space left on device" ||
		fault.KindOf(err) != fault.Failed || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}
