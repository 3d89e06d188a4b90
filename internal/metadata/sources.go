package metadata

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
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
		return readAddress(ctx, source, opt)
	case strings.Contains(source, "://"):
		return nil, unreadable(displayName(source), errors.New("only http and https addresses can be read"))
	}
	if text, ok := opt.from.remembered(absolute(source)); ok {
		return []document{{name: source, dir: filepath.Dir(source), data: []byte(text)}}, nil
	}
	info, err := opt.from.stat(source)
	if err != nil {
		return nil, unreadable(source, err)
	}
	if info.IsDir() {
		return readDir(source, opt.from)
	}
	doc, err := readDocument(source, opt.from)
	return []document{doc}, err
}

func unreadable(name string, err error) error {
	return fault.New(fault.Usage, "metadata source %s: %s", name, reason(err))
}

func readStdin(opt Options) ([]document, error) {
	if text, ok := opt.from.remembered(stdinName); ok {
		return []document{{name: "<stdin>", data: []byte(text)}}, nil
	}
	if opt.Stdin == nil {
		return nil, unreadable(displayName(stdinName), errors.New("there is none"))
	}
	data, err := readAll(opt.Stdin, maxSource)
	if err != nil {
		return nil, unreadable(displayName(stdinName), err)
	}
	opt.from.remember(stdinName, string(data))
	return []document{{name: "<stdin>", data: data}}, nil
}

func readDocument(path string, from *reading) (document, error) {
	content, err := from.readFile(path, maxSource)
	if err != nil {
		return document{}, unreadable(path, err)
	}
	return document{name: path, dir: filepath.Dir(path), data: []byte(content)}, nil
}

// readDir reads a directory's YAML files, sorted by name.
func readDir(dir string, from *reading) ([]document, error) {
	names, err := fileNames(dir, sourceFile)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	if len(names) == 0 {
		return nil, unreadable(dir, errors.New("no *.yaml or *.yml file in this directory"))
	}
	var docs []document
	for _, name := range names {
		doc, err := readDocument(filepath.Join(dir, name), from)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}
