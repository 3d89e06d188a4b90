package metadata

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stream is a source of one stream that takes a topic of its own name from a
// cluster that another source defines.
func stream(name string) string {
	return fmt.Sprintf("streams: {%s: {sources: [{cluster: east, topics: [%s]}]}}\n", name, name)
}

func TestFilesOfADirectory(t *testing.T) {
	setup := func(dir string) {
		put(t, filepath.Join(dir, "m/a.yaml"), source("a"))
		put(t, filepath.Join(dir, "m/b.yaml"), stream("b"))
	}
	follow(t, WatchOptions{}, []string{"m"}, setup, func(r *rig) {
		r.replace("m/c.yml", stream("c"))
		time.Sleep(5 * time.Second)
		r.want("10ms orders: east[a]; b: east[b]; c: east[c]")
		r.write("m/d.yaml", "")
		time.Sleep(500 * time.Millisecond)
		r.write("m/d.yaml", stream("d"))
		time.Sleep(5 * time.Second)
		r.want("6.51s orders: east[a]; b: east[b]; c: east[c]; d: east[d]")
		r.remove("m/b.yaml")
		time.Sleep(5 * time.Second)
		r.want("13.51s orders: east[a]; c: east[c]; d: east[d]")
		r.write("m/.e.yaml", stream("e"))
		r.write("m/e.yaml~", stream("e"))
		time.Sleep(5 * time.Second)
		r.want() // files of editors
		// One file comes whole while another is still being written: both wait.
		r.write("m/f.yaml", stream("f"))
		time.Sleep(500 * time.Millisecond)
		r.replace("m/g.yaml", stream("g"))
		time.Sleep(5 * time.Second)
		r.want("21.51s orders: east[a]; c: east[c]; d: east[d]; f: east[f]; g: east[g]")
	})
}

// TestSeveralSources: one that is bad makes all of it bad.
func TestSeveralSources(t *testing.T) {
	setup := func(dir string) {
		put(t, filepath.Join(dir, "kcm.yaml"), source("a"))
		put(t, filepath.Join(dir, "b.yaml"), stream("b"))
	}
	follow(t, WatchOptions{}, []string{"kcm.yaml", "b.yaml"}, setup, func(r *rig) {
		r.replace("kcm.yaml", "x: 1")
		time.Sleep(time.Second)
		r.want(`10ms failed: DIR/kcm.yaml:1:1: the document has no key "x"; allowed are clusters, streams`)
		r.replace("b.yaml", stream("c")) // not read: the first source is bad
		time.Sleep(time.Second)
		r.want()
		r.replace("kcm.yaml", source("a"))
		time.Sleep(time.Second)
		r.want("2.01s orders: east[a]; c: east[c]", "2.01s recovered")
	})
}

// swap publishes files the way the kubelet does: a directory of their own, and
// a link to it that is renamed over the last one.
func swap(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		put(t, filepath.Join(dir, version, name), text)
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		link := filepath.Join(dir, name)
		if err := os.Symlink(filepath.Join("..data", name), link); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if old != "" {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigMap(t *testing.T) {
	setup := func(dir string) {
		swap(t, filepath.Join(dir, "m"), "..v1", map[string]string{"streams.yaml": source("a")})
	}
	for _, from := range []string{"m", "m/streams.yaml"} {
		follow(t, WatchOptions{}, []string{from}, setup, func(r *rig) {
			topics := []string{"a"}
			for i, topic := range []string{"b", "c", "d"} {
				topics = append(topics, topic)
				swap(t, r.path("m"), fmt.Sprintf("..v%d", i+2), map[string]string{"streams.yaml": source(topics...)})
				r.notes.tell(r.path("m/..data"), true)
				time.Sleep(time.Second)
				r.want(fmt.Sprintf("%s orders: east%v", time.Duration(i)*time.Second+10*time.Millisecond, topics))
			}
			// The links are watched where they are, and the file where it is.
			for _, name := range []string{"m", "m/..v4"} {
				if !r.notes.watches(r.path(name)) {
					t.Errorf("%s is not watched", name)
				}
			}
			// Without any word of it, at the next poll.
			swap(t, r.path("m"), "..v5", map[string]string{"streams.yaml": source("z")})
			time.Sleep(10 * time.Second)
			r.want("10s orders: east[z]")
		})
	}
}

// TestPollsOnly: without any word from the system, a rename still shows in the
// times of the file.
func TestPollsOnly(t *testing.T) {
	follow(t, WatchOptions{Refresh: 4 * time.Second}, kcmYAML, one(t, "a"), func(r *rig) {
		time.Sleep(time.Second)
		renameOver(t, r.path("kcm.yaml"), source("b"))
		time.Sleep(4 * time.Second)
		r.want("4s orders: east[b]")
		put(t, r.path("kcm.yaml"), source("b", "c"))
		time.Sleep(6 * time.Second)
		r.want("9s orders: east[b c]")
		put(t, r.path("kcm.yaml"), source("b"))
		time.Sleep(6 * time.Second)
		r.want("15s orders: east[b]")
	})
}

// TestLateWordOfARename: the file was seen before.
func TestLateWordOfARename(t *testing.T) {
	follow(t, WatchOptions{}, kcmYAML, one(t, "a"), func(r *rig) {
		next := r.path("next")
		put(t, next, source("b"))
		long := time.Now().Add(100 * 365 * 24 * time.Hour) // so that its times do not tell
		if err := os.Chtimes(next, long, long); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, r.path("kcm.yaml")); err != nil {
			t.Fatal(err)
		}
		r.notes.tell(r.path("other"), false)
		time.Sleep(100 * time.Millisecond)
		r.want()
		r.notes.tell(r.path("kcm.yaml"), true)
		time.Sleep(100 * time.Millisecond)
		r.want("110ms orders: east[b]")
	})
}

// TestFilesThatAreNamed: a change of any of them is another view, of another
// cluster; the cluster that does not name it is the same.
func TestFilesThatAreNamed(t *testing.T) {
	text := `
clusters:
  east:
    bootstrap: a:1
    tls: {ca: ca.pem, cert: c.pem, key: k.pem}
    sasl: {mechanism: PLAIN, username: u, password: "file:secret/password"}
    propertiesFile: east.properties
    properties: {ssl.truststore.location: trust.jks, ssl.ca.location: roots}
  west: {bootstrap: 'b:1'}
streams: {orders: {sources: [{cluster: east, topics: [a]}]}}
`
	names := []string{"ca.pem", "c.pem", "k.pem", "secret/password", "east.properties", "trust.jks", "roots/a.pem", "keys.p12"}
	setup := func(dir string) {
		put(t, filepath.Join(dir, "kcm.yaml"), text)
		for _, name := range names {
			put(t, filepath.Join(dir, name), "before")
		}
		put(t, filepath.Join(dir, "east.properties"), "# x\nssl.keystore.location = keys.p12\n")
		put(t, filepath.Join(dir, "roots/sub/x.pem"), "x")
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			follow(t, WatchOptions{}, kcmYAML, setup, func(r *rig) {
				change, at := r.write, "1.01s"
				if i%2 == 0 {
					change, at = r.replace, "10ms"
				}
				change(name, "ssl.keystore.location=keys.p12 ")
				time.Sleep(9 * time.Second)
				r.want(at + " orders: east[a]")
				views := r.applied()
				if len(views) != 2 {
					t.Fatalf("%d views, want 2", len(views))
				}
				old, now := views[0], views[1]
				if old.Cluster("east").SameAs(now.Cluster("east")) || !old.Cluster("west").SameAs(now.Cluster("west")) {
					t.Errorf("%s: east is taken for the same, or west is not", name)
				}
				r.remove(name)
				time.Sleep(9 * time.Second)
				lines := r.took()
				if name == "roots/a.pem" { // the directory can still be read
					if len(lines) != 1 || !strings.HasSuffix(lines[0], " orders: east[a]") {
						t.Errorf("without it: %q", lines)
					}
					return
				}
				if len(lines) != 1 || !strings.Contains(lines[0], " failed: ") || !strings.HasSuffix(lines[0], "no such file or directory") {
					t.Errorf("without it: %q", lines)
				}
				r.replace(name, "ssl.keystore.location=keys.p12 ")
				time.Sleep(time.Second)
				r.want("18.01s recovered")
			})
		})
	}
}

// TestTokenFileIsNotWatched: it is read at each login.
func TestTokenFileIsNotWatched(t *testing.T) {
	setup := func(dir string) {
		put(t, filepath.Join(dir, "token"), "one")
		put(t, filepath.Join(dir, "kcm.yaml"), "clusters: {east: {bootstrap: 'a:1', sasl: {mechanism: OAUTHBEARER, tokenFile: token}}}")
	}
	follow(t, WatchOptions{}, kcmYAML, setup, func(r *rig) {
		r.replace("token", "two")
		time.Sleep(30 * time.Second)
	})
}

// TestFilesThatNeverWereThere are for the cluster's client to report; when they
// come, the cluster is another.
func TestFilesThatNeverWereThere(t *testing.T) {
	setup := func(dir string) {
		put(t, filepath.Join(dir, "kcm.yaml"), "clusters: {east: {bootstrap: 'a:1', tls: {ca: new/ca.pem}}}")
	}
	follow(t, WatchOptions{}, kcmYAML, setup, func(r *rig) {
		time.Sleep(20 * time.Second)
		r.want()
		put(t, r.path("new/ca.pem"), "x")
		time.Sleep(20 * time.Second)
		lines, views := r.took(), r.applied()
		if len(lines) != 1 || len(views) != 2 || views[0].Cluster("east").SameAs(views[1].Cluster("east")) {
			t.Errorf("%q, %d views", lines, len(views))
		}
	})
}

func TestLocations(t *testing.T) {
	text := "#ssl.a.location=no\nssl.a.location=a\n ssl.b.location : /b c \nssl.c.location=C\\:\\\\c\r\nssl.d.lo\\\ncation=d\n" +
		"ssl.ca.location=probe\nx=y.location\nsasl.kerberos.keytab=file:k\nssl.a.location=a\n!ssl.e.location=e\n"
	if got, want := locations(text), []string{"a", "/b c", `C:\c`, "d", "k"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
