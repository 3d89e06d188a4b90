package cmd

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kcm-cli/kcm/internal/sandbox"
)

func TestSandboxFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args string
		want SandboxOptions
	}{
		{"", SandboxOptions{Clusters: []string{"east", "west"}, Topics: []sandbox.Topic{{Name: "orders", Partitions: 3}}, Records: 100}},
		{
			"--clusters a,b --clusters c --topics x,y:2 --records 5 --dir d -- prog -x --records 9",
			SandboxOptions{
				Clusters: []string{"a", "b", "c"}, Topics: []sandbox.Topic{{Name: "x", Partitions: 1}, {Name: "y", Partitions: 2}},
				Records: 5, Dir: "d", Command: []string{"prog", "-x", "--records", "9"},
			},
		},
		{"--rate 30/m", SandboxOptions{Clusters: []string{"east", "west"}, Topics: []sandbox.Topic{{Name: "orders", Partitions: 3}}, Rate: 0.5}},
	} {
		var got *SandboxOptions
		var stdout, stderr bytes.Buffer
		env := world{}.make(&stdout, &stderr)
		root := newRootCmd(env)
		old, _, err := root.Find([]string{"sandbox"})
		if err != nil {
			t.Fatal(err)
		}
		root.RemoveCommand(old)
		root.AddCommand(newSandboxCmdFor(env, func(_ context.Context, o *SandboxOptions) error { got = o; return nil }))
		root.SetArgs(append([]string{"sandbox"}, strings.Fields(c.args)...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("sandbox %s: %v", c.args, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreUnexported(SandboxOptions{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("sandbox %s (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestSandboxUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"kcm", "kcm: kcm sandbox takes no argument such as kcm\nkcm: hint: a command goes behind --, as in kcm sandbox -- kcm consume orders\n"},
		{"x -- y", "kcm: kcm sandbox takes no argument such as x\nkcm: hint: a command goes behind --, as in kcm sandbox -- kcm consume orders\n"},
		{"--topics a:x", "kcm: --topics a:x: \"x\" is no number of partitions\nkcm: hint: --topics NAME:PARTITIONS, such as orders:3\n"},
		{"--topics a:", "kcm: --topics a:: \"\" is no number of partitions\nkcm: hint: --topics NAME:PARTITIONS, such as orders:3\n"},
		{"--topics a:0", "kcm: topic a can't have 0 partitions\nkcm: hint: from 1 to 1000\n"},
		{"--clusters a/b", "kcm: a cluster can't be named \"a/b\"\nkcm: hint: a name holds no / : = , and no blank\n"},
		{"--records -1", "kcm: there can't be -1 records\n"},
		{"--records many", "kcm: --records many is no whole number\nkcm: hint: kcm sandbox --help\n"},
		{"--records 5 --rate 5/s", "kcm: --records and --rate are both given\nkcm: hint: --records writes once, --rate keeps writing\n"},
		{"-m x.yaml", "kcm: --metadata has no effect here: a sandbox makes clusters and metadata of its own\nkcm: hint: flags of the command go behind --, as in kcm sandbox -- kcm consume orders\n"},
		{"-b h:1", "kcm: --bootstrap has no effect here: a sandbox makes clusters and metadata of its own\nkcm: hint: flags of the command go behind --, as in kcm sandbox -- kcm consume orders\n"},
		{"--rate fast", "kcm: --rate fast is no rate\nkcm: hint: --rate 10/s, 30/m or 1/h; at most 1000000/s\n"},
		{"--rate 5/", "kcm: --rate 5/ is no rate\nkcm: hint: --rate 10/s, 30/m or 1/h; at most 1000000/s\n"},
		{"--rate 5/d", "kcm: --rate 5/d is no rate\nkcm: hint: --rate 10/s, 30/m or 1/h; at most 1000000/s\n"},
		{"--rate 0/s", "kcm: --rate 0/s is no rate\nkcm: hint: --rate 10/s, 30/m or 1/h; at most 1000000/s\n"},
		{"--rate NaN", "kcm: --rate NaN is no rate\nkcm: hint: --rate 10/s, 30/m or 1/h; at most 1000000/s\n"},
	} {
		r := runKcm(t, world{}, append([]string{"sandbox"}, strings.Fields(c.args)...)...)
		if r.code != 2 || r.stdout != "" || r.stderr != c.want {
			t.Errorf("kcm sandbox %s: code %d, stdout %q, stderr\n%swant code 2,\n%s", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
}

// lockedBuffer is a stderr that a test reads while kcm writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor polls until text is in the buffer.
func (l *lockedBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(l.String(), text) {
		select {
		case <-deadline:
			t.Fatalf("waited for %q in %q", text, l.String())
		case <-tick.C:
		}
	}
}

// runSandboxUntil runs kcm sandbox, sends sig once text is on stdout or stderr,
// and returns the exit code and what it wrote.
func runSandboxUntil(t *testing.T, text string, sig os.Signal, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	signals := make(chan os.Signal, 1)
	var out, errs lockedBuffer
	env := world{signals: signals}.make(nil, nil)
	env.Stdout, env.Stderr = &out, &errs
	env.Environ = os.Environ
	done := make(chan int)
	go func() { done <- Main(env, append([]string{"sandbox"}, args...)) }()
	both := &out
	if text == "Ctrl-C" {
		both = &errs
	}
	both.waitFor(t, text)
	signals <- sig
	code = <-done
	return code, out.String(), errs.String()
}

func TestSandboxEndsWellWhenStopped(t *testing.T) {
	for _, rate := range [][]string{nil, {"--rate", "100/s"}} {
		code, stdout, stderr := runSandboxUntil(t, "Ctrl-C", os.Interrupt, rate...)
		if code != 0 || stdout != "" || !strings.HasPrefix(stderr, "kcm: started east at 127.0.0.1:") {
			t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
		}
		_, file, _ := strings.Cut(strings.Split(stderr, "\n")[2], " -m ")
		if _, err := os.Stat(file); file == "" || !os.IsNotExist(err) {
			t.Errorf("%s: %v, want it gone", file, err)
		}
	}
}
