package cmd

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files")

// TestCompletions holds the committed scripts against what kcm generates; go
// generate ./cmd writes them anew.
func TestCompletions(t *testing.T) {
	for _, sh := range shells {
		r := runKcm(t, world{}, "completion", sh.name)
		if r.code != 0 || len(r.stdout) < 1000 || r.stderr != "" {
			t.Fatalf("%s: code %d, %d bytes, %s", sh.name, r.code, len(r.stdout), r.stderr)
		}
		name := filepath.Join("..", "completions", sh.file)
		if *update {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(r.stdout), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.stdout != string(want) {
			t.Errorf("%s is out of date; run go generate ./cmd", name)
		}
	}
}

// TestBashWithoutItsPackage completes in a bash that lacks bash-completion.
func TestBashWithoutItsPackage(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "kcm")); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("..", "completions", "kcm.bash"))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"kcm con": "consume|config", "kcm consume --progress=j": "json", "kcm consume -f k": "kcat-json", "kcm describe ": "streams"} {
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", `
source "$1"; COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
__start_kcm; printf '%s\n' "${COMPREPLY[@]}"`, "bash", script, line)
		cmd.Env = []string{"KCM_TEST_RUN=1", "PATH=" + dir + ":" + os.Getenv("PATH"), "GOCOVERDIR=" + dir}
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)^(`+want+`)\b`).Match(out) || strings.Contains(string(out), "not found") {
			t.Errorf("%q: %v, %s, want %s", line, err, out, want)
		}
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1772546405")
	if r := runKcm(t, world{}, "man", filepath.Join(dir, "man")); r.code != 0 || r.stdout+r.stderr != "" {
		t.Fatalf("code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for _, name := range []string{"kcm.1", "kcm-consume.1", "kcm-describe.1", "kcm-config-show.1"} {
		text, err := os.ReadFile(filepath.Join(dir, "man", name))
		if err != nil || len(text) < 300 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
