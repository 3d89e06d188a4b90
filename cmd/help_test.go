package cmd

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/spec"
)

func topicText(t *testing.T, name string) string {
	t.Helper()
	r := runKcm(t, world{}, "help", name)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("help %s: code %d, %s", name, r.code, r.stderr)
	}
	return r.stdout
}

func TestTopicsFitATerminal(t *testing.T) {
	for _, topic := range topics {
		text := topicText(t, topic.name)
		if strings.Count(text, "\n") < 10 || !strings.HasSuffix(text, "\n") || strings.Contains(text, "\t") {
			t.Errorf("help %s is too short, has tabs or does not end in a newline", topic.name)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 84 {
				t.Errorf("help %s: a line of %d letters: %s", topic.name, n, line)
			}
		}
	}
}

// TestTopicsNameFlagsThatExist holds texts and hints against the flags.
func TestTopicsNameFlagsThatExist(t *testing.T) {
	known := map[string]bool{"help": true}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, f := range describeFlags(c) {
			known[f.Name] = true
		}
		known["config"] = true
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRootCmd(world{}.make(nil, nil)))
	texts := map[string]string{}
	for _, topic := range topics {
		texts["help "+topic.name] = topicText(t, topic.name)
	}
	for name, hint := range flagHints {
		texts["the hint for "+name] = hint
	}
	for name, hint := range verbs {
		texts["the hint for "+name] = hint
	}
	long := regexp.MustCompile(`(?:^|[ (])--([a-z][a-z-]+)`)
	for name, text := range texts {
		for _, m := range long.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s names --%s, which does not exist", name, m[1])
			}
		}
	}
}

// TestExamplesParse reads every command line of the help texts with the flags
// that kcm has, and every spec in them with the grammar.
func TestExamplesParse(t *testing.T) {
	env := world{}.make(nil, nil)
	seen := 0
	try := func(where, line string) {
		args, ok := words(line)
		if !ok {
			return
		}
		root := newRootCmd(env)
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			t.Errorf("%s: %q: no such command (%v)", where, line, err)
			return
		}
		seen++
		cmd.SetContext(t.Context())
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %q: %v", where, line, err)
			return
		}
		if f := cmd.Flags().Lookup("offset"); f != nil {
			values, err := cmd.Flags().GetStringArray("offset")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := spec.ParseOffsets(values, env.Now()); err != nil {
				t.Errorf("%s: %q: %v", where, line, err)
			}
		}
	}
	for _, topic := range topics {
		for line := range strings.Lines(topicText(t, topic.name)) {
			if i := strings.Index(line, "kcm "); i >= 0 && strings.TrimSpace(line[:i]) == "" && i > 0 {
				try("help "+topic.name, line[i:])
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			try("the examples of "+c.CommandPath(), strings.TrimSpace(line))
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRootCmd(env))
	if seen < 15 {
		t.Errorf("only %d examples were found", seen)
	}
}

// words takes a line of a help text apart as a shell would: up to two blanks,
// which begin an explanation, or a pipe. Placeholders are left alone.
func words(line string) ([]string, bool) {
	line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, "  ")
	for _, placeholder := range []string{"SPEC", "FORMAT"} {
		if strings.Contains(line, placeholder) {
			return nil, false
		}
	}
	args := strings.Fields(line)
	if len(args) < 2 || args[0] != "kcm" {
		return nil, false
	}
	return args[1:], true
}

func TestHelpGoesToStdout(t *testing.T) {
	for _, args := range [][]string{
		{}, {"help"}, {"--help"}, {"-h"}, {"consume", "--help"}, {"help", "consume"}, {"help", "config", "show"}, {"completion"}, {"config"},
	} {
		r := runKcm(t, world{env: map[string]string{"KCM_CONFIG": map[bool]string{true: "none.yaml"}[len(args) != 1 || args[0] != "completion" && args[0] != "config"]}}, args...)
		if r.code != 0 || !strings.Contains(r.stdout, "Usage:") || r.stderr != "" {
			t.Errorf("kcm %v: code %d, %d bytes of help, %s", args, r.code, len(r.stdout), r.stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	a, b := runKcm(t, world{}, "version"), runKcm(t, world{}, "--version")
	if a.code != 0 || a.stdout != b.stdout || !strings.HasPrefix(a.stdout, "kcm ") || strings.Count(a.stdout, "\n") != 1 {
		t.Errorf("version %q, --version %q", a.stdout, b.stdout)
	}
	r := runKcm(t, world{}, "version", "--output", "json")
	if ok, _ := regexp.MatchString(`^\{"version":"[^"]+","commit":(null|"[0-9a-f]+"),"date":(null|"[^"]+"),"modified":(true|false),"go":"go[^"]+","platform":"[a-z]+/[a-z0-9]+"\}\n$`, r.stdout); !ok {
		t.Errorf("version -o json prints %q", r.stdout)
	}
}

func TestTopicsComplete(t *testing.T) {
	r := runKcm(t, world{}, "__complete", "help", "")
	for _, want := range []string{"specs\t", "from-kcat\t", "consume\t"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("help completes to %q", r.stdout)
		}
	}
	lines := strings.Split(r.stdout, "\n")
	if !slices.Contains(lines, ":4") || slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "man\t") }) {
		t.Errorf("help completes to %q", r.stdout)
	}
}
