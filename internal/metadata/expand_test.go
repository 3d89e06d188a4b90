package metadata

import (
	"os"
	"path/filepath"
	"testing"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"one": "pw\n", "two": "pw\n\n", "crlf": "pw\r\n", "none": "pw", "vars": "${A} $$"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"A": "a", "EMPTY": "", "REF": "${A}", "FILE": "file:one", "NAME": "one", "_x1": "u"}
	for text, want := range map[string]string{
		"plain": "plain", "${A}": "a", "x${A}y${A}": "xaya", "${_x1}": "u",
		"${EMPTY}": "", "${EMPTY:-d}": "d", "${NO:-d}": "d", "${NO:-}": "", "${A:-d}": "a", "${NO:-a:-b$c}": "a:-b$c",
		"$$": "$", "$${A}": "${A}", "$$$$": "$$", "a$": "a$", "$A": "$A", "$ $x": "$ $x",
		"${REF}":   "${A}",     // once
		"${FILE}":  "file:one", // once
		"file:one": "pw", "file:two": "pw\n", "file:crlf": "pw", "file:none": "pw", "file:vars": "${A} $$",
		"file:${NAME}": "pw", "file:" + dir + "/one": "pw", "file://" + dir + "/one": "pw",
		"x file:one": "x file:one",
	} {
		d := decoder{doc: document{dir: dir}, getenv: func(k string) (string, bool) { s, ok := env[k]; return s, ok }}
		if got := d.expand("key", &node{text: text}); got != want || d.err != nil {
			t.Errorf("%q becomes %q (%v), want %q", text, got, d.err, want)
		}
	}
}
