package settings

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ file, err, hint string }{
		{"fromat: json", "1:1: unknown key fromat", ""},
		{"consume:\n  fromat: json", "2:3: unknown key consume.fromat", "did you mean format?"},
		{"consum: {}", "1:1: unknown key consum", "did you mean consume?"},
		{"giveup: 5s", "1:1: unknown key giveup", "did you mean give-up?"},
		{"format: json", "1:1: unknown key format", "did you mean consume.format?"},
		{"consume: {metadata: x}", "1:11: unknown key consume.metadata", "did you mean metadata?"},
		{"config: x.yaml", "1:9: config holds the settings of a command", ""},
		{"Quiet: true", "1:1: unknown key Quiet", "did you mean quiet?"},
		{"quiet: true\nquiet: false", "2:1: quiet is already set on line 1", ""},
		{"properties: {a: 1, a: 2}", "1:20: a is already set on line 1", ""},
		{"quiet: [true]", "1:8: quiet is a single value", ""},
		{"quiet: {a: b}", "1:8: quiet is a single value", ""},
		{"metadata: {a: b}", "1:11: metadata is a list", ""},
		{"metadata: [[a]]", "1:12: metadata holds single values", ""},
		{"properties: a=b", "1:13: properties is a mapping of keys and values", ""},
		{"properties: {a: [b]}", "1:17: properties: a is a single value", ""},
		{"consume: json", "1:10: consume holds the settings of a command", ""},
		{"- a", "1:1: a config file is a mapping of settings", ""},
		{"a: b: c", " mapping values are not allowed in this context", ""},
		{"properties: {sasl.password: *CANARY}", " unknown anchor … referenced", ""},
	} {
		_, err := world{file: c.file}.load()
		if message(err) != home+":"+c.err || fault.KindOf(err) != fault.Usage || fault.HintOf(err) != c.hint {
			t.Errorf("%q: %q, hint %q; want %q, hint %q", c.file, message(err), fault.HintOf(err), home+":"+c.err, c.hint)
		}
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	for _, text := range []string{" ", "# nothing", "---\n", "consume:", "quiet: ''", "quiet: ~", "properties:\nmetadata: []"} {
		s, err := world{file: text}.load()
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.File != home {
			t.Errorf("%q: File = %q", text, s.File)
		}
		for _, st := range s.All() {
			if st.Source() != Default {
				t.Errorf("%q sets %s", text, st.Flag.Label())
			}
		}
	}
}

func TestAliases(t *testing.T) {
	w := world{file: "metadata: &m [a, b]\nconsume: {partitions: *m}"}
	if got := w.get(t, "consume.partitions").Texts(); strings.Join(got, " ") != "a b" {
		t.Errorf("partitions = %q", got)
	}
	_, err := world{file: "consume: &c\n  format: &f json\n  partitions: [*c]"}.load()
	if message(err) == "" {
		t.Error("a mapping as a value is taken")
	}
}

func TestWhichFile(t *testing.T) {
	for _, c := range []struct {
		name string
		goos string
		flag string
		env  map[string]string
		want string // the file that is asked for
		err  string // what is said when it is not there
	}{
		{"flag", "linux", "f.yaml", map[string]string{"KCM_CONFIG": "k.yaml", "HOME": "/h"}, "f.yaml", "config file f.yaml does not exist"},
		{"KCM_CONFIG", "linux", "", map[string]string{"KCM_CONFIG": "k.yaml", "HOME": "/h"}, "k.yaml", "config file k.yaml does not exist"},
		{"XDG", "linux", "", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/kcm/config.yaml", ""},
		{"home", "darwin", "", map[string]string{"KCM_CONFIG": "", "XDG_CONFIG_HOME": "", "HOME": "/h"}, "/h/.config/kcm/config.yaml", ""},
		{"windows", "windows", "", map[string]string{"AppData": `C:\u\AppData`, "HOME": "/h"}, `C:\u\AppData\kcm\config.yaml`, ""},
		{"nowhere", "linux", "", nil, "", ""},
		{"nowhere on windows", "windows", "", map[string]string{"HOME": "/h"}, "", ""},
	} {
		var asked string
		s, err := Load(Options{
			ConfigFile: c.flag, GOOS: c.goos,
			Getenv: func(name string) string { return c.env[name] },
			ReadFile: func(name string) ([]byte, error) {
				asked = name
				return nil, fs.ErrNotExist
			},
		})
		if asked != c.want || message(err) != c.err {
			t.Errorf("%s: asked for %q, said %q; want %q, %q", c.name, asked, message(err), c.want, c.err)
		}
		if err == nil && s.File != "" {
			t.Errorf("%s: File = %q", c.name, s.File)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	_, err := Load(Options{
		Getenv:   func(string) string { return "/x" },
		ReadFile: func(string) ([]byte, error) { return nil, errors.New("open /x: permission denied") },
	})
	if message(err) != "config file: open /x: permission denied" || fault.KindOf(err) != fault.Usage {
		t.Errorf("said %q", message(err))
	}
}

func TestMask(t *testing.T) {
	pairs, plain := Flag{Name: "properties", Shape: Pairs}, Flag{Name: "registry"}
	for _, c := range []struct {
		flag       Flag
		text, want string
	}{
		{pairs, "sasl.username=app", "sasl.username=app"},
		{pairs, "sasl.password=CANARY", "sasl.password=***"},
		{pairs, "east:ssl.key.password=CANARY", "east:ssl.key.password=***"},
		{pairs, "sasl.jaas.config=x password=\"CANARY\";", "sasl.jaas.config=***"},
		{pairs, "ssl.keystore.key=CANARY", "ssl.keystore.key=***"},
		{pairs, "ssl.key.pem=CANARY", "ssl.key.pem=***"},
		{pairs, "ssl.key.location=/etc/key.pem", "ssl.key.location=/etc/key.pem"},
		{pairs, "sasl.oauthbearer.client.secret=CANARY", "sasl.oauthbearer.client.secret=***"},
		{pairs, "sasl.oauthbearer.config=scope=x secret=CANARY", "sasl.oauthbearer.config=***"},
		{pairs, "basic.auth.user.info=u:CANARY", "basic.auth.user.info=***"},
		{pairs, "sasl.oauthbearer.token.endpoint.url=https://u:CANARY@h/t", "sasl.oauthbearer.token.endpoint.url=***"},
		{pairs, "schema.registry.url=https://u:CANARY@h/", "schema.registry.url=https://u:***@h/"},
		{pairs, "CANARY", "***"},
		{plain, "http://u:CANARY@sr:8081", "http://u:***@sr:8081"},
		{plain, "http://CANARY@sr:8081", "http://***@sr:8081"},
		{plain, "http://u:CAN/A?RY#@sr:8081", "http://u:***@sr:8081"},
		{plain, "http://sr/x?token=CANARY&a=b", "http://sr/x?a=***&token=***"},
		{plain, "http://sr/x?CANARY", "http://sr/x?***"},
		{plain, "http://sr/x?%zz=CANARY", "http://sr/x?***"},
		{plain, "a=http://u:CANARY@h,b=http://v:CANARY@i", "a=http://u:***@i"},
		{plain, "what?", "what?"},
		{plain, "plain", "plain"},
	} {
		if got := (Setting{Flag: c.flag}).Mask(Value{Text: c.text}); got != c.want {
			t.Errorf("Mask(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{"consume: {format: json}", "a: &a [*a]", "properties: {a: *b}", "- x", "a: b: c", "? {a: b}\n: c", "<<: {quiet: true}", "consume: &c {consume: *c}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := world{file: text}.load()
		if err != nil && (fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), home+":")) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
