//go:build kafka

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed is one entry of a stream's sources.
type listed struct {
	cluster string
	topics  []string
	more    string // further members, such as "role: draining"
}

// version is a whole metadata file. A cluster is name=bootstrap, or
// name={members}.
func version(clusters []string, streams map[string][]listed) string {
	var b strings.Builder
	b.WriteString("clusters:\n")
	for _, c := range clusters {
		name, members, _ := strings.Cut(c, "=")
		if !strings.HasPrefix(members, "{") {
			members = fmt.Sprintf("{bootstrap: %q}", members)
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, members)
	}
	b.WriteString("streams:\n")
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		fmt.Fprintf(&b, "  %s:\n    sources:\n", name)
		for _, s := range streams[name] {
			var quoted []string
			for _, topic := range s.topics {
				quoted = append(quoted, fmt.Sprintf("%q", topic))
			}
			more := s.more
			if more != "" {
				more = ", " + more
			}
			fmt.Fprintf(&b, "      - {cluster: %s, topics: [%s]%s}\n", s.cluster, strings.Join(quoted, ", "), more)
		}
	}
	return b.String()
}

// only is a version with the one stream orders.
func only(clusters []string, of ...listed) string {
	return version(clusters, map[string][]listed{"orders": of})
}

// renamed replaces a file by one that is moved over it.
func renamed(t *testing.T, path, text string) {
	t.Helper()
	part := filepath.Join(filepath.Dir(path), ".part")
	if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, path); err != nil {
		t.Fatal(err)
	}
}

// inPlace empties a file and writes it again.
func inPlace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// heard waits until a line of stderr that came at since or later contains every
// part, and returns when it came.
func (k *kcm) heard(d time.Duration, since time.Time, parts ...string) time.Time {
	k.t.Helper()
	var at time.Time
	k.until(d, fmt.Sprintf("a new line with %q on stderr", parts), func() bool {
		for _, l := range k.err.since(since) {
			if containsAll(l.text, parts) {
				at = l.at
				return true
			}
		}
		return false
	})
	return at
}

// since are the kept lines that came at t or later.
func (l *lines) since(t time.Time) []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.kept, t, func(k line, t time.Time) int { return k.at.Compare(t) })
	return slices.Clone(l.kept[i:])
}

// sockets are the inodes of the process's sockets.
func (k *kcm) sockets() map[string]bool {
	k.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", k.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			all[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return all
}

// connections are the process's open TCP connections to ports of this machine:
// the port by the socket's inode.
func (k *kcm) connections() map[string]int {
	k.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	own := k.sockets()
	to := map[string]int{}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		if len(f) < 10 || !own[f[9]] {
			continue
		}
		var address, port int
		if _, err := fmt.Sscanf(f[2], "%X:%X", &address, &port); err == nil && port != 0 {
			to[f[9]] = port
		}
	}
	return to
}
