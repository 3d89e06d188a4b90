package offsets

import (
	"testing"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
)

// TestWhichGroupsMayBeChanged: those that nobody is in, of the kinds that commit.
func TestWhichGroupsMayBeChanged(t *testing.T) {
	c, err := cluster.New(cluster.Config{Name: "east", Bootstrap: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reader := Member{Client: "reader", Host: "10.0.0.7"}
	for name, test := range map[string]struct {
		group Group
		want  string
	}{
		"none":     {Group{State: "Dead"}, ""},
		"classic":  {Group{Kind: cluster.ClassicGroup, State: "Empty"}, ""},
		"consumer": {Group{Kind: cluster.ConsumerGroup, State: "Empty"}, ""},
		"share":    {Group{Kind: cluster.ShareGroup, State: "Empty"}, "east: group g is a share group, which has no commits"},
		"streams":  {Group{Kind: cluster.StreamsGroup, State: "Empty"}, "east: group g is a streams group: its commits belong to the state of its application"},
		"with a member": {
			Group{Kind: cluster.ClassicGroup, State: "Stable", Members: []Member{reader}}, "east: group g is in use (Stable): reader on 10.0.0.7",
		},
		"rebalancing": {
			Group{Kind: cluster.ConsumerGroup, State: "Reconciling", Members: []Member{reader, reader, reader, reader, reader, reader, reader}},
			"east: group g is in use (Reconciling): reader on 10.0.0.7, reader on 10.0.0.7, reader on 10.0.0.7, reader on 10.0.0.7, reader on 10.0.0.7, 2 more",
		},
		"not known": {Group{Kind: cluster.ClassicGroup, State: "PreparingRebalance"}, "east: group g is in use (PreparingRebalance): its members are not known"},
		"silent":    {Group{Err: fault.New(fault.Refused, "no answer")}, "no answer"},
	} {
		test.group.Name = "g"
		err := inUse(c, test.group)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
