package metadata

import (
	"reflect"
	"testing"
)

// full has every field that there is.
func full() *Cluster {
	at := Origin{"f", 1, 1}
	return &Cluster{
		Name: "east", Bootstrap: []string{"a:1", "b:1"}, ClusterID: "id", Dir: "/d", PropertiesFile: "/p",
		TLS:            &TLS{CA: PEM{Path: "/ca"}, Cert: PEM{Path: "/c"}, Key: PEM{Path: "/k"}, KeyPassword: "kp", ServerName: "s", InsecureSkipVerify: new(true), Origin: at},
		SASL:           &SASL{Mechanism: Plain, Username: "u", Password: "p", Token: "t", TokenFile: "/t", Origin: at},
		Properties:     []Property{{Key: "k", Value: "v", Origin: at, Field: true}},
		SchemaRegistry: &SchemaRegistry{URLs: []string{"http://sr"}, Origin: at},
		Mirror:         &Mirror{Alias: "e", Origin: at}, Origin: at, Places: map[string]Origin{"bootstrap": at},
		files: map[string]digest{"/ca": digestOf("x", nil)},
	}
}

func TestSameAs(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(c *Cluster)
		same   bool // as a connection
		equal  bool // as a part of a view
	}{
		{"nothing", func(*Cluster) {}, true, true},
		{"places", func(c *Cluster) {
			c.Origin, c.TLS.Origin, c.SASL.Origin, c.Properties[0].Origin, c.Places = Origin{}, Origin{}, Origin{}, Origin{}, nil
			c.SchemaRegistry.Origin, c.Mirror.Origin = Origin{}, Origin{}
		}, true, true},
		{"order of addresses", func(c *Cluster) { c.Bootstrap = []string{"b:1", "a:1"} }, true, false},
		{"addresses", func(c *Cluster) { c.Bootstrap = []string{"a:1"} }, false, false},
		{"id", func(c *Cluster) { c.ClusterID = "" }, false, false},
		{"no tls", func(c *Cluster) { c.TLS = nil }, false, false},
		{"CA", func(c *Cluster) { c.TLS.CA.Path = "/x" }, false, false},
		{"key's password", func(c *Cluster) { c.TLS.KeyPassword = "x" }, false, false},
		{"verification", func(c *Cluster) { c.TLS.InsecureSkipVerify = new(false) }, false, false},
		{"no sasl", func(c *Cluster) { c.SASL = nil }, false, false},
		{"password", func(c *Cluster) { c.SASL.Password = "x" }, false, false},
		{"token file", func(c *Cluster) { c.SASL.TokenFile = "/x" }, false, false},
		{"a property", func(c *Cluster) { c.Properties[0].Value = "x" }, false, false},
		{"no properties", func(c *Cluster) { c.Properties = nil }, false, false},
		{"propertiesFile", func(c *Cluster) { c.PropertiesFile = "/x" }, false, false},
		{"content", func(c *Cluster) { c.files = map[string]digest{"/ca": digestOf("y", nil)} }, false, false},
		{"no content", func(c *Cluster) { c.files = map[string]digest{"/ca": digestOf("", nil)} }, false, false},
		{"registry", func(c *Cluster) { c.SchemaRegistry.Password = "x" }, true, false},
		{"mirror", func(c *Cluster) { c.Mirror = nil }, true, false},
	} {
		a, b := full(), full()
		c.change(b)
		if a.SameAs(b) != c.same || b.SameAs(a) != c.same {
			t.Errorf("%s: SameAs gives %t", c.what, !c.same)
		}
		if equal := reflect.DeepEqual(a.unplaced(), b.unplaced()); equal != c.equal {
			t.Errorf("%s: equal is %t", c.what, equal)
		}
	}
	// What has no properties has no relative paths.
	a, b := &Cluster{Dir: "/a"}, &Cluster{Dir: "/b"}
	if !a.SameAs(b) || (*Cluster)(nil).SameAs(a) || a.SameAs(nil) {
		t.Error("two bare clusters differ, or one is the same as none")
	}
}

func TestRemoves(t *testing.T) {
	clusters := "clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\n"
	view := func(text string) *View {
		v, err := loadText(t, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := view(clusters + "streams: {s: {sources: [{cluster: east, topics: [a, /b.*/], start: end-1}, {cluster: west, topics: [a]}]}}")
	for _, c := range []struct {
		text           string
		removes, equal bool
	}{
		{clusters + "streams: {s: {sources: [{cluster: east, topics: [a, /b.*/], start: end-1}, {cluster: west, topics: [a]}]}}", false, true},
		{"# x\n\n" + clusters + "streams:\n  s: {sources: [{cluster: east, topics: [a, /b.*/], start: end-1}, {cluster: west, topics: [a]}]}", false, true},
		{clusters + "streams: {s: {sources: [{cluster: east, topics: [a, /b.*/, c], start: end-1}, {cluster: west, topics: [a]}]}}", false, false},
		{clusters + "streams: {s: {sources: [{cluster: east, topics: [a, /b.*/], start: end-2}, {cluster: west, topics: [a]}]}}", false, false},
		{clusters + "streams: {s: {sources: [{cluster: east, topics: [a, b.x], start: end-1}, {cluster: west, topics: [a]}]}}", true, false},
		{clusters + "streams: {s: {sources: [{cluster: east, topics: [a, /b.*/], start: end-1}]}}", true, false},
		{clusters + "streams: {t: {sources: [{cluster: east, topics: [a, /b.*/], start: end-1}, {cluster: west, topics: [a]}]}}", true, false},
		{"clusters: {east: {bootstrap: 'a:1'}}\nstreams: {s: {sources: [{cluster: east, topics: [a]}]}}", true, false},
	} {
		now := view(c.text)
		if got := removes(before, now); got != c.removes {
			t.Errorf("removes is %t for\n%s", got, c.text)
		}
		if got := now.sameAs(before); got != c.equal {
			t.Errorf("equal is %t for\n%s", got, c.text)
		}
	}
}
