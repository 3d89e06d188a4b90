package metadata

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const eastText = `clusters: {east: {bootstrap: "a:1"}}`

// server answers every path of a map; "" answers nothing until the client goes.
func server(t *testing.T, handle func(w http.ResponseWriter, r *http.Request)) (addr string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(handle))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestHTTP(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "S3cr3t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, eastText)
	})
	v, err := Load(t.Context(), []string{"http://u:S3cr3t@" + addr + "/kcm.yaml?token=S3cr3t"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := "http://******@" + addr + "/kcm.yaml?…"
	if got, want := v.Cluster("east").Origin.String(), name+":1:12"; got != want {
		t.Errorf("origin %s, want %s", got, want)
	}
	if len(v.Sources) != 1 || v.Sources[0] != name {
		t.Errorf("sources %v, want [%s]", v.Sources, name)
	}
	_, err = Load(t.Context(), []string{"http://" + addr}, Options{})
	wantUsage(t, err, "metadata source http://"+addr+": the server answered 401 Unauthorized")
}

func TestErrorsOfHTTP(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop?S3cr3t", http.StatusFound)
		case "/large":
			fmt.Fprint(w, strings.Repeat(" ", maxSource+1))
		case "/slow":
			<-r.Context().Done()
		case "/half":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "clusters:")
		case "/invalid":
			fmt.Fprint(w, "clusters: {east: {bootstrap: a}}")
		case "/relative":
			fmt.Fprint(w, "clusters: {east: {bootstrap: 'a:1', tls: {ca: ca.pem}}}")
		default:
			http.NotFound(w, r)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	in, shown := "http://u:S3cr3t@"+addr, "http://******@"+addr
	for path, want := range map[string]string{
		"/none":     "metadata source " + shown + "/none: the server answered 404 Not Found",
		"/loop":     "metadata source " + shown + "/loop: too many redirects",
		"/large":    "metadata source " + shown + "/large: it is too large: the limit is 16 MiB",
		"/slow":     "metadata source " + shown + "/slow: no answer in time",
		"/half":     "metadata source " + shown + "/half: the request failed",
		"/invalid":  shown + `/invalid:1:30: bootstrap: "a" must be HOST:PORT`,
		"/relative": shown + "/relative:1:47: ca must be an absolute path: this source has no folder on this machine",
	} {
		timeout := time.Minute
		if path == "/slow" {
			timeout = 50 * time.Millisecond
		}
		t.Run(path, func(t *testing.T) {
			_, err := Load(t.Context(), []string{in + path}, Options{HTTP: &http.Client{Timeout: timeout}})
			wantUsage(t, err, want)
		})
	}
	_, err = Load(t.Context(), []string{"http://u:S3cr3t@" + closed}, Options{})
	wantUsage(t, err, "metadata source http://******@"+closed+": dial tcp "+closed+": connect: connection refused")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, []string{in}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled load gives %v", err)
	}
}

// TestCredentialsStayWithTheirHost: another port is another host, although the
// library would send them there.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	var seen string
	other := server(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization")
		fmt.Fprint(w, eastText)
	})
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://"+other+"/", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/here":
			seen = r.Header.Get("Authorization")
			fmt.Fprint(w, eastText)
		}
	})
	for path, want := range map[string]string{"/away": "", "/moved": "Basic dTpwdw=="} {
		seen = "not asked"
		if _, err := Load(t.Context(), []string{"http://u:pw@" + addr + path}, Options{}); err != nil {
			t.Fatal(err)
		}
		if seen != want {
			t.Errorf("%s: the last host was sent %q, want %q", path, seen, want)
		}
	}
}
