package state

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestAStateHasOneTarget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "S")
	f := open(t, path, Options{})
	keep(t, f, Mark{Place: place("ID-E", "east", "orders", 0, "orders"), Offset: 42, Epoch: 7})
	f = reopened(t, f, Options{})
	if err := f.Bind(nil); err != nil {
		t.Error(err)
	}
	if err := f.Bind(&Target{ClusterID: "ID-W", Cluster: "west", Topic: "{topic}"}); err != nil {
		t.Error(err) // positions without a target are simply taken
	}
	f.Wrote([]string{"b", "a"})
	f.Wrote([]string{"b"})
	keep(t, f)
	for _, tt := range []struct {
		to   *Target
		want string // empty is allowed
	}{
		{&Target{ClusterID: "ID-W", Cluster: "west", Topic: "{topic}"}, ""},
		{&Target{ClusterID: "ID-W", Cluster: "alias", Topic: "{topic}"}, ""},
		{&Target{ClusterID: "ID-W", Cluster: "west", Topic: "copy"}, path + " holds the positions of a copy to west/{topic}, not of one to west/copy"},
		{&Target{ClusterID: "ID-N", Cluster: "north", Topic: "{topic}"}, path + " holds the positions of a copy to west/{topic}, not of one to north/{topic}"},
		{&Target{ClusterID: "ID-N", Cluster: "west", Topic: "{topic}"}, path + " holds the positions of a copy to west/{topic} of the cluster ID-W, not of one to west/{topic}"},
		{&Target{Cluster: "west", Topic: "{topic}"}, ""},
		{&Target{Cluster: "north", Topic: "{topic}"}, path + " holds the positions of a copy to west/{topic}, not of one to north/{topic}"},
		{nil, path + " holds the positions of a copy to west/{topic}, and this run copies nothing"},
	} {
		f = reopened(t, f, Options{})
		err := f.Bind(tt.to)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want || fault.KindOf(err) != fault.Refused) {
			t.Errorf("%v: %v, want %q", tt.to, err, tt.want)
		}
	}
	has := ""
	for _, topic := range strings.Fields("a aa b c") {
		if f.HasWritten(topic) {
			has += topic
		}
	}
	if has != "ab" {
		t.Errorf("written are %q", has)
	}
}
