package cmd

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// world is what a test run of kcm sees of the world.
type world struct {
	env     map[string]string
	stdin   string
	signals chan os.Signal
}

// result is what came out of a run.
type result struct {
	code           int
	stdout, stderr string
}

func (w world) make(stdout, stderr *bytes.Buffer) *Env {
	env := &Env{
		Stdin: strings.NewReader(w.stdin), Stdout: stdout, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Environ:   func() []string { return nil },
		Now:       func() time.Time { return time.Date(2026, 3, 3, 14, 0, 5, 250e6, time.UTC) },
		GOOS:      "linux",
	}
	if w.signals != nil {
		env.Signals = func() (<-chan os.Signal, func()) { return w.signals, func() {} }
	}
	return env
}

// runKcm runs kcm in an empty directory.
func runKcm(t *testing.T, w world, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(w.make(&stdout, &stderr), args)
	return result{code, stdout.String(), stderr.String()}
}

// TestSpecsOfTheMetadata refuses a start that no run of this version can obey.
func TestSpecsOfTheMetadata(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		source, args, want string
		code               int
	}{
		{"start: stored", "consume s -e", "kcm: ./kcm.yaml:5:53: start: stored needs a group or a state file to be stored in\nkcm: hint: group:NAME reads the commits of a group without joining it\n", 2},
		{"start: 3, stop: 1", "consume s -e", "kcm: ./kcm.yaml:5:62: stop: 1 lies before start: 3, so that nothing is ever read\n", 2},
		{"start: stored", "consume s -e -o start -n 0", "", 0},
		{"start: 1, stop: 1", "consume s -e -n 0", "", 0},
		{"start: stored", "describe --offline -o wide", "", 0},
	} {
		write(t, "kcm.yaml", "clusters:\n  e: {bootstrap: \"127.0.0.1:1\"}\nstreams:\n  s:\n    sources: [{cluster: e, topics: [orders], "+c.source+"}]\n")
		if r := runKcm(t, world{}, strings.Fields(c.args)...); r.code != c.code || r.stderr != c.want {
			t.Errorf("%s, kcm %s: code %d, %q, want %q", c.source, c.args, r.code, r.stderr, c.want)
		}
	}
}

// TestForeignHands checks the hints alone, where the message is the command's
// own business.
func TestForeignHands(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, hint string }{
		{"consume -b h:1 -f", "kcm consume --help"},
		{"consume -b h:1 -f orders", "-f is the format; following is the default"},
		{"consume -b h:1 -f json", "-f is the format; following is the default"},
		{"consume -b h:1 -t orders", "-t narrows what streams select; kcm consume orders reads it"},
	} {
		r := runKcm(t, world{}, strings.Fields(c.args)...)
		if r.code != 2 || r.stdout != "" || !strings.HasSuffix(r.stderr, "\nkcm: hint: "+c.hint+"\n") {
			t.Errorf("kcm %s: code %d, stdout %q, stderr %q, want the hint %q", c.args, r.code, r.stdout, r.stderr, c.hint)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args string
		want string
	}{
		{"tail orders", "kcm: there is no command tail\nkcm: hint: kcm consume STREAM follows a stream; -o -N begins N offsets before the end\n"},
		{"tail orders -n 5", "kcm: there is no command tail\nkcm: hint: kcm consume STREAM follows a stream; -o -N begins N offsets before the end\n"},
		{"cat orders", "kcm: there is no command cat\nkcm: hint: kcm consume STREAM -o start -e\n"},
		{"ls", "kcm: there is no command ls\nkcm: hint: kcm describe lists the streams\n"},
		{"get topics", "kcm: there is no command get\nkcm: hint: kcm describe, such as kcm describe topics\n"},
		{"produce orders", "kcm: there is no command produce\nkcm: hint: kcm does not write records of its own; use kcat -P, rpk topic produce or kafka-console-producer\n"},
		{"topics create x", "kcm: there is no command topics\nkcm: hint: kcm describe topics; kcm creates, alters and deletes no topics\n"},
		{"lag -g g", "kcm: there is no command lag\nkcm: hint: kcm offsets lag -g GROUP\n"},
		{"groups", "kcm: there is no command groups\nkcm: hint: kcm describe groups, or kcm describe group NAME; kcm offsets lag -g GROUP shows its lag\n"},
		{"offsets lst", "kcm: there is no command offsets lst\nkcm: hint: did you mean kcm offsets list?\n"},
		{"migrate orders --from a --to b", "kcm: migrate is not in this version\nkcm: hint: meanwhile kcm consume STREAM -c FROM --to CLUSTER copies records, each at least once\n"},
		{"consme orders", "kcm: there is no command consme\nkcm: hint: did you mean consume?\n"},
		{"frobnicate", "kcm: there is no command frobnicate\nkcm: hint: kcm help lists the commands\n"},
		{"help frobnicate", "kcm: there is no command frobnicate\nkcm: hint: kcm help lists the commands\n"},
		{"-C -b h:1 -t x", "kcm: unknown shorthand flag: 'C' in -C\nkcm: hint: kcm consume STREAM\n"},
		{"-L -b h:1", "kcm: unknown shorthand flag: 'L' in -L\nkcm: hint: kcm describe\n"},
		{"--frob", "kcm: unknown flag: --frob\nkcm: hint: kcm --help\n"},
		{"consume -b h:1 orders -O json", "kcm: -O json would be a file of that name\nkcm: hint: -f json is the format; -O ./json is the file\n"},
		{"consume -b h:1 orders --output json", "kcm: unknown flag: --output\nkcm: hint: -f json writes JSON\n"},
		{"consume -b h:1 orders -K :", "kcm: unknown shorthand flag: 'K' in -K\nkcm: hint: -f FORMAT writes keys, such as -f '%k %v\\n'; --delimiter sets what ends a record\n"},
		{"consume -b h:1 orders -D x", "kcm: unknown shorthand flag: 'D' in -D\nkcm: hint: --delimiter S, or a template with -f\n"},
		{"consume -b h:1 orders -Z", "kcm: unknown shorthand flag: 'Z' in -Z\nkcm: hint: --null TEXT sets what stands for null\n"},
		{"consume -b h:1 orders -u", "kcm: unknown shorthand flag: 'u' in -u\nkcm: hint: -u is not needed: output is flushed whenever the next read would wait\n"},
		{"consume -b h:1 orders -F x", "kcm: unknown shorthand flag: 'F' in -F\nkcm: hint: put the file's name under propertiesFile: in the metadata, or give its lines with -X\n"},
		{"consume -b h:1 orders --from-beginning", "kcm: unknown flag: --from-beginning\nkcm: hint: -o start\n"},
		{"consume --bootstrap-server h:1 orders", "kcm: unknown flag: --bootstrap-server\nkcm: hint: -b HOST:PORT\n"},
		{"consume -b h:1 orders --exit-at-ende", "kcm: unknown flag: --exit-at-ende\nkcm: hint: did you mean --exit-at-end?\n"},
		{"consume -b h:1 orders --watch", "kcm: unknown flag: --watch\nkcm: hint: kcm consume follows a stream; kcm describe STREAM --watch shows it again and again\n"},
		{"describe -b h:1 orders --refresh 1s", "kcm: unknown flag: --refresh\nkcm: hint: kcm consume --refresh; kcm describe --watch --interval 5s\n"},
		{"consume -b h:1 orders -n x", "kcm: -n x is no whole number\nkcm: hint: kcm consume --help\n"},
		{"consume orders", "kcm: no clusters and streams are named\nkcm: hint: -m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT\n"},
		{"consume -b h:1 -m x.yaml orders", "kcm: bootstrap addresses and metadata are both given (-b and -m)\nkcm: hint: give either -b or -m\n"},
		{"consume -b h:1 -X CANARY orders", "kcm: -X: a property without a key or a value\nkcm: hint: -X [CLUSTER:]KEY=VALUE\n"},
		{"consume -b h:1 orders -o json", "kcm: \"json\" is no offset spec\nkcm: hint: -o is where to start; -f json writes JSON\n"},
		{"consume -b h:1 -r http://u:CANARY@sr:8081 orders", "kcm: an address is no stream\nkcm: hint: -r makes names patterns; --registry URL is the schema registry\n"},
		{"consume -b h:1 orders -c 5", "kcm: there is no cluster 5\nkcm: hint: -c is a cluster; -n 5 limits the number of records\n"},
		{"describe stream", "kcm: kcm describe stream needs the name of a stream\nkcm: hint: kcm describe stream NAME\n"},
		{"describe cluster", "kcm: kcm describe cluster needs the name of a cluster\nkcm: hint: kcm describe cluster NAME\n"},
		{"describe topic", "kcm: kcm describe topic needs the name of a topic\nkcm: hint: kcm describe topic [CLUSTER/]NAME\n"},
		{"describe topics a b", "kcm: kcm describe topics takes one CLUSTER, and b is a second\nkcm: hint: kcm describe topics --help\n"},
		{"describe stream a b", "kcm: kcm describe stream takes one NAME, and b is a second\nkcm: hint: kcm describe stream --help\n"},
		{"describe a b", "kcm: kcm describe takes one NAME, and b is a second\nkcm: hint: kcm describe --help\n"},
		{"describe streams a", "kcm: kcm describe streams takes no argument such as a\nkcm: hint: kcm describe streams --help\n"},
		{"man", "kcm: kcm man needs a directory\nkcm: hint: kcm man DIR\n"},
		{"config show a", "kcm: kcm config show takes no argument such as a\nkcm: hint: kcm config show --help\n"},
		{"config frob", "kcm: kcm config takes no argument such as frob\nkcm: hint: kcm config --help\n"},
		{"describe -b h:1 topic /re/", "kcm: describe topic takes a name, not /re/\nkcm: hint: [CLUSTER/]NAME; kcm describe topics lists them\n"},
		{"consume -b h:1 /orders", "kcm: /orders names no cluster before the /\nkcm: hint: CLUSTER/TOPIC; a pattern is given with -r, without slashes around it\n"},
		{"consume -b h:1 -r /or.*/", "kcm: /or.*/ names no cluster before the /\nkcm: hint: CLUSTER/TOPIC; a pattern is given with -r, without slashes around it\n"},
		{"version x", "kcm: kcm version takes no argument such as x\nkcm: hint: kcm version --help\n"},
		{"version -o yaml", "kcm: --output yaml is not allowed\nkcm: hint: --output is text or json\n"},
		{"completion csh", "kcm: there is no completion for csh\nkcm: hint: kcm completion bash, zsh, fish or powershell\n"},
		{"config show --color sometimes", "kcm: --color sometimes is not allowed\nkcm: hint: --color is auto, always or never\n"},
		{"config show --give-up soon", "kcm: --give-up soon is no duration such as 15s\nkcm: hint: kcm config show --help\n"},
		{"config show --config none.yaml", "kcm: config file none.yaml does not exist\n"},
	} {
		r := runKcm(t, world{}, strings.Fields(c.args)...)
		if r.code != 2 || r.stdout != "" || r.stderr != c.want {
			t.Errorf("kcm %s: code %d, stdout %q, stderr\n%swant code 2,\n%s", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
}
