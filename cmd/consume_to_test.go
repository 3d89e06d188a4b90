package cmd

import (
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

func TestTopicsOfTo(t *testing.T) {
	split := record.Split{Cluster: "east", Topic: "orders.v2", Partition: 3}
	for _, tt := range []struct{ text, want, wrong string }{
		{"", "orders.v2", ""},
		{"copy", "copy", ""},
		{"{cluster}.{topic}-{partition}_{stream}", "east.orders.v2-3_orders", ""},
		{"{topic}{topic}", "orders.v2orders.v2", ""},
		{"{date}", "", "there is no {date}"},
		{"{}", "", "there is no {}"},
		{"a/b", "", `"a/b" is no topic`},
		{"{topic", "", `"{topic" is no topic`},
		{"..", "", `".." is no topic`},
		{strings.Repeat("x", 250), "", "is no topic"},
	} {
		n, err := parseTopicName(tt.text)
		if tt.wrong != "" {
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q: %v, want %s", tt.text, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := n.of("orders", split); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

// A guard goes by the physical cluster and looks at what is read, what is wanted
// and what is written, in whatever order it hears of them.
func TestLoopsAreFound(t *testing.T) {
	topics := func(names ...string) (list []cluster.Topic) {
		for _, n := range names {
			list = append(list, cluster.Topic{Name: n})
		}
		return list
	}
	guard := func(entries ...metadata.Topic) *loopGuard {
		p := &planner{}
		wants := []source.Want{{Source: &metadata.Source{Cluster: "east", Topics: entries}}}
		p.newest.Store(&wants)
		return &loopGuard{id: "id-1", name: "east", planner: p}
	}
	for _, tt := range []struct {
		name string
		do   func(g *loopGuard) error
		loop bool
	}{
		{"read first", func(g *loopGuard) error {
			if err := g.admit("id-1", "alias", topics("a", "b")); err != nil {
				return err
			}
			return g.target("b")
		}, true},
		{"written first", func(g *loopGuard) error {
			if err := g.target("b"); err != nil {
				return err
			}
			return g.admit("id-1", "alias", topics("a", "b"))
		}, true},
		{"wanted", func(g *loopGuard) error { return g.target("named") }, true},
		{"another topic", func(g *loopGuard) error {
			if err := g.admit("id-1", "alias", topics("a")); err != nil {
				return err
			}
			return g.target("c")
		}, false},
		{"another cluster", func(g *loopGuard) error {
			if err := g.admit("id-2", "west", topics("a")); err != nil {
				return err
			}
			return g.target("a")
		}, false},
		{"clusters that tell no id", func(g *loopGuard) error {
			g.id = ""
			if err := g.admit("", "west", topics("a")); err != nil {
				return err
			}
			return g.target("a")
		}, false},
		{"narrowed away", func(g *loopGuard) error {
			g.narrow = func(topic string) bool { return topic != "named" }
			return g.target("named")
		}, false},
	} {
		err := tt.do(guard(metadata.Topic{Name: "named"}))
		if (err != nil) != tt.loop || tt.loop && fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
