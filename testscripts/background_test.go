package testscripts

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// background is a program that a script started. Unlike those of testscript's
// own "&" its output can be watched while it runs.
type background struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// inherited are the variables that a script may set itself and that programs in
// the background see as well as the ones it was given.
func inherited() []string {
	return []string{"KCM_METADATA", "KCM_BOOTSTRAP", "KCM_CONFIG", "KCM_PROPERTIES", "NO_COLOR", "TZ"}
}

// environ is what a program that is not started by testscript sees.
func (s *script) environ(ts *testscript.TestScript) (env []string) {
	for _, v := range slices.Concat(s.vars, inherited()) {
		if value := ts.Getenv(v); value != "" {
			env = append(env, v+"="+value)
		}
	}
	return env
}

func signalOf(ts *testscript.TestScript, word string) os.Signal {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": os.Kill}
	maps.Copy(signals, holdSignals())
	sig, ok := signals[strings.TrimPrefix(word, "SIG")]
	if !ok {
		ts.Fatalf("%s is no signal", word)
	}
	return sig
}

func startBackground(ts *testscript.TestScript, s *script, args []string) {
	name := args[0]
	if s.running[name] != nil {
		ts.Fatalf("%s runs already", name)
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = s.environ(ts)
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer func() { _ = stdout.Close() }()
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer func() { _ = stderr.Close() }()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	b := &background{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its exit code is asked for by end
		close(b.done)
	}()
	s.running[name] = b
}

func waitFor(ts *testscript.TestScript, _ *script, args []string) {
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && re.Match(text) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("waited for %s in %s (%v), which ends:\n%s", args[1], args[0], err, text[max(0, len(text)-2000):])
		case <-tick.C:
		}
	}
}

func stopBackground(ts *testscript.TestScript, s *script, args []string) {
	name, word, want := args[0], args[1], number(ts, args[2])
	b := s.running[name]
	if b == nil {
		ts.Fatalf("%s does not run", name)
	}
	if word != "-" {
		// It may end by itself in the meantime: the exit code tells what matters.
		if err := b.cmd.Process.Signal(signalOf(ts, word)); !errors.Is(err, os.ErrProcessDone) {
			ts.Check(err)
		}
	}
	select {
	case <-b.done:
	case <-time.After(limit):
		ts.Fatalf("%s did not end; stderr:\n%s", name, ts.ReadFile(name+".err"))
	}
	delete(s.running, name)
	if got := int64(b.cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("%s ended with exit code %d, want %d; stderr:\n%s", name, got, want, ts.ReadFile(name+".err"))
	}
}
