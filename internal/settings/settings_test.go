package settings

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

// flags are those of the tests, with the command line saying what given holds
// by label.
func flags(given map[string][]string) []Flag {
	list := []Flag{
		{Name: "metadata", Shape: Commas},
		{Name: "bootstrap", Shape: Named},
		{Name: "properties", Shape: Pairs},
		{Name: "give-up", Default: "15s"},
		{Name: "quiet", Default: "false"},
		{Command: "consume", Name: "format"},
		{Command: "consume", Name: "read-committed", Default: "false"},
		{Command: "consume", Name: "offset", Shape: Repeated},
		{Command: "consume", Name: "partitions", Shape: Commas},
		{Command: "consume", Name: "group"},
		{Command: "consume", Name: "to"},
		{Command: "consume", Name: "state"},
		{Command: "consume", Name: "out"},
		{Command: "config show", Name: "output", Default: "table"},
		{Command: "migrate run", Name: "allow-aborted", Default: "false"},
		{Command: "migrate run", Name: "from"},
		{Command: "migrate run", Name: "execute", Default: "false"},
	}
	for i, f := range list {
		if values, ok := given[f.Label()]; ok {
			list[i].Given, list[i].Values = true, values
		}
	}
	return list
}

// world is one environment and one config file, at the place where nobody
// needs to name it.
type world struct {
	given map[string][]string
	env   map[string]string
	file  string
}

const home = "/home/u/.config/kcm/config.yaml"

func (w world) load() (*Settings, error) {
	return Load(Options{
		Flags:  flags(w.given),
		Getenv: func(name string) string { return map[string]string{"HOME": "/home/u"}[name] + w.env[name] },
		GOOS:   "linux",
		ReadFile: func(name string) ([]byte, error) {
			if name != home || w.file == "" {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(w.file), nil
		},
	})
}

func (w world) get(t *testing.T, label string) Setting {
	t.Helper()
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.All(), func(st Setting) bool { return st.Flag.Label() == label })
	st := s.All()[i]
	if again, ok := s.Get(st.Flag.Command, st.Flag.Name); !ok || again.Text() != st.Text() {
		t.Errorf("Get(%q, %q) = %v, %v", st.Flag.Command, st.Flag.Name, again, ok)
	}
	return st
}

// TestPrecedence goes through all eight ways to set a value in three places,
// with an empty variable standing in for an unset one.
func TestPrecedence(t *testing.T) {
	for _, label := range []string{"give-up", "consume.format"} {
		env := map[string]string{"give-up": "KCM_GIVE_UP", "consume.format": "KCM_CONSUME_FORMAT"}[label]
		text := map[string]string{"give-up": "quiet: true\ngive-up: f", "consume.format": "consume:\n  format: f"}[label]
		fallback := map[string]string{"give-up": "15s"}[label]
		for bits := range 8 {
			w := world{env: map[string]string{env: ""}, file: "quiet: true"}
			want, origin, source := fallback, "default", Default
			if bits&1 != 0 {
				w.file = text
				want, origin, source = "f", home+":2", File
			}
			if bits&2 != 0 {
				w.env[env] = "e"
				want, origin, source = "e", "env "+env, Env
			}
			if bits&4 != 0 {
				w.given = map[string][]string{label: {"c"}}
				want, origin, source = "c", "flag", CommandLine
			}
			st := w.get(t, label)
			if st.Text() != want || st.Origin() != origin || st.Source() != source {
				t.Errorf("%s, case %03b = %q from %q (%d), want %q from %q (%d)",
					label, bits, st.Text(), st.Origin(), st.Source(), want, origin, source)
			}
		}
	}
}

func TestFalseOnTheCommandLineBeatsTrueInTheFile(t *testing.T) {
	w := world{
		given: map[string][]string{"consume.read-committed": {"false"}},
		env:   map[string]string{"KCM_CONSUME_READ_COMMITTED": "true"},
		file:  "consume: {read-committed: true}",
	}
	if st := w.get(t, "consume.read-committed"); st.Text() != "false" || st.Origin() != "flag" {
		t.Errorf("read-committed = %q from %q", st.Text(), st.Origin())
	}
	w.given = nil
	w.env["KCM_CONSUME_READ_COMMITTED"] = "false"
	if st := w.get(t, "consume.read-committed"); st.Text() != "false" || st.Origin() != "env KCM_CONSUME_READ_COMMITTED" {
		t.Errorf("read-committed = %q from %q", st.Text(), st.Origin())
	}
}

func TestForeignAndUnknownVariablesChangeNothing(t *testing.T) {
	w := world{env: map[string]string{"BROKERS": "x:1", "BOOTSTRAP": "x:1", "KCM_FORMAT": "raw", "KCM_NO_SUCH": "1", "METADATA": "x"}}
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range s.All() {
		if st.Source() != Default {
			t.Errorf("%s = %q from %q", st.Flag.Label(), st.Texts(), st.Origin())
		}
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		name  string
		label string
		world world
		want  []string
	}{
		{"commas in a variable", "metadata", world{env: map[string]string{"KCM_METADATA": "a.yaml, b.yaml,"}}, []string{"a.yaml", "b.yaml"}},
		{"a list in the file", "metadata", world{file: "metadata: [a.yaml, 'b,c.yaml']"}, []string{"a.yaml", "b", "c.yaml"}},
		{"a text in the file", "metadata", world{file: "metadata: a.yaml,b.yaml"}, []string{"a.yaml", "b.yaml"}},
		{"a variable replaces the file", "metadata", world{file: "metadata: [a, b]", env: map[string]string{"KCM_METADATA": "c"}}, []string{"c"}},
		{"flags replace both", "metadata", world{
			given: map[string][]string{"metadata": {"d", "e"}}, file: "metadata: [a, b]", env: map[string]string{"KCM_METADATA": "c"},
		}, []string{"d", "e"}},
		{"one cluster's addresses", "bootstrap", world{env: map[string]string{"KCM_BOOTSTRAP": "h1:9092,h2:9092"}}, []string{"h1:9092,h2:9092"}},
		{"two clusters' addresses", "bootstrap", world{env: map[string]string{"KCM_BOOTSTRAP": "a=h1:9092,h2:9092,b=h3:9092"}}, []string{"a=h1:9092,h2:9092", "b=h3:9092"}},
		{"values with commas", "consume.offset", world{env: map[string]string{"KCM_CONSUME_OFFSET": "group:a,b"}}, []string{"group:a,b"}},
		{"numbers stay as typed", "consume.partitions", world{file: "consume: {partitions: [010, 0x10, 1_0]}"}, []string{"010", "0x10", "1_0"}},
		{"dates stay as typed", "consume.offset", world{file: "consume:\n  offset: [2026-03-03, '@-1h', -10]"}, []string{"2026-03-03", "@-1h", "-10"}},
		{"empty texts are none", "consume.partitions", world{file: "consume: {partitions: ['', ~]}", env: map[string]string{"KCM_CONSUME_PARTITIONS": " , "}}, []string{}},
	} {
		if got := c.world.get(t, c.label).Texts(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPairsAddUp(t *testing.T) {
	w := world{
		file: "properties:\n  sasl.username: file\n  East:sasl.username: f\n  client.rack: ''\n  linger.ms: 5\n",
		env:  map[string]string{"KCM_PROPERTIES": `sasl.username=env,ssl.enabled.protocols=TLSv1.2,TLSv1.3,sasl.jaas.config=x user="a" password="b,c=d";,acks=all`},
		given: map[string][]string{
			"properties": {"acks=1", "client.id=a=b"},
		},
	}
	st := w.get(t, "properties")
	var got []string
	for _, v := range st.Values {
		got = append(got, v.Text+" | "+v.Origin)
	}
	want := []string{
		"East:sasl.username=f | " + home + ":3",
		"linger.ms=5 | " + home + ":5",
		"sasl.username=env | env KCM_PROPERTIES",
		"ssl.enabled.protocols=TLSv1.2,TLSv1.3 | env KCM_PROPERTIES",
		`sasl.jaas.config=x user="a" password="b,c=d"; | env KCM_PROPERTIES`,
		"acks=1 | flag",
		"client.id=a=b | flag",
	}
	if !slices.Equal(got, want) {
		t.Errorf("properties:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lines := world{env: map[string]string{"KCM_PROPERTIES": "a=1,b=2\n\n c=3\n"}}
	if got := lines.get(t, "properties").Texts(); !slices.Equal(got, []string{"a=1,b=2", "c=3"}) {
		t.Errorf("lines: %q", got)
	}
	list := world{file: "properties: [a=1, 'b=2,3']"}
	if got := list.get(t, "properties").Texts(); !slices.Equal(got, []string{"a=1", "b=2,3"}) {
		t.Errorf("list: %q", got)
	}
}

func TestCommandLineOnly(t *testing.T) {
	env := map[string]string{}
	for _, f := range flags(nil) {
		if !CommandLineOnly(f.Name) {
			continue
		}
		env[f.EnvName()] = "x"
		words := append(strings.Fields(f.Command), f.Name)
		text := strings.Join(words[:len(words)-1], ": {") + ": {" + words[len(words)-1] + ": x" + strings.Repeat("}", len(words)-1)
		_, err := world{file: text}.load()
		want := home + ":1:" + strconv.Itoa(strings.Index(text, words[len(words)-1]+": x")+1) + ": " + f.Label() + " is taken from the command line only"
		if message(err) != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %q, want %q", text, message(err), want)
		}
	}
	if len(env) != 7 {
		t.Fatalf("%d flags are for the command line only, want 7: %v", len(env), env)
	}
	s, err := world{env: env, given: map[string][]string{"consume.group": {"g"}}}.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range s.All() {
		if st.Source() == Env {
			t.Errorf("%s is taken from the environment", st.Flag.Label())
		}
	}
	if st, _ := s.Get("consume", "group"); st.Text() != "g" || st.Origin() != "flag" {
		t.Errorf("group = %q from %q", st.Text(), st.Origin())
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestMaskByKind covers what people see of values that may hold a secret.
func TestMaskByKind(t *testing.T) {
	pairs, addresses, text := Flag{Shape: Pairs}, Flag{Shape: Named, Address: true}, Flag{}
	for _, c := range []struct {
		flag Flag
		text string
		want string
	}{
		{pairs, "client.id=kcm", "client.id=kcm"},
		{pairs, "east:client.rack=a", "east:client.rack=a"},
		{pairs, "sasl.password=S", "sasl.password=***"},
		{pairs, "sasl.pasword=S", "sasl.pasword=***"},
		{pairs, "pw=S", "pw=***"},
		{pairs, "S", "***"},
		{pairs, "sasl.password S=x", "***=***"},
		{pairs, "sasl.password:S=x", "***=***"},
		{pairs, "a\x1b[2J=x", "***=***"},
		{pairs, "bootstrap.servers=u:S@h:1", "bootstrap.servers=u:***@h:1"},
		{pairs, "schema.registry.url=https://u:S@h/t?key=S", "schema.registry.url=https://u:***@h/t?key=***"},
		{addresses, "u:S@h:1", "u:***@h:1"},
		{addresses, "a=u:S@S@h:1,v:S@g:2", "a=u:***@g:2"},
		{addresses, "S@h:1", "***@h:1"},
		{addresses, "a=S@h:1", "a=***@h:1"},
		{addresses, "east=http://u:S@h:1/", "east=http://u:***@h:1/"},
		{addresses, "h:1,g:2", "h:1,g:2"},
		{text, "@-1h", "@-1h"},
		{text, "east/orders:0=@2026-01-01", "east/orders:0=@2026-01-01"},
	} {
		if got := (Setting{Flag: c.flag}).Mask(Value{Text: c.text}); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
	}
}

// TestSecretsWithCommas keeps what follows the comma of a secret with it, or
// marks what may be a part of it.
func TestSecretsWithCommas(t *testing.T) {
	for _, c := range []struct {
		env  string
		want []string
	}{
		{"sasl.password=ab,cd=s3", []string{"sasl.password=***"}},
		{"sasl.pasword=ab,cd=s3,client.id=x", []string{"sasl.pasword=***", "client.id=x"}},
		{"sasl.password=ab,client.id=x,cd=s3", []string{"sasl.password=***", "client.id=x", "***=***"}},
		{"sasl.password=ab,c.d=s3", []string{"sasl.password=***", "***=***"}},
		{"linger.ms=5,c.d=s3", []string{"linger.ms=5", "c.d=***"}},
		{"sasl.password=ab,east:cd=s3", []string{"sasl.password=***"}},
		{"client.id=x\nsasl.password=ab,c.d=s3", []string{"client.id=x", "sasl.password=***"}},
	} {
		st := world{env: map[string]string{"KCM_PROPERTIES": c.env}}.get(t, "properties")
		var got []string
		for _, v := range st.Values {
			got = append(got, st.Mask(v))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.env, got, c.want)
		}
	}
}
