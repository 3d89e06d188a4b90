package metadata

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// maxSource bounds one file or answer.
const maxSource = 16 << 20

// stdinName is the source that stands for standard input.
const stdinName = "-"

func isAddress(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// displayName is how messages call a source.
func displayName(source string) string {
	if source == stdinName {
		return "standard input"
	}
	if !strings.Contains(source, "://") {
		return source
	}
	u, err := url.Parse(source)
	if err != nil {
		scheme, _, _ := strings.Cut(source, "://")
		return scheme + "://…"
	}
	return maskedURL(u)
}

// readSource returns the texts of a source.
func readSource(ctx context.Context, source string, opt Options) ([]document, error) {
	switch {
	case source == "":
		return nil, fault.New(fault.Usage, "a metadata source is empty")
	case source == stdinName:
		return readStdin(opt)
	case isAddress(source):
		return readAddress(ctx, source, opt.HTTP)
	case strings.Contains(source, "://"):
		return nil, unreadable(displayName(source), errors.New("only http and https addresses can be read"))
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, unreadable(source, err)
	}
	if info.IsDir() {
		return readDir(source)
	}
	doc, err := readDocument(source)
	return []document{doc}, err
}

func unreadable(name string, err error) error {
	return fault.New(fault.Usage, "metadata source %s: %s", name, reason(err))
}

func readStdin(opt Options) ([]document, error) {
	if opt.Stdin == nil {
		return nil, unreadable(displayName(stdinName), errors.New("there is none"))
	}
	data, err := readAll(opt.Stdin, maxSource)
	if err != nil {
		return nil, unreadable(displayName(stdinName), err)
	}
	return []document{{name: "<stdin>", data: data}}, nil
}

func readDocument(path string) (document, error) {
	content, err := readBounded(path, maxSource)
	if err != nil {
		return document{}, unreadable(path, err)
	}
	return document{name: path, dir: filepath.Dir(path), data: []byte(content)}, nil
}

// readDir reads a directory's YAML files, sorted by name. Hidden files are left
// out: editors keep theirs there, and the kubelet its links.
func readDir(dir string) ([]document, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !isYAML(e.Name()) || strings.HasPrefix(e.Name(), ".")
	})
	if len(entries) == 0 {
		return nil, unreadable(dir, errors.New("no *.yaml or *.yml file in this directory"))
	}
	var docs []document
	for _, e := range entries {
		doc, err := readDocument(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}
