package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxLines     = 500
	maxTestLines = 800
)

func TestNoFileIsTooLong(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		limit := maxLines
		if strings.HasSuffix(path, "_test.go") {
			limit = maxTestLines
		}
		if n := bytes.Count(text, []byte("\n")); n > limit {
			t.Errorf("%s has %d lines, the limit is %d", path, n, limit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 5 {
		t.Fatalf("only %d Go files found: the test sees nothing", seen)
	}
}
