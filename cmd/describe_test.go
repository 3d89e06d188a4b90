package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// describeRig is two clusters with a stream over both, and one that is dead.
func describeRig(t *testing.T, rig *kafkatest.Rig) (file, topic string) {
	t.Helper()
	topic = rig.Name("orders")
	for _, name := range []string{"east", "west"} {
		c := rig.Cluster(name)
		c.CreateTopic(topic, 2, map[string]string{"retention.ms": "86400000"})
		c.Produce(topic, kafkatest.Record{Value: []byte("a")}, kafkatest.Record{Partition: 1, Value: []byte("b")}, kafkatest.Record{Partition: 1})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	_ = l.Close()
	file = filepath.Join(t.TempDir(), "kcm.yaml")
	text := fmt.Sprintf(`
clusters:
  east: {bootstrap: "%s"}
  west: {bootstrap: "%s"}
  dead: {bootstrap: "%s"}
streams:
  orders:
    sources:
      - {cluster: east, topics: ["%[4]s"]}
      - {cluster: west, topics: ["%[4]s"], role: standby, start: end}
  lost:
    sources:
      - {cluster: east, topics: ["%[4]s"]}
      - {cluster: dead, topics: ["%[4]s"]}
`, rig.Cluster("east").Bootstrap(), rig.Cluster("west").Bootstrap(), dead, topic)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, topic
}

// tryKcm runs kcm with an empty environment.
func tryKcm(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	r := runKcm(t, world{}, args...)
	return r.stdout, r.stderr, r.code
}

func TestDescribeStream(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		file, topic := describeRig(t, rig)
		out, errs, code := tryKcm(t, "-m", file, "describe", "orders", "-o", "json")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		var doc StreamDoc
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, `"offline": null`) || strings.Contains(out, `"replicas": null`) {
			t.Errorf("an array is null: %s", out)
		}
		for i, want := range []struct{ cluster, role string }{{"east", "active"}, {"west", "standby"}} {
			src := doc.Sources[i]
			if src.Cluster != want.cluster || src.Role != want.role || len(src.Partitions) != 2 || src.Error != nil {
				t.Fatalf("source %d: %+v", i, src)
			}
			for p, end := range []int64{1, 2} {
				d := src.Partitions[p]
				if d.Topic != topic || *d.Start != 0 || *d.End != end || *d.Stable != end || *d.Leader < 0 {
					t.Errorf("partition %d of %s: start %d, end %d", p, want.cluster, *d.Start, *d.End)
				}
			}
		}
		out, _, _ = tryKcm(t, "-m", file, "describe", "orders")
		lines := strings.Split(out, "\n")
		if f := strings.Fields(lines[len(lines)-2]); strings.Join(f[:3], " ") != "west "+topic+" 1" || f[len(f)-1] != "2" {
			t.Errorf("the last row is %q", lines[len(lines)-2])
		}
	})
}

func TestDescribeShowsADeadClusterAndTheRest(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"describe"}, 3, []string{"orders  east", "lost    dead", "refuses"}},
		{[]string{"describe", "lost"}, 3, []string{"east     " + topic, "refuses"}},
		{[]string{"describe", "clusters"}, 3, []string{"east ", "dead ", "refuses"}},
		{[]string{"describe", "cluster", "dead"}, 5, []string{"dead ", "refuses"}},
		{[]string{"describe", "topics"}, 3, []string{topic, "refuses"}},
		{[]string{"describe", "topic", topic}, 3, []string{"retention.ms", "refuses"}},
		{[]string{"describe", "topic", "west/" + topic}, 0, []string{"86400000"}},
		{[]string{"describe", "--offline"}, 0, []string{"lost    dead"}},
	} {
		out, errs, code := tryKcm(t, append([]string{"-m", file}, tt.args...)...)
		if code != tt.code {
			t.Errorf("%v: exit code %d, want %d: %s", tt.args, code, tt.code, errs)
		}
		for _, text := range tt.says {
			if !strings.Contains(out, text) {
				t.Errorf("%v: no %q in\n%s", tt.args, text, out)
			}
		}
	}
}

func TestDescribeRefusesWhatIsNotThere(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"describe", "order"}, 2, `no stream "order"; did you mean "orders"?`},
		{[]string{"describe", "cluster", "eats"}, 2, "did you mean east?"},
		{[]string{"describe", "topic", "east/" + topic + "x"}, 1, "did you mean " + topic + "?"},
		{[]string{"describe", "-o", "xml"}, 2, "--output xml is not allowed"},
		{[]string{"describe", "topics", "--offline"}, 2, "known to the clusters only"},
		{[]string{"-b", "127.0.0.1:1", "describe"}, 2, "kcm describe topics"},
	} {
		args := tt.args
		if args[0] != "-b" {
			args = append([]string{"-m", file}, args...)
		}
		out, errs, code := tryKcm(t, args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || out != "" {
			t.Errorf("%v: exit code %d, want %d; stderr %q, want %q in it; stdout %q", tt.args, code, tt.code, errs, tt.says, out)
		}
	}
}

// TestDescribeSettings sets the flags of all describe commands in one place.
func TestDescribeSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "kcm.yaml", "clusters:\n  east: {bootstrap: \"127.0.0.1:1\"}\nstreams:\n  orders:\n    sources: [{cluster: east, topics: [orders]}]\n")
	write(t, "c.yaml", "describe: {output: json, offline: true}\n")
	for _, noun := range [][]string{nil, {"orders"}, {"streams"}, {"stream", "orders"}, {"clusters"}, {"cluster", "east"}} {
		for _, env := range []map[string]string{
			{"KCM_CONFIG": "c.yaml"}, {"KCM_DESCRIBE_OUTPUT": "json", "KCM_DESCRIBE_OFFLINE": "1"},
		} {
			r := runKcm(t, world{env: env}, append([]string{"describe"}, noun...)...)
			if r.code != 0 || !json.Valid([]byte(r.stdout)) {
				t.Errorf("describe %v, %v: code %d, %s%s", noun, env, r.code, r.stdout, r.stderr)
			}
			r = runKcm(t, world{env: env}, append(append([]string{"describe"}, noun...), "-o", "table")...)
			if r.code != 0 || json.Valid([]byte(r.stdout)) {
				t.Errorf("describe %v -o table, %v: code %d, %s%s", noun, env, r.code, r.stdout, r.stderr)
			}
		}
	}
	write(t, "deep.yaml", "describe: {streams: {output: json}}\n")
	if r := runKcm(t, world{}, "describe", "--config", "deep.yaml"); r.code != 2 || !strings.Contains(r.stderr, "unknown key describe.streams") {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	r := runKcm(t, world{env: map[string]string{"KCM_DESCRIBE_OUTPUT": "json"}}, "config", "show")
	if strings.Count(r.stdout, "describe.output ") != 1 || strings.Contains(r.stdout, "describe.streams") {
		t.Errorf("config show:\n%s", r.stdout)
	}
}

// TestDescribeOutcome goes through the ways in which clusters fail together.
func TestDescribeOutcome(t *testing.T) {
	auth := fault.New(fault.Auth, "a: refused")
	dead := fault.New(fault.Unreachable, "b: no contact")
	missing := fault.New(fault.Failed, "c/x: no such topic")
	part := fault.New(fault.Partial, "d: a part")
	for _, c := range []struct {
		asked  int
		failed []error
		code   int
		says   string
	}{
		{2, nil, 0, ""},
		{2, []error{auth}, 3, "a: refused"},
		{1, []error{auth}, 4, "a: refused"},
		{2, []error{auth, auth}, 4, "every cluster refused access, first: a: refused"},
		{2, []error{dead, dead}, 5, "no cluster could be reached, first: b: no contact"},
		{2, []error{missing, missing}, 1, "no cluster gave a result, first: c/x: no such topic"},
		{2, []error{auth, dead}, 1, "no cluster gave a result, first: a: refused"},
		{3, []error{auth, dead}, 3, "2 clusters failed, first: a: refused"},
		{2, []error{part, dead}, 3, "2 clusters failed, first: d: a part"},
		{1, []error{part}, 3, "d: a part"},
	} {
		err := partial(c.failed, &streamsDoc{count: c.asked})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if fault.Code(err) != c.code || text != c.says {
			t.Errorf("%d asked, %v: code %d, %q, want %d, %q", c.asked, c.failed, fault.Code(err), text, c.code, c.says)
		}
	}
}

// TestSettingsAreCheckedBeforeContact has one cluster whose settings are wrong:
// nothing is shown and nobody is asked.
func TestSettingsAreCheckedBeforeContact(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked <- struct{}{}
			_ = c.Close()
		}
	}()
	t.Chdir(t.TempDir())
	for _, wrong := range []string{"properties: {sasl.pasword: x}", "propertiesFile: none.properties"} {
		write(t, "kcm.yaml", fmt.Sprintf("clusters:\n  east: {bootstrap: \"%s\"}\n  west: {bootstrap: \"h:1\", %s}\nstreams:\n  orders:\n    sources:\n      - {cluster: east, topics: [orders]}\n      - {cluster: west, topics: [orders]}\n", l.Addr(), wrong))
		for _, args := range []string{
			"describe", "describe --offline", "describe orders", "describe stream orders --offline", "describe clusters",
			"describe clusters --offline", "describe cluster west", "describe topics", "describe topic orders", "consume orders -e",
		} {
			r := runKcm(t, world{}, strings.Fields(args)...)
			if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "west") {
				t.Errorf("%s, %s: code %d, %q, %q", wrong, args, r.code, r.stdout, r.stderr)
			}
		}
	}
	if len(asked) > 0 {
		t.Error("a cluster was contacted")
	}
}

// TestDescribeTellsWhatConsumeTells has patterns that match nothing, two names of
// one cluster, and a topic that the living clusters lack.
func TestDescribeTellsWhatConsumeTells(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	file, topic := describeRig(t, rig)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, fmt.Sprintf(`  none:
    sources: [{cluster: east, topics: ["/nothing.*/"]}]
  half:
    sources: [{cluster: east, topics: ["/nothing.*/", "%[1]s"]}]
  gone:
    sources: [{cluster: east, topics: ["/%[1]s/", nowhere]}]
  twins:
    sources:
      - {cluster: east, topics: ["%[1]s"]}
      - {cluster: again, topics: ["%[1]s"]}
`, topic)...)
	text = []byte(strings.Replace(string(text), "streams:", fmt.Sprintf("  again: {bootstrap: \"%s\", clusterId: other}\nstreams:", rig.Cluster("east").Bootstrap()), 1))
	write(t, file, strings.ReplaceAll(string(text), ", clusterId: other", ""))
	for _, c := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"describe", "none"}, 1, "east: no topic matches /nothing.*/", "kcm: east: no topic matches /nothing.*/\n"},
		{[]string{"describe", "half"}, 3, "east: no topic matches /nothing.*/", "kcm: east: no topic matches /nothing.*/\n"},
		{[]string{"describe", "gone"}, 3, "east/nowhere: no such topic", "kcm: east/nowhere: no such topic\n"},
		{[]string{"describe", "twins"}, 0, "again", topic + " would be read from both; consume refuses that\n"},
		{[]string{"describe", "topic", topic + "x"}, 3, "refuses", "kcm: there is no topic " + topic + "x on east, west, again; dead: "},
		{[]string{"describe", "topic", topic + "x"}, 3, "refuses", "kcm: hint: did you mean " + topic + "?\n"},
		{[]string{"describe", "cluster", "east", "-v"}, 0, "east", "kcm: east: trying " + rig.Cluster("east").Bootstrap() + "\nkcm: east: connected to " + rig.Cluster("east").Bootstrap() + ", cluster id "},
	} {
		stdout, stderr, code := tryKcm(t, append([]string{"-m", file}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%v: code %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
	write(t, file, string(text))
	var doc ClusterDoc
	stdout, _, code := tryKcm(t, "-m", file, "describe", "cluster", "again", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 6 || doc.ClusterID != nil || doc.Declared == nil || *doc.Declared != "other" {
		t.Errorf("code %d, %v, %s", code, err, stdout)
	}
}
