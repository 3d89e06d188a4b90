//go:build kafka

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// commits are those of a group, as topic/partition.
type commits map[string]int64

func committedBy(t *testing.T, c *kafkatest.Cluster, group string) commits {
	t.Helper()
	got, err := c.Admin().FetchOffsets(t.Context(), group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		t.Fatal(err)
	}
	out := commits{}
	for _, o := range got.Sorted() {
		out[fmt.Sprintf("%s/%d", o.Topic, o.Partition)] = o.At
	}
	return out
}

// resetLog is what the scenarios are about. The partitions of t: 0 has 100 records,
// 50 of ten hours ago and 50 of one hour ago, a second apart; 1 has 20 of two days
// ago, and starts at 5; 2 is empty. The only one of u has 10 of an hour ago.
type resetLog struct {
	c    *kafkatest.Cluster
	t, u string
	now  time.Time
}

func newResetLog(rig *kafkatest.Rig, c *kafkatest.Cluster) resetLog {
	l := resetLog{c: c, t: rig.Name("t"), u: rig.Name("u"), now: time.Now().Truncate(time.Second)}
	c.CreateTopic(l.t, 3, nil)
	c.CreateTopic(l.u, 1, nil)
	fill := func(topic string, partition int32, n int, ago time.Duration) {
		list := make([]kafkatest.Record, n)
		for i := range list {
			list[i] = kafkatest.Record{Partition: partition, Value: fmt.Append(nil, i), Time: l.now.Add(time.Duration(i)*time.Second - ago).UnixMilli()}
		}
		c.Produce(topic, list...)
	}
	fill(l.t, 0, 50, 10*time.Hour)
	fill(l.t, 0, 50, time.Hour)
	fill(l.t, 1, 20, 48*time.Hour)
	c.DeleteRecords(l.t, 1, 5)
	fill(l.u, 0, 10, time.Hour)
	return l
}

// at is a time in Java's form.
func (l resetLog) at(ago time.Duration) string {
	return l.now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000")
}

// resetScenario is one that kafka-consumer-groups and kcm have to agree on.
type resetScenario struct {
	name      string
	java, kcm string  // arguments; {t}, {u}, {g} and {file} stand for names
	file      string  // the text of {file}
	had, want commits // {t} and {u} are written t and u
	code      int     // of kcm
}

var common = commits{"t/0": 10, "t/1": 10, "t/2": 0}

func resetScenarios(l resetLog) []resetScenario {
	zoned := l.now.Add(-10 * time.Hour).Add(20 * time.Second).In(time.FixedZone("", 2*60*60)).Format("2006-01-02T15:04:05.000-07:00")
	exact := l.at(10*time.Hour - 20*time.Second)
	return []resetScenario{
		{name: "no such group, to-current", java: "--all-topics --to-current --execute", kcm: "--all-topics --to-current --execute", code: 1},
		{name: "a new group, not executed", java: "--topic {t} --to-offset 50", kcm: "{t} --to-offset 50"},
		{name: "a new group, dry run", java: "--topic {t} --to-offset 50 --dry-run", kcm: "{t} --to 50"},
		{name: "a new group", java: "--topic {t} --to-offset 50 --execute", kcm: "{t} --to-offset 50 --execute", want: commits{"t/0": 50, "t/1": 20, "t/2": 0}},
		{name: "to-offset below the start", had: common, java: "--topic {t} --to-offset 3 --execute", kcm: "{t} --to-offset 3 --execute", want: commits{"t/0": 3, "t/1": 5, "t/2": 0}},
		{name: "to-earliest", had: common, java: "--topic {t} --to-earliest --execute", kcm: "{t} --to-earliest --execute", want: commits{"t/0": 0, "t/1": 5, "t/2": 0}},
		{name: "to-latest", had: common, java: "--topic {t} --to-latest --execute", kcm: "{t} --to-latest --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0}},
		{name: "to-current, half of it uncommitted", had: commits{"t/0": 10}, java: "--topic {t} --to-current --execute", kcm: "{t} --to-current --execute", want: commits{"t/0": 10, "t/1": 20, "t/2": 0}},
		{name: "shift-by forward", had: common, java: "--topic {t} --shift-by 5 --execute", kcm: "{t} --shift-by 5 --execute", want: commits{"t/0": 15, "t/1": 15, "t/2": 0}},
		{name: "shift-by back", had: common, java: "--topic {t} --shift-by -3 --execute", kcm: "{t} --shift-by -3 --execute", want: commits{"t/0": 7, "t/1": 7, "t/2": 0}},
		{name: "shift-by beyond the end", had: common, java: "--topic {t} --shift-by 1000 --execute", kcm: "{t} --shift-by 1000 --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0}},
		{name: "shift-by before the start", had: common, java: "--topic {t} --shift-by -1000 --execute", kcm: "{t} --shift-by -1000 --execute", want: commits{"t/0": 0, "t/1": 5, "t/2": 0}},
		{name: "shift-by where nothing is committed", had: commits{"t/0": 10}, java: "--topic {t} --shift-by 1 --execute", kcm: "{t} --shift-by 1 --execute", want: commits{"t/0": 10}, code: 6},
		{name: "by-duration", had: common, java: "--topic {t} --by-duration PT5H --execute", kcm: "{t} --by-duration PT5H --execute", want: commits{"t/0": 50, "t/1": 20, "t/2": 0}},
		{name: "by-duration, short", had: common, java: "--topic {t} --by-duration PT1M --execute", kcm: "{t} --by-duration 1m --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0}},
		{name: "by-duration, long", had: common, java: "--topic {t} --by-duration P30D --execute", kcm: "{t} --by-duration P30D --execute", want: commits{"t/0": 0, "t/1": 5, "t/2": 0}},
		{name: "to-datetime of a record", had: common, java: "--topic {t} --to-datetime " + exact + " --execute", kcm: "{t} --to-datetime " + exact + " --execute", want: commits{"t/0": 20, "t/1": 20, "t/2": 0}},
		{name: "to-datetime with a zone", had: common, java: "--topic {t} --to-datetime " + zoned + " --execute", kcm: "{t} --to-datetime " + zoned + " --execute", want: commits{"t/0": 20, "t/1": 20, "t/2": 0}},
		{name: "to-datetime before all", had: common, java: "--topic {t} --to-datetime " + l.at(99*time.Hour) + " --execute", kcm: "{t} --to-datetime " + l.at(99*time.Hour) + " --execute", want: commits{"t/0": 0, "t/1": 5, "t/2": 0}},
		{name: "to-datetime after the last record", had: common, java: "--topic {t} --to-datetime " + l.at(time.Minute) + " --execute", kcm: "{t} --to-datetime " + l.at(time.Minute) + " --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0}},
		{name: "to-datetime in the future", had: common, java: "--topic {t} --to-datetime " + l.at(-24*time.Hour) + " --execute", kcm: "{t} --to-datetime " + l.at(-24*time.Hour) + " --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0}},
		{name: "one partition", had: common, java: "--topic {t}:1 --to-earliest --execute", kcm: "{t} -p 1 --to-earliest --execute", want: commits{"t/0": 10, "t/1": 5, "t/2": 0}},
		{name: "a list of partitions", had: common, java: "--topic {t}:0,2 --to-latest --execute", kcm: "{t} -p 0,2 --to-latest --execute", want: commits{"t/0": 100, "t/1": 10, "t/2": 0}},
		{name: "several topics", had: commits{"t/0": 10, "u/0": 5}, java: "--topic {t} --topic {u} --to-earliest --execute", kcm: "{t} {u} --to-earliest --execute", want: commits{"t/0": 0, "t/1": 5, "t/2": 0, "u/0": 0}},
		{
			name: "topics and partitions", had: common, java: "--topic {t}:0,1 --topic {u}:0 --to-latest --execute",
			kcm: "{t} {u} --to {t}:0=end --to {t}:1=end --to {u}:0=end --execute", want: commits{"t/0": 100, "t/1": 20, "t/2": 0, "u/0": 10},
		},
		{name: "all topics", had: commits{"t/0": 10, "u/0": 5}, java: "--all-topics --to-earliest --execute", kcm: "--all-topics --to-earliest --execute", want: commits{"t/0": 0, "u/0": 0}},
		{name: "from-file", had: common, file: "{t},0,30\n{t},1,1000\n", java: "--from-file {file} --execute", kcm: "--from-file {file} --execute", want: commits{"t/0": 30, "t/1": 20, "t/2": 0}},
		{name: "from-file with groups", had: common, file: "{g},{t},0,31\nother,{t},0,1\n\"{g}\",{u},0,7\n", java: "--from-file {file} --execute", kcm: "--from-file {file} --execute", want: commits{"t/0": 31, "t/1": 10, "t/2": 0, "u/0": 7}},
		{name: "no such topic", had: common, java: "--topic {t}-no --to-earliest --execute", kcm: "{t}-no --to-earliest --execute", want: common, code: 1},
		{name: "one of the topics does not exist", had: common, java: "--topic {t} --topic {t}-no --to-earliest --execute", kcm: "{t} {t}-no --to-earliest --execute", want: common, code: 6},
		{name: "no such partition", had: common, java: "--topic {t}:9 --to-earliest --execute", kcm: "{t} -p 9 --to-earliest --execute", want: common, code: 2},
	}
}

// TestResetIsThatOfKafkaConsumerGroups runs each scenario of Apache's own tests with
// its tool on one group, and with kcm on another that has committed the same.
func TestResetIsThatOfKafkaConsumerGroups(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	l := newResetLog(rig, rig.Cluster("east"))
	list := resetScenarios(l)
	dir := t.TempDir()
	names := func(who string, i int) *strings.Replacer {
		return strings.NewReplacer("{t}", l.t, "{u}", l.u, "{g}", rig.Name(fmt.Sprint(who, i)), "{file}", filepath.Join(dir, fmt.Sprint(who, i)))
	}
	var calls [][]string
	for i, s := range list {
		for _, who := range []string{"java", "kcm"} {
			r := names(who, i)
			for at, offset := range s.had {
				topic, partition := map[byte]string{'t': l.t, 'u': l.u}[at[0]], int32(at[2]-'0')
				l.c.Commit(r.Replace("{g}"), topic, partition, offset)
			}
			if s.file != "" {
				if err := os.WriteFile(r.Replace("{file}"), []byte(r.Replace(s.file)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		args := append([]string{"--reset-offsets", "--group", "{g}"}, strings.Fields(s.java)...)
		for j := range args {
			args[j] = names("java", i).Replace(args[j])
		}
		calls = append(calls, args)
	}
	java := l.c.GroupCommands(calls...)
	for i, s := range list {
		t.Run(s.name, func(t *testing.T) {
			r := names("kcm", i)
			want := commits{}
			for at, offset := range s.want {
				want[strings.NewReplacer("t/", l.t+"/", "u/", l.u+"/").Replace(at)] = offset
			}
			args := append([]string{"-b", "east=" + l.c.Bootstrap(), "offsets", "reset", "-g", "{g}"}, strings.Fields(s.kcm)...)
			for j := range args {
				args[j] = r.Replace(args[j])
			}
			got := run(t, args)
			got.exits(t, s.code)
			if diff := cmp.Diff(want, committedBy(t, l.c, r.Replace("{g}"))); diff != "" {
				t.Errorf("kcm %q (exit code %d)\n%s\n%s", args, got.code, strings.Join(got.stderr, "\n"), diff)
			}
			if diff := cmp.Diff(want, committedBy(t, l.c, names("java", i).Replace("{g}"))); diff != "" {
				t.Errorf("kafka-consumer-groups %q: %s\n%s", calls[i], java[i].Out, diff)
			}
		})
	}
	if l.c.HasTopic(l.t + "-no") {
		t.Error("a topic was made by asking for it")
	}
}

// leaveGroup makes a group that has had a member, which committed what it read of a
// topic and has left.
func leaveGroup(t *testing.T, c *kafkatest.Cluster, group, topic string, opts ...kgo.Opt) {
	t.Helper()
	cl, err := kgo.NewClient(append(append(c.ClientOpts(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := 0; n < 115 && ctx.Err() == nil; {
		n += len(cl.PollFetches(ctx).Records())
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	cl.CloseAllowingRebalance()
	for {
		got, err := c.Admin().DescribeGroups(ctx, group)
		modern, modernErr := c.Admin().DescribeConsumerGroups(ctx, group)
		if err == nil && got[group].State == "Empty" || modernErr == nil && modern[group].State == "Empty" {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("group %s does not get empty: %v %v", group, err, modernErr)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestResetOfGroupsOfAllKinds: groups whose members have left, of both protocols,
// several at once and all there are; the plan for all groups and all topics is that
// of kafka-consumer-groups.
func TestResetOfGroupsOfAllKinds(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c := rig.Start("own", kafkatest.Options{}) // --all-groups means all
	l := newResetLog(rig, c)
	kinds := map[string][]kgo.Opt{
		"classic": {kgo.Balancers(kgo.RangeBalancer())},
		"modern":  {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
	}
	for kind, opts := range kinds {
		leaveGroup(t, c, "java-"+kind, l.t, opts...)
		leaveGroup(t, c, "kcm-"+kind, l.t, opts...)
	}
	c.Commit("simple", l.u, 0, 3)

	plan := c.GroupCommands([]string{"--reset-offsets", "--all-groups", "--all-topics", "--shift-by", "-7"})[0]
	var java []string
	for line := range strings.Lines(plan.Out) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "GROUP" {
			java = append(java, strings.Join(f, ","))
		}
	}
	slices.Sort(java)
	r := run(t, []string{"-b", "east=" + c.Bootstrap(), "offsets", "reset", "--all-groups", "--all-topics", "--shift-by", "-7", "-o", "csv"})
	r.exits(t, 0)
	var kcm []string
	for _, line := range r.stdout[1:] {
		f := strings.Split(line, ",")
		kcm = append(kcm, strings.Join([]string{f[1], f[2], f[3], f[5]}, ","))
	}
	slices.Sort(kcm)
	// A partition that was read without a record in it has a commit of some clients.
	if diff := cmp.Diff(java, kcm); diff != "" || len(java) < 9 {
		t.Errorf("the plans of kafka-consumer-groups and kcm differ:\n%s\n%s", diff, plan.Out)
	}

	out := c.GroupCommands([]string{"--reset-offsets", "--group", "java-classic", "--group", "java-modern", "--topic", l.t, "--to-offset", "12", "--execute"})
	r = run(t, []string{"-b", "east=" + c.Bootstrap(), "offsets", "reset", "-g", "kcm-classic", "-g", "kcm-modern", l.t, "--to-offset", "12", "--execute"})
	r.exits(t, 0)
	want := commits{l.t + "/0": 12, l.t + "/1": 12, l.t + "/2": 0}
	for kind := range kinds {
		if diff := cmp.Diff(want, committedBy(t, c, "java-"+kind)); diff != "" {
			t.Errorf("java-%s: %s\n%s", kind, diff, out[0].Out)
		}
		if diff := cmp.Diff(want, committedBy(t, c, "kcm-"+kind)); diff != "" {
			t.Errorf("kcm-%s: %s", kind, diff)
		}
	}
}
