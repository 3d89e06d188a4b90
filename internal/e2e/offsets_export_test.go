//go:build kafka

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// exchange is a cluster with groups whose commits go to files and back.
type exchange struct {
	t      *testing.T
	log    resetLog
	groups []string
	had    map[string]commits
}

// restored checks that every group has what it had.
func (x *exchange) restored(how string) {
	x.t.Helper()
	for _, g := range x.groups {
		if diff := cmp.Diff(x.had[g], committedBy(x.t, x.log.c, g)); diff != "" {
			x.t.Errorf("%s: group %q:\n%s", how, g, diff)
		}
	}
}

// disturb puts groups somewhere else.
func (x *exchange) disturb(groups ...string) {
	x.t.Helper()
	for _, g := range groups {
		var os kadm.Offsets
		for at := range x.had[g] {
			topic, p := at[:len(at)-2], int32(at[len(at)-1]-'0')
			os.AddOffset(topic, p, 6, -1)
		}
		if err := x.log.c.Admin().CommitAllOffsets(x.t.Context(), g, os); err != nil {
			x.t.Fatal(err)
		}
	}
}

// csvLines are the lines of an export, in order.
func csvLines(text string) []string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	slices.Sort(lines)
	return lines
}

func groupArgs(flag string, groups []string) (args []string) {
	for _, g := range groups {
		args = append(args, flag, g)
	}
	return args
}

// TestExportAndImportFitKafkaConsumerGroups: what kcm exports is what Apache's tool
// exports, line by line; each reads what the other wrote, and the commits are again
// what they were. Groups of both protocols, groups that nobody joined, odd names.
func TestExportAndImportFitKafkaConsumerGroups(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	l := newResetLog(rig, rig.Cluster("east"))
	c := l.c
	classic, modern := rig.Name("classic"), rig.Name("modern")
	leaveGroup(t, c, classic, l.t, kgo.Balancers(kgo.RangeBalancer()))
	leaveGroup(t, c, modern, l.t, kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
	x := &exchange{t: t, log: l, had: map[string]commits{}}
	x.groups = []string{classic, modern, rig.Name("s"), rig.Name("a,b"), rig.Name("q\"q\""), rig.Name("é日 \\x"), rig.Name(strings.Repeat("long", 20))}
	for i, g := range x.groups {
		c.Commit(g, l.t, 0, int64(10+i))
		c.Commit(g, l.t, 1, int64(7+i))
		c.Commit(g, l.u, 0, int64(i))
		x.had[g] = committedBy(t, c, g)
	}
	dir := t.TempDir()
	file := func(name string, lines []string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kcm := []string{"-b", "east=" + c.Bootstrap(), "offsets"}

	several := run(t, slices.Concat(kcm, []string{"export"}, groupArgs("-g", x.groups)))
	several.exits(t, 0)
	several.says(t, 0)
	severalFile := file("kcm-several.csv", several.stdout)
	calls := [][]string{slices.Concat([]string{"--reset-offsets", "--export", "--to-current", "--all-topics"}, groupArgs("--group", x.groups))}
	oneFile := map[string]string{}
	for i, g := range x.groups {
		one := run(t, slices.Concat(kcm, []string{"export", "-g", g}))
		one.exits(t, 0)
		oneFile[g] = file(fmt.Sprintf("kcm-%d.csv", i), one.stdout)
		calls = append(calls, []string{"--reset-offsets", "--export", "--to-current", "--all-topics", "--group", g})
	}
	java := c.GroupCommands(calls...)
	if diff := cmp.Diff(csvLines(java[0].Out), csvLines(strings.Join(several.stdout, "\n"))); diff != "" {
		t.Errorf("exports of several groups differ:\n%s", diff)
	}
	javaFile := file("java-several.csv", []string{java[0].Out})
	for i, g := range x.groups {
		text, err := os.ReadFile(oneFile[g])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(csvLines(java[i+1].Out), csvLines(string(text))); diff != "" || len(csvLines(string(text))) < 3 {
			t.Errorf("exports of %q differ:\n%s", g, diff)
		}
	}

	// Apache's tool reads what kcm wrote.
	x.disturb(x.groups...)
	calls = [][]string{slices.Concat([]string{"--reset-offsets", "--from-file", severalFile, "--execute"}, groupArgs("--group", x.groups))}
	java = c.GroupCommands(calls...)
	x.restored("several groups, written by kcm, read by Java: " + java[0].Out)
	x.disturb(classic, modern)
	java = c.GroupCommands([]string{"--reset-offsets", "--from-file", oneFile[classic], "--group", classic, "--execute"},
		[]string{"--reset-offsets", "--from-file", oneFile[modern], "--group", modern, "--execute"})
	x.restored("one group, written by kcm, read by Java: " + java[0].Out + java[1].Out)

	// kcm reads what Apache's tool wrote.
	x.disturb(x.groups...)
	r := run(t, slices.Concat(kcm, []string{"import", javaFile, "--execute"}))
	r.exits(t, 0)
	x.restored("several groups, written by Java, read by kcm")
	x.disturb(x.groups...)
	r = run(t, slices.Concat(kcm, []string{"reset", "--from-file", javaFile, "--execute"}, groupArgs("-g", x.groups)))
	r.exits(t, 0)
	x.restored("several groups, written by Java, read by kcm offsets reset")
	x.disturb(modern)
	r = run(t, slices.Concat(kcm, []string{"import", "-g", modern, file("java-one.csv", csvLines(c.GroupCommands([]string{
		"--reset-offsets", "--export", "--to-current", "--all-topics", "--group", classic,
	})[0].Out)), "--execute"}))
	r.exits(t, 0)
	if diff := cmp.Diff(x.had[classic], committedBy(t, c, modern)); diff != "" {
		t.Errorf("the offsets of one group for another: %s", diff)
	}
}

// TestWhatKafkaConsumerGroupsGetsWrong are files that Apache's tool writes or reads
// otherwise than kcm does, which makes nothing up.
func TestWhatKafkaConsumerGroupsGetsWrong(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	l := newResetLog(rig, rig.Cluster("east"))
	c := l.c
	half, broken, kept, lines := rig.Name("half"), rig.Name("broken"), rig.Name("kept"), rig.Name("two\nlines")
	for _, g := range []string{half, broken, kept, lines} {
		c.Commit(g, l.t, 0, 10)
	}
	dir := t.TempDir()
	short := filepath.Join(dir, "short.csv")
	if err := os.WriteFile(short, []byte(l.t+",0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	twice, twiceFile := rig.Name("twice"), filepath.Join(dir, "twice.csv")
	c.Commit(twice, l.t, 0, 10)
	if err := os.WriteFile(twiceFile, []byte(l.t+",0,1\n"+l.t+",0,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := rig.Name("busy")
	memberOf(t, c, busy, l.u)
	kcm := []string{"-b", "east=" + c.Bootstrap(), "offsets"}
	export := run(t, slices.Concat(kcm, []string{"export", "-g", half, l.t}))
	export.exits(t, 0)
	export.says(t, 1, "/"+l.t+": "+half+" has no commit in 2 partitions: left out")
	odd := run(t, slices.Concat(kcm, []string{"export", "-g", lines, "-g", half}))
	odd.exits(t, 0)
	oddFile := filepath.Join(dir, "odd.csv")
	if err := os.WriteFile(oddFile, []byte(strings.Join(odd.stdout, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	java := c.GroupCommands(
		[]string{"--reset-offsets", "--export", "--to-current", "--topic", l.t, "--group", half},
		[]string{"--reset-offsets", "--from-file", short, "--group", broken, "--execute"},
		[]string{"--reset-offsets", "--from-file", oddFile, "--group", lines, "--group", half, "--execute"},
		[]string{"--reset-offsets", "--from-file", twiceFile, "--group", twice, "--execute"},
		[]string{"--reset-offsets", "--export", "--to-current", "--all-topics", "--group", busy},
	)
	// It exports the end for what was never committed.
	if got, want := csvLines(java[0].Out), []string{l.t + ",0,10", l.t + ",1,20", l.t + ",2,0"}; !slices.Equal(got, want) {
		t.Errorf("kafka-consumer-groups exports %q, want %q", got, want)
	}
	if want := []string{l.t + ",0,10"}; !slices.Equal(export.stdout, want) {
		t.Errorf("kcm exports %q, want %q", export.stdout, want)
	}
	// It takes a line that was cut short for an offset of 0.
	if got := c.Committed(broken, l.t, 0); got != 0 {
		t.Errorf("kafka-consumer-groups has put the group to %d, want 0: %s", got, java[1].Out)
	}
	r := run(t, slices.Concat(kcm, []string{"import", "-g", kept, short, "--execute"}))
	r.exits(t, 2)
	r.says(t, 1, "short.csv:1: the line has 2 fields")
	if got := c.Committed(kept, l.t, 0); got != 10 {
		t.Errorf("kcm has put the group to %d", got)
	}
	// It cannot read a name of two lines, which it quotes itself.
	if !strings.Contains(java[2].Out, "Error") && java[2].Code == 0 {
		t.Errorf("kafka-consumer-groups reads a name of two lines: %s", java[2].Out)
	}
	c.Commit(lines, l.t, 0, 50)
	r = run(t, slices.Concat(kcm, []string{"import", oddFile, "--execute"}))
	r.exits(t, 0)
	if got := c.Committed(lines, l.t, 0); got != 10 {
		t.Errorf("kcm has put the group of two lines to %d, want 10", got)
	}
	// Of two lines about one partition it takes the later one.
	if got := c.Committed(twice, l.t, 0); got != 2 {
		t.Errorf("kafka-consumer-groups has put the group to %d, want 2: %s", got, java[3].Out)
	}
	r = run(t, slices.Concat(kcm, []string{"import", "-g", kept, twiceFile, "--execute"}))
	r.exits(t, 2)
	r.says(t, 1, "twice.csv:2: ", "it is in line 1 already")
	// It exports nothing of a group in use, and ends with 0.
	if java[4].Code != 0 || !strings.Contains(java[4].Out, "current state is Stable") || strings.Contains(java[4].Out, l.u+",0,") {
		t.Errorf("kafka-consumer-groups exports of a group in use (exit code %d): %s", java[4].Code, java[4].Out)
	}
	r = run(t, slices.Concat(kcm, []string{"export", "-g", busy}))
	r.exits(t, 0)
	if want := []string{fmt.Sprintf("%s,0,%d", l.u, c.Committed(busy, l.u, 0))}; !slices.Equal(r.stdout, want) {
		t.Errorf("kcm exports of a group in use %q, want %q", r.stdout, want)
	}
}
