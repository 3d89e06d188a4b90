package source

import (
	"testing"
	"time"
)

// TestWithin does not wait for what does not end.
func TestWithin(t *testing.T) {
	never, done := make(chan struct{}), false
	within(time.Minute, func() { done = true })
	if !done {
		t.Error("it was not waited for")
	}
	began := time.Now()
	within(20*time.Millisecond, func() { <-never })
	if d := time.Since(began); d < 20*time.Millisecond {
		t.Errorf("waited %v", d)
	}
	close(never)
}
