package fault

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{New(Usage, "x"), 2},
		{fmt.Errorf("wrapped: %w", New(Partial, "x")), 3},
		{New(Auth, "x: %w", New(Usage, "y")), 4},
		{Told{New(Unreachable, "x")}, 5},
		{New(Refused, "x"), 6},
		{Signaled{syscall.SIGINT}, 130},
		{fmt.Errorf("wrapped: %w", Signaled{syscall.SIGTERM}), 143},
		{Exit(42), 42},
	} {
		if got := Code(tt.err); got != tt.code {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.code)
		}
	}
}

func TestHintsAreFoundBehindOtherErrors(t *testing.T) {
	inner := New(Auth, "refused").WithHint("check %s", "it")
	if got := HintOf(New(Failed, "outer: %w", inner)); got != "check it" {
		t.Errorf("got %q", got)
	}
	if got := HintOf(New(Failed, "outer: %w", inner).WithHint("nearer")); got != "nearer" {
		t.Errorf("got %q", got)
	}
	if got := HintOf(errors.New("plain")); got != "" {
		t.Errorf("got %q", got)
	}
}
