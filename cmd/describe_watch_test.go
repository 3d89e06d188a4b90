package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// watchRun is a watch in the background.
type watchRun struct {
	t       *testing.T
	rounds  chan string // each is one write to stdout
	stderr  *lockedBuffer
	signals chan os.Signal
	code    chan int
}

// startWatch runs kcm until end is called; tweak may change what it sees.
func startWatch(t *testing.T, tweak func(*Env), args ...string) *watchRun {
	t.Helper()
	r := &watchRun{t: t, rounds: make(chan string, 10000), stderr: &lockedBuffer{}, signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	env := world{signals: r.signals}.make(nil, nil)
	env.Stderr = r.stderr
	env.Stdout = writeFunc(func(p []byte) (int, error) {
		r.rounds <- string(p)
		return len(p), nil
	})
	if tweak != nil {
		tweak(env)
	}
	go func() { r.code <- Main(env, args) }()
	return r
}

const watchPatience = time.Minute

// next waits for the next round.
func (r *watchRun) next() string {
	r.t.Helper()
	select {
	case text := <-r.rounds:
		return text
	case code := <-r.code:
		r.t.Fatalf("the watch ended with code %d: %s", code, r.stderr)
	case <-time.After(watchPatience):
		r.t.Fatalf("no round; stderr %s", r.stderr)
	}
	return ""
}

// until waits for a round of which good is true.
func (r *watchRun) until(what string, good func(text string) bool) string {
	r.t.Helper()
	deadline := time.Now().Add(watchPatience)
	for {
		text := r.next()
		if good(text) {
			return text
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("waited for %s, but the last round is\n%s\n%s", what, text, r.stderr)
		}
	}
}

// end stops the watch and demands that it is done.
func (r *watchRun) end(sig os.Signal) {
	r.t.Helper()
	r.signals <- sig
	select {
	case code := <-r.code:
		if code != 0 {
			r.t.Errorf("%v: exit code %d: %s", sig, code, r.stderr)
		}
	case <-time.After(watchPatience):
		r.t.Fatalf("%v does not end the watch", sig)
	}
}

func offlineMetadata(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "kcm.yaml", "clusters:\n  east: {bootstrap: \"127.0.0.1:1\"}\nstreams:\n  orders:\n    sources: [{cluster: east, topics: [orders], role: draining}]\n")
}

func TestWatchFlags(t *testing.T) {
	offlineMetadata(t)
	write(t, "short.yaml", "describe: {interval: 10ms}\n")
	const least = " is not allowed: the shortest is 100ms\n"
	for _, c := range []struct {
		env          map[string]string
		args, stderr string
	}{
		{nil, "describe --watch --interval 99ms", "kcm: --interval 99ms" + least},
		{nil, "describe --watch --interval 0", "kcm: --interval 0s" + least},
		{nil, "describe stream orders --watch --interval -2s", "kcm: --interval -2s" + least},
		{nil, "describe --watch --interval soon", "kcm: --interval soon is no duration such as 15s\nkcm: hint: kcm describe --help\n"},
		{nil, "describe topics --interval 1s", "kcm: --interval without --watch is not allowed\nkcm: hint: kcm describe topics --watch --interval 1s\n"},
		{map[string]string{"KCM_DESCRIBE_INTERVAL": "1ms"}, "describe clusters --watch", "kcm: env KCM_DESCRIBE_INTERVAL: describe.interval 1ms" + least},
		{map[string]string{"KCM_CONFIG": "short.yaml"}, "describe", "kcm: short.yaml:1: describe.interval 10ms" + least},
		{nil, "describe ordres --watch", "kcm: no stream \"ordres\"; did you mean \"orders\"?\n"},
		{nil, "describe cluster eats --watch", "kcm: there is no cluster eats\nkcm: hint: did you mean east?\n"},
		{nil, "describe topics eats --watch", "kcm: there is no cluster eats\nkcm: hint: did you mean east?\n"},
		{nil, "describe topics --watch --offline", "kcm: --offline: topics are known to the clusters only\n"},
		{nil, "describe --watch -b h:1", "kcm: without metadata there are no streams: each topic is one\nkcm: hint: kcm describe topics lists the topics\n"},
		{nil, "describe --watch -X west:client.id=x", "kcm: -X: there is no cluster west\nkcm: hint: clusters are east\n"},
	} {
		r := runKcm(t, world{env: c.env}, strings.Fields(c.args)...)
		if r.code != 2 || r.stdout != "" || r.stderr != c.stderr {
			t.Errorf("kcm %s: code %d, %q, %q, want %q", c.args, r.code, r.stdout, r.stderr, c.stderr)
		}
	}
	r := runKcm(t, world{env: map[string]string{"KCM_DESCRIBE_INTERVAL": "5s"}}, "describe", "--offline")
	if r.code != 0 || r.stderr != "" {
		t.Errorf("an interval that waits for --watch: code %d, %s", r.code, r.stderr)
	}
}

// TestWatchWritesDocuments has every round as a document of its own, the same as
// without --watch, until any of the signals.
func TestWatchWritesDocuments(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	offlineMetadata(t)
	const line = `{"streams":[{"name":"orders","key":null,"value":null,"sources":[{"cluster":"east","topics":["orders"],"role":"draining",` +
		`"start":null,"stop":null,"isolation":null,"partitions":[],"error":null}]}]}` + "\n"
	yaml := runKcm(t, world{}, "describe", "--offline", "-o", "yaml").stdout
	for _, c := range []struct {
		output, want string
		signal       os.Signal
	}{
		{"json", line, os.Interrupt},
		{"yaml", "---\n" + yaml, syscall.SIGTERM},
		{"json", line, syscall.SIGHUP},
	} {
		r := startWatch(t, nil, "describe", "--offline", "--watch", "--interval", "100ms", "-o", c.output)
		for range 3 {
			if text := r.next(); text != c.want {
				t.Errorf("-o %s writes %q, want %q", c.output, text, c.want)
			}
		}
		r.end(c.signal)
		if r.stderr.String() != "" {
			t.Errorf("stderr %q", r.stderr)
		}
	}
}

// TestWatchSettings turns the watch on by the file and by variables.
func TestWatchSettings(t *testing.T) {
	offlineMetadata(t)
	write(t, "c.yaml", "describe: {watch: true, interval: 100ms, output: json, offline: true}\n")
	for _, env := range []map[string]string{
		{"KCM_CONFIG": "c.yaml"},
		{"KCM_DESCRIBE_WATCH": "true", "KCM_DESCRIBE_INTERVAL": "100ms", "KCM_DESCRIBE_OUTPUT": "json", "KCM_DESCRIBE_OFFLINE": "1"},
	} {
		r := startWatch(t, func(e *Env) {
			e.LookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		}, "describe", "orders")
		one, two := r.next(), r.next()
		if one != two || !strings.HasPrefix(one, `{"name":"orders",`) {
			t.Errorf("%v: %q, then %q", env, one, two)
		}
		r.end(os.Interrupt)
		once := runKcm(t, world{env: env}, "describe", "orders", "--watch=false")
		if once.code != 0 || !strings.HasPrefix(once.stdout, "{\n") {
			t.Errorf("%v, --watch=false: code %d, %s%s", env, once.code, once.stdout, once.stderr)
		}
	}
}

// TestWatchOfStdin reads the metadata from standard input, once.
func TestWatchOfStdin(t *testing.T) {
	text := "clusters:\n  east: {bootstrap: \"127.0.0.1:1\"}\nstreams:\n  orders:\n    sources: [{cluster: east, topics: [orders]}]\n"
	r := startWatch(t, func(e *Env) { e.Stdin = strings.NewReader(text) }, "-m", "-", "describe", "--offline", "--watch", "--interval", "100ms", "-o", "json")
	for range 3 {
		if round := r.next(); !strings.Contains(round, `"name":"orders"`) {
			t.Errorf("a round is %q", round)
		}
	}
	r.end(os.Interrupt)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer stdin.Close()
	r = startWatch(t, func(e *Env) { e.Stdin = stdin }, "-m", "-", "describe", "--watch")
	r.end(os.Interrupt) // which nobody waits for: nothing comes
}

// TestWatchEndsWithItsReader has tables that never change, so that no write
// would tell.
func TestWatchEndsWithItsReader(t *testing.T) {
	offlineMetadata(t)
	reader, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	r := startWatch(t, func(e *Env) { e.Stdout = stdout }, "describe", "--offline", "--watch", "--interval", "1h")
	if _, err := reader.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	select {
	case code := <-r.code:
		if code != 0 || r.stderr.String() != "" {
			t.Errorf("code %d, %s", code, r.stderr)
		}
	case <-time.After(watchPatience):
		t.Error("the watch goes on")
	}
}

// streamRound reads the JSON of a round of describe stream.
func streamRound(t *testing.T, text string) (doc oneStreamDoc) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &doc); err != nil || strings.Count(text, "\n") != 1 {
		t.Fatalf("%v: %q", err, text)
	}
	return doc
}

// end is the end of the first partition that a round shows of a cluster; -1 for none.
func (d oneStreamDoc) end(i int) int64 {
	if len(d.Sources) <= i || len(d.Sources[i].Partitions) == 0 || d.Sources[i].Partitions[0].End == nil {
		return -1
	}
	return *d.Sources[i].Partitions[0].End
}

// TestWatchGoesOnWithoutASilentCluster stops one cluster from answering and lets
// it go on again: its figures go and come, those of the other never wait.
func TestWatchGoesOnWithoutASilentCluster(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("rounds", func(t *testing.T) {
		rig := kafkatest.Fake(t, kafkatest.Options{})
		file, topic := describeRig(t, rig)
		east, west := rig.Cluster("east"), rig.Cluster("west")
		r := startWatch(t, nil, "-m", file, "describe", "orders", "--watch", "--interval", "100ms", "-o", "json")
		doc := streamRound(t, r.next())
		if doc.end(0) != 1 || doc.end(1) != 1 || *doc.Sources[1].Partitions[0].Role != "standby" {
			t.Fatalf("the first round is %+v", doc)
		}
		west.Pause(west.FirstNode())
		east.Produce(topic, kafkatest.Record{Value: []byte("c")})
		silent := streamRound(t, r.until("west's error", func(text string) bool { return strings.Contains(text, "west: no answer for") }))
		if silent.end(0) != 2 || len(silent.Sources[1].Partitions) != 0 || silent.Sources[0].Error != nil {
			t.Errorf("with a silent west: %+v", silent)
		}
		quickest := time.Hour // on a busy machine one may be late; to wait for west would be seconds each time
		for want := int64(3); want < 6; want++ {
			east.Produce(topic, kafkatest.Record{Value: []byte("d")})
			began := time.Now()
			r.until("east's news", func(text string) bool { return streamRound(t, text).end(0) == want })
			quickest = min(quickest, time.Since(began))
		}
		if quickest > time.Second {
			t.Errorf("east's news came after %s at the soonest", quickest)
		}
		r.until("what is the matter with west", func(text string) bool { return strings.Contains(text, "never answers") })
		west.Continue(west.FirstNode())
		back := streamRound(t, r.until("west", func(text string) bool { return streamRound(t, text).end(1) == 1 }))
		if back.Sources[1].Error != nil {
			t.Errorf("west is back with %s", *back.Sources[1].Error)
		}
		r.end(os.Interrupt)
	})
}

// TestWatchKeepsItsConnections counts what a new connection begins with.
func TestWatchKeepsItsConnections(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	var connections atomic.Int64
	for _, name := range []string{"east", "west"} {
		fake := rig.Cluster(name).Fake()
		fake.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
			connections.Add(1)
			fake.KeepControl()
			return nil, nil, false
		})
	}
	for _, args := range [][]string{{"orders"}, {"stream", "orders"}, {"topic", "east/" + topic}, {"topics", "west"}} {
		connections.Store(0)
		r := startWatch(t, nil, append([]string{"-m", file, "describe"}, append(args, "--watch", "--interval", "100ms", "-o", "json")...)...)
		r.next()
		first := connections.Load()
		for range 5 {
			r.next()
		}
		if n := connections.Load(); first == 0 || n != first {
			t.Errorf("%v: %d connections in the first round, %d after six", args, first, n)
		}
		r.end(os.Interrupt)
	}
}

// TestWatchWritesTablesThatChanged produces between two rounds.
func TestWatchWritesTablesThatChanged(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		file, topic := describeRig(t, rig)
		r := startWatch(t, nil, "-m", file, "describe", "topic", "east/"+topic, "--watch", "--interval", "100ms")
		first := r.next()
		rig.Cluster("east").Produce(topic, kafkatest.Record{Value: []byte("c")})
		second := r.next()
		if !strings.HasPrefix(first, "CLUSTER ") || !strings.HasPrefix(second, "\nCLUSTER ") || first == second[1:] {
			t.Errorf("first\n%s\nthen\n%s", first, second)
		}
		r.end(os.Interrupt)
		if len(r.rounds) != 0 {
			t.Errorf("written once more: %q", <-r.rounds)
		}
	})
}

// TestWatchOnATerminal draws frames over one another.
func TestWatchOnATerminal(t *testing.T) {
	offlineMetadata(t)
	r := startWatch(t, func(e *Env) { e.StdoutTerminal, e.StderrTerminal = true, true }, "describe", "--offline", "--watch", "--interval", "100ms", "--color", "never")
	const frame = noWrap + home + "STREAM  CLUSTER  TOPICS  ROLE" + clearLine + "\r\norders  east     orders  draining" + clearLine +
		"\r\n2026-03-03 14:00:05 UTC, every 100ms; Ctrl-C ends" + clearLine + clearRest + wrap
	for range 3 {
		if text := r.next(); text != frame {
			t.Fatalf("a frame is %q, want %q", text, frame)
		}
	}
	r.end(os.Interrupt)
	last := ""
	for len(r.rounds) > 0 {
		last = <-r.rounds
	}
	if last != "\n" {
		t.Errorf("the end is %q", last)
	}
}

func TestFrameFits(t *testing.T) {
	height := 6
	s := &screen{height: func() int { return height }}
	text := []byte("head\n1\n2\n3\n4\n5\n6\n")
	fmt.Fprintln(&s.messages, "kcm: warning: one")
	for _, c := range []struct {
		height int
		want   []string
	}{
		{6, []string{"head", "1", "2", "… 4 lines more", "kcm: warning: one", "status"}},
		{8, []string{"head", "1", "2", "3", "4", "… 2 lines more", "kcm: warning: one", "status"}},
		{9, []string{"head", "1", "2", "3", "4", "5", "6", "kcm: warning: one", "status"}},
		{2, []string{"… 7 lines more", "status"}},
		{1, []string{"status"}},
		{0, []string{"head", "1", "2", "3", "4", "5", "6", "kcm: warning: one", "status"}},
	} {
		scroll := ""
		if !s.begun {
			scroll = strings.Repeat("\n", 5)
		}
		height = c.height
		want := scroll + noWrap + home + strings.Join(c.want, clearLine+"\r\n") + clearLine + clearRest + wrap
		if got := string(s.frame(text, "status")); got != want {
			t.Errorf("%d lines: %q, want %q", c.height, got, want)
		}
	}
	for i := range 9 {
		fmt.Fprintf(&s.messages, "%d\n", i)
	}
	if got := strings.Join(s.messages.list(), ""); got != "5678" {
		t.Errorf("the messages kept are %s", got)
	}
}

// TestWatchChangesWithTheMetadata takes a stream away and gives it back, writes
// a bad version between, and moves a cluster.
func TestWatchChangesWithTheMetadata(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(text string) {
		t.Helper()
		next := filepath.Join(filepath.Dir(file), "next")
		write(t, next, text)
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	r := startWatch(t, nil, "-m", file, "describe", "orders", "--watch", "--interval", "100ms", "-o", "json")
	if doc := streamRound(t, r.next()); doc.Error != nil || doc.end(0) != 1 {
		t.Fatalf("the first round is %+v", doc)
	}
	replace(strings.ReplaceAll(string(good), "orders:\n", "other:\n"))
	gone := streamRound(t, r.until("the stream to go", func(text string) bool { return streamRound(t, text).Error != nil }))
	if *gone.Error != `no stream "orders"` || gone.Name != "orders" || len(gone.Sources) != 0 {
		t.Errorf("gone: %+v", gone)
	}
	replace("streams: [\n")
	deadline := time.Now().Add(watchPatience)
	for !strings.Contains(r.stderr.String(), "what was read before stays in force") {
		if r.next(); time.Now().After(deadline) {
			t.Fatalf("the bad version is not told: %s", r.stderr)
		}
	}
	replace(strings.ReplaceAll(string(good), "role: standby", "role: draining"))
	back := streamRound(t, r.until("the stream", func(text string) bool { return streamRound(t, text).Error == nil }))
	if role := back.Sources[1].Role; role != "draining" {
		t.Errorf("back: west is %s", role)
	}
	replace(strings.ReplaceAll(string(good), "west: {bootstrap: \""+rig.Cluster("west").Bootstrap(), "west: {bootstrap: \"127.0.0.1:1"))
	r.until("a west that is elsewhere", func(text string) bool {
		doc := streamRound(t, text)
		return len(doc.Sources[1].Partitions) == 0 && doc.Sources[1].Error != nil && strings.Contains(*doc.Sources[1].Error, "refuses")
	})
	rig.Cluster("east").Produce(topic, kafkatest.Record{Value: []byte("c")})
	r.until("east's news", func(text string) bool { return streamRound(t, text).end(0) == 2 })
	r.end(os.Interrupt)
	if n := strings.Count(r.stderr.String(), "kcm: warning: "); n != 1 {
		t.Errorf("%d warnings: %s", n, r.stderr)
	}
}

// TestWatchOfWhatGoes takes a cluster or a topic away and gives it back.
func TestWatchOfWhatGoes(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	without := strings.NewReplacer("  west: {", "  elsewhere: {", "cluster: west", "cluster: elsewhere").Replace(good)
	publish := func(text string) {
		write(t, file+".next", text)
		if err := os.Rename(file+".next", file); err != nil {
			t.Fatal(err)
		}
	}
	const noWest = "there is no cluster west"
	for _, c := range []struct{ args, here, gone string }{
		{"cluster west", `"name":"west",`, `"error":"` + noWest + `"`},
		{"topics west", `"failed":[],"error":null}`, `"topics":[],"failed":[{"cluster":"west","error":"` + noWest + `"}],"error":null}`},
		{"topic west/" + topic, `"topic":"` + topic + `"`, `"topics":[],"failed":[{"cluster":"west","error":"` + noWest + `"}],"error":null}`},
		{"stream west/" + topic, `"cluster":"west"`, `"sources":[],"error":"no cluster \"west\""}`},
	} {
		publish(good)
		r := startWatch(t, nil, append(append([]string{"-m", file, "describe"}, strings.Fields(c.args)...), "--watch", "--interval", "100ms", "-o", "json")...)
		if first := r.next(); !strings.Contains(first, c.here) || strings.Contains(first, noWest) {
			t.Errorf("%s: at first %s", c.args, first)
		}
		publish(without)
		r.until(c.gone, func(text string) bool { return strings.Contains(text, c.gone) })
		publish(good)
		r.until(c.here, func(text string) bool { return strings.Contains(text, c.here) && !strings.Contains(text, noWest) })
		r.end(os.Interrupt)
	}
	r := startWatch(t, nil, "-m", file, "describe", "topic", "east/"+topic, "--watch", "--interval", "100ms")
	r.next()
	rig.Cluster("east").DeleteTopic(topic)
	r.until("the topic to go", func(text string) bool {
		return strings.HasSuffix(text, "-        "+topic+"           -         -  there is no topic "+topic+"\n")
	})
	rig.Cluster("east").CreateTopic(topic, 3, nil)
	r.until("the topic", func(text string) bool { return strings.Contains(text, "east     "+topic+"           3         1\n") })
	r.end(os.Interrupt)
}
