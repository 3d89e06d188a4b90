package metadata

import (
	"fmt"
	"strings"
	"testing"
)

const selectText = `clusters:
  east: {bootstrap: "a:1"}
  west: {bootstrap: "b:1"}
streams:
  orders: {sources: [{cluster: east, topics: [orders]}, {cluster: west, topics: [orders.v2], role: standby}]}
  orders-eu: {sources: [{cluster: east, topics: [orders-eu]}]}
  payments: {sources: [{cluster: east, topics: [pay]}]}
`

func TestSelect(t *testing.T) {
	native, err := loadText(t, selectText)
	if err != nil {
		t.Fatal(err)
	}
	adHoc, err := AdHoc([]string{"east=a:1", "west=b:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		view       *View
		words      string
		regex, all bool
		want       string // streams | missing
	}{
		{native, "payments orders payments", false, false, "payments: east [pay]; orders: east [orders], west [orders.v2]"},
		{native, "", false, true, "orders: east [orders], west [orders.v2]; orders-eu: east [orders-eu]; payments: east [pay]"},
		{native, "orders", true, false, "orders: east [orders], west [orders.v2]"}, // anchored
		{native, "or.* orders", true, false, "orders: east [orders], west [orders.v2]; orders-eu: east [orders-eu]"},
		{native, "west/orders.v2 east/other", false, false, "orders.v2: west [orders.v2]; other: east [other]"},
		{native, "west/or.*", true, false, "/or.*/ by topic: west [/or.*/]"},
		{native, "ordres", false, false, ` | no stream "ordres"; did you mean "orders"?`},
		{native, "pay", false, false, ` | no stream "pay"; did you mean "east/pay"?`},
		{native, "zulu orders", false, false, `orders: east [orders], west [orders.v2] | no stream "zulu"`},
		{native, "z.*", true, false, ` | no stream matches "z.*"`},
		{native, "eats/orders", false, false, ` | no cluster "eats"; did you mean "east/orders"?`},
		{adHoc, "orders", false, false, "orders: east [orders], west [orders]"},
		{adHoc, "or.*", true, false, "/or.*/ by topic: east [/or.*/], west [/or.*/]"},
		{adHoc, "", false, true, "/.*/ by topic: east [/.*/], west [/.*/]"},
		{adHoc, "west/orders", false, false, "orders: west [orders]"},
	} {
		sel, err := c.view.Select(strings.Fields(c.words), c.regex, c.all)
		if err != nil {
			t.Errorf("%q: %v", c.words, err)
			continue
		}
		if got := selected(sel); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.words, got, c.want)
		}
	}
}

func selected(sel Selection) string {
	got := summary(&View{Streams: sel.Streams})
	for _, s := range sel.Streams {
		if s.ByTopic {
			got = strings.Replace(got, s.Name+":", s.Name+" by topic:", 1)
		}
	}
	if err := sel.Err(); err != nil {
		got += " | " + err.Error()
	}
	return got
}

func TestErrorsOfSelect(t *testing.T) {
	native, err := loadText(t, selectText)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		view       *View
		words      []string
		regex, all bool
		want       string
	}{
		{native, []string{"orders"}, false, true, "all streams and named streams exclude each other"},
		{native, nil, false, false, "no stream is named\nhint: name streams or CLUSTER/TOPIC, or take all with -a"},
		{native, []string{"or("}, true, false, "\"or(\" is no regular expression: missing closing ): `or(`"},
		{native, []string{"east/a b"}, false, false, `"a b" is no topic name: it holds ' '; letters, digits and . _ - are allowed, and consume -r takes patterns`},
		{&View{AdHoc: true}, []string{"or*"}, false, false, `"or*" is no topic name: it holds '*'; letters, digits and . _ - are allowed, and consume -r takes patterns`},
	} {
		_, err := c.view.Select(c.words, c.regex, c.all)
		wantUsage(t, err, c.want)
	}
	sel, err := native.Select([]string{"ordres", "zulu"}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	wantUsage(t, sel.Err(), `no stream "ordres"; did you mean "orders"?; no stream "zulu"`)
}

func TestTopicMatches(t *testing.T) {
	for _, c := range []struct {
		entry  string // /pattern/ or a name
		topics string // of these
		want   string
	}{
		{"orders", "orders orders-eu Orders", "orders"},
		{"__consumer_offsets", "__consumer_offsets", "__consumer_offsets"},
		{"/orders/", "orders orders-eu my-orders", "orders"},
		{"/a|b/", "a b ab ba", "a b"},
		{"/.*/", "a _schemas __x x.internal x-internal xinternal _y", "a xinternal _y"},
		{"/_.*/", "a _schemas __x _y", "_schemas __x _y"},
		{"/(_.*|a)/", "a __x", "a"},
		{"/(?i)ORD.*/", "orders", "orders"},
		{"/a\\nb|c$/", "c a", "c"},
	} {
		topic := Named(c.entry)
		if re, ok := strings.CutPrefix(c.entry, "/"); ok {
			var err error
			if topic, err = Pattern(strings.TrimSuffix(re, "/")); err != nil {
				t.Fatal(err)
			}
		}
		if topic.String() != c.entry {
			t.Errorf("%s prints as %s", c.entry, topic)
		}
		var got []string
		for _, name := range strings.Fields(c.topics) {
			if topic.Matches(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s takes %v, want %s", c.entry, got, c.want)
		}
	}
	if _, err := Pattern("a)(b"); err == nil {
		t.Error("a pattern that only the anchors make valid is accepted")
	}
}

func TestNameFor(t *testing.T) {
	for _, s := range []Stream{{Name: "s"}, {Name: "/t/", ByTopic: true}} {
		want := "s"
		if s.ByTopic {
			want = "t"
		}
		if got := s.NameFor("t"); got != want {
			t.Errorf("%s: %s, want %s", s.Name, got, want)
		}
	}
}

func TestAdHoc(t *testing.T) {
	v, err := AdHoc([]string{"a:1,[::1]:2", "west=b:1"}, []string{"http://u:pw@sr:8081", "west=https://sr2/x?y=z"})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range v.Clusters {
		got += fmt.Sprint(c.Name, c.Bootstrap, c.SchemaRegistry.URLs, c.SchemaRegistry.Username, ":", c.SchemaRegistry.Password.Reveal(), " ", c.Origin, "; ")
	}
	if want := "default[a:1 [::1]:2] [http://sr:8081]u:pw -b; west[b:1] [https://sr2/x?y=z]: -b; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !v.AdHoc || len(v.Streams) != 0 {
		t.Errorf("view is %+v", v)
	}
}

func TestErrorsOfAdHoc(t *testing.T) {
	for _, c := range []struct {
		bootstrap, registries []string
		want                  string
	}{
		{nil, nil, "-b: no address\nhint: -b HOST:PORT"},
		{[]string{"a"}, nil, `-b: "a" must be HOST:PORT`},
		{[]string{"a:1", "b:1"}, nil, "-b: cluster \"default\" is given twice\nhint: -b NAME=HOST:PORT names a cluster, -b HOST:PORT,HOST:PORT gives several brokers of one"},
		{[]string{"=a:1"}, nil, "-b: a name is empty"},
		{[]string{"a/b=a:1"}, nil, `-b: name "a/b" holds '/'; names hold no blank and none of / : = ,`},
		{[]string{"u:S3cr3t@a"}, nil, `-b: "******@a" must be HOST:PORT with a port from 1 to 65535`},
		{[]string{"east=a:1"}, []string{"eats=http://sr"}, `--registry: there is no cluster "eats"; did you mean "east"?`},
		{[]string{"a:1"}, []string{"http://a", "http://b"}, "--registry is given twice for all clusters"},
		{[]string{"east=a:1"}, []string{"east=http://a", "east=http://b"}, "--registry is given twice for cluster east"},
		{[]string{"a:1"}, []string{"u:S3cr3t@sr:8081"}, "--registry: what is given for all clusters is no http:// or https:// address"},
	} {
		_, err := AdHoc(c.bootstrap, c.registries)
		wantUsage(t, err, c.want)
	}
}
