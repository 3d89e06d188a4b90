package metadata

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// web answers requests without a network, so that a test's own time goes on.
type web struct {
	mu    sync.Mutex
	hosts map[string]func(r *http.Request) *http.Response
	asked []string
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.asked = append(w.asked, strings.TrimSpace(fmt.Sprint(r.URL.Host, " ", r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since"))))
	handle := w.hosts[r.URL.Host]
	w.mu.Unlock()
	resp := handle(r)
	if resp == nil { // never
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	resp.Request = r
	return resp, nil
}

func (w *web) serve(host string, handle func(r *http.Request) *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[host] = handle
}

func (w *web) took() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.asked, ", ")
	w.asked = nil
	return all
}

func response(code int, text string, headers ...string) *http.Response {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
	for i := 0; i < len(headers); i += 2 {
		resp.Header.Set(headers[i], headers[i+1])
	}
	return resp
}

// page is a text with validators.
func page(text string, headers ...string) func(r *http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == "ETag" && r.Header.Get("If-None-Match") == headers[i+1] ||
				headers[i] == "Last-Modified" && r.Header.Get("If-Modified-Since") == headers[i+1] {
				return response(http.StatusNotModified, "")
			}
		}
		return response(http.StatusOK, text, headers...)
	}
}

func code(code int) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response { return response(code, "") }
}

func never(*http.Request) *http.Response { return nil }

func newWeb(host string, handle func(r *http.Request) *http.Response) (*web, WatchOptions) {
	net := &web{hosts: map[string]func(*http.Request) *http.Response{host: handle}}
	return net, WatchOptions{Options: Options{HTTP: &http.Client{Transport: net}}}
}

func TestAddressIsFollowed(t *testing.T) {
	net, opt := newWeb("h", page(source("a"), "ETag", `"1"`, "Last-Modified", "then"))
	follow(t, opt, []string{"http://h/x"}, func(string) {}, func(r *rig) {
		time.Sleep(25 * time.Second)
		r.want()
		if got, want := net.took(), `h, h "1", h "1"`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		net.serve("h", page(source("b"), "Last-Modified", "then")) // removals too, at once
		time.Sleep(20 * time.Second)
		r.want("30.01s orders: east[b]")
		if got, want := net.took(), `h "1", h`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		net.serve("h", code(http.StatusServiceUnavailable))
		time.Sleep(20 * time.Second)
		r.want("50.01s failed: metadata source http://h/x: the server answered 503 Service Unavailable")
		net.serve("h", code(http.StatusNotFound))
		time.Sleep(10 * time.Second)
		r.want("1m10.01s failed: metadata source http://h/x: the server answered 404 Not Found")
		net.serve("h", page(source("b"), "Last-Modified", "then"))
		time.Sleep(10 * time.Second)
		r.want("1m20.01s recovered")
		net.serve("h", page("x: 1"))
		time.Sleep(20 * time.Second)
		r.want(`1m30.01s failed: http://h/x:1:1: the document has no key "x"; allowed are clusters, streams`)
		net.serve("h", page(source("b", "c")))
		time.Sleep(10 * time.Second)
		r.want("1m50.01s orders: east[b c]", "1m50.01s recovered")
		net.serve("h", page(strings.Repeat(" ", maxSource+1)))
		time.Sleep(10 * time.Second)
		r.want("2m0.01s failed: metadata source http://h/x: it is too large: the limit is 16 MiB")
		net.serve("h", code(http.StatusNotModified))
		time.Sleep(10 * time.Second)
		r.want("2m10.01s recovered")
	})
}

// TestSlowServerDelaysNothing else than itself.
func TestSlowServerDelaysNothing(t *testing.T) {
	net, opt := newWeb("h", page(stream("b")))
	opt.Refresh = 2 * time.Second
	follow(t, opt, []string{"kcm.yaml", "http://h"}, one(t, "a"), func(r *rig) {
		net.serve("h", never)
		time.Sleep(3 * time.Second) // it is asked now
		r.replace("kcm.yaml", source("a", "c"))
		time.Sleep(time.Second)
		r.want("3.01s orders: east[a c]; b: east[b]")
		time.Sleep(4 * time.Second)
		r.want("7.01s failed: metadata source http://h: no answer in time")
		net.serve("h", page(stream("b")))
		time.Sleep(10 * time.Second)
		r.want("12.01s recovered") // asked again as soon as the second time was up
	})
}

// TestFailuresOfAddressesCount once in each Refresh.
func TestFailuresOfAddressesCount(t *testing.T) {
	net, opt := newWeb("h", page(source("a")))
	opt.MaxFailures = 4
	follow(t, opt, []string{"http://h"}, func(string) {}, func(r *rig) {
		net.serve("h", code(http.StatusBadGateway))
		time.Sleep(time.Minute)
		r.want("10.01s failed: metadata source http://h: the server answered 502 Bad Gateway")
		err := <-r.ended
		if err == nil || err.Error() != "the metadata could not be refreshed 4 times in a row: metadata source http://h: the server answered 502 Bad Gateway" {
			t.Errorf("Run returns %v", err)
		}
		r.ended <- nil
	})
}

func TestBearerToken(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]string{}
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path] = r.Header.Get("Authorization")
	}
	other := server(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		fmt.Fprint(w, eastText)
	})
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://"+other+"/elsewhere", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusFound)
		default:
			fmt.Fprint(w, eastText)
		}
	})
	file := filepath.Join(t.TempDir(), "token")
	put(t, file, canary+"-file\r\n")
	load := func(user, path, value string) error {
		clear(seen)
		_, err := Load(t.Context(), []string{"http://" + user + addr + path}, Options{
			Getenv: func(name string) (string, bool) { return value, name == "KCM_METADATA_TOKEN" },
		})
		return err
	}
	for _, c := range []struct{ user, path, value, at, want string }{
		{"", "/here", canary, "/here", "Bearer " + canary},
		{"", "/here", canary + "\n", "/here", "Bearer " + canary},
		{"", "/here", "file:" + file, "/here", "Bearer " + canary + "-file"},
		{"", "/here", "file://" + file, "/here", "Bearer " + canary + "-file"},
		{"", "/here", "", "/here", ""},
		{"", "/moved", canary, "/here", "Bearer " + canary},
		{"", "/away", canary, "/away", "Bearer " + canary},
		{"", "/away", canary, "/elsewhere", ""},
		{"u:pw@", "/here", canary, "/here", "Basic dTpwdw=="},
	} {
		if err := load(c.user, c.path, c.value); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		mu.Lock()
		if got, ok := seen[c.at]; !ok || got != c.want {
			t.Errorf("%+v: sent %q", c, got)
		}
		mu.Unlock()
	}
	put(t, file, "two")
	if err := load("", "/here", "file:"+file); err != nil || seen["/here"] != "Bearer two" {
		t.Errorf("%v; the file is not read again but %q is sent", err, seen["/here"])
	}
	wantUsage(t, load("", "/here", canary+"\nx"), "metadata source http://"+addr+"/here: KCM_METADATA_TOKEN holds a blank, a line break or a control character")
	wantUsage(t, load("", "/here", "file:/none"), "metadata source http://"+addr+"/here: KCM_METADATA_TOKEN: cannot read /none: no such file or directory")
}
