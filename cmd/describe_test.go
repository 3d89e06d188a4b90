package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{[]string{"describe", "groups"}, 2, "describe groups is not in this version"},
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
