package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/offsets"
	"github.com/kcm-cli/kcm/internal/output"
)

// TestExportJSON: the JSON that is written piece by piece is that of the tags, and
// what ReadListing reads, whatever bytes the names have.
func TestExportJSON(t *testing.T) {
	at := func(topic string, p int32) offsets.Partition { return offsets.Partition{Topic: topic, Partition: p} }
	group := func(cluster, name string, commits map[offsets.Partition]offsets.Commit, err error) exportGroupDoc {
		d := newExportGroupDoc(clusterScope{cluster: cluster}, offsets.Group{Name: name, Commits: commits, Err: err})
		d.streamOf = func(at offsets.Partition) (string, bool) { return strings.Repeat("s", int(at.Partition)), true }
		return d
	}
	for name, doc := range map[string]*exportDoc{
		"nothing": {},
		"some": {
			Failed: []failedDoc{{"x", "o\x1b\"dd"}},
			Groups: []exportGroupDoc{
				group("east", "g\xff\"\n<é", map[offsets.Partition]offsets.Commit{
					at("t", 1): {Offset: 5, Metadata: "m\xfe"}, at("t", 0): {Offset: 1 << 60, Metadata: "é"}, at("s", 2): {Offset: 0}, at("t", 3): {Offset: -1, Err: fault.New(fault.Auth, "no")},
				}, nil),
				group("west", "{", nil, fault.New(fault.Unreachable, "gone")),
			},
		},
	} {
		var got []byte
		err := doc.writeJSON(func(piece []byte) error { got = append(got, piece...); return nil }, false)
		listed, readErr := offsets.ReadListing(strings.NewReader(string(got)), "x")
		doc.fill()
		want, wantErr := output.AppendJSON(nil, doc)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil || wantErr != nil {
			t.Errorf("%s: %v, %v\n%s", name, err, wantErr, diff)
		}
		if name == "nothing" {
			continue
		}
		if readErr != nil {
			t.Fatal(readErr)
		}
		for i := range listed.Entries {
			listed.Entries[i].Line = 0
		}
		if want := []offsets.ListedOffset{
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("s", 2)},
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("t", 0), Offset: 1 << 60, Metadata: "é"},
			{Cluster: "east", Group: "g\xff\"\n<é", Partition: at("t", 1), Offset: 5, Metadata: "m\xfe"},
		}; !slices.Equal(listed.Entries, want) {
			t.Errorf("it is read %+v", listed.Entries)
		}
	}
}

// TestExportWhatCannotBeAsked: a group that may not be read is told, and never an
// empty file that looks like an answer.
func TestExportWhatCannotBeAsked(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Commit("mine", "t", 0, 0)
	c.Commit("theirs", "t", 0, 0)
	c.Fake().ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		req, ok := kreq.(*kmsg.OffsetFetchRequest)
		if !ok || len(req.Groups) == 0 {
			return nil, nil, false
		}
		resp, _ := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			if rg.Group = g.Group; g.Group == "theirs" {
				rg.ErrorCode = kerr.GroupAuthorizationFailed.Code
			} else {
				rt, rp := kmsg.NewOffsetFetchResponseGroupTopic(), kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rt.Topic, rp.Offset = "t", 7
				rt.Partitions = append(rt.Partitions, rp)
				rg.Topics = append(rg.Topics, rt)
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil, true
	})
	for _, tt := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"-g", "mine"}, 0, "t,0,7\n"},
		{[]string{"-g", "theirs"}, 4, ""},
		{[]string{"-g", "theirs", "-g", "mine"}, 3, "mine,t,0,7\n"},
		{[]string{"--all-groups"}, 3, "mine,t,0,7\n"},
	} {
		out, errs, code := tryKcm(t, append([]string{"-b", "east=" + c.Bootstrap(), "offsets", "export"}, tt.args...)...)
		if code != tt.code || out != tt.out || strings.Contains(errs, "theirs") != (tt.code != 0) {
			t.Errorf("%v: exit code %d, %q\n%s", tt.args, code, out, errs)
		}
	}
}

// TestOddNamesToFilesAndBack: names of any bytes are the same groups again.
func TestOddNamesToFilesAndBack(t *testing.T) {
	rig := kafkatest.Fake(t, kafkatest.Options{})
	c := rig.Cluster("east")
	c.CreateTopic("t", 1, nil)
	c.Produce("t", kafkatest.Record{Value: []byte("x")})
	odd := "a/\x1b[31m\xff\r\n,\"ü\""
	c.Commit(odd, "t", 0, 1)
	c.Commit("{", "t", 0, 1)
	dir := t.TempDir()
	for _, form := range []string{"csv", "json"} {
		addr := "east=" + c.Bootstrap()
		out, errs, code := tryKcm(t, "-b", addr, "offsets", "export", "--all-groups", "-o", form)
		file := filepath.Join(dir, form)
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil || code != 0 || errs != "" {
			t.Fatalf("%s: %d %v %q", form, code, err, errs)
		}
		c.Commit(odd, "t", 0, 0)
		out, errs, code = tryKcm(t, "-b", addr, "offsets", "import", file, "--execute", "--snapshot", file+".before", "-o", "json")
		if at := c.Committed(odd, "t", 0); code != 0 || at != 1 || !strings.Contains(out, `"group": "a/\u001b[31m\\xff\r\n,\"ü\""`) {
			t.Errorf("%s: exit code %d, committed %d\n%s\n%s", form, code, at, out, errs)
		}
	}
}
