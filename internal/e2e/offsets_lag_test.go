//go:build kafka

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// groupLine is a line of kafka-consumer-groups --describe.
type groupLine struct{ Topic, Partition, Committed, End, Lag, Member, Host, Client string }

// describedByJava asks Apache's own tool about a group.
func describedByJava(c *kafkatest.Cluster, group string) []groupLine {
	out := c.Java("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
	var list []groupLine
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 9 || f[0] != group {
			continue
		}
		list = append(list, groupLine{f[1], f[2], f[3], f[4], f[5], f[6], strings.TrimPrefix(f[7], "/"), f[8]})
	}
	slices.SortFunc(list, func(a, b groupLine) int { return strings.Compare(a.Topic+a.Partition, b.Topic+b.Partition) })
	return list
}

// describedByKcm asks kcm the same.
func describedByKcm(t *testing.T, c *kafkatest.Cluster, group string) (state string, list []groupLine) {
	r := run(t, []string{"-b", "east=" + c.Bootstrap(), "offsets", "lag", "-g", group, "-o", "json"})
	r.exits(t, 0)
	var doc struct {
		Groups []struct {
			State, Kind string
			Partitions  []struct {
				Topic          string
				Partition      int32
				Committed, End *int64
				Lag            *int64
				MemberID       *string `json:"member_id"`
				ClientID       *string `json:"client_id"`
				Host           *string
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.Join(r.stdout, "\n")), &doc); err != nil || len(doc.Groups) != 1 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	n := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	s := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	g := doc.Groups[0]
	for _, p := range g.Partitions {
		list = append(list, groupLine{p.Topic, fmt.Sprint(p.Partition), n(p.Committed), n(p.End), n(p.Lag), s(p.MemberID), s(p.Host), s(p.ClientID)})
	}
	slices.SortFunc(list, func(a, b groupLine) int { return strings.Compare(a.Topic+a.Partition, b.Topic+b.Partition) })
	return g.Kind + " " + g.State, list
}

// uncommitted is a partition that members read without committing.
const uncommitted = 2

// memberOf makes a member of a group that has committed what it read of all but the
// uncommitted partition.
func memberOf(t *testing.T, c *kafkatest.Cluster, group, topic string, opts ...kgo.Opt) {
	cl := c.Client(append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan []*kgo.Record, 100)
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			if got := cl.PollFetches(ctx).Records(); len(got) > 0 {
				read <- got
			}
		}
	})
	t.Cleanup(func() { cancel(); polling.Wait() })
	for n := 0; n < 9; {
		select {
		case got := <-read:
			n += len(got)
			keep := slices.DeleteFunc(got, func(r *kgo.Record) bool { return r.Partition == uncommitted })
			if err := cl.CommitRecords(ctx, keep...); err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the member does not read")
		}
	}
}

// TestLagIsThatOfKafkaConsumerGroups holds the lag of groups of every kind against
// what Apache's own tool says: commits, ends, lags and who reads.
func TestLagIsThatOfKafkaConsumerGroups(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic, other := rig.Name("t"), rig.Name("u")
	c.CreateTopic(topic, 3, nil)
	c.CreateTopic(other, 1, nil)
	for p := range int32(3) {
		for i := range 3 {
			c.Produce(topic, kafkatest.Record{Partition: p, Value: fmt.Append(nil, i)})
		}
	}
	simple, classic, modern := rig.Name("simple"), rig.Name("classic"), rig.Name("modern")
	c.Commit(simple, topic, 0, 1)
	c.Commit(simple, topic, 2, 3)
	c.Commit(simple, other, 0, 0)
	memberOf(t, c, classic, topic, kgo.Balancers(kgo.RangeBalancer()))
	memberOf(t, c, modern, topic, kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
	c.Produce(topic, kafkatest.Record{Partition: 1, Value: []byte("later")})
	for group, want := range map[string]string{simple: "classic Empty", classic: "classic Stable", modern: "consumer Stable"} {
		java := describedByJava(c, group)
		is, kcm := describedByKcm(t, c, group)
		if diff := cmp.Diff(java, kcm); diff != "" || len(java) != 3 {
			t.Errorf("%s: kafka-consumer-groups and kcm differ:\n%s", group, diff)
		}
		if is != want {
			t.Errorf("%s is %s, want %s", group, is, want)
		}
	}
}

// TestShareGroupIsShown: a share group has members and no commits; its lag is not
// made up.
func TestShareGroupIsShown(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	topic, group := rig.Name("t"), rig.Name("queue")
	c.CreateTopic(topic, 2, nil)
	c.Produce(topic, kafkatest.Record{Value: []byte("x")})
	cl := c.Client(kgo.ShareGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("worker"))
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	})
	t.Cleanup(func() { cancel(); polling.Wait() })
	deadline := time.Now().Add(time.Minute)
	for {
		r := run(t, []string{"-b", "east=" + c.Bootstrap(), "describe", "group", group})
		text := strings.Join(r.stdout, "\n")
		if r.code == 0 && strings.Contains(text, "worker") && strings.Contains(text, topic+"[0-1]") {
			if !strings.Contains(text, "  share  Stable  ") || strings.Count(text, "  -") < 4 {
				t.Errorf("the group is\n%s", text)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the group does not show its member: exit code %d\n%s\n%s", r.code, text, r.stderr)
		}
		time.Sleep(200 * time.Millisecond)
	}
	state, rows := describedByKcm(t, c, group)
	if state != "share Stable" || len(rows) != 2 || rows[0].Committed != "-" || rows[0].Lag != "-" || rows[0].Client != "worker" {
		t.Errorf("%s %+v", state, rows)
	}
	r := run(t, []string{"-b", "east=" + c.Bootstrap(), "describe", "cluster", "east"})
	r.exits(t, 0)
	if text := strings.Join(r.stdout, "\n"); !strings.Contains(text, "\nmetadata.version ") || !strings.Contains(text, "\nshare.version ") {
		t.Errorf("the features are\n%s", text)
	}
}
