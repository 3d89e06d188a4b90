package metadata

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// findFiles notes in each cluster what the files hold that its connections are
// made of. A file that the last view had and that is gone makes the new one
// bad; one that never could be read is for the cluster's client to report.
func (v *View) findFiles(r *reading, last *View) error {
	for _, c := range v.Clusters {
		c.findFiles(r)
		var before *Cluster
		if last != nil {
			before = last.Cluster(c.Name)
		}
		if before == nil {
			continue
		}
		for path, d := range c.files {
			if was, ok := before.files[path]; ok && d.why != "" && was.why == "" {
				return fault.New(fault.Usage, "cluster %q: cannot read %s: %s", c.Name, path, d.why)
			}
		}
	}
	return nil
}

func (c *Cluster) findFiles(r *reading) {
	c.files = map[string]digest{}
	note := func(dir, path string) string {
		if path == "" {
			return ""
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = absolute(path)
		content, d := r.readKeys(path)
		c.files[path] = d
		return content
	}
	if t := c.TLS; t != nil {
		note("", t.CA.Path)
		note("", t.Cert.Path)
		note("", t.Key.Path)
	}
	for _, p := range c.Properties {
		note(c.Dir, namedFile(p.Key, p.Value.Reveal()))
	}
	text := note("", c.PropertiesFile)
	for _, path := range locations(text) {
		note(filepath.Dir(c.PropertiesFile), path)
	}
}

// namedFile returns the file that a property names, "" for none. It is one of
// those that a client reads when it is made.
func namedFile(key, value string) string {
	switch {
	case key == "sasl.kerberos.keytab":
		return strings.TrimPrefix(value, filePrefix)
	case !strings.HasSuffix(key, ".location"), key == "ssl.ca.location" && value == "probe":
		return "" // probe looks for the system's roots
	}
	return value
}

// readKeys reads a file of keys, or a directory of them.
func (r *reading) readKeys(path string) (string, digest) {
	s := stampOf(path, trail{})
	if s.kind != directory {
		return r.readKeyFile(path, s)
	}
	r.files[path] = taken{stamp: s, counts: anyFile}
	names, err := fileNames(path, anyFile)
	if err != nil {
		return "", digestOf("", err)
	}
	var all strings.Builder
	for _, name := range names {
		entry := filepath.Join(path, name)
		_, d := r.readKeyFile(entry, stampOf(entry, trail{}))
		all.WriteString(name + "\x00" + string(d.sum[:]))
	}
	return "", digestOf(all.String(), nil)
}

func (r *reading) readKeyFile(path string, s stamp) (string, digest) {
	if s.kind == special {
		r.files[path] = taken{stamp: s} // whoever makes the client reads it, and nobody can twice
		return "", digestOf("", errSpecial)
	}
	content, err := r.readFile(path, maxSource)
	return content, digestOf(content, err)
}

// fileNames lists the names of a directory that count, sorted.
func fileNames(dir string, counts func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if counts(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func anyFile(string) bool { return true }

// sourceFile reports whether a file of a directory is a source. Hidden files
// are none: editors keep theirs there, and the kubelet its links.
func sourceFile(name string) bool { return isYAML(name) && !strings.HasPrefix(name, ".") }

// locations returns the files that a Java properties file names. It reads just
// enough of the format: whoever makes the client reads it properly, and a path
// that is missed here is only not watched.
func locations(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\\\\", "\\", "\\:", ":", "\\=", "=", "\\ ", " ").Replace(text)
	text = strings.ReplaceAll(text, "\\\n", "")
	var paths []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, "=: \t")
		if end < 0 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
			continue
		}
		value := strings.TrimLeft(line[end:], " \t")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t")
		}
		if path := namedFile(line[:end], value); path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}
