package metadata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

const canary = "S3cr3t"

func testEnv(name string) (string, bool) {
	if name == "SECRET" {
		return canary + "-x", true
	}
	return "", false
}

func loadText(t *testing.T, text string) (*View, error) {
	t.Helper()
	now := time.Date(2026, 3, 3, 14, 0, 0, 0, time.UTC)
	return Load(t.Context(), []string{"-"}, Options{Stdin: strings.NewReader(text), Getenv: testEnv, Now: now})
}

// wantUsage checks the message and the hint of an error, that it is an error of
// use, and that no secret is in it.
func wantUsage(t *testing.T, err error, message string) {
	t.Helper()
	wantFault(t, err, fault.Usage, message)
}

func wantFault(t *testing.T, err error, kind fault.Kind, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", message)
	}
	got := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		got += "\nhint: " + hint
	}
	if got != message {
		t.Errorf("got  %s\nwant %s", got, message)
	}
	if fault.KindOf(err) != kind {
		t.Errorf("kind %d, want %d", fault.KindOf(err), kind)
	}
	if strings.Contains(got, canary) {
		t.Errorf("a secret is in %s", got)
	}
}

func TestErrorsOfText(t *testing.T) {
	table, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(table), "\n"), "\n=====\n")[1:]
	if len(cases) < 150 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		text, want, ok := strings.Cut(c, "\n=> ")
		if !ok {
			t.Fatalf("no message for\n%s", c)
		}
		t.Run(text, func(t *testing.T) {
			_, err := loadText(t, text)
			if !strings.HasPrefix(want, "<stdin>") {
				want = "<stdin>:" + want
			}
			wantUsage(t, err, want)
		})
	}
}

// TestErrorsOfBytes covers what a table of text cannot hold.
func TestErrorsOfBytes(t *testing.T) {
	east := `clusters: {east: {bootstrap: "a:1"}}` + "\n"
	deep := strings.Repeat("[", 101)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "<stdin>:1:1: the document is empty; it must hold clusters or streams"},
		{"blank", "\n\n", "<stdin>:1:1: the document is empty; it must hold clusters or streams"},
		{"comment", "# nothing\n", "<stdin>:1:1: the document is empty; it must hold clusters or streams"},
		{"null", "null", "<stdin>:1:1: the document is empty; it must hold clusters or streams"},
		{"second empty", east + "---\n", "<stdin>:2:1: the document is empty; it must hold clusters or streams"},
		{"utf-16", "\xff\xfea\x00", "<stdin>:1:1: this is UTF-16; save it as UTF-8"},
		{"utf-16 big", "\xfe\xff\x00a", "<stdin>:1:1: this is UTF-16; save it as UTF-8"},
		{"latin-1", east + "x: \xe9", "<stdin>:2:4: a byte that is not UTF-8"},
		{"nul", east + "\x00", "<stdin>:2:1: a control character (U+0000) cannot stand in YAML"},
		{"crlf", "clusters:\r\n  east: {bootstrap: a}\r\n", `<stdin>:2:21: bootstrap: "a" must be HOST:PORT`},
		{"cr", "clusters:\r  east: {bootstrap: a}\r", `<stdin>:2:21: bootstrap: "a" must be HOST:PORT`},
		{"bom", "\xef\xbb\xbfclusterz: {}", `<stdin>:1:1: the document has no key "clusterz"; did you mean "clusters"? allowed are clusters, streams`},
		{"column in characters", `clusters: {"été": {bootstrap: a}}`, `<stdin>:1:31: bootstrap: "a" must be HOST:PORT`},
		{"control in a name", `clusters: {"a\u0007b": {}}`, `<stdin>:1:12: name "a\ab" holds a blank or a control character`},
		{"long name", `clusters: {` + strings.Repeat("a", 256) + `: {}}`, "<stdin>:1:12: a name is longer than 255 bytes"},
		{"deep brackets", deep, "<stdin>:1:101: nested more than 100 deep"},
		{"deep list", strings.Repeat("- ", 101) + "a", "<stdin>:1:201: nested more than 100 deep"},
		{"tags in a row", strings.Repeat("!a\n", 101), "<stdin>:101:1: nested more than 100 deep"},
		{"marks", strings.Repeat("-", maxMarks+1), "<stdin>:1:500001: more than 500000 lines, keys and list entries in one file; split it, a directory is a source too"},
		{"keys", "streams:\n" + strings.Repeat("  a: b\n", maxKeys+1), "<stdin>:20002:4: more than 20000 entries in one mapping or list; split the file, a directory is a source too"},
		{"empty values", strings.Repeat("-\n", 201), "<stdin>:201:1: more than 200 keys and entries without a value"},
		{"documents", strings.Repeat("---\na: b\n", 1001), "<stdin>:2001:1: more than 1000 documents in one file"},
		{"alias bomb", bomb(), "<stdin>:6:35: aliases make this document larger than 1000000 values"},
		{"tab in a value", "clusters:\n  east:\n    clusterId: S3cr3t\tx\n", "<stdin>:3:16: a tab inside a text without quotes; quote it"},
		{"tab in braces", "clusters: {east: {clusterId: S3cr3t\tx}}", "<stdin>:1:30: a tab inside a text without quotes; quote it"},
		{"tab in a long value", "clusters:\n  east:\n    clusterId: x\n      y\tz\n", "<stdin>:3:16: a tab inside a text without quotes; quote it"},
		{"tab in a number", "clusters: {east: {properties: {a: 5\t6}}}", "<stdin>:1:35: a tab inside a text without quotes; quote it"},
		{"empty list after another", east + "---\n[]\n", "<stdin>:3:1: the document is empty; it must hold clusters or streams"},
		{"size", east + strings.Repeat(" ", maxSource), "metadata source standard input: it is too large: the limit is 16 MiB"},
		{
			"secret manifest", "kind: Secret\ndata:\n  kcm.yaml: " + base64.StdEncoding.EncodeToString([]byte("clusters:\n  east: {bootstrap: a, x: S3cr3t}")),
			`<stdin>[kcm.yaml]:2:21: bootstrap: "a" must be HOST:PORT`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadText(t, c.text)
			wantUsage(t, err, c.want)
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := byte('b'); c < 'n'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n")
	}
	return b.String()
}

// TestErrorsOfSources covers files, directories and what is no source at all.
func TestErrorsOfSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	east := `clusters: {east: {bootstrap: "a:1"}}`
	a, b := write("a.yaml", "# first\n"+east), write("b.yaml", "\n\n"+east)
	s1 := write("s1.yaml", "- streamId: s\n  clusterMetadataList: [{clusterId: east, bootstrapServers: 'b:1', topics: [t]}]")
	s2 := write("s2.yaml", "streams: {s: {sources: [{cluster: east, topics: [t]}]}}")
	empty := write("empty/notes.txt", "x")
	folder := write("folder/x.yaml/y", "x")
	big := write("big.yaml", strings.Repeat(" ", maxSource+1))
	dangling := filepath.Join(dir, "dangling", "x.yaml")
	rel := write("sub/rel.yaml", `clusters: {east: {bootstrap: "a:1", sasl: {password: "file:pw"}}}`)
	if err := errors.Join(os.Mkdir(filepath.Dir(dangling), 0o700), os.Symlink("nowhere", dangling)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		sources []string
		want    string
	}{
		{"none", nil, "no metadata source\nhint: -m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT"},
		{"empty", []string{""}, "a metadata source is empty"},
		{"missing", []string{dir + "/no.yaml"}, "metadata source " + dir + "/no.yaml: no such file or directory"},
		{"twice", []string{a, a}, "metadata source " + a + " is given twice"},
		{"stdin twice", []string{"-", "-"}, "metadata source standard input is given twice"},
		{"no stdin", []string{"-"}, "metadata source standard input: there is none"},
		{"scheme", []string{"ftp://u:S3cr3t@host/x?t=S3cr3t"}, "metadata source ftp://******@host/x?…: only http and https addresses can be read"},
		{"bad address", []string{"http://u:S3cr3t@ho st/"}, "metadata source http://…: this is no address"},
		{"no host", []string{"http:///x"}, "metadata source http:///x: this is no address"},
		{"no yaml", []string{filepath.Dir(empty)}, "metadata source " + filepath.Dir(empty) + ": no *.yaml or *.yml file in this directory"},
		{"directory as file", []string{dir + "/folder"}, "metadata source " + filepath.Dir(folder) + ": is a directory"},
		{"dangling link", []string{filepath.Dir(dangling)}, "metadata source " + dangling + ": no such file or directory"},
		{"too large", []string{big}, "metadata source " + big + ": it is too large: the limit is 16 MiB"},
		{"cluster twice", []string{a, b}, b + `:3:12: cluster "east" is defined twice; the other place is ` + a + ":2:12"},
		{"cluster twice, other order", []string{b, a}, a + `:2:12: cluster "east" is defined twice; the other place is ` + b + ":3:12"},
		{"stream twice", []string{s1, s2}, s2 + `:1:11: stream "s" is defined twice; the other place is ` + s1 + ":1:13"},
		{"other brokers", []string{a, s1}, s1 + `:2:37: cluster "east" has other bootstrap addresses than at ` + a + ":2:12"},
		{"other brokers, other order", []string{s1, a}, a + `:2:12: cluster "east" has other bootstrap addresses than at ` + s1 + ":2:37"},
		{"relative to the file", []string{rel}, rel + ":1:54: password: cannot read " + dir + "/sub/pw: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := Options{}
			if len(c.sources) > 1 {
				opt.Stdin = strings.NewReader(east)
			}
			_, err := Load(t.Context(), c.sources, opt)
			wantUsage(t, err, c.want)
		})
	}
}

func FuzzLoad(f *testing.F) {
	if table, err := os.ReadFile("testdata/errors.txt"); err == nil {
		for c := range bytes.SplitSeq(table, []byte("\n=====\n")) {
			text, _, _ := bytes.Cut(c, []byte("\n=> "))
			f.Add(text)
		}
	}
	f.Add([]byte(exampleOf(f)))
	f.Add([]byte(flinkForm))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("file:")) {
			return // would read whatever the fuzzer names
		}
		v, err := Load(t.Context(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Getenv: testEnv})
		if (v == nil) == (err == nil) {
			t.Fatalf("view %v, error %v", v, err)
		}
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Fatalf("kind %d of %v", fault.KindOf(err), err)
		}
		if err != nil && !bytes.Contains(data, []byte(canary)) && strings.Contains(err.Error(), canary) {
			t.Fatalf("an expanded value is in %v", err)
		}
	})
}
