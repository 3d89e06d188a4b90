package offsets_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// changed is a change in one line.
func changed(c offsets.Change) string {
	line := fmt.Sprintf("%d: %s -> %s", c.Partition.Partition, committed(c.Prior), committed(c.New))
	if c.Keep {
		line += " kept"
	}
	if c.Note != "" {
		line += " (" + c.Note + ")"
	}
	if c.Outcome != offsets.Planned {
		line += " " + c.Outcome.String()
	}
	if c.Err != nil {
		_, text, _ := strings.Cut(c.Err.Error(), ": ")
		line += " ! " + text
	}
	return line
}

func committed(c *offsets.Commit) string {
	if c == nil {
		return "-"
	}
	text := fmt.Sprint(c.Offset)
	if c.Metadata != "" {
		text += "/" + c.Metadata
	}
	if c.Epoch >= 0 {
		text += fmt.Sprintf("@%d", c.Epoch)
	}
	return text
}

func allChanged(changes []offsets.Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, changed(c))
	}
	return lines
}

// commitAs commits with metadata.
func commitAs(t *testing.T, c *kafkatest.Cluster, group string, o kadm.Offset) {
	t.Helper()
	c.Commit(group, o.Topic, o.Partition, o.At) // which waits for the coordinator
	o.LeaderEpoch = -1
	var all kadm.Offsets
	all.Add(o)
	if err := c.Admin().CommitAllOffsets(t.Context(), group, all); err != nil {
		t.Fatal(err)
	}
}

// logsOf makes a topic of three partitions: 0 holds 2 to 10 with the times 1000, 2000
// and on, 1 is empty, and 2 holds one record.
func logsOf(rig *kafkatest.Rig) (k *kafkatest.Cluster, topic string) {
	k = rig.Cluster("east")
	topic = rig.Name("t")
	logsIn(k, topic)
	return k, topic
}

func logsIn(k *kafkatest.Cluster, topic string) {
	k.CreateTopic(topic, 3, map[string]string{"retention.ms": "-1"})
	var records []kafkatest.Record
	for i := range 10 {
		records = append(records, kafkatest.Record{Value: []byte("x"), Time: int64(i+1) * 1000})
	}
	k.Produce(topic, records...)
	k.Produce(topic, kafkatest.Record{Partition: 2, Value: []byte("x"), Time: 5000})
	k.DeleteRecords(topic, 0, 2)
}

func TestPlans(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k, topic := logsOf(rig)
		group, other := rig.Name("g"), rig.Name("other")
		commitAs(t, k, group, kadm.Offset{Topic: topic, At: 5, Metadata: "stay"})
		commitAs(t, k, other, kadm.Offset{Topic: topic, At: 7, Metadata: "there"})
		k.Commit(other, topic, 2, 1)
		c := open(t, k)
		meta := "mine"
		for name, test := range map[string]struct {
			target  offsets.Target
			planner offsets.Planner
			want    [3]string
		}{
			"start":       {offsets.Target{Kind: offsets.ToStart}, offsets.Planner{}, [3]string{"0: 5/stay -> 2", "1: - -> 0", "2: - -> 0"}},
			"start and 3": {offsets.Target{Kind: offsets.ToStart, N: 3}, offsets.Planner{}, [3]string{"0: 5/stay -> 5/stay", "1: - -> 0 (asked for 3, the log ends at 0)", "2: - -> 1 (asked for 3, the log ends at 1)"}},
			"end":         {offsets.Target{Kind: offsets.ToEnd}, offsets.Planner{}, [3]string{"0: 5/stay -> 10", "1: - -> 0", "2: - -> 1"}},
			"before the end": {
				offsets.Target{Kind: offsets.ToEnd, N: -1},
				offsets.Planner{Strict: true},
				[3]string{"0: 5/stay -> 9", "1: - -> - ! partition 1: asked for -1, the log starts at 0", "2: - -> 0"},
			},
			"offset": {offsets.Target{N: 1}, offsets.Planner{}, [3]string{
				"0: 5/stay -> 2 (asked for 1, the log starts at 2)", "1: - -> 0 (asked for 1, the log ends at 0)", "2: - -> 1",
			}},
			"time": {offsets.Target{Kind: offsets.ToTime, N: 3500}, offsets.Planner{Strict: true}, [3]string{
				"0: 5/stay -> 3", "1: - -> 0 (the partition is empty: its end)", "2: - -> 0",
			}},
			"time before all":  {offsets.Target{Kind: offsets.ToTime}, offsets.Planner{}, [3]string{"0: 5/stay -> 2", "1: - -> 0 (the partition is empty: its end)", "2: - -> 0"}},
			"time before 1970": {offsets.Target{Kind: offsets.ToTime, N: -5}, offsets.Planner{}, [3]string{"0: 5/stay -> 2", "1: - -> 0", "2: - -> 0"}},
			"time after all": {offsets.Target{Kind: offsets.ToTime, N: 9_999_999_999_999}, offsets.Planner{Strict: true}, [3]string{
				"0: 5/stay -> 10 (no record is of 2286-11-20T17:46:39.999Z or later: the end)", "1: - -> 0 (the partition is empty: its end)",
				"2: - -> 1 (no record is of 2286-11-20T17:46:39.999Z or later: the end)",
			}},
			"current": {offsets.Target{Kind: offsets.ToCurrent}, offsets.Planner{}, [3]string{
				"0: 5/stay -> 5/stay", "1: - -> 0 (group " + group + " has no commit: the end)", "2: - -> 1 (group " + group + " has no commit: the end)",
			}},
			"shifted": {offsets.Target{Kind: offsets.ToShifted, N: -2}, offsets.Planner{}, [3]string{
				"0: 5/stay -> 3", "1: - -> - ! partition 1: group " + group + " has no commit that could be shifted",
				"2: - -> - ! partition 2: group " + group + " has no commit that could be shifted",
			}},
			"shifted too far": {offsets.Target{Kind: offsets.ToShifted, N: 1 << 62}, offsets.Planner{}, [3]string{
				"0: 5/stay -> 10 (asked for 4611686018427387909, the log ends at 10)", "1: - -> - ! partition 1: group " + group + " has no commit that could be shifted",
				"2: - -> - ! partition 2: group " + group + " has no commit that could be shifted",
			}},
			"of a group": {offsets.Target{Kind: offsets.ToGroup, Name: other}, offsets.Planner{}, [3]string{
				"0: 5/stay -> 7/there", "1: - -> - kept (group " + other + " has no commit: left as it is)", "2: - -> 1",
			}},
			"shifted from another": {offsets.Target{Kind: offsets.ToShifted, N: 1}, offsets.Planner{From: other}, [3]string{
				"0: 5/stay -> 8", "1: - -> - kept (group " + other + " has no commit: left as it is)", "2: - -> 1 (asked for 2, the log ends at 1)",
			}},
			"metadata": {offsets.Target{N: 5, Metadata: &meta}, offsets.Planner{Strict: true}, [3]string{
				"0: 5/stay -> 5/mine", "1: - -> - ! partition 1: asked for 5, the log ends at 0", "2: - -> - ! partition 2: asked for 5, the log ends at 1",
			}},
		} {
			t.Run(name, func(t *testing.T) {
				var wishes []offsets.Wish
				for p := range int32(3) {
					wishes = append(wishes, offsets.Wish{Group: group, Partition: offsets.Partition{Topic: topic, Partition: 2 - p}, Target: test.target})
				}
				changes, err := test.planner.Plan(t.Context(), c, wishes)
				if err != nil {
					t.Fatal(err)
				}
				if got := allChanged(changes); !slices.Equal(got, test.want[:]) {
					t.Errorf("it is\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(test.want[:], "\n"))
				}
			})
		}
	})
}

// TestTimesOfRecordsWithoutTime: a partition whose records have the timestamp -1 has
// none of any time or later. It is told, and never committed as -1.
func TestTimesOfRecordsWithoutTime(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k, topic := rig.Cluster("east"), rig.Name("t")
		k.CreateTopic(topic, 1, nil)
		k.Produce(topic, kafkatest.Record{Value: []byte("x"), Time: -1}, kafkatest.Record{Value: []byte("x"), Time: -1})
		c := open(t, k)
		for _, ms := range []int64{0, 1500} {
			changes, err := offsets.Planner{}.Plan(t.Context(), c, []offsets.Wish{{
				Group: rig.Name("g"), Partition: offsets.Partition{Topic: topic}, Target: offsets.Target{Kind: offsets.ToTime, N: ms},
			}})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"0: - -> 2 (the group is new; no record is of " + time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00") + " or later: the end)"}
			if got := allChanged(changes); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		}
	})
}

// carryOut checks changes and applies them.
func carryOut(ctx context.Context, t *testing.T, c *cluster.Cluster, changes []offsets.Change) {
	t.Helper()
	if _, err := offsets.Check(ctx, c, changes); err != nil {
		t.Fatal(err)
	}
	for _, ch := range changes {
		if ch.Err != nil {
			t.Fatalf("refused: %v", ch.Err)
		}
	}
	offsets.Apply(ctx, c, changes)
}

// TestThereAndBack changes commits, and brings them back from the snapshot: to the
// byte, and removing what there was not.
func TestThereAndBack(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k, topic := logsOf(rig)
		group := rig.Name("g")
		const odd = "é\"\\\n\x00 metadata"
		commitAs(t, k, group, kadm.Offset{Topic: topic, At: 5, Metadata: odd})
		c := open(t, k)
		wishes := []offsets.Wish{}
		for p := range int32(3) {
			wishes = append(wishes, offsets.Wish{Group: group, Partition: offsets.Partition{Topic: topic, Partition: p}, Target: offsets.Target{Kind: offsets.ToEnd}})
		}
		changes, err := offsets.Planner{}.Plan(t.Context(), c, wishes)
		if err != nil {
			t.Fatal(err)
		}
		carryOut(t.Context(), t, c, changes)
		want := []string{"0: 5/" + odd + " -> 10 changed", "1: - -> 0 changed", "2: - -> 1 changed"}
		if got := allChanged(changes); !slices.Equal(got, want) {
			t.Fatalf("%q", got)
		}
		ids := map[string]string{"east": k.ID()}
		snapshot := written(t, offsets.NewSnapshot(time.Now(), changes, ids))

		// It was used since: nothing is taken back unless that is said.
		k.Commit(group, topic, 0, 9)
		back := rolledBack(t, c, offsets.Rollback{}, snapshot)
		want = []string{"0: 9 -> - ! partition 0: group " + group + " has committed 9 now: it was changed since", "1: 0 -> -", "2: 1 -> -"}
		if got := allChanged(back); !slices.Equal(got, want) || fault.KindOf(back[0].Err) != fault.Refused {
			t.Errorf("%q", got)
		}
		back = rolledBack(t, c, offsets.Rollback{Since: true}, snapshot)
		carryOut(t.Context(), t, c, back)
		want = []string{"0: 9 -> 5/" + odd + " (it was changed since) changed", "1: 0 -> - changed", "2: 1 -> - changed"}
		if got := allChanged(back); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		// Again there is nothing to do.
		want = []string{"0: 5/" + odd + " -> 5/" + odd + " kept (it is as it was before)", "1: - -> - kept (it is as it was before)", "2: - -> - kept (it is as it was before)"}
		if got := allChanged(rolledBack(t, c, offsets.Rollback{}, snapshot)); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		// And the undoing can be undone.
		again := rolledBack(t, c, offsets.Rollback{}, written(t, offsets.NewSnapshot(time.Now(), back, ids)))
		want = []string{"0: 5/" + odd + " -> 9", "1: - -> 0", "2: - -> 1"}
		if got := allChanged(again); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

func rolledBack(t *testing.T, c *cluster.Cluster, r offsets.Rollback, s *offsets.Snapshot) []offsets.Change {
	t.Helper()
	changes, err := r.Plan(t.Context(), c, s.Changes)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// written is a snapshot that was written and read.
func written(t *testing.T, s *offsets.Snapshot) *offsets.Snapshot {
	t.Helper()
	path := t.TempDir() + "/s.json"
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := offsets.ReadSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestRollbackOfWhatIsOtherwise: a log that has moved on is told, a topic that was
// made again refused.
func TestRollbackOfWhatIsOtherwise(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		k, topic := logsOf(rig)
		group := rig.Name("g")
		k.Commit(group, topic, 0, 3)
		c := open(t, k)
		at := offsets.Partition{Topic: topic}
		changes, err := offsets.Planner{}.Plan(t.Context(), c, []offsets.Wish{{Group: group, Partition: at, Target: offsets.Target{Kind: offsets.ToEnd}}})
		if err != nil {
			t.Fatal(err)
		}
		carryOut(t.Context(), t, c, changes)
		snapshot := offsets.NewSnapshot(time.Now(), changes, nil)
		k.DeleteRecords(topic, 0, 6)
		want := []string{"0: 10 -> 3 (the log starts at 6 by now)"}
		if got := allChanged(rolledBack(t, c, offsets.Rollback{}, snapshot)); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		want = []string{"0: 10 -> 3 ! partition 0: it was at 3, and the log starts at 6 by now"}
		if got := allChanged(rolledBack(t, c, offsets.Rollback{Strict: true}, snapshot)); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		k.DeleteTopic(topic)
		k.CreateTopic(topic, 1, nil)
		got := rolledBack(t, c, offsets.Rollback{Since: true}, snapshot)
		if !strings.Contains(changed(got[0]), "the topic was made again since, so the offset 3 is that of another record") {
			t.Errorf("%q", allChanged(got))
		}
	})
}

// TestMembersJoinInBetween: nothing of a group is changed that has members, neither
// when the plan is checked nor when it is carried out; once they are gone it can be,
// in groups of either protocol.
func TestMembersJoinInBetween(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
		t.Run("classic", func(t *testing.T) { membersJoin(t, rig, "classic", kgo.Balancers(kgo.RangeBalancer())) })
		t.Run("KIP-848", func(t *testing.T) {
			membersJoin(t, rig, "consumer", kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
		})
	})
}

func membersJoin(t *testing.T, rig *kafkatest.Rig, kind string, opts ...kgo.Opt) {
	k, topic, group := rig.Cluster("east"), rig.Name("t-"+kind), rig.Name(kind)
	logsIn(k, topic)
	leave := comeAndGo(t, k, group, topic, opts...)
	leave()
	k.Commit(group, topic, 0, 5)
	k.Commit(group, topic, 2, 1)
	c := open(t, k)
	changes := twoChanges(t, c, group, topic)
	leave = comeAndGo(t, k, group, topic, opts...)
	offsets.Apply(t.Context(), c, changes) // as if it had joined after the last look
	want := []string{
		"0: 5 -> 3 unchanged ! a member has joined group " + group + " in the meantime",
		"2: 1 -> - unchanged ! a member has joined group " + group + " in the meantime",
	}
	if got := allChanged(changes); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i := range changes {
		changes[i].Err, changes[i].Outcome = nil, offsets.Planned
	}
	groups, err := offsets.Check(t.Context(), c, changes)
	if err != nil || string(groups[group].Kind) != kind {
		t.Fatalf("%v, %s", err, groups[group].Kind)
	}
	if text := fmt.Sprint(changes[0].Err); fault.KindOf(changes[0].Err) != fault.Refused || !strings.Contains(text, "group "+group+" is in use (Stable): reader on 127.0.0.1") {
		t.Errorf("%v", changes[0].Err)
	}
	if at := k.Committed(group, topic, 0); at != 5 {
		t.Errorf("the commit is %d", at)
	}
	leave()
	changes = twoChanges(t, c, group, topic)
	offsets.Apply(t.Context(), c, changes)
	if got := allChanged(changes); !slices.Equal(got, []string{"0: 5 -> 3 changed", "2: 1 -> - changed"}) {
		t.Errorf("%q", got)
	}
}

// twoChanges plans that partition 0 of a group goes to 3, and that the commit of
// partition 2 is removed; both may be done.
func twoChanges(t *testing.T, c *cluster.Cluster, group, topic string) []offsets.Change {
	t.Helper()
	changes, err := offsets.Planner{}.Plan(t.Context(), c, []offsets.Wish{{Group: group, Partition: offsets.Partition{Topic: topic}, Target: offsets.Target{N: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := offsets.Groups(t.Context(), c, named(group), everything)
	if err != nil {
		t.Fatal(err)
	}
	changes = append(changes, offsets.Removal(c, groups, func(at offsets.Partition) (string, bool) { return "", at.Partition == 2 })...)
	if _, err := offsets.Check(t.Context(), c, changes); err != nil || len(changes) != 2 || changes[0].Err != nil || changes[1].Err != nil {
		t.Fatalf("%v, %q", err, allChanged(changes))
	}
	return changes
}

// comeAndGo makes a member of a group, and returns what has it leave again.
func comeAndGo(t *testing.T, k *kafkatest.Cluster, group, topic string, opts ...kgo.Opt) (leave func()) {
	t.Helper()
	c := open(t, k)
	member := k.Client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader"), kgo.DisableAutoCommit()}, opts...)...)
	is := func(state string, members int) bool {
		groups, err := offsets.Groups(t.Context(), c, named(group), everything)
		return err == nil && groups[0].State == state && len(groups[0].Members) == members
	}
	end := time.Now().Add(time.Minute)
	for !is("Stable", 1) {
		member.PollFetches(withDeadline(t, 100*time.Millisecond))
		if time.Now().After(end) {
			t.Fatal("the member does not join")
		}
	}
	return func() {
		member.Close()
		for !is("Empty", 0) {
			if time.Now().After(end) {
				t.Fatal("the member does not leave")
			}
			<-withDeadline(t, 50*time.Millisecond).Done()
		}
	}
}

func withDeadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
