//go:build kafka

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// translation is kcm's answer, as far as the tests look at it.
type translation struct {
	Complete bool `json:"complete"`
	Groups   []struct {
		Group      string `json:"group"`
		Partitions []struct {
			Topic        string `json:"topic"`
			Partition    int32  `json:"partition"`
			SourceTopic  string `json:"source_topic"`
			SourceOffset int64  `json:"source_offset"`
			Offset       *int64 `json:"offset"`
			Metadata     string `json:"metadata"`
			Status       string `json:"status"`
			Bound        *int64 `json:"bound"`
			Via          string `json:"via"`
			Note         string `json:"note"`
		} `json:"partitions"`
	} `json:"groups"`
}

// offsets are those that were found, in the order of MirrorAnswers.
func (tr translation) offsets() (list []kafkatest.MirrorOffset) {
	for _, g := range tr.Groups {
		for _, p := range g.Partitions {
			if p.Offset != nil && p.Via == "checkpoints" {
				list = append(list, kafkatest.MirrorOffset{Group: g.Group, Topic: p.Topic, Partition: p.Partition, Offset: *p.Offset, Metadata: p.Metadata})
			}
		}
	}
	return sorted(list)
}

func sorted(list []kafkatest.MirrorOffset) []kafkatest.MirrorOffset {
	slices.SortFunc(list, func(a, b kafkatest.MirrorOffset) int {
		return strings.Compare(fmt.Sprint(a.Group, "\n", a.Topic, "\n", a.Partition), fmt.Sprint(b.Group, "\n", b.Topic, "\n", b.Partition))
	})
	return list
}

// mirrored is a pair of clusters with a MirrorMaker 2 between them.
type mirrored struct {
	t           *testing.T
	east, west  *kafkatest.Cluster
	file, alias string
	config      map[string]string // of Java's client
	policy      string
}

func (m mirrored) translate(via string, args ...string) (tr translation, r result) {
	m.t.Helper()
	r = run(m.t, append([]string{"-m", m.file, "offsets", "translate", "--from", "east", "--to", "west", "--via", via, "--policy", m.policy, "-o", "json"}, args...))
	if err := json.Unmarshal([]byte(strings.Join(r.stdout, "")), &tr); err != nil {
		m.t.Fatalf("%v: %s\n%s", err, strings.Join(r.stdout, "\n"), strings.Join(r.stderr, "\n"))
	}
	return tr, r
}

// settled waits until there are n offsets by checkpoints and they stand still, and
// returns them with Java's answers of that time.
func (m mirrored) settled(groups string, n int) ([]kafkatest.MirrorOffset, kafkatest.MirrorAnswers) {
	m.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		before := m.poll(groups)
		if len(before) < n {
			time.Sleep(time.Second)
			continue
		}
		java := m.west.MirrorAnswers(m.alias, groups, m.config)
		if after := m.poll(groups); slices.Equal(before, after) {
			return after, java
		}
	}
	m.t.Fatalf("no %d checkpoints that stand still", n)
	return nil, kafkatest.MirrorAnswers{}
}

// poll asks for checkpoints, whose topic need not be there yet.
func (m mirrored) poll(groups string) []kafkatest.MirrorOffset {
	m.t.Helper()
	r := run(m.t, []string{"-m", m.file, "offsets", "translate", "--from", "east", "--to", "west", "--via", "checkpoints", "--policy", m.policy, "--group-regex", groups, "-o", "json"})
	var tr translation
	if r.code == 1 || json.Unmarshal([]byte(strings.Join(r.stdout, "")), &tr) != nil {
		return nil
	}
	return tr.offsets()
}

func (m mirrored) commit(group string, commits map[string]map[int32]int64, metadata string) {
	m.t.Helper()
	os := kadm.Offsets{}
	for topic, of := range commits {
		for p, at := range of {
			os.Add(kadm.Offset{Topic: topic, Partition: p, At: at, LeaderEpoch: -1, Metadata: metadata})
		}
	}
	deadline := time.Now().Add(patience)
	for {
		err := m.east.Admin().CommitAllOffsets(m.t.Context(), group, os)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// What kcm says of a real MirrorMaker 2's topics is what Java's RemoteClusterUtils
// says: every group and partition, and what describe mirrors shows. By the offset
// syncs it is nearer, and never beyond.
func TestKcmTranslatesAsJavaDoes(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	east, west := rig.Start("east", kafkatest.Options{}), rig.Start("west", kafkatest.Options{})
	for _, policy := range []string{"default", "identity"} {
		t.Run(policy, func(t *testing.T) { translatesAsJavaDoes(t, rig, policy, east, west) })
	}
}

func translatesAsJavaDoes(t *testing.T, rig *kafkatest.Rig, policy string, east, west *kafkatest.Cluster) {
	m := mirrored{t: t, east: east, west: west, alias: "east-" + policy, policy: policy}
	orders, dotted, empty := "orders-"+policy, "a.b-"+policy, "empty-"+policy
	m.file = file(t, "kcm.yaml", fmt.Sprintf("clusters:\n  east: {bootstrap: [%q], mirror: {alias: %s}}\n  west: {bootstrap: [%q], mirror: {alias: west-%s}}\nstreams:\n  orders:\n    sources: [{cluster: east, topics: [%s]}]\n",
		east.Bootstrap(), m.alias, west.Bootstrap(), policy, orders))
	if policy == "identity" {
		m.config = kafkatest.IdentityPolicy()
	}
	for topic, partitions := range map[string]int32{orders: 3, dotted: 1, empty: 2} {
		east.CreateTopic(topic, partitions, nil)
	}
	for part := range int32(3) {
		list := make([]kafkatest.Record, 1000)
		for i := range list {
			list[i] = kafkatest.Record{Partition: part, Value: []byte(fmt.Sprint(i))}
		}
		east.Produce(orders, list...)
	}
	for i := range 150 {
		east.Produce(dotted, kafkatest.Record{Value: []byte(fmt.Sprint(i))})
	}
	g := policy + "-"
	m.commit(g+"middle", map[string]map[int32]int64{orders: {0: 243, 1: 500, 2: 957}}, "noted é")
	m.commit(g+"end", map[string]map[int32]int64{orders: {0: 1000, 1: 1000, 2: 1000}, dotted: {0: 150}}, "")
	m.commit(g+"start", map[string]map[int32]int64{orders: {0: 0, 1: 1}, empty: {0: 0, 1: 0}}, "")
	m.commit("unmirrored-"+policy, map[string]map[int32]int64{orders: {0: 100}}, "")
	east.MirrorTo(west, kafkatest.Mirror{
		Source: m.alias, Target: "west-" + policy, Topics: strings.Join([]string{orders, strings.ReplaceAll(dotted, ".", `\\.`), empty}, ","), Groups: g + ".*", Config: m.config,
	})

	kcm, java := m.settled(g+".*", 7)
	if want := sorted(java.Offsets); !slices.Equal(kcm, want) {
		t.Errorf("kcm translates\n%+v\nJava\n%+v", kcm, want)
	}
	m.checkMirrors(java)
	m.checkAuto(g, java)
	m.checkExecute(g, java)
}

// committed are the commits on the target of the groups that Java has answers for, in
// its form and order.
func (m mirrored) committed(java kafkatest.MirrorAnswers) (list []kafkatest.MirrorOffset) {
	m.t.Helper()
	seen := map[string]bool{}
	for _, o := range java.Offsets {
		if seen[o.Group] {
			continue
		}
		seen[o.Group] = true
		got, err := m.west.Admin().FetchOffsets(m.t.Context(), o.Group)
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			m.t.Fatal(err)
		}
		for _, c := range got.Sorted() {
			list = append(list, kafkatest.MirrorOffset{Group: o.Group, Topic: c.Topic, Partition: c.Partition, Offset: c.At, Metadata: c.Metadata})
		}
	}
	return sorted(list)
}

// checkExecute checks what --execute commits: by checkpoints what Java says, to the
// byte of the metadata; then by whatever there is, never back; and rollback takes it
// away.
func (m mirrored) checkExecute(g string, java kafkatest.MirrorAnswers) {
	t := m.t
	t.Helper()
	if got := m.committed(java); len(got) != 0 {
		t.Fatalf("there are commits already: %+v", got)
	}
	snapshot := filepath.Join(t.TempDir(), "before.json")
	tr, r := m.translate("checkpoints", "--group-regex", g+".*", "--execute", "--snapshot", snapshot)
	if want := sorted(java.Offsets); !slices.Equal(tr.offsets(), want) { // a checkpoint may have come since
		t.Logf("kcm commits by checkpoints other than\n%+v", want)
		java = m.west.MirrorAnswers(m.alias, g+".*", m.config)
	}
	byCheckpoints := m.committed(java)
	// A commit of 0 needs no checkpoint: kcm has it where MirrorMaker 2 has written none.
	expected := slices.DeleteFunc(slices.Clone(byCheckpoints), func(o kafkatest.MirrorOffset) bool {
		return o.Offset == 0 && !slices.ContainsFunc(java.Offsets, func(j kafkatest.MirrorOffset) bool {
			return j.Group == o.Group && j.Topic == o.Topic && j.Partition == o.Partition
		})
	})
	if want := sorted(java.Offsets); !slices.Equal(expected, want) {
		t.Errorf("by checkpoints kcm commits (exit code %d: %s)\n%+v\nJava says\n%+v", r.code, strings.Join(r.stderr, "\n"), byCheckpoints, want)
	}
	tr, r = m.translate("auto", "--group-regex", g+".*", "--execute")
	r.exits(t, 0)
	now := map[string]int64{}
	for _, o := range m.committed(java) {
		now[fmt.Sprint(o.Group, o.Topic, o.Partition)] = o.Offset
	}
	for _, o := range byCheckpoints {
		if at := now[fmt.Sprint(o.Group, o.Topic, o.Partition)]; at < o.Offset {
			t.Errorf("%s %s/%d went back from %d to %d", o.Group, o.Topic, o.Partition, o.Offset, at)
		}
	}
	for _, group := range tr.Groups {
		for _, p := range group.Partitions {
			if at := now[fmt.Sprint(group.Group, p.Topic, p.Partition)]; p.Offset == nil || at != *p.Offset {
				t.Errorf("%s %s/%d is committed at %d, translated to %v", group.Group, p.Topic, p.Partition, at, p.Offset)
			}
		}
	}
	r = run(t, []string{"-m", m.file, "offsets", "rollback", snapshot, "--execute", "--allow-changed"})
	r.exits(t, 0)
	for _, o := range m.committed(java) {
		if slices.ContainsFunc(byCheckpoints, func(b kafkatest.MirrorOffset) bool {
			return b.Group == o.Group && b.Topic == o.Topic && b.Partition == o.Partition
		}) {
			t.Errorf("%s %s/%d is still committed after rollback", o.Group, o.Topic, o.Partition)
		}
	}
}

// checkAuto checks what kcm finds by whatever there is.
func (m mirrored) checkAuto(g string, java kafkatest.MirrorAnswers) {
	t := m.t
	byCheckpoint := map[string]int64{}
	for _, o := range java.Offsets {
		byCheckpoint[fmt.Sprint(o.Group, o.Topic, o.Partition)] = o.Offset
	}
	tr, _ := m.translate("auto", "--group-regex", g+".*")
	rows := 0
	for _, group := range tr.Groups {
		for _, p := range group.Partitions {
			rows++
			// The topics were copied from their first record on: a position is the same
			// on both sides.
			if p.Offset == nil {
				t.Errorf("%s %s/%d at %d: %s: %s", group.Group, p.SourceTopic, p.Partition, p.SourceOffset, p.Status, p.Note)
				continue
			}
			if *p.Offset > p.SourceOffset || *p.Offset < byCheckpoint[fmt.Sprint(group.Group, p.Topic, p.Partition)] {
				t.Errorf("%s %s/%d at %d is %d, by its checkpoint %d", group.Group, p.SourceTopic, p.Partition, p.SourceOffset, *p.Offset, byCheckpoint[fmt.Sprint(group.Group, p.Topic, p.Partition)])
			}
			if p.Bound == nil || p.SourceOffset-*p.Offset > *p.Bound || p.Status == "exact" && *p.Offset != p.SourceOffset {
				t.Errorf("%s %s/%d at %d is %d, %s by %v", group.Group, p.SourceTopic, p.Partition, p.SourceOffset, *p.Offset, p.Status, p.Bound)
			}
		}
	}
	if rows != 11 {
		t.Errorf("%d rows, want 11", rows)
	}
	tr, r := m.translate("auto", "-g", "unmirrored-"+m.policy, "orders")
	if len(tr.Groups) != 1 || len(tr.Groups[0].Partitions) != 1 {
		t.Errorf("a group that MirrorMaker 2 leaves out: %+v", tr.Groups)
	} else if p := tr.Groups[0].Partitions[0]; p.Offset == nil || *p.Offset > p.SourceOffset || p.Via != "syncs" && p.Via != "timestamp" {
		// Where its records have times of their own, those may be nearer than a sync.
		t.Errorf("a group that MirrorMaker 2 leaves out: %+v", p)
	}
	r.exits(t, 0)
}

// checkMirrors compares describe mirrors.
func (m mirrored) checkMirrors(java kafkatest.MirrorAnswers) {
	t := m.t
	t.Helper()
	r := run(t, []string{"-m", m.file, "describe", "mirrors", "west", "--policy", m.policy, "-o", "json"})
	r.exits(t, 0)
	var got struct {
		Upstream []struct {
			Alias string
			Hops  int
		} `json:"upstream_clusters"`
		Flows []struct {
			Source     string
			Heartbeat  *string
			Checkpoint *string
			Age        *float64 `json:"heartbeat_age_seconds"`
		}
		Heartbeats  []string                         `json:"heartbeat_topics"`
		Checkpoints []string                         `json:"checkpoint_topics"`
		Remote      []struct{ Topic, Source string } `json:"remote_topics"`
	}
	if err := json.Unmarshal([]byte(strings.Join(r.stdout, "")), &got); err != nil {
		t.Fatal(err)
	}
	var upstream, remote, from []string
	for _, u := range got.Upstream {
		upstream = append(upstream, u.Alias)
		if u.Alias == m.alias && u.Hops != java.Hops {
			t.Errorf("%d hops, want %d", u.Hops, java.Hops)
		}
	}
	for _, topic := range got.Remote {
		remote = append(remote, topic.Topic)
		if topic.Source == m.alias {
			from = append(from, topic.Topic)
		}
	}
	slices.Sort(upstream)
	for what, pair := range map[string][2][]string{
		"upstream": {upstream, java.Upstream}, "heartbeats": {got.Heartbeats, java.Heartbeats}, "checkpoints": {got.Checkpoints, java.Checkpoints},
		"remote": {remote, java.Remote}, "from": {from, java.From},
	} {
		if !slices.Equal(pair[0], pair[1]) || len(pair[1]) == 0 {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	alive := false
	for _, f := range got.Flows {
		alive = alive || f.Source == m.alias && f.Heartbeat != nil && f.Checkpoint != nil && *f.Age < 60
	}
	if !alive {
		t.Errorf("no flow of %s that is alive: %+v", m.alias, got.Flows)
	}
}
