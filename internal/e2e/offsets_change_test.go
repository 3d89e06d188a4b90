//go:build kafka

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestCommitsOfGroupsInUse: groups of either protocol that have a member are left
// alone, and changed and restored, to the byte, when it has gone.
func TestCommitsOfGroupsInUse(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Cluster("east")
	for kind, opts := range map[string][]kgo.Opt{
		"classic":  {kgo.Balancers(kgo.RangeBalancer())},
		"consumer": {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
	} {
		t.Run(kind, func(t *testing.T) {
			topic, group := rig.Name("t-"+kind), rig.Name("g-"+kind)
			c.CreateTopic(topic, 2, nil)
			for range 10 {
				c.Produce(topic, kafkatest.Record{Value: []byte("x")})
			}
			member := c.Client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader"), kgo.DisableAutoCommit()}, opts...)...)
			awaitState(t, c, group, kind+" Stable", func(ctx context.Context) { member.PollFetches(ctx) })
			commit := member.CommitOffsetsSync
			commit(t.Context(), map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: 0, Offset: 7}}}, nil)

			kcm := func(code int, args ...string) result {
				r := run(t, append([]string{"-b", "east=" + c.Bootstrap(), "offsets"}, args...))
				r.exits(t, code)
				return r
			}
			snapshot := filepath.Join(t.TempDir(), "s.json")
			for _, args := range [][]string{{"reset", "--to", "3"}, {"delete"}} {
				r := kcm(6, append(args, "-g", group, topic, "--execute", "--snapshot", snapshot)...)
				if text := strings.Join(r.stderr, "\n"); !strings.Contains(text, "group "+group+" is in use (Stable): reader on 127.0.0.1: nothing was changed") {
					t.Errorf("%v: %s", args, text)
				}
			}
			if at := c.Committed(group, topic, 0); at != 7 {
				t.Fatalf("the commit is %d", at)
			}
			member.Close()
			awaitState(t, c, group, kind+" Empty", func(ctx context.Context) { <-ctx.Done() })
			before := commitsOf(t, c, group)
			if len(before) != 1 || before[0].Metadata == "" {
				t.Fatalf("the commits are %+v", before) // kgo writes its member id
			}

			kcm(0, "reset", "--to", "3", "-g", group, topic, "--execute", "--snapshot", snapshot)
			java := describedByJava(c, group)
			want := []string{"0 3 10 7", "1 0 0 0"}
			var got []string
			for _, l := range java {
				got = append(got, strings.Join([]string{l.Partition, l.Committed, l.End, l.Lag}, " "))
			}
			if !slices.Equal(got, want) {
				t.Errorf("kafka-consumer-groups says %q", got)
			}
			undo := filepath.Join(t.TempDir(), "undo.json")
			kcm(0, "rollback", snapshot, "--execute", "--snapshot", undo)
			if diff := cmp.Diff(before, commitsOf(t, c, group)); diff != "" {
				t.Errorf("restored is not what was:\n%s", diff)
			}
			r := kcm(0, "delete", "-g", group, topic, "--execute", "--snapshot", filepath.Join(t.TempDir(), "d.json"))
			if text := strings.Join(r.stderr, "\n"); !strings.Contains(text, "group "+group+" has no commits left") || len(commitsOf(t, c, group)) != 0 {
				t.Errorf("%s", text)
			}
		})
	}
}

// awaitState waits until a group is of a kind and in a state.
func awaitState(t *testing.T, c *kafkatest.Cluster, group, want string, meanwhile func(context.Context)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for is := ""; is != want; {
		if time.Now().After(deadline) {
			t.Fatalf("group %s is %s, not %s", group, is, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		meanwhile(ctx)
		cancel()
		r := run(t, []string{"-b", "east=" + c.Bootstrap(), "describe", "group", group, "-o", "json"})
		text := strings.Join(r.stdout, " ")
		is = valueOf(text, "kind") + " " + valueOf(text, "state")
	}
}

// valueOf is the first text of a key in JSON.
func valueOf(text, key string) string {
	_, rest, _ := strings.Cut(text, `"`+key+`": "`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// commitsOf are the commits of a group, in order.
func commitsOf(t *testing.T, c *kafkatest.Cluster, group string) []kadm.Offset {
	t.Helper()
	all, err := c.Admin().FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	var list []kadm.Offset
	for _, o := range all.Sorted() {
		list = append(list, o.Offset)
	}
	return list
}
