package cmd

import (
	"bytes"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestNotices(t *testing.T) {
	const stamp = `{"time":"2026-03-03T14:00:05.250Z",`
	for _, c := range []struct {
		style noticeStyle
		want  string
	}{
		{noticeStyle{}, "kcm: a 1\nkcm: warning: b x\nkcm: warning: again\n+ east/orders\n"},
		{noticeStyle{verbosity: 1}, "kcm: a 1\nkcm: warning: b x\nkcm: detail\nkcm: warning: again\n+ east/orders\n"},
		{noticeStyle{quiet: true}, "kcm: warning: b x\nkcm: warning: again\n"},
		{noticeStyle{json: true, quiet: true}, stamp + `"level":"warning","message":"b\nx"}` + "\n" +
			stamp + `"level":"warning","message":"again"}` + "\n" +
			stamp + `"event":"added","topic":"<orders>","partition":3}` + "\n" +
			stamp + `"records":7}` + "\n"},
	} {
		var stderr bytes.Buffer
		n := newNotices(world{}.make(nil, &stderr), c.style)
		n.Notef("a %d", 1)
		n.Warnf("b\n%s\x1b", "x")
		n.Verbosef(1, "detail")
		n.Verbosef(2, "more detail")
		n.WarnOncef("again")
		n.WarnOncef("again")
		n.Event("added", "+ east/orders", Field{"topic", "<orders>"}, Field{"partition", 3})
		n.Object(Field{"records", 7})
		got := stderr.String()
		if c.style.json {
			got = string(bytes.ReplaceAll([]byte(got), []byte(`\u001b`), nil))
		}
		if got != c.want {
			t.Errorf("%+v:\n%swant:\n%s", c.style, got, c.want)
		}
		if n.JSON() != c.style.json || n.Quiet() != c.style.quiet || n.Verbosity() != c.style.verbosity {
			t.Errorf("%+v is not told", c.style)
		}
	}
}

func TestErrorShapes(t *testing.T) {
	t.Chdir(t.TempDir())
	const stamp = `{"time":"2026-03-03T14:00:05.250Z",`
	for _, c := range []struct {
		args []string
		env  map[string]string
		want string
	}{
		{[]string{"config", "show", "--color", "x", "--output", "json"}, nil, `{"error":"--color x is not allowed","code":2,"cluster":null,"hint":"--color is auto, always or never"}` + "\n"},
		{[]string{"config", "show", "--frob", "-o", "json"}, nil, `{"error":"unknown flag: --frob","code":2,"cluster":null,"hint":"kcm config show --help"}` + "\n"},
		{[]string{"config", "show", "--frob", "-ojson"}, nil, `{"error":"unknown flag: --frob","code":2,"cluster":null,"hint":"kcm config show --help"}` + "\n"},
		{[]string{"config", "show", "--frob", "--output=json"}, nil, `{"error":"unknown flag: --frob","code":2,"cluster":null,"hint":"kcm config show --help"}` + "\n"},
		{[]string{"config", "show", "-o", "table", "--frob", "-ojson"}, nil, "kcm: unknown flag: --frob\nkcm: hint: kcm config show --help\n"},
		{[]string{"config", "show"}, map[string]string{"KCM_CONFIG_SHOW_OUTPUT": "json", "KCM_COLOR": "x"}, `{"error":"--color x is not allowed","code":2,"cluster":null,"hint":"--color is auto, always or never"}` + "\n"},
		{[]string{"consume", "orders", "--progress", "json"}, nil, stamp + `"error":"no clusters and streams are named","code":2,"cluster":null,"hint":"-m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT"}` + "\n"},
		{[]string{"consume", "orders", "--frob", "--progress", "json"}, nil, stamp + `"error":"unknown flag: --frob","code":2,"cluster":null,"hint":"kcm consume --help"}` + "\n"},
	} {
		r := runKcm(t, world{env: c.env}, c.args...)
		if r.code != 2 || r.stdout != "" || r.stderr != c.want {
			t.Errorf("kcm %v: code %d, stdout %q, stderr\n%swant\n%s", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	plain := &cobra.Command{Use: "x"}
	plain.SetContext(t.Context())
	for _, c := range []struct {
		err     error
		started bool
		code    int
		want    string
	}{
		{nil, true, 0, ""},
		{errors.New("broken"), true, 1, "kcm: broken\n"},
		{errors.New("broken"), false, 2, "kcm: broken\nkcm: hint: x\n"},
		{fault.New(fault.Auth, "east: not authorized").On("east"), true, 4, "kcm: east: not authorized\n"},
		{fault.New(fault.Unreachable, "east: no contact").WithHint("check\n-b"), true, 5, "kcm: east: no contact\nkcm: hint: check -b\n"},
		{fault.Exit(7), true, 7, ""},
	} {
		var stdout, stderr bytes.Buffer
		env := world{}.make(&stdout, &stderr)
		newRootCmd(env)
		env.run.started = c.started
		if code := finish(env, plain, nil, c.err); code != c.code || stderr.String() != c.want {
			t.Errorf("%v (started %v): code %d, %q; want %d, %q", c.err, c.started, code, stderr.String(), c.code, c.want)
		}
	}
}
