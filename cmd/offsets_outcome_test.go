package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// full is a device that has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// unwritten runs kcm with a stdout that cannot be written.
func unwritten(t *testing.T, args ...string) (errs string, code int) {
	t.Helper()
	var stderr bytes.Buffer
	env := world{}.make(nil, &stderr)
	env.Stdout = full{}
	code = Main(env, args)
	return stderr.String(), code
}

// TestUnwrittenTable: what was done to commits is told, and counts for the exit code,
// where the table of it cannot be written.
func TestUnwrittenTable(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	c.Commit("g", "t", 0, 0)
	addr := "east=" + c.Bootstrap()
	reset := []string{"-b", addr, "offsets", "reset", "-g", "g", "t", "--to", "1", "--strict"}

	errs, code := unwritten(t, reset...)
	if code != 1 || !strings.Contains(errs, "kcm: nothing was changed; --execute carries the plan out\n") || c.Committed("g", "t", 0) != 0 {
		t.Errorf("the plan: %d %q", code, errs)
	}
	errs, code = unwritten(t, append(reset, "--execute", "--snapshot", "s.json")...)
	if code != 3 || !strings.Contains(errs, "kcm: 1 commit changed, and read back, but the table could not be written: ") || strings.Count(errs, "changed, and") != 1 || c.Committed("g", "t", 0) != 1 {
		t.Errorf("executed: %d %q", code, errs)
	}
	errs, code = unwritten(t, append(reset, "--execute", "--snapshot", "s2.json", "-o", "json")...)
	if code != 3 || !strings.Contains(errs, `"error":"1 commit changed, and read back, but the table could not be written: `) {
		t.Errorf("executed, JSON: %d %q", code, errs)
	}
	errs, code = unwritten(t, "-b", addr, "offsets", "reset", "-g", "g", "t", "--to", "9", "--strict", "--execute")
	if code != 6 || !strings.Contains(errs, "kcm: warning: the table could not be written: ") ||
		!strings.Contains(errs, "kcm: east/t: partition 0: asked for 9, the log ends at 1: nothing was changed\n") {
		t.Errorf("refused: %d %q", code, errs)
	}
	errs, code = unwritten(t, "-b", addr, "offsets", "rollback", "s.json", "--execute", "-q")
	if code != 3 || !strings.Contains(errs, "kcm: 1 commit changed, and read back, but the table could not be written: ") || c.Committed("g", "t", 0) != 0 {
		t.Errorf("rolled back: %d %q", code, errs)
	}
	errs, code = unwritten(t, "-b", addr, "offsets", "delete", "-g", "g", "t", "--execute", "--snapshot", "s4.json")
	if code != 3 || !strings.Contains(errs, "kcm: east: group g has no commits left") {
		t.Errorf("deleted: %d %q", code, errs)
	}
}

// TestSnapshotIsAFile: standard output has the plan, and nothing is asked.
func TestSnapshotIsAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{
		"reset -g g t --to end", "delete -g g t", "translate --from east --to west -g g",
	} {
		all := append([]string{"-b", "east=127.0.0.1:1", "-b", "west=127.0.0.1:1", "offsets"}, strings.Fields(args)...)
		_, errs, code := tryKcm(t, append(all, "--snapshot", "-")...)
		if code != 2 || errs != "kcm: --snapshot - is no file: standard output has the plan\nkcm: hint: --snapshot FILE; ./- is a file called -\n" {
			t.Errorf("%s: %d %q", args, code, errs)
		}
	}
}

func TestPasted(t *testing.T) {
	for path, want := range map[string]string{
		"./kcm-offsets-20260303T140005Z.json": "./kcm-offsets-20260303T140005Z.json",
		"-x":                                  "./-x",
		"- x":                                 "'./- x'",
		"a b":                                 "'a b'",
		"it's $x":                             `'it'\''s $x'`,
		"~/x":                                 "'~/x'",
		`a\b`:                                 `'a\b'`,
		"é":                                   "'é'",
	} {
		got := pasted(path, "linux")
		if got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
		if runtime.GOOS == "windows" {
			continue // it has no such shell
		}
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf %s "+got).Output() //nolint:gosec // of this table
		if plain := strings.TrimPrefix(string(out), "./"); err != nil || plain != strings.TrimPrefix(path, "./") {
			t.Errorf("%s: a shell reads %q, %v", path, out, err)
		}
	}
	for path, want := range map[string]string{`C:\x\s.json`: `C:\x\s.json`, `C:\a b\s.json`: `"C:\a b\s.json"`} {
		if got := pasted(path, "windows"); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}

// TestUndoCanBePasted: the command that a change prints undoes it.
func TestUndoCanBePasted(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	c.Commit("g", "t", 0, 0)
	_, errs, code := tryKcm(t, "-b", "east="+c.Bootstrap(), "offsets", "reset", "-g", "g", "t", "--to", "end", "--execute", "--snapshot", "-a b.json")
	if code != 0 || !strings.Contains(errs, "kcm offsets rollback './-a b.json' undoes the change\n") {
		t.Errorf("%d %q", code, errs)
	}
	if _, err := os.Stat("./-a b.json"); err != nil {
		t.Error(err)
	}
}
