package cmd

import (
	"flag"
	"os"
	"path/filepath"
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
