package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// countLines counts the line ends of r and returns the last bytes with them.
func countLines(r io.Reader) (lines int, last string, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		lines += bytes.Count(buf[:n], []byte("\n"))
		if n > 0 {
			last = string(buf[max(0, n-64):n])
		}
		if err == io.EOF {
			return lines, last, nil
		}
		if err != nil {
			return lines, last, err
		}
	}
}

// countFiles counts the lines of the files below dir, but for those of a state
// file, by what their names say of their compression.
func countFiles(dir string) (sum int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), stateFile) {
			return err
		}
		n, err := countFile(path)
		sum += n
		return err
	})
	return sum, err
}

// toldRecords is what kcm consume says at its end.
var toldRecords = regexp.MustCompile(`(?m)^kcm: ([\d,]+) records? `)

func countTold(stderr string) (int, error) {
	m := toldRecords.FindStringSubmatch(stderr)
	if m == nil {
		return 0, fmt.Errorf("no summary in %q", tail(stderr))
	}
	return strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
}

// stateFile is the beginning of the names of a run's state file and its lock.
const stateFile = "state"

func countFile(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		r = z
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		r = z
	}
	n, _, err := countLines(r)
	return n, err
}

func (k *kit) countTarget(ctx context.Context, topic string) (int, error) {
	addr, err := k.broker(west)
	if err != nil {
		return 0, err
	}
	out, err := k.child(ctx, topicWord, "ends", addr, topic)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}
