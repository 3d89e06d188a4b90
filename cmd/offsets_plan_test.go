package cmd

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// left are the files in the working directory.
func left(t *testing.T) (names []string) {
	t.Helper()
	list, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestMemberBetweenPlanAndExecute: a member that joins when the plan has been made
// and the snapshot written has everything refused, on the other cluster too.
func TestMemberBetweenPlanAndExecute(t *testing.T) {
	t.Chdir(t.TempDir())
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	var committed atomic.Int32
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("t", 1, nil)
		c.Commit("g", "t", 0, 0)
		c.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.Fake().KeepControl()
			committed.Add(1)
			return nil, nil, false
		})
	}
	// By then there is a snapshot.
	east.Fake().ControlKey(kmsg.DescribeGroups.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		east.Fake().KeepControl()
		if list, err := os.ReadDir("."); err != nil || len(list) == 0 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.State, g.ProtocolType = "g", "Stable", "consumer"
		m := kmsg.NewDescribeGroupsResponseGroupMember()
		m.MemberID, m.ClientID, m.ClientHost = "m1", "late", "/10.0.0.7"
		g.Members = append(g.Members, m)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	args := []string{"-b", "east=" + east.Bootstrap(), "-b", "west=" + west.Bootstrap(), "offsets", "reset", "-g", "g", "t", "--to", "end"}
	out, errs, code := tryKcm(t, args...)
	if code != 0 || !strings.Contains(errs, "nothing was changed") {
		t.Fatalf("the plan: %d %s\n%s", code, errs, out)
	}
	out, errs, code = tryKcm(t, append(args, "--execute")...)
	const want = "kcm: east: group g is in use (Stable): late on 10.0.0.7: nothing was changed\nkcm: hint: stop its members first\n"
	if code != 6 || errs != want || strings.Count(out, "east: group g is in use") != 1 {
		t.Errorf("%d %q\n%s", code, errs, out)
	}
	if n := committed.Load(); n != 0 {
		t.Errorf("%d commits were sent", n)
	}
	if names := left(t); len(names) != 0 {
		t.Errorf("%v was left", names)
	}
}

// TestPartlyChanged: what was changed and what was not is told, and the exit code is
// 3; the snapshot stays.
func TestPartlyChanged(t *testing.T) {
	t.Chdir(t.TempDir())
	rig := kafkatest.Fake(t, kafkatest.Options{})
	east, west := rig.Cluster("east"), rig.Cluster("west")
	for _, c := range []*kafkatest.Cluster{east, west} {
		c.CreateTopic("t", 1, nil)
		c.Produce("t", kafkatest.Record{Value: []byte("x")})
		c.Commit("g", "t", 0, 0)
	}
	west.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		west.Fake().KeepControl()
		r := req.(*kmsg.OffsetCommitRequest)
		resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
		st := kmsg.NewOffsetCommitResponseTopic()
		st.Topic = "t"
		st.Partitions = append(st.Partitions, kmsg.OffsetCommitResponseTopicPartition{ErrorCode: kerr.UnknownMemberID.Code})
		resp.Topics = append(resp.Topics, st)
		return resp, nil, true
	})
	args := []string{"-b", "east=" + east.Bootstrap(), "-b", "west=" + west.Bootstrap(), "offsets", "reset", "-g", "g", "t", "--to", "end", "--execute", "-o", "json"}
	out, errs, code := tryKcm(t, args...)
	if code != 3 || !strings.Contains(errs, `"error":"1 commit changed, 1 not, 0 not known; first: west: a member has joined group g in the meantime","code":3`) {
		t.Errorf("%d %q", code, errs)
	}
	if strings.Count(out, `"outcome": "changed"`) != 1 || strings.Count(out, `"outcome": "unchanged"`) != 1 || !strings.Contains(out, `"snapshot": "./kcm-offsets-2`) {
		t.Errorf("%s", out)
	}
	if names := left(t); len(names) != 1 {
		t.Errorf("%v was left", names)
	}
	if at := [2]int64{east.Committed("g", "t", 0), west.Committed("g", "t", 0)}; at != [2]int64{1, 0} {
		t.Errorf("the commits are %v", at)
	}
}

// TestSignalWhileChanging: what has been begun is brought to an end, what has not been
// is left alone, and both are told.
func TestSignalWhileChanging(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	args := []string{"-b", "east=" + c.Bootstrap(), "offsets", "reset", "t", "--to", "end", "--execute", "-o", "csv"}
	for i := range 40 {
		group := fmt.Sprintf("g%02d", i)
		c.Commit(group, "t", 0, 0)
		args = append(args, "-g", group)
	}
	signals := make(chan os.Signal, 1)
	var first atomic.Bool
	c.Fake().ControlKey(kmsg.OffsetCommit.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		if first.CompareAndSwap(false, true) {
			signals <- syscall.SIGINT
		}
		time.Sleep(20 * time.Millisecond) // as a slow broker would; kfake's own SleepControl has a data race
		return nil, nil, false
	})
	r := runKcm(t, world{signals: signals}, args...)
	done := 0
	for line := range strings.Lines(r.stdout) {
		if strings.HasSuffix(line, ",0,1,1,,\n") {
			done++
		}
	}
	if n := strings.Count(r.stdout, ",0,1,1,,the run was cut short before\n"); r.code != 130 || done == 0 || done+n != 40 || n == 0 {
		t.Errorf("%d: %d changed, %d not\n%s\n%s", r.code, done, n, r.stdout, r.stderr)
	}
	if want := fmt.Sprintf("kcm: warning: cut short: %s changed, %d not, 0 not known\n", count(int64(done), "commit"), 40-done); !strings.Contains(r.stderr, want) {
		t.Errorf("%s", r.stderr)
	}
	if len(left(t)) != 1 {
		t.Errorf("%v left", left(t))
	}
}

// TestOneClusterUnderTwoNames: no commit is changed twice.
func TestOneClusterUnderTwoNames(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Commit("g", "t", 0, 0)
	_, errs, code := tryKcm(t, "-b", "a="+c.Bootstrap(), "-b", "b="+c.Bootstrap(), "offsets", "delete", "-g", "g", "t", "--execute")
	if code != 6 || !strings.Contains(errs, "kcm: a and b are the same cluster (") {
		t.Errorf("%d %q", code, errs)
	}
	if at := c.Committed("g", "t", 0); at != 0 || len(left(t)) != 0 {
		t.Errorf("the commit is %d, %v left", at, left(t))
	}
}

// TestPlanOfOddNames: names of any bytes neither reach a terminal nor break JSON, and
// a snapshot brings them back.
func TestPlanOfOddNames(t *testing.T) {
	t.Chdir(t.TempDir())
	c := kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	odd := "a/\x1b[31m\xff\n,\"ü"
	c.Commit(odd, "t", 0, 0)
	addr := "east=" + c.Bootstrap()
	out, errs, code := tryKcm(t, "-b", addr, "offsets", "delete", "-g", odd, "t", "--execute", "--snapshot", "s.json")
	if code != 0 || strings.Contains(out+errs, "\x1b") || strings.Contains(out+errs, "\xff") || !strings.Contains(out, `a/\x1b[31m\xff\n,"ü  east `) {
		t.Errorf("%d %q %q", code, out, errs)
	}
	out, errs, code = tryKcm(t, "-b", addr, "offsets", "rollback", "s.json", "--execute", "-o", "json")
	if code != 0 || !strings.Contains(out, `"group": "a/\u001b[31m\\xff\n,\"ü"`) {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if at := c.Committed(odd, "t", 0); at != 0 {
		t.Errorf("the commit is %d", at)
	}
}
