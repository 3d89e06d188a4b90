package cmd

import (
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// lackingRig is a stream of a topic that there is, one that is not, and a pattern
// that matches nothing.
func lackingRig(t *testing.T) (c *kafkatest.Cluster, kcm func(args ...string) (string, string, int)) {
	t.Helper()
	t.Chdir(t.TempDir())
	c = kafkatest.Fake(t, kafkatest.Options{}).Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	c.Commit("g", "t", 0, 0)
	file := "clusters:\n  east: {bootstrap: \"" + c.Bootstrap() + "\"}\nstreams:\n  s:\n    sources: [{cluster: east, topics: [t, gone, /no.*/]}]\n"
	if err := os.WriteFile("kcm.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, func(args ...string) (string, string, int) {
		return tryKcm(t, append([]string{"offsets"}, args...)...)
	}
}

// TestResetOfAScopeWithGaps: the plan shows what is there and what is not, and is refused.
func TestResetOfAScopeWithGaps(t *testing.T) {
	c, kcm := lackingRig(t)
	for _, args := range []string{"", " --execute"} {
		out, errs, code := kcm(strings.Fields("reset -g g s --to end -o csv" + args)...)
		if code != 6 || !strings.HasPrefix(errs, "kcm: east/gone: no such topic: nothing was changed\n") {
			t.Errorf("%q: %d %q", args, code, errs)
		}
		if !strings.Contains(out, "east,,,,,,,,east: no topic matches /no.*/\n") {
			t.Errorf("%q: %s", args, out)
		}
		if !strings.Contains(out, "east,g,t,0,0,1,1,,\n") || !strings.Contains(out, "east,,,,,,,,east/gone: no such topic\n") {
			t.Errorf("%q: %s", args, out)
		}
	}
	if at := c.Committed("g", "t", 0); at != 0 {
		t.Errorf("the commit is %d", at)
	}
	if out, errs, code := kcm("reset", "-g", "g", "s", "-t", "t", "--to", "end"); code != 0 {
		t.Errorf("-t: %d %q\n%s", code, errs, out)
	}
	if _, errs, code := kcm("reset", "-g", "g", "east/gone", "--to", "end"); code != 1 || errs != "kcm: east/gone: no such topic\n" {
		t.Errorf("nothing is there: %d %q", code, errs)
	}
}

// TestDeleteInAScopeWithGaps: what is not there is told, and the rest is deleted.
func TestDeleteInAScopeWithGaps(t *testing.T) {
	c, kcm := lackingRig(t)
	_, errs, code := kcm("delete", "-g", "g", "s", "--execute")
	if code != 0 || !strings.Contains(errs, "kcm: warning: east/gone: no such topic\nkcm: warning: east: no topic matches /no.*/\n") || c.Committed("g", "t", 0) != -1 {
		t.Errorf("%d %q", code, errs)
	}
	_, errs, code = kcm("delete", "-g", "g", "east/gone")
	if code != 1 || !strings.Contains(errs, "kcm: warning: east/gone: no such topic\n") {
		t.Errorf("%d %q", code, errs)
	}
}

// TestDeleteOfAGroupInUse: one that has committed nothing there is told as in use.
func TestDeleteOfAGroupInUse(t *testing.T) {
	c, kcm := lackingRig(t)
	member := c.Client(kgo.ConsumerGroup("busy"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.ClientID("reader"))
	defer member.Close()
	member.PollFetches(t.Context())
	_, errs, code := kcm("delete", "-g", "busy", "s", "-t", "t")
	if code != 6 || !strings.HasPrefix(errs, "kcm: east: group busy is in use (Stable): reader on ") {
		t.Errorf("%d %q", code, errs)
	}
}

// TestContradictions: a partition is put at one place.
func TestContradictions(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"--to end --to start":     "kcm: --to end and --to start exclude each other\n",
		"--to end,start":          "kcm: --to end and --to start exclude each other\n",
		"--to 0=start --to 0=end": "kcm: --to 0=start and --to 0=end exclude each other\n",
	} {
		all := append(strings.Fields("-b east=127.0.0.1:1 offsets reset -g g t"), strings.Fields(args)...)
		if _, errs, code := tryKcm(t, all...); code != 2 || errs != want {
			t.Errorf("%s: %d %q", args, code, errs)
		}
	}
}

// TestDeleteOfAShareGroup: it keeps no commits, and is refused even where others have some.
func TestDeleteOfAShareGroup(t *testing.T) {
	c, kcm := lackingRig(t)
	c.Fake().ControlKey(kmsg.ListGroups.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
		for name, kind := range map[string]string{"sg": "share", "g": "classic"} {
			g := kmsg.NewListGroupsResponseGroup()
			g.Group, g.GroupType, g.GroupState = name, kind, "Empty"
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	c.Fake().ControlKey(kmsg.ShareGroupDescribe.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		resp := req.ResponseKind().(*kmsg.ShareGroupDescribeResponse)
		for _, name := range req.(*kmsg.ShareGroupDescribeRequest).GroupIDs {
			g := kmsg.NewShareGroupDescribeResponseGroup()
			g.GroupID, g.GroupState = name, "Empty"
			if name != "sg" {
				g.ErrorCode = kerr.GroupIDNotFound.Code
			}
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	for _, args := range []string{"-g sg", "-g sg -g g"} {
		_, errs, code := kcm(strings.Fields("delete s -t t --execute " + args)...)
		if code != 6 || !strings.HasPrefix(errs, "kcm: east: group sg is a share group, which has no commits") {
			t.Errorf("%s: %d %q", args, code, errs)
		}
	}
	if at := c.Committed("g", "t", 0); at != 0 {
		t.Errorf("the commit is %d", at)
	}
}
