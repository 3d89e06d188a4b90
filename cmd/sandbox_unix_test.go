//go:build unix

package cmd

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSandboxHandsSignalsOn(t *testing.T) {
	const script = `trap 'echo got TERM; exit 9' TERM; echo ready; while :; do sleep 0.01; done`
	code, stdout, _ := runSandboxUntil(t, "ready", syscall.SIGTERM, "--records", "1", "--", "sh", "-c", script)
	if code != 9 || stdout != "ready\ngot TERM\n" {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
}

func TestSandboxExitsWithItsCommandsCode(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		script string
		code   int
	}{{"exit 0", 0}, {"exit 7", 7}, {"kill -KILL $$", 137}} {
		var stdout, stderr bytes.Buffer
		env := world{}.make(&stdout, &stderr)
		env.Environ = func() []string { return append(os.Environ(), "KCM_METADATA=other", "KCM_BOOTSTRAP=h:1") }
		code := Main(env, []string{"sandbox", "--records", "0", "--", "sh", "-c", `head -n 1 "$KCM_METADATA"; echo "b=$KCM_BOOTSTRAP"; ` + c.script})
		const want = "# Written by kcm sandbox: these clusters live as long as it runs.\nb=\n"
		if code != c.code || stdout.String() != want {
			t.Errorf("%s: code %d, stdout %q, stderr %q", c.script, code, stdout.String(), stderr.String())
		}
	}
}

func TestSandboxMissingCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	r := runKcm(t, world{}, "sandbox", "--", "no-such-program-anywhere")
	const want = "kcm: can't run no-such-program-anywhere: exec: \"no-such-program-anywhere\": executable file not found in $PATH\n"
	if r.code != 127 || r.stdout != "" || r.stderr != want {
		t.Errorf("code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
}

func TestSandboxCommandThatIsNotExecutable(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "plain.txt", "x")
	r := runKcm(t, world{}, "sandbox", "--", "./plain.txt")
	if want := "kcm: can't run ./plain.txt: exec: \"./plain.txt\": permission denied\n"; r.code != 126 || r.stderr != want {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if r := runKcm(t, world{}, "sandbox", "--", "./none"); r.code != 127 {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
}

// TestSandboxLeavesNothingBehind sends a second signal to a sandbox whose command
// and its child listen to none.
func TestSandboxLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	signals := make(chan os.Signal)
	var out, errs lockedBuffer
	env := world{signals: signals}.make(nil, nil)
	env.Stdout, env.Stderr, env.Environ = &out, &errs, os.Environ
	const script = `trap '' TERM INT; sh -c 'trap "" TERM INT; echo child $$; while :; do sleep 0.01; done'; :`
	done := make(chan int)
	go func() { done <- Main(env, []string{"sandbox", "--records", "1", "--", "sh", "-c", script}) }()
	out.waitFor(t, "child ")
	signals <- syscall.SIGTERM
	signals <- os.Interrupt
	if code := <-done; code != 130 {
		t.Errorf("code %d, %s", code, errs.String())
	}
	pid, err := strconv.Atoi(strings.Fields(out.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	// A process that init has not collected yet is gone as well.
	deadline := time.Now().Add(time.Minute)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(text), ") Z ")
}
