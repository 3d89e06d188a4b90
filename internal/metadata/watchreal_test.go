package metadata

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// really follows sources with the system's notes and the real time. It returns
// the views that are applied, each with the moment.
func really(t *testing.T, opt WatchOptions, d delays, sources ...string) (next func(within time.Duration) string) {
	t.Helper()
	opt.Failed = func(err error) { t.Errorf("failed: %v", err) }
	w := NewWatcher(sources, opt)
	w.delays = d
	if _, err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	views, ended := make(chan string, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- w.Run(ctx, func(v *View) error {
			views <- meaning(v)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
		close(views)
		for v := range views {
			t.Errorf("one view too many: %s", v)
		}
	})
	return func(within time.Duration) string {
		select {
		case v := <-views:
			return v
		case <-time.After(within):
			return "nothing"
		}
	}
}

// patient leaves no doubt what came at once: nothing else comes in this test.
func patient() delays {
	d := usualDelays()
	d.still, d.sure = time.Hour, time.Hour
	return d
}

const soon = time.Minute // tells a hang; what comes comes at once, unless the machine is busy

func TestRealRenames(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kcm.yaml")
	put(t, path, source("a"))
	next := really(t, WatchOptions{Refresh: time.Hour}, patient(), path)
	// Its times tell of this rename even if it is not watched yet.
	renameOver(t, path, source("b"))
	if got := next(soon); got != "orders: east[b]" {
		t.Fatalf("got %s", got)
	}
	for i := range 5 {
		text := source("a", fmt.Sprint("b", i))
		put(t, path+".next", text)
		if err := os.Rename(path+".next", path); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		want := fmt.Sprintf("orders: east[a b%d]", i)
		if got := next(soon); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		t.Logf("after %s", time.Since(start))
	}
}

func TestRealConfigMap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	swap(t, dir, "..v1", map[string]string{"streams.yaml": source("a")})
	next := really(t, WatchOptions{Refresh: time.Hour}, patient(), filepath.Join(dir, "streams.yaml"))
	topics := []string{"a"}
	for i := range 3 {
		topics = append(topics, fmt.Sprint("b", i))
		swap(t, dir, fmt.Sprint("..w", i), map[string]string{"streams.yaml": source(topics...)})
		if got, want := next(soon), fmt.Sprintf("orders: east%v", topics); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// TestRealWritesInPlace with shorter delays, also into a directory that was gone.
func TestRealWritesInPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x", "m")
	path := filepath.Join(dir, "kcm.yaml")
	put(t, path, source("a"))
	d := delays{coalesce: 5 * time.Millisecond, look: 20 * time.Millisecond, still: 200 * time.Millisecond, sure: time.Hour}
	next := really(t, WatchOptions{Refresh: time.Hour}, d, path)
	put(t, path, source("a", "b"))
	if got := next(soon); got != "orders: east[a b]" {
		t.Fatalf("got %s", got)
	}
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	put(t, path, source("a", "b", "c"))
	if got := next(soon); got != "orders: east[a b c]" {
		t.Fatalf("got %s", got)
	}
	put(t, path, source("a", "b", "c", "d"))
	if got := next(soon); got != "orders: east[a b c d]" {
		t.Fatalf("got %s", got)
	}
}

// TestRealServer: the connections of a watcher end with it (see TestMain).
func TestRealServer(t *testing.T) {
	text := make(chan string, 1)
	text <- source("a")
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		now := <-text
		text <- now
		if r.Header.Get("If-None-Match") == fmt.Sprintf("%q", now) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", strings.TrimSpace(now)))
		fmt.Fprint(w, now)
	})
	next := really(t, WatchOptions{Refresh: 20 * time.Millisecond}, usualDelays(), "http://"+addr)
	<-text
	text <- source("b")
	if got := next(soon); got != "orders: east[b]" {
		t.Fatalf("got %s", got)
	}
}

// TestPipeIsReadOnce, as standard input is, wherever it is named.
func TestPipeIsReadOnce(t *testing.T) {
	pipe := func(text string) string {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		fmt.Fprint(w, text)
		w.Close()
		path := fmt.Sprintf("/dev/fd/%d", r.Fd())
		if _, err := os.Stat(path); err != nil {
			t.Skip("this system has no /dev/fd")
		}
		return path
	}
	path := filepath.Join(t.TempDir(), "b.yaml")
	secret := "clusters: {west: {bootstrap: 'b:1', sasl: {mechanism: PLAIN, username: u, password: 'file:" + pipe("secret") + "'}}}\n"
	put(t, path, secret+stream("b"))
	next := really(t, WatchOptions{Refresh: time.Hour, Options: Options{Stdin: strings.NewReader(stream("c"))}}, patient(), pipe(source("a")), path, "-")
	renameOver(t, path, secret+stream("d"))
	if got, want := next(soon), "orders: east[a]; d: east[d]; c: east[c]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWatchable(t *testing.T) {
	for _, c := range []struct {
		sources []string
		want    bool
	}{{[]string{"-"}, false}, {[]string{"-", "f"}, true}, {[]string{"http://h"}, true}} {
		if got := NewWatcher(c.sources, WatchOptions{}).Watchable(); got != c.want {
			t.Errorf("%v: %t", c.sources, got)
		}
	}
}

func TestRunBeforeLoad(t *testing.T) {
	if err := NewWatcher([]string{"-"}, WatchOptions{}).Run(t.Context(), nil); err == nil {
		t.Error("no error")
	}
}
