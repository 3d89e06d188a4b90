package metadata

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const filePrefix = "file:"

// maxValueFile bounds a file that a value is read from.
const maxValueFile = 1 << 20

// expands reports whether expanding could change a text.
func expands(s string) bool {
	return strings.Contains(s, "$") || strings.HasPrefix(s, filePrefix)
}

// expand replaces the variables of a text, then, if the file itself wrote
// file: in front, the path by the content of the file. Neither result is
// looked at again.
func (d *decoder) expand(key string, n *node) string {
	s, why := expandVars(n.text, d.getenv)
	if why != "" {
		d.failAt(n, "%s: %s", key, why)
		return ""
	}
	if !strings.HasPrefix(n.text, filePrefix) {
		return s
	}
	if d.doc.remote {
		d.failAt(n, "%s: a source read over HTTP cannot read files of this machine into values; use ${VAR}", key)
		return ""
	}
	shown := n.text
	path := d.resolve(key, n, filePath(s))
	if d.err != nil {
		return ""
	}
	if !strings.Contains(shown, "$") {
		shown = path
	}
	content, err := d.from.readFile(path, maxValueFile)
	if err != nil {
		d.failAt(n, "%s: cannot read %s: %s", key, shown, reason(err))
		return ""
	}
	return dropNewline(content)
}

// dropNewline drops one newline at the end.
func dropNewline(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// filePath takes the path out of file:PATH or file:///PATH.
func filePath(s string) string {
	s = strings.TrimPrefix(s, filePrefix)
	if strings.HasPrefix(s, "///") {
		return s[2:]
	}
	return s
}

// expandVars replaces ${VAR}, ${VAR:-default} and $$; why says what is wrong.
func expandVars(s string, getenv func(string) (string, bool)) (out, why string) {
	var b strings.Builder
	for {
		head, tail, ok := strings.Cut(s, "$")
		b.WriteString(head)
		switch {
		case !ok:
			return b.String(), ""
		case strings.HasPrefix(tail, "$"):
			b.WriteByte('$')
			s = tail[1:]
		case strings.HasPrefix(tail, "{"):
			inner, rest, closed := strings.Cut(tail[1:], "}")
			if !closed {
				return "", "${ is not closed; $${ stands for the characters themselves"
			}
			value, why := variable(inner, getenv)
			if why != "" {
				return "", why
			}
			b.WriteString(value)
			s = rest
		default:
			b.WriteByte('$')
			s = tail
		}
	}
}

func variable(inner string, getenv func(string) (string, bool)) (value, why string) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch {
	case !isVariable(name):
		return "", "${…} does not hold the name of a variable; $${ stands for the characters themselves"
	case strings.Contains(fallback, "${"):
		return "", fmt.Sprintf("the default of ${%s} cannot hold another ${", name)
	}
	value, ok := getenv(name)
	switch {
	case hasFallback && value == "":
		return fallback, ""
	case !ok:
		return "", fmt.Sprintf("the environment variable %s is not set", name)
	}
	return value, ""
}

func isVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

var errTooLarge = errors.New("it is too large")

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := readAll(f, limit)
	return string(data), err
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w: the limit is %d MiB", errTooLarge, limit>>20)
	}
	return data, err
}

// reason is an error of the file system without the path that it repeats.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
