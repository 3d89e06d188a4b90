package output

import (
	"os"
	"testing"
)

// TestPipeIsWidened: a pipe takes more than its first 64 KiB without a reader.
func TestPipeIsWidened(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(); _ = w.Close() }()
	out := NewStdout(w)
	out.Widen()
	if n, err := out.Write(make([]byte, 512<<10)); n != 512<<10 || err != nil {
		t.Fatal(n, err)
	}
	if got := out.Taken(false); got != 0 {
		t.Errorf("%d bytes taken, and nobody reads", got)
	}
}
