//go:build kafka

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the hard limit of everything that has to happen; a hang must not
// look like slowness.
const patience = 90 * time.Second

// ease is added to what kcm promises: so much later a machine may be on which
// other things go on. What would break a promise takes longer still.
const ease = 5 * time.Second

// hang is the least that is waited for anything: it only has to tell a hang.
const hang = time.Minute

// kcm is one run of the program.
type kcm struct {
	t     *testing.T
	cmd   *exec.Cmd
	args  []string
	began time.Time
	usage string
	out   *lines
	err   *lines
	done  chan struct{}
	ended time.Time
}

// result is how a run ended.
type result struct {
	usage
	code    int
	stdout  []string
	stderr  []string // without the summary
	summary string   // what was read from where; empty if that was not told
	took    time.Duration
}

// summaryLine is what a summary looks like.
var summaryLine = regexp.MustCompile(`^kcm: [\d,]+ records? \([\d.,]+ k?M?G?B\) in [^ ]+: `)

// option changes a run before it starts.
type option func(*kcm)

// each has every line of stdout given to take instead of kept; a line dies when
// take returns.
func each(take func(line []byte)) option { return func(k *kcm) { k.out.take = take } }

// into has stdout written to a file of the caller's instead of looked at.
func into(f *os.File) option { return func(k *kcm) { k.cmd.Stdout = f } }

// start starts kcm in an empty directory, without any setting from outside.
func start(t *testing.T, args []string, opts ...option) *kcm {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	k := &kcm{
		t: t, cmd: exec.Command(self, args...), args: args, usage: filepath.Join(dir, "usage"), //nolint:gosec // this very binary
		out: &lines{}, err: &lines{}, done: make(chan struct{}),
	}
	k.cmd.Dir = dir
	k.cmd.Env = []string{usageFile + "=" + k.usage, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	k.cmd.Stdout, k.cmd.Stderr = k.out, k.err
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for _, o := range opts {
		o(k)
	}
	k.began = time.Now()
	started := make(chan error)
	go k.wait(started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.cmd.Process.Kill()
		<-k.done
	})
	return k
}

// wait keeps its thread as long as the process runs: the parent-death signal
// comes when the thread that started it ends.
func (k *kcm) wait(started chan<- error) {
	runtime.LockOSThread()
	err := k.cmd.Start()
	started <- err
	if err == nil {
		_ = k.cmd.Wait()
		k.ended = time.Now()
	}
	close(k.done)
}

// beside lets a test run at the same time as others, which share its clusters and
// leave them alone: most of them wait. In the soak, which measures, it does not.
func beside(t *testing.T) {
	if os.Getenv("KCM_SOAK") != "1" {
		t.Parallel()
	}
}

// run starts kcm and waits for its end.
func run(t *testing.T, args []string, opts ...option) result {
	t.Helper()
	return start(t, args, opts...).end(patience)
}

// signal sends a signal to the process.
func (k *kcm) signal(s syscall.Signal) {
	k.t.Helper()
	if err := k.cmd.Process.Signal(s); err != nil {
		k.t.Fatalf("kcm %s: %v", strings.Join(k.args, " "), err)
	}
}

// stop sends SIGINT and demands that the run ends within two seconds, as it
// promises, and ease.
func (k *kcm) stop() result {
	k.t.Helper()
	at := time.Now()
	k.signal(syscall.SIGINT)
	r := k.end(20 * time.Second)
	if d := k.ended.Sub(at); d > 2*time.Second+ease {
		k.t.Errorf("kcm %s: ended %v after SIGINT, want 2s at most", strings.Join(k.args, " "), d)
	}
	return r
}

// end waits for the end of the run. One that does not end within d shows where
// it hangs.
func (k *kcm) end(d time.Duration) result {
	k.t.Helper()
	select {
	case <-k.done:
	case <-time.After(max(d, hang)):
		k.signal(syscall.SIGQUIT)
		<-k.done
		k.t.Fatalf("kcm %s: still ran after %v\n%s", strings.Join(k.args, " "), d, strings.Join(k.err.all(), "\n"))
	}
	r := result{code: k.cmd.ProcessState.ExitCode(), stdout: k.out.all(), stderr: k.err.all(), took: k.ended.Sub(k.began)}
	if n := slices.IndexFunc(r.stderr, summaryLine.MatchString); n >= 0 {
		r.summary, r.stderr = r.stderr[n], slices.Delete(r.stderr, n, n+1)
	}
	if text, err := os.ReadFile(k.usage); err == nil {
		if err := json.Unmarshal(text, &r.usage); err != nil {
			k.t.Fatal(err)
		}
	} else {
		k.t.Fatalf("kcm %s: died with %s\n%s", strings.Join(k.args, " "), k.cmd.ProcessState, strings.Join(r.stderr, "\n"))
	}
	return r
}

// cpu returns what the process has used so far.
func (k *kcm) cpu() time.Duration {
	k.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	// The name, in parentheses, may hold blanks; behind it utime is field 12.
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	var ticks int64
	for _, f := range bytes.Fields(rest)[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			k.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peak returns the highest resident memory so far.
func (k *kcm) peak() int64 { return peakOf(strconv.Itoa(k.cmd.Process.Pid)) }

// until waits until cond holds, for d or for what tells a hang at most.
func (k *kcm) until(d time.Duration, what string, cond func() bool) {
	k.t.Helper()
	d = max(d, hang)
	deadline := time.Now().Add(d)
	for !cond() {
		select {
		case <-k.done:
			if !cond() {
				k.t.Fatalf("kcm %s: ended with %d before %s\n%s", strings.Join(k.args, " "), k.cmd.ProcessState.ExitCode(), what, strings.Join(k.err.all(), "\n"))
			}
			return
		default:
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("kcm %s: waited %v in vain for %s; %d lines of stdout\n%s", strings.Join(k.args, " "), d, what, k.out.count(), strings.Join(k.err.all(), "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// told waits until a line of stderr contains every part and returns how long
// after the start it came.
func (k *kcm) told(d time.Duration, parts ...string) time.Duration {
	k.t.Helper()
	var at time.Time
	k.until(d, fmt.Sprintf("a line with %q on stderr", parts), func() bool {
		at = k.err.find(parts...)
		return !at.IsZero()
	})
	return at.Sub(k.began)
}

// gets waits until n lines have come on stdout.
func (k *kcm) gets(d time.Duration, n int) {
	k.t.Helper()
	k.until(d, fmt.Sprintf("%d lines of stdout", n), func() bool { return k.out.count() >= n })
}

// lines takes a stream apart into lines. They are kept unless take is set.
type lines struct {
	take func([]byte)

	mu   sync.Mutex
	rest []byte
	kept []line
	n    int
}

type line struct {
	at   time.Time
	text string
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.rest = append(l.rest, b...)
			return n, nil
		}
		whole := b[:i]
		if len(l.rest) > 0 {
			whole = append(l.rest, whole...)
			l.rest = nil
		}
		l.n++
		if l.take != nil {
			l.take(whole)
		} else {
			l.kept = append(l.kept, line{time.Now(), string(whole)})
		}
		b = b[i+1:]
	}
}

// readFrom takes all that comes from r, and closes nothing.
func (l *lines) readFrom(r io.Reader) (int64, error) { return io.Copy(onlyWriter{l}, r) }

// onlyWriter hides what io.Copy would look for.
type onlyWriter struct{ io.Writer }

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// all returns the lines that were kept, and behind them one that is not ended.
func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var texts []string
	for _, k := range l.kept {
		texts = append(texts, k.text)
	}
	if len(l.rest) > 0 {
		texts = append(texts, string(l.rest))
	}
	return texts
}

// find returns when the first line came that contains every part.
func (l *lines) find(parts ...string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kept {
		if containsAll(k.text, parts) {
			return k.at
		}
	}
	return time.Time{}
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// exits checks the exit code.
func (r result) exits(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; stderr:\n%s", r.code, code, strings.Join(r.stderr, "\n"))
	}
}

// says checks that exactly n lines of stderr contain every part.
func (r result) says(t *testing.T, n int, parts ...string) {
	t.Helper()
	found := 0
	for _, l := range r.stderr {
		if containsAll(l, parts) {
			found++
		}
	}
	if found != n {
		t.Errorf("%d lines of stderr contain %q, want %d:\n%s", found, parts, n, strings.Join(r.stderr, "\n"))
	}
}

// figures logs what a run took.
func (r result) figures(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %.2f s, %.2f s of processor time, at most %d MB", what, r.took.Seconds(), r.CPU.Seconds(), r.Peak>>20)
}

// below checks the peak of memory.
func (r result) below(t *testing.T, megabytes int64) {
	t.Helper()
	if r.Peak > megabytes<<20 {
		t.Errorf("%d MB resident at most, want %d", r.Peak>>20, megabytes)
	}
}

// file writes a file of the test's and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
