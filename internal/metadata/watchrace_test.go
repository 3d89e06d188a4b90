package metadata

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangesDuringAReading: what is read is what stood still, or nothing.
func TestChangesDuringAReading(t *testing.T) {
	hooked := "clusters: {east: {bootstrap: 'a:1', clusterId: '${HOOK}'}}\n"
	for _, order := range [][]string{{"kcm.yaml", "b.yaml"}, {"b.yaml", "kcm.yaml"}} {
		var during func()
		opt := WatchOptions{Options: Options{Getenv: func(string) (string, bool) {
			if during != nil {
				during()
			}
			return "id", true
		}}}
		setup := func(dir string) {
			put(t, filepath.Join(dir, "kcm.yaml"), hooked)
			put(t, filepath.Join(dir, "b.yaml"), stream("b"))
		}
		follow(t, opt, order, setup, func(r *rig) {
			synctest.Wait()
			during = func() {
				during = nil
				put(t, r.path("b.yaml"), stream("b2"))
			}
			r.replace("kcm.yaml", hooked+"streams: {a: {sources: [{cluster: east, topics: [a]}]}}")
			time.Sleep(5 * time.Second)
			lines := r.took()
			if len(lines) != 1 || lines[0][:3] != "3.0" {
				t.Errorf("%v: got %q", order, lines) // 3 s: it removes b
			}
			if views := r.applied(); len(views) != 2 || views[1].Stream("a") == nil || views[1].Stream("b2") == nil {
				t.Errorf("%v: got %d views, the last is %s", order, len(views), meaning(views[len(views)-1]))
			}
		})
	}
}

func TestReadingDiffers(t *testing.T) {
	s := stamp{kind: regular, real: "/f", size: 1}
	for _, c := range []struct {
		what string
		got  taken
		want bool
	}{
		{"nothing", taken{stamp: s, digest: digestOf("a", nil)}, false},
		{"content", taken{stamp: s, digest: digestOf("b", nil)}, true},
		{"size", taken{stamp: stamp{kind: regular, real: "/f", size: 2}, digest: digestOf("a", nil)}, true},
		{"moved", taken{stamp: s, digest: digestOf("a", nil), moved: true}, true},
	} {
		f := &follower{files: map[string]*tracked{"/f": {seen: s, content: digestOf("a", nil), hashed: true}}}
		if got := f.differs(&reading{files: map[string]taken{"/f": c.got, "/new": {stamp: s}}}); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

// TestNewsWhileAFileIsPending are part of what is applied in the end.
func TestNewsWhileAFileIsPending(t *testing.T) {
	net, opt := newWeb("h", page(stream("b")))
	opt.Refresh = 2 * time.Second
	follow(t, opt, []string{"kcm.yaml", "http://h"}, one(t, "a", "x"), func(r *rig) {
		time.Sleep(500 * time.Millisecond)
		r.write("kcm.yaml", source("a"))
		time.Sleep(1200 * time.Millisecond) // it was read, and must stand still for longer
		net.serve("h", page(stream("c")))
		time.Sleep(5 * time.Second)
		r.want("3.51s orders: east[a]; c: east[c]")
	})
}

// TestFailuresCountWhileAFileIsWritten: who writes for ever keeps nothing alive.
func TestFailuresCountWhileAFileIsWritten(t *testing.T) {
	follow(t, WatchOptions{MaxFailures: 3}, kcmYAML, one(t, "a"), func(r *rig) {
		r.replace("kcm.yaml", "x: 1")
		for i := range 100 {
			time.Sleep(500 * time.Millisecond)
			if len(r.ended) > 0 {
				break
			}
			r.write("kcm.yaml", fmt.Sprintf("x: %d", i))
		}
		r.want(`10ms failed: DIR/kcm.yaml:1:1: the document has no key "x"; allowed are clusters, streams`)
		if since := time.Since(r.start); since != 20500*time.Millisecond {
			t.Errorf("it ended after %s", since)
		}
		if err := <-r.ended; err == nil {
			t.Error("no error")
		}
		r.ended <- nil
	})
}

// TestNewEntryOfAConfigMap comes as a link, so it is whole.
func TestNewEntryOfAConfigMap(t *testing.T) {
	setup := func(dir string) {
		swap(t, filepath.Join(dir, "m"), "..v1", map[string]string{"a.yaml": source("a")})
	}
	follow(t, WatchOptions{}, []string{"m"}, setup, func(r *rig) {
		swap(t, r.path("m"), "..v2", map[string]string{"a.yaml": source("a"), "b.yaml": stream("b")})
		r.notes.tell(r.path("m/b.yaml"), false)
		time.Sleep(time.Second)
		r.want("10ms orders: east[a]; b: east[b]")
		// An entry that goes leaves its link behind for a moment.
		swap(t, r.path("m"), "..v3", map[string]string{"a.yaml": source("a", "c")})
		r.notes.tell(r.path("m/..data"), true)
		time.Sleep(100 * time.Millisecond)
		r.remove("m/b.yaml")
		time.Sleep(5 * time.Second)
		r.want("4.01s orders: east[a c]") // it led nowhere since 1.01 s
	})
}

// TestLinkedDirectory: a deployment that switches a link to a directory.
func TestLinkedDirectory(t *testing.T) {
	link := func(dir, version string) {
		if err := os.Symlink(version, filepath.Join(dir, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "current")); err != nil {
			t.Fatal(err)
		}
	}
	setup := func(dir string) {
		put(t, filepath.Join(dir, "v1/kcm.yaml"), source("a"))
		link(dir, "v1")
	}
	for _, from := range []string{"current", "current/kcm.yaml"} {
		follow(t, WatchOptions{}, []string{from}, setup, func(r *rig) {
			put(t, r.path("v2/kcm.yaml"), source("b"))
			link(r.dir, "v2")
			r.notes.tell(r.path("current"), true)
			time.Sleep(time.Second)
			r.want("10ms orders: east[b]")
			r.remove("current")
			time.Sleep(5 * time.Second)
			if lines := r.took(); len(lines) != 1 || lines[0][:12] != "4.01s failed" {
				t.Errorf("got %q", lines)
			}
			put(t, r.path("v3/kcm.yaml"), source("c"))
			link(r.dir, "v3")
			r.notes.tell(r.path("current"), true)
			time.Sleep(time.Second)
			r.want("6.01s orders: east[c]", "6.01s recovered")
		})
	}
}

// TestAnswerThatRedirectsIsFollowed with the validators of the last answer.
func TestAnswerThatRedirectsIsFollowed(t *testing.T) {
	net, opt := newWeb("h", func(*http.Request) *http.Response {
		return response(http.StatusFound, "", "Location", "http://i/y")
	})
	net.serve("i", page(source("a"), "ETag", `"1"`))
	follow(t, opt, []string{"http://h/x"}, func(string) {}, func(r *rig) {
		time.Sleep(15 * time.Second)
		if got, want := net.took(), `h, i, h "1", i "1"`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		net.serve("i", page(source("b"), "ETag", `"2"`))
		time.Sleep(10 * time.Second)
		r.want("20.01s orders: east[b]")
	})
}
