package cmd

import (
	"strings"
	"testing"
	"time"
)

// settled runs consume's flags up to its options.
func settled(t *testing.T, w world, args ...string) (*consumeOptions, error) {
	t.Helper()
	env := w.make(nil, nil)
	root := newRootCmd(env)
	cmd, rest, err := root.Find(append([]string{"consume"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	if err := prepare(env, cmd); err != nil {
		t.Fatal(err)
	}
	fs := cmd.Flags()
	var f consumeFlags
	f.regex, _ = fs.GetBool("regex")
	f.all, _ = fs.GetBool("all")
	f.exitAtEnd, _ = fs.GetBool("exit-at-end")
	f.follow, _ = fs.GetBool("follow")
	f.num, _ = fs.GetInt64("num")
	f.offsets, _ = fs.GetStringArray("offset")
	f.order.by, _ = fs.GetString("order")
	f.order.tail, _ = fs.GetInt64("tail")
	f.bounds.since, _ = fs.GetString("since")
	f.bounds.until, _ = fs.GetString("until")
	f.bounds.late, _ = fs.GetDuration("late")
	f.bounds.perPartition, _ = fs.GetInt64("num-per-partition")
	f.bounds.timeout, _ = fs.GetDuration("timeout")
	f.bounds.min, _ = fs.GetInt64("min")
	f.committed, _ = fs.GetBool("read-committed")
	f.uncommitted, _ = fs.GetBool("read-uncommitted")
	f.format, _ = fs.GetString("format")
	f.json, _ = fs.GetBool("json")
	f.onDecode, f.onGap, f.maxBatch, f.progress, f.delimiter = "raw", "skip", "1MiB", "auto", "\n"
	f.onRecreate, f.onRemove, f.refresh = "start", "drain", time.Minute
	return newConsumeOptions(env, cmd, f, fs.Args())
}

// TestTheNearerRivalWins pairs flags that contradict each other over the places
// that they can be set in.
func TestTheNearerRivalWins(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "c.yaml"
	for _, c := range []struct {
		args string
		env  map[string]string
		yaml string
		want string // facts, or the error
	}{
		{"--follow", map[string]string{"KCM_CONSUME_EXIT_AT_END": "1"}, "", "follow"},
		{"-e", map[string]string{"KCM_CONSUME_FOLLOW": "1"}, "", "exit"},
		{"", map[string]string{"KCM_CONSUME_FOLLOW": "1"}, "consume: {exit-at-end: true}", "follow"},
		{"", map[string]string{"KCM_CONSUME_EXIT_AT_END": "1"}, "consume: {follow: true}", "exit"},
		{"--follow=false", map[string]string{"KCM_CONSUME_EXIT_AT_END": "1"}, "", "exit"},
		{"--exit-at-end=false", map[string]string{"KCM_CONSUME_EXIT_AT_END": "1"}, "", "follow"},
		{"-e --follow", nil, "", "-e and --follow exclude each other"},
		{"", map[string]string{"KCM_CONSUME_EXIT_AT_END": "1", "KCM_CONSUME_FOLLOW": "1"}, "", "-e and --follow exclude each other (env KCM_CONSUME_EXIT_AT_END and env KCM_CONSUME_FOLLOW)"},
		{"", nil, "consume:\n  follow: true\n  exit-at-end: true\n", "-e and --follow exclude each other (c.yaml:3 and c.yaml:2)"},
		{"--read-uncommitted", map[string]string{"KCM_CONSUME_READ_COMMITTED": "1"}, "", "follow uncommitted"},
		{"--read-committed", nil, "consume: {read-uncommitted: true}", "follow committed"},
		{"--read-committed --read-uncommitted", nil, "", "--read-committed and --read-uncommitted exclude each other"},
		{"-J", map[string]string{"KCM_CONSUME_FORMAT": "raw"}, "", "follow"},
		{"-f kcat-json", map[string]string{"KCM_CONSUME_JSON": "1"}, "", "follow kcat"},
		{"-J -f raw", nil, "", "-J and -f raw exclude each other"},
		{"-J -f json", nil, "", "follow"},
		{"", map[string]string{"KCM_CONSUME_NUM": "5"}, "", "follow limit"},
		{"-n -1", map[string]string{"KCM_CONSUME_NUM": "5"}, "", "follow"},
		{"--follow", map[string]string{"KCM_CONSUME_NUM": "5"}, "", "follow"},
		{"-n 3 --follow", nil, "", "follow limit"},
		{"-n -2", nil, "", "-n -2 is not allowed: a number of records is 0 or more, or -1 for no limit"},
		{"", map[string]string{"KCM_CONSUME_NUM": "-2"}, "", "env KCM_CONSUME_NUM: consume.num -2 is not allowed: a number of records is 0 or more, or -1 for no limit"},
		{"", map[string]string{"KCM_CONSUME_ALL": "1"}, "", "follow"},
		{"-a", nil, "", "follow all"},
	} {
		write(t, file, c.yaml)
		w := world{env: map[string]string{"KCM_CONFIG": file}}
		for k, v := range c.env {
			w.env[k] = v
		}
		o, err := settled(t, w, append(strings.Fields(c.args), "orders")...)
		if got := outcomeOf(o, err); got != c.want {
			t.Errorf("%s %v %s: %s, want %s", c.args, c.env, c.yaml, got, c.want)
		}
	}
}

func outcomeOf(o *consumeOptions, err error) string {
	if err != nil {
		return err.Error()
	}
	words := []string{map[bool]string{true: "exit", false: "follow"}[o.exit]}
	for _, fact := range []struct {
		is   bool
		word string
	}{
		{o.isolation == isolationCommitted, "committed"},
		{o.isolation == isolationUncommitted, "uncommitted"},
		{o.format.Needs().StoredBytes, "kcat"},
		{o.limit >= 0, "limit"},
		{o.all, "all"},
	} {
		if fact.is {
			words = append(words, fact.word)
		}
	}
	return strings.Join(words, " ")
}

// TestLoudness has -q and -v in different places.
func TestLoudness(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args      []string
		env       map[string]string
		quiet     bool
		verbosity int
	}{
		{[]string{"-v"}, map[string]string{"KCM_QUIET": "1"}, false, 1},
		{[]string{"-q"}, map[string]string{"KCM_VERBOSE": "2"}, true, 0},
		{[]string{"-q", "-v"}, nil, true, 1},
	} {
		env := world{env: c.env}.make(nil, nil)
		root := newRootCmd(env)
		cmd, rest, err := root.Find(append([]string{"version"}, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		cmd.Annotations = nil // version runs without settings
		if err := prepare(env, cmd); err != nil {
			t.Fatal(err)
		}
		if n := env.run.notices; n.Quiet() != c.quiet || n.Verbosity() != c.verbosity {
			t.Errorf("%v %v: quiet %v, verbosity %d", c.args, c.env, n.Quiet(), n.Verbosity())
		}
	}
}

// TestNoColor is nearer than the config file and farther than a flag.
func TestNoColor(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "c.yaml", "color: always\n")
	for _, c := range []struct {
		env  map[string]string
		args []string
		want bool
	}{
		{map[string]string{"KCM_CONFIG": "c.yaml"}, nil, true},
		{map[string]string{"KCM_CONFIG": "c.yaml", "NO_COLOR": "1"}, nil, false},
		{map[string]string{"KCM_COLOR": "always", "NO_COLOR": "1"}, nil, true},
		{map[string]string{"NO_COLOR": "1"}, []string{"--color", "always"}, true},
	} {
		env := world{env: c.env}.make(nil, nil)
		cmd, rest, err := newRootCmd(env).Find(append([]string{"describe"}, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		if err := prepare(env, cmd); err != nil {
			t.Fatal(err)
		}
		if got := useColor(env); got != c.want {
			t.Errorf("%v %v: colour %v", c.env, c.args, got)
		}
	}
}
