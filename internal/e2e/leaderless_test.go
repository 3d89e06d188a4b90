//go:build kafka

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// described is a partition as describe -o json shows it.
type described struct {
	Partition int32   `json:"partition"`
	Leader    *int32  `json:"leader"`
	Start     *int64  `json:"start"`
	Stable    *int64  `json:"stable"`
	End       *int64  `json:"end"`
	Error     *string `json:"error"`
}

// TestAPartitionWhoseLeaderIsDown is marked, and the others are complete.
func TestAPartitionWhoseLeaderIsDown(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("three")
	topic := rig.Name("orders")
	const parts = 3
	ctx := t.Context()
	resp, err := c.Admin().CreateTopic(ctx, parts, 1, nil, topic)
	if err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	t.Cleanup(func() { c.DeleteTopic(topic) })
	for p := range int32(parts) {
		c.Produce(topic, numbered(c, p, 0, 20)...)
	}
	down := c.Leader(topic, 2)
	for p := range int32(2) {
		if c.Leader(topic, p) == down {
			t.Fatalf("partitions %d and 2 have the same leader", p)
		}
	}
	meta := metadata(t, "orders", topic, at(c))
	dead := metadata(t, "orders", topic, at(c), "dead="+closedPort(t))

	follow := start(t, []string{"-m", meta, "consume", "orders", "-J", "-o", "start"})
	follow.gets(patience, 3*20)
	c.Kill9(down)
	killed := time.Now()

	args := map[string][]string{
		"topic":                 {"-m", meta, "describe", "topic", topic, "-o", "json"},
		"stream":                {"-m", meta, "describe", "orders", "-o", "json"},
		"beside a dead cluster": {"-m", dead, "describe", "orders", "-o", "json"},
		"table":                 {"-m", meta, "describe", "topic", topic},
	}
	running := map[string]*kcm{}
	for name, a := range args {
		running[name] = start(t, a)
	}
	bounded := start(t, []string{"-m", meta, "consume", "orders", "-e", "-J", "--give-up", "4s"})
	for name, k := range running {
		r := k.end(patience)
		t.Logf("describe %s: %.1f s", name, r.took.Seconds())
		r.exits(t, 3)
		if r.took > 10*time.Second+ease {
			t.Errorf("describe %s took %v", name, r.took)
		}
		text := strings.Join(r.stdout, "\n")
		if name == "table" {
			t.Log("\n" + text + "\n" + strings.Join(r.stderr, "\n"))
			continue
		}
		if strings.Contains(name, "dead") && !strings.Contains(text, "refuses the connection") {
			t.Errorf("describe %s: the dead cluster is not shown:\n%s", name, text)
		}
		marked(t, name, partitionsOf(t, text))
	}
	r := bounded.end(patience)
	r.exits(t, 3)
	r.figures(t, "consume -e --give-up 4s")
	t.Log(strings.Join(r.stderr, "\n"))
	got := values(t, r.stdout)
	slices.Sort(got)
	want := append(counted(c, 0, 20), counted(c, 1, 20)...)
	slices.Sort(want)
	equal(t, "p0 and p1", got, want)
	r.says(t, 1, "three/"+topic+"/2: ", "trying again")
	r.says(t, 1, "three/"+topic+"/2: given up")
	tidy(t, r)
	if r.took > 15*time.Second+ease {
		t.Errorf("consume -e --give-up 4s took %v", r.took)
	}

	told := follow.began.Add(follow.told(15*time.Second, "lost")).Sub(killed)
	t.Logf("the follow told it %.1f s after the kill", told.Seconds())
	if told > 5*time.Second+ease {
		t.Errorf("told after %v", told)
	}
	c.Produce(topic, numbered(c, 0, 20, 10)...)
	c.Produce(topic, numbered(c, 1, 20, 10)...)
	follow.gets(5*time.Second, 3*20+20)
	c.Restart(down)
	c.Produce(topic, numbered(c, 2, 20, 10)...)
	follow.gets(15*time.Second, 3*30)
	r = follow.stop()
	r.exits(t, 0)
	t.Log(strings.Join(r.stderr, "\n"))
	got = values(t, r.stdout)
	for p := range int32(parts) {
		equal(t, "follow", of(c, p, got), counted(c, p, 30))
	}
}

// partitionsOf finds the list of partitions in a document of describe.
func partitionsOf(t *testing.T, text string) []described {
	t.Helper()
	var doc struct {
		Topics []struct {
			Partitions []described `json:"partitions"`
		} `json:"topics"`
		Sources []struct {
			Partitions []described `json:"partitions"`
		} `json:"sources"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var list []described
	for _, d := range doc.Topics {
		list = append(list, d.Partitions...)
	}
	for _, d := range doc.Sources {
		list = append(list, d.Partitions...)
	}
	return list
}

// marked checks that partitions 0 and 1 are complete and 2 has an error.
func marked(t *testing.T, name string, list []described) {
	t.Helper()
	if len(list) != 3 {
		t.Fatalf("describe %s: %d partitions, want 3", name, len(list))
	}
	for _, p := range list[:2] {
		if p.Leader == nil || p.Start == nil || *p.Start != 0 || p.Stable == nil || *p.Stable != 20 || p.End == nil || *p.End != 20 || p.Error != nil {
			text, _ := json.Marshal(p)
			t.Errorf("describe %s: %s", name, text)
		}
	}
	p := list[2]
	if p.Error == nil || p.End != nil {
		text, _ := json.Marshal(p)
		t.Errorf("describe %s: partition 2 is not marked: %s", name, text)
		return
	}
	t.Logf("describe %s: partition 2: %s", name, *p.Error)
}
