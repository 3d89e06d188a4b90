//go:build unix

package cmd

import (
	"bytes"
	"os"
	"syscall"
	"testing"
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
	if r.code != 2 || r.stdout != "" || r.stderr != want {
		t.Errorf("code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
}
