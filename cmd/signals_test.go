package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestFirstSignalCancelsSecondIsDelivered(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // brokers of other tests may run
	ch := make(chan os.Signal)
	w := world{signals: ch}
	ctx, second, stop := withSignals(w.make(nil, nil))
	if s, ok := stoppedBy(ctx); ok {
		t.Fatalf("stopped by %v before it began", s)
	}
	ch <- syscall.SIGTERM
	<-ctx.Done()
	if s, ok := stoppedBy(ctx); !ok || s != syscall.SIGTERM {
		t.Errorf("stopped by %v, %v", s, ok)
	}
	if code := fault.Code(context.Cause(ctx)); code != 143 {
		t.Errorf("code %d, want 143", code)
	}
	ch <- os.Interrupt
	if s := <-second; s != os.Interrupt {
		t.Errorf("the second signal is %v", s)
	}
	stop()
}

// TestSameSignalAtOnceIsOneRequest sends a signal twice, as GNU timeout does to
// a process and its group.
func TestSameSignalAtOnceIsOneRequest(t *testing.T) {
	for _, c := range []struct {
		name  string
		next  syscall.Signal
		after time.Duration
		again bool
	}{
		{"the same at once", syscall.SIGTERM, 0, false},
		{"the same a moment later", syscall.SIGTERM, 199 * time.Millisecond, false},
		{"the same later", syscall.SIGTERM, 200 * time.Millisecond, true},
		{"another at once", syscall.SIGINT, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ch := make(chan os.Signal)
			ctx, second, stop := withSignals(world{signals: ch}.make(nil, nil))
			defer stop()
			ch <- syscall.SIGTERM
			<-ctx.Done()
			time.Sleep(c.after)
			ch <- c.next
			synctest.Wait()
			select {
			case s := <-second:
				if !c.again || s != c.next {
					t.Errorf("%s: %v is a second request", c.name, s)
				}
			default:
				if c.again {
					t.Errorf("%s: no second request", c.name)
				}
			}
		})
	}
}

func TestStopWithoutASignal(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // brokers of other tests may run
	w := world{signals: make(chan os.Signal)}
	ctx, _, stop := withSignals(w.make(nil, nil))
	stop()
	if s, ok := stoppedBy(ctx); ok || ctx.Err() == nil {
		t.Errorf("stopped by %v, %v; %v", s, ok, ctx.Err())
	}
	ctx, second, stop := withSignals(world{}.make(nil, nil))
	if second != nil || ctx.Err() != nil {
		t.Error("no signals, but something came")
	}
	stop()
}

// TestSecondSignalEndsARunThatHangs lets kcm write to a stdout that takes nothing.
func TestSecondSignalEndsARunThatHangs(t *testing.T) {
	reader, stdout := io.Pipe()
	writing := make(chan struct{})
	ch := make(chan os.Signal)
	var stderr bytes.Buffer
	env := world{signals: ch}.make(nil, &stderr)
	env.Stdout = writeFunc(func(p []byte) (int, error) {
		close(writing)
		return stdout.Write(p)
	})
	code := make(chan int)
	go func() { code <- Main(env, []string{"help", "specs"}) }()
	<-writing
	ch <- os.Interrupt
	ch <- syscall.SIGTERM
	if c := <-code; c != 143 {
		t.Errorf("code %d, want 143", c)
	}
	reader.Close()
}

// TestFirstSignalEndsTheReadingOfStdin waits for metadata that never comes.
func TestFirstSignalEndsTheReadingOfStdin(t *testing.T) {
	stdin, writer := io.Pipe()
	reading := make(chan struct{})
	ch := make(chan os.Signal)
	var stdout, stderr bytes.Buffer
	env := world{signals: ch}.make(&stdout, &stderr)
	env.Stdin = readFunc(func(p []byte) (int, error) {
		close(reading)
		return stdin.Read(p)
	})
	t.Chdir(t.TempDir())
	code := make(chan int)
	go func() { code <- Main(env, []string{"describe", "-m", "-"}) }()
	<-reading
	ch <- os.Interrupt
	if c := <-code; c != 130 || stdout.Len() > 0 {
		t.Errorf("code %d, want 130; %q", c, stdout.String())
	}
	writer.Close()
}

type writeFunc func(p []byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestCutShort(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var stderr bytes.Buffer
	env := world{}.make(nil, &stderr)
	cmd := newRootCmd(env)
	cmd.SetContext(ctx)
	env.run.started = true
	cancel(fault.Signaled{Signal: syscall.SIGTERM})
	if code := finish(env, cmd, nil, fmt.Errorf("reading: %w", ctx.Err())); code != 143 || stderr.String() != "kcm: cut short by terminated\n" {
		t.Errorf("code %d, %q", code, stderr.String())
	}
}

// TestMain lets the test program be kcm, for what only a process can show.
func TestMain(m *testing.M) {
	if os.Getenv("KCM_TEST_RUN") != "" {
		os.Exit(Main(System(), os.Args[1:]))
	}
	os.Exit(kafkatest.M(m).Run())
}

func TestClosedStdoutIsNoFailure(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "config", "show")
	cmd.Env = []string{"KCM_TEST_RUN=1", "GOCOVERDIR=" + t.TempDir()}
	cmd.Dir = t.TempDir()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %q", err, stderr.String())
	}
}

func TestStdoutThatFailsOtherwise(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	var stderr bytes.Buffer
	env := world{}.make(nil, &stderr)
	env.Stdout = full
	t.Chdir(t.TempDir())
	if code := Main(env, []string{"config", "show"}); code != 1 || stderr.String() != "kcm: write /dev/full: no space left on device\n" {
		t.Errorf("code %d, %q", code, stderr.String())
	}
	for _, args := range [][]string{{"help", "specs"}, {"help"}, {"consume", "--help"}, {"completion", "bash"}, {"version"}, {"completion"}} {
		stderr.Reset()
		if code := Main(env, args); code != 1 || stderr.String() != "kcm: write /dev/full: no space left on device\n" {
			t.Errorf("kcm %v: code %d, %q", args, code, stderr.String())
		}
	}
	if stdoutClosed(env, errors.New("x")) {
		t.Error("any error is a closed stdout")
	}
}
