package cmd

import (
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestRollbackWithoutATopic: a topic that was deleted, or made again, is told as that,
// and the hint leads to the rest.
func TestRollbackWithoutATopic(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	for _, topic := range []string{"t1", "t2", "t3"} {
		c.CreateTopic(topic, 2, nil)
		c.Produce(topic, kafkatest.Record{Value: []byte("x")}, kafkatest.Record{Partition: 1, Value: []byte("x")})
		c.Commit("g", topic, 0, 0)
		c.Commit("g", topic, 1, 0)
	}
	kcm := func(args ...string) (string, string, int) {
		return tryKcm(t, append([]string{"-b", "east=" + c.Bootstrap(), "offsets"}, args...)...)
	}
	if _, errs, code := kcm("reset", "-g", "g", "--all-topics", "--to", "end", "--execute", "--snapshot", "s.json"); code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	c.DeleteTopic("t2")
	out, errs, code := kcm("rollback", "s.json", "--execute")
	const gone = "east/t2: no such topic: the commit 0 of partition 0 cannot come back"
	if code != 6 || errs != "kcm: "+gone+": nothing was changed\nkcm: hint: -t t1,t3 takes the others back\n" || !strings.Contains(out, gone) {
		t.Errorf("deleted: %d %q\n%s", code, errs, out)
	}
	_, errs, code = kcm("rollback", "s.json", "-t", "t2", "--allow-changed")
	if code != 6 || errs != "kcm: "+gone+": nothing was changed\n" {
		t.Errorf("that one alone: %d %q", code, errs)
	}
	c.CreateTopic("t2", 2, nil)
	_, errs, code = kcm("rollback", "s.json", "--execute")
	if code != 6 || !strings.Contains(errs, "kcm: east/t2: partition 0: the topic was made again since, so the offset 0 is that of another record: nothing was changed\nkcm: hint: -t t1,t3 takes the others back\n") {
		t.Errorf("made again: %d %q", code, errs)
	}
	if _, errs, code = kcm("rollback", "s.json", "-t", "t1,t3", "-p", "1", "--execute", "--snapshot", "s2.json"); code != 0 {
		t.Errorf("the rest: %d %q", code, errs)
	}
	if at := [4]int64{c.Committed("g", "t1", 0), c.Committed("g", "t1", 1), c.Committed("g", "t3", 0), c.Committed("g", "t3", 1)}; at != [4]int64{1, 0, 1, 0} {
		t.Errorf("the commits are %v", at)
	}
	for args, want := range map[string]string{
		"-t t9":      "kcm: s.json has nothing for the topic t9\n",
		"-t t1,t9":   "kcm: s.json has nothing for the topic t9\n",
		"-g h":       "kcm: s.json has nothing for the group h\n",
		"-t t1 -p 7": "kcm: s.json has nothing of that\n",
	} {
		if _, errs, code = kcm(append([]string{"rollback", "s.json"}, strings.Fields(args)...)...); code != 2 || errs != want {
			t.Errorf("%s: %d %q", args, code, errs)
		}
	}
}
