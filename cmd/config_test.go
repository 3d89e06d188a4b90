package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/settings"
)

// show runs config show and returns value and origin of one setting, and all
// values joined if there are several.
func show(t *testing.T, w world, key string, args ...string) (value, origin string) {
	t.Helper()
	r := runKcm(t, w, append([]string{"config", "show", "-o", "json"}, args...)...)
	if r.code != 0 {
		t.Fatalf("config show %v: code %d, %s", args, r.code, r.stderr)
	}
	var shown shownConfig
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range shown.Settings {
		if s.Key == key {
			if found {
				value += " "
			}
			switch v := s.Value.(type) {
			case nil:
			case []any:
				for i, item := range v {
					value += strings.Repeat(" ", min(i, 1)) + fmt.Sprint(item)
				}
			default:
				value += fmt.Sprint(v)
			}
			origin, found = s.Origin, true
		}
	}
	if !found {
		t.Fatalf("config show has no %s:\n%s", key, r.stdout)
	}
	return value, origin
}

// TestWhichPlaceWins goes through flag, environment and file for settings of
// every shape.
func TestWhichPlaceWins(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "c.yaml")
	for _, c := range []struct{ key, flag, env, yaml, fallback string }{
		{"metadata", "--metadata=", "KCM_METADATA", "metadata", ""},
		{"bootstrap", "-b", "KCM_BOOTSTRAP", "bootstrap", ""},
		{"registry", "--registry=", "KCM_REGISTRY", "registry", ""},
		{"give-up", "--give-up=", "KCM_GIVE_UP", "give-up", "15s"},
		{"quiet", "--quiet=", "KCM_QUIET", "quiet", "false"},
		{"verbose", "--verbose=", "KCM_VERBOSE", "verbose", "0"},
		{"color", "--color=", "KCM_COLOR", "color", "auto"},
	} {
		values := map[string][3]string{
			"give-up": {"1s", "2s", "3s"}, "quiet": {"false", "true", "true"}, "verbose": {"0", "1", "2"},
			"color": {"never", "always", "auto"},
		}[c.key]
		if values[0] == "" {
			values = [3]string{"http://flag:1", "http://env:1", "http://file:1"}
		}
		for bits := range 8 {
			w := world{env: map[string]string{c.env: "", "KCM_CONFIG": file, "BROKERS": "localhost:1"}}
			text, want, origin := "# nothing\n", c.fallback, "default"
			var args []string
			if bits&1 != 0 {
				text += c.yaml + ": " + values[2] + "\n"
				want, origin = values[2], file+":2"
			}
			if bits&2 != 0 {
				w.env[c.env] = values[1]
				want, origin = values[1], "env "+c.env
			}
			if bits&4 != 0 {
				args = []string{c.flag + values[0]}
				want, origin = values[0], "flag"
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if v, o := show(t, w, c.key, args...); v != want || o != origin {
				t.Errorf("%s, case %03b = %q from %q, want %q from %q", c.key, bits, v, o, want, origin)
			}
		}
	}
}

func TestSettingsReachTheFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	// A wrong value of a setting is found where it stands.
	for _, c := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"KCM_CONSUME_NUM": "x"}, []string{"consume", "-b", "h:1", "orders"}, "kcm: env KCM_CONSUME_NUM: consume.num x is no whole number\n"},
		{map[string]string{"KCM_GIVE_UP": "x"}, []string{"config", "show"}, "kcm: env KCM_GIVE_UP: give-up x is no duration such as 15s\n"},
		{map[string]string{"KCM_GIVE_UP": "-5s"}, []string{"config", "show"}, "kcm: env KCM_GIVE_UP: give-up -5s is not allowed: a time is 0 or more\n"},
		{nil, []string{"config", "show", "--give-up", "-5s"}, "kcm: --give-up -5s is not allowed: a time is 0 or more\n"},
		{map[string]string{"KCM_QUIET": "x"}, []string{"config", "show"}, "kcm: env KCM_QUIET: quiet x is no true or false\n"},
		{map[string]string{"KCM_CONSUME_OFFSET": "never"}, []string{"consume", "-b", "h:1", "orders"}, "kcm: \"never\" is no offset spec\n"},
		{map[string]string{"KCM_BOOTSTRAP": "h:1", "KCM_METADATA": "x.yaml"}, []string{"consume", "orders"}, "kcm: bootstrap addresses and metadata are both given (env KCM_BOOTSTRAP and env KCM_METADATA)\n"},
		{map[string]string{"KCM_BOOTSTRAP": "h:1"}, []string{"consume", "-m", "none.yaml", "orders"}, "none.yaml"},
		{map[string]string{"KCM_METADATA": "none.yaml"}, []string{"describe"}, "none.yaml"},
		{map[string]string{"KCM_METADATA": "a.yaml"}, []string{"describe", "-m", "none.yaml"}, "none.yaml"},
	} {
		r := runKcm(t, world{env: c.env}, c.args...)
		if r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v kcm %v: code %d, %q, want %q", c.env, c.args, r.code, r.stderr, c.want)
		}
	}
	// And a broken one elsewhere is nobody's business here.
	if r := runKcm(t, world{env: map[string]string{"KCM_CONSUME_NUM": "x", "KCM_CONFIG": "none.yaml"}}, "version"); r.code != 0 {
		t.Errorf("version: code %d, %s", r.code, r.stderr)
	}
}

func TestMetadataOfTheConfigFileIsRelativeToIt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	write(t, filepath.Join(dir, "c.yaml"), "metadata: streams.yaml\n")
	write(t, filepath.Join(dir, "streams.yaml"), "clusters:\n  east:\n    bootstrap: h:1\nstreams:\n  orders:\n    sources:\n      - {cluster: east, topics: [orders]}\n")
	r := runKcm(t, world{}, "describe", "--config", filepath.Join(dir, "c.yaml"), "--offline", "-o", "json")
	if r.code != 0 || !strings.Contains(r.stdout, `"orders"`) {
		t.Errorf("code %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

func TestMetadataOfTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "clusters:\n  east:\n    bootstrap: h:1\nstreams:\n  %s:\n    sources:\n      - {cluster: east, topics: [orders]}\n"
	write(t, "kcm.yaml", strings.ReplaceAll(text, "%s", "near"))
	write(t, "far.yaml", strings.ReplaceAll(text, "%s", "far"))
	for _, c := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, nil, `"near"`},
		{map[string]string{"KCM_METADATA": ""}, nil, `"near"`},
		{map[string]string{"KCM_METADATA": "far.yaml"}, nil, `"far"`},
		{map[string]string{"KCM_METADATA": "none.yaml"}, []string{"-m", "far.yaml"}, `"far"`},
		{map[string]string{"KCM_BOOTSTRAP": "h:2"}, []string{"-m", "far.yaml"}, `"far"`},
	} {
		r := runKcm(t, world{env: c.env}, append([]string{"describe", "--offline", "-o", "json"}, c.args...)...)
		if r.code != 0 || !strings.Contains(r.stdout, c.want) {
			t.Errorf("%v %v: code %d, %s%s, want %s", c.env, c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
	if err := os.Remove("kcm.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("kcm.yaml", "kcm.yaml"); err != nil {
		t.Fatal(err)
	}
	if r := runKcm(t, world{}, "describe", "--offline"); r.code != 2 || !strings.Contains(r.stderr, "too many levels of symbolic links") {
		t.Errorf("an unreadable kcm.yaml: code %d, %s", r.code, r.stderr)
	}
}

func TestGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	env := world{env: map[string]string{"KCM_COLOR": "never", "KCM_CONFIG_SHOW_OUTPUT": "json"}}.make(nil, nil)
	root := newRootCmd(env)
	cmd, rest, err := root.Find([]string{"config", "show", "-o", "table"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	if got := given(env, cmd, "output"); got != settings.CommandLine {
		t.Errorf("before the settings are loaded, output is from %d", got)
	}
	if err := prepare(env, cmd); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]settings.Source{
		"output": settings.CommandLine, "color": settings.Env, "quiet": settings.Default, "none": settings.Default,
	} {
		if got := given(env, cmd, name); got != want {
			t.Errorf("%s is from %d, want %d", name, got, want)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsStaySecret puts a canary in every place that may hold a secret.
func TestSecretsStaySecret(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "c.yaml")
	good := "properties:\n  sasl.password: CANARY\n  ssl.key.pem: CANARY\nregistry: http://u:CANARY@sr:1\nmetadata: http://u:CANARY@m:1/x?token=CANARY\n"
	env := map[string]string{
		"KCM_CONFIG": file, "KCM_PROPERTIES": "sasl.jaas.config=x password=\"CANARY\";,east:sasl.oauthbearer.client.secret=CANARY",
		"KCM_REGISTRY": "east=https://CANARY@sr:1",
	}
	for _, c := range []struct {
		name string
		text string
		args []string
		code int
	}{
		{"table", good, []string{"config", "show", "-X", "ssl.key.password=CANARY", "-X", "CANARY", "-vv"}, 0},
		{"json", good, []string{"config", "show", "-o", "json", "-X", "sasl.password=CANARY", "--registry", "http://u:CAN/ARY@CANARY@h:1"}, 0},
		{"misspelt", good, []string{"config", "show", "-X", "sasl.pasword=CANARY", "-b", "a=u:CANARY@h:1"}, 0},
		{"misspelt as JSON", good, []string{"config", "show", "-o", "json", "-X", "sasl.pasword=CANARY", "-b", "u:CANARY@h:1"}, 0},
		{"broken file", good + "\tx: CANARY: 'CANARY", []string{"config", "show"}, 2},
		{"broken anchor", "properties: {sasl.password: *CANARY}", []string{"config", "show"}, 2},
		{"unknown key beside", "properties: {sasl.password: CANARY}\nx: CANARY", []string{"config", "show"}, 2},
		{"list for a value", "quiet: [CANARY]", []string{"config", "show"}, 2},
		{"pair without key", "properties: [CANARY]", []string{"consume", "-b", "h:1", "x"}, 2},
		{"bad registry", "quiet: true", []string{"consume", "-b", "h:1", "x", "--registry", "http://u:CANARY@:x", "-vv"}, 2},
	} {
		write(t, file, c.text)
		r := runKcm(t, world{env: env}, c.args...)
		if r.code != c.code {
			t.Errorf("%s: code %d, want %d: %s", c.name, r.code, c.code, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, "CANARY") {
			t.Errorf("%s shows a secret:\n%s%s", c.name, r.stdout, r.stderr)
		}
	}
}

func TestConfigShowTable(t *testing.T) {
	t.Chdir(t.TempDir())
	r := runKcm(t, world{}, "config", "show", "-m", "a.yaml,b.yaml", "-X", "client.id=x")
	for _, line := range []string{
		"SETTING ", "metadata ", "a.yaml", "b.yaml", "client.id=x", "consume.offset ", "config.show.output ",
	} {
		if !strings.Contains(r.stdout, line) {
			t.Errorf("config show has no %q:\n%s", line, r.stdout)
		}
	}
	if r.code != 0 || r.stderr != "" {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
}

// TestConfigShowTypes wants booleans, numbers and lists as such.
func TestConfigShowTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	w := world{env: map[string]string{"KCM_QUIET": "1", "KCM_CONSUME_NUM": "5", "KCM_CONSUME_FORMAT": "5", "KCM_PROPERTIES": "acks=1"}}
	r := runKcm(t, w, "config", "show", "-o", "json", "-m", "a.yaml,b.yaml", "-X", "client.id=x", "-X", "client.rack=y")
	for _, want := range []string{
		`{"key":"metadata","value":["a.yaml","b.yaml"],"origin":"flag"}`,
		`{"key":"bootstrap","value":[],"origin":"default"}`,
		`{"key":"properties","value":["acks=1"],"origin":"env KCM_PROPERTIES"}`,
		`{"key":"properties","value":["client.id=x","client.rack=y"],"origin":"flag"}`,
		`{"key":"quiet","value":true,"origin":"env KCM_QUIET"}`,
		`{"key":"verbose","value":0,"origin":"default"}`,
		`{"key":"consume.num","value":5,"origin":"env KCM_CONSUME_NUM"}`,
		`{"key":"consume.format","value":"5","origin":"env KCM_CONSUME_FORMAT"}`,
		`{"key":"consume.null","value":null,"origin":"default"}`,
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("config show has no %s:\n%s", want, r.stdout)
		}
	}
}

// TestNoControlsOnTheTerminal wants no escape sequence of a value to get through.
func TestNoControlsOnTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range [][]string{
		{"config", "show", "-m", "a\x1b[31mb\u009b2J\x9b"},
		{"config", "show", "-X", "client.id=a\x1b[31mb"},
		{"config", "show", "-X", "\x1b[31m=b"},
		{"config", "show", "-o", "json", "-m", "a\x1b[31mb\u009b2J\x7f"},
		{"consume", "-b", "h:1", "x", "-X", "\x1b[31m=b"},
		{"\x1b[31m"},
		{"consume", "-b", "h:1", "x", "-f", "\x1b[31m\u009b"},
	} {
		r := runKcm(t, world{}, c...)
		if strings.ContainsFunc(r.stdout+r.stderr, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("kcm %q: %q %q", c, r.stdout, r.stderr)
		}
	}
}

// TestSecretsThatLookLikeKeys keeps what may be a part of a secret out of errors.
func TestSecretsThatLookLikeKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		env  string
		args []string
		want string
	}{
		{"sasl.password=a,c.CANARY=x", nil, "kcm: env KCM_PROPERTIES: behind a comma stands a key that no Kafka client has; it is not shown, for it may be a part of the secret before it\n"},
		{"", []string{"-X", "sasl.password CANARY=x"}, "kcm: -X: what stands before a = is no property's key; it is not shown, for it may be a part of a secret\n"},
		{"", []string{"-X", "sasl.password:CANARY=x"}, "kcm: -X: what stands before a = is no property's key; it is not shown, for it may be a part of a secret\n"},
		{"sasl.pasword=a", nil, "kcm: default: sasl.pasword (env KCM_PROPERTIES): no Kafka client has a property of this name\n"},
		{"linger.ms=1,ackz=a", nil, "kcm: default: ackz (env KCM_PROPERTIES): no Kafka client has a property of this name\n"},
	} {
		w := world{env: map[string]string{"KCM_PROPERTIES": c.env}}
		r := runKcm(t, w, append([]string{"consume", "-b", "h:1", "x", "-e"}, c.args...)...)
		if r.code != 2 || !strings.HasPrefix(r.stderr, c.want) || strings.Contains(r.stderr, "CANARY") {
			t.Errorf("%q %v: code %d, %q, want %q", c.env, c.args, r.code, r.stderr, c.want)
		}
		if r := runKcm(t, w, append([]string{"config", "show"}, c.args...)...); r.code != 0 || strings.Contains(r.stdout, "CANARY") {
			t.Errorf("%q %v: code %d, %s", c.env, c.args, r.code, r.stdout)
		}
	}
}

func TestDanglingLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("gone.yaml", "kcm.yaml"); err != nil {
		t.Fatal(err)
	}
	if r := runKcm(t, world{}, "describe"); r.code != 2 || r.stderr != "kcm: ./kcm.yaml is a link to gone.yaml, which does not exist\n" {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
}
