//go:build !windows

package output

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if Closed(ctx, w) {
		t.Error("a pipe that is read counts as closed")
	}
	closed := make(chan bool, 1)
	go func() { closed <- Closed(t.Context(), w) }()
	r.Close()
	select {
	case got := <-closed:
		if !got {
			t.Error("a pipe that nobody reads counts as read")
		}
	case <-time.After(time.Minute):
		t.Error("not noticed within a minute")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if Closed(t.Context(), f) {
		t.Error("a file counts as closed")
	}
}
