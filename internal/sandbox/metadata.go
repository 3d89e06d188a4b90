package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// firstLine marks a metadata file as one that a sandbox may write again.
const firstLine = "# Written by kcm sandbox: these clusters live as long as it runs.\n"

// openDir finds where the metadata file goes, and refuses to write over one
// that is somebody's own.
func (s *Sandbox) openDir() error {
	dir := s.opts.Dir
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kcm-sandbox-"); err != nil {
			return fault.New(fault.Failed, "can't make a temporary directory: %w", err)
		}
		s.tempDir = dir
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fault.New(fault.Usage, "can't make %s: %w", dir, err)
	}
	s.Metadata = filepath.Join(dir, "kcm.yaml")
	old, err := os.ReadFile(s.Metadata)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Usage, "can't read %s: %w", s.Metadata, err)
	case !strings.HasPrefix(string(old), firstLine):
		return fault.New(fault.Usage, "%s is there already and no sandbox wrote it", s.Metadata).WithHint("choose another --dir")
	}
	return nil
}

// writeMetadata writes the file in one step: whoever waits for it reads all of it.
func (s *Sandbox) writeMetadata() error {
	var b strings.Builder
	b.WriteString(firstLine + "clusters:\n")
	for _, c := range s.Clusters {
		b.WriteString("  " + quote(c.Name) + ":\n    bootstrap: [" + quote(c.Bootstrap) + "]\n")
	}
	b.WriteString("streams:\n")
	for _, t := range s.opts.Topics {
		b.WriteString("  " + quote(t.Name) + ":\n    sources:\n")
		for _, c := range s.Clusters {
			b.WriteString("      - cluster: " + quote(c.Name) + "\n        topics: [" + quote(t.Name) + "]\n")
		}
	}
	part := s.Metadata + ".part"
	if err := errors.Join(os.WriteFile(part, []byte(b.String()), 0o666), os.Rename(part, s.Metadata)); err != nil {
		return fault.New(fault.Failed, "can't write %s: %w", s.Metadata, err)
	}
	return nil
}

// quote writes a string as YAML; a JSON string is one. Ordinary names stay bare.
func quote(s string) string {
	bare := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	if bare.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, s) {
		return s
	}
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // unreachable: a string can always be written
	}
	return string(b)
}
