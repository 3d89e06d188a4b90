package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// of is a client of one address.
func of(t *testing.T, address string, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Cluster: "east", URLs: []string{address}, Compile: compile, Wait: 2 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	return client(t, cfg)
}

func TestWhatIsSent(t *testing.T) {
	for _, tt := range []struct {
		name, path    string // of the address
		user          *url.Userinfo
		cfg           Config
		uri           string
		authorization string
	}{
		{name: "nothing", uri: "/schemas/ids/7"},
		{name: "a path", path: "/apis/ccompat/v7/", uri: "/apis/ccompat/v7/schemas/ids/7"},
		{name: "a context", path: "/contexts/:.east:", uri: "/contexts/:.east:/schemas/ids/7"},
		{name: "a path with a space", path: "/a%20b", uri: "/a%20b/schemas/ids/7"},
		{name: "a query", path: "/v7?key=S3cr3t", uri: "/v7/schemas/ids/7?key=S3cr3t"},
		{name: "basic", cfg: Config{Username: "app", Password: "pass:word"}, uri: "/schemas/ids/7", authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("app:pass:word"))},
		{name: "bearer", cfg: Config{Token: "abc", Username: "unused"}, uri: "/schemas/ids/7", authorization: "Bearer abc"},
		{name: "user-info", user: url.UserPassword("u", "p"), uri: "/schemas/ids/7", authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("u:p"))},
		{name: "a login beside user-info", user: url.UserPassword("u", "p"), cfg: Config{Token: "abc"}, uri: "/schemas/ids/7", authorization: "Bearer abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var uri string
			var header http.Header
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				uri, header = r.RequestURI, r.Header
				_, _ = io.WriteString(w, `{"schema":"seven","unknown":[1]}`)
			}))
			u, err := url.Parse(srv.URL + tt.path)
			if err != nil {
				t.Fatal(err)
			}
			u.User = tt.user
			tt.cfg.URLs, tt.cfg.Compile = []string{u.String()}, compile
			if got := textOf(t, client(t, tt.cfg), number(7)); got != "seven" {
				t.Errorf("got %s", got)
			}
			if uri != tt.uri || header.Get("Authorization") != tt.authorization {
				t.Errorf("asked for %s with %q", uri, header.Get("Authorization"))
			}
			if header.Get("Accept") != "application/vnd.schemaregistry.v1+json, application/json" || header.Get("User-Agent") != "kcm" {
				t.Errorf("headers %v", header)
			}
		})
	}
}

func TestAddressesAreChecked(t *testing.T) {
	for _, bad := range []string{"", "sr:8081", "ftp://sr", "http://", "http://u:S3cr3t@sr:port", "http://a b/"} {
		_, err := New(context.Background(), Config{Cluster: "east", URLs: []string{"http://good", bad}})
		wantError(t, err, "address 2 of the registry of east is no http or https address")
		if k := fault.KindOf(err); k != fault.Usage {
			t.Errorf("%q: kind %d", bad, k)
		}
	}
	_, err := New(context.Background(), Config{})
	wantError(t, err, "the registry has no address")
}

func TestCredentialsStayWithTheirHost(t *testing.T) {
	var elsewhere []string
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization")+r.Header.Get("Referer"))
		_, _ = io.WriteString(w, `{"schema":"elsewhere"}`)
	}))
	var here []string
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/schemas/ids/1":
			http.Redirect(w, r, other.URL+"/schemas/ids/1", http.StatusTemporaryRedirect)
		case "/schemas/ids/2":
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
		case "/schemas/ids/3":
			http.Redirect(w, r, "/schemas/ids/3", http.StatusFound)
		case "/schemas/ids/4":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/moved":
			_, _ = io.WriteString(w, `{"schema":"moved"}`)
		}
	}))
	c := of(t, srv.URL+"?key=S3cr3t", func(cfg *Config) { cfg.Token = "S3cr3t" })
	if got := textOf(t, c, number(1)); got != "elsewhere" || len(elsewhere) != 1 || elsewhere[0] != "" {
		t.Errorf("got %s; the other host was sent %q", got, elsewhere)
	}
	if got := textOf(t, c, number(2)); got != "moved" || here[2] != "Bearer S3cr3t" {
		t.Errorf("got %s; the same host was sent %q", got, here)
	}
	_, err := c.Schema(number(3))
	wantError(t, err, "the registry of east does not answer: "+srv.URL+": too many redirects")
	_, err = c.Schema(number(4))
	wantError(t, err, "the registry of east does not answer: "+srv.URL+": it redirects to an address that is neither http nor https")
}

func TestAnswersThatAreNotARegistrys(t *testing.T) {
	const path = "; does its address lack a path, such as /apis/ccompat/v7?"
	for _, tt := range []struct {
		name, want string
		again      bool // it is asked again while a caller waits
		answer     http.HandlerFunc
	}{
		{"a web page", "the answer is a web page" + path, false, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "\n<html><body>S3cr3t</body></html>")
		}},
		{"404 with a web page", "the answer is a web page" + path, false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>")
		}},
		{"404 of the path", "the answer is not a schema registry's" + path, false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error_code":404,"message":"HTTP 404 Not Found"}`)
		}},
		{"404 with nothing", "the answer is empty" + path, false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
		}},
		{"text", "the answer is not JSON" + path, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }},
		{"another JSON", "the answer is not a schema registry's" + path, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `["orders"]`) }},
		{"204", "204 No Content", false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{"too large", "the answer is larger than 16 MiB", false, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"schema":"`)
			for range 17 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return
				}
			}
		}},
		{"cut", "the answer breaks off", true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"schema":`)
		}},
		{"closed", "the connection was closed without an answer", true, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, tt.answer)
			c := of(t, srv.URL+"/x?key=S3cr3t", func(cfg *Config) {
				cfg.Wait = 30 * time.Second
				if tt.again {
					cfg.Wait = 300 * time.Millisecond
				}
			})
			_, err := c.Schema(number(7))
			wantError(t, err, "the registry of east does not answer: "+srv.URL+"/x: "+tt.want)
			if n := c.Requests(); n > 1 != tt.again {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	certs, err := kafkatest.NewCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	good := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			who = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		_, _ = fmt.Fprintf(w, `{"schema":%q}`, who)
	})
	listen := func(mutual bool) *httptest.Server {
		srv := httptest.NewUnstartedServer(good)
		if srv.TLS, err = certs.ServerConfig(mutual); err != nil {
			t.Fatal(err)
		}
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return srv
	}
	oneWay, mutual := listen(false), listen(true)
	plain := serve(t, http.NotFoundHandler())
	full, err := certs.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	rootsOnly := &tls.Config{RootCAs: full.RootCAs, MinVersion: tls.VersionTLS12}
	otherName := rootsOnly.Clone()
	otherName.ServerName = "sr.example"
	swap := func(u, scheme string) string { return scheme + u[strings.Index(u, ":"):] }
	for _, tt := range []struct {
		name, address string
		tls           *tls.Config
		want          string // the schema, or with a blank in it why there is none
	}{
		{"the server's only", oneWay.URL, rootsOnly, "nobody"},
		{"mutual", mutual.URL, full, "client"},
		{"mutual, without a certificate", mutual.URL, rootsOnly, "the TLS handshake fails (certificate required)"},
		{"unknown authority", oneWay.URL, nil, "its certificate is signed by an authority that is not trusted"},
		{"another name", oneWay.URL, otherName, "its certificate is for localhost, 127.0.0.1, ::1"},
		{"TLS to a plain port", swap(plain.URL, "https"), rootsOnly, "it does not speak TLS: an address without TLS begins with http://"},
		{"plain to a TLS port", swap(oneWay.URL, "http"), nil, "it speaks TLS: its address begins with https://"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := of(t, tt.address, func(cfg *Config) { cfg.TLS = tt.tls })
			s, err := c.Schema(number(7))
			if !strings.Contains(tt.want, " ") {
				if err != nil || s.(made).Text != tt.want {
					t.Errorf("got %v, %v", s, err)
				}
				return
			}
			wantError(t, err, "the registry of east does not answer: "+tt.address+": "+tt.want)
			if c.Requests() != 1 {
				t.Errorf("%d requests, though another one changes nothing", c.Requests())
			}
		})
	}
}

// A port that answers everything with a TLS alert, as one that is not HTTP's may.
func TestPlainToATLSAlert(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte{0x15, 3, 3, 0, 2, 2, 0x46})
			conn.Close()
		}
	}()
	address := "http://" + l.Addr().String()
	c := of(t, address, func(cfg *Config) { cfg.Wait = 200 * time.Millisecond })
	_, err = c.Schema(number(7))
	wantError(t, err, "the registry of east does not answer: "+address+": it speaks TLS: its address begins with https://")
}

func TestNothingListens(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c := of(t, srv.URL, func(cfg *Config) { cfg.Wait = 200 * time.Millisecond })
	_, err := c.Schema(number(7))
	wantError(t, err, "the registry of east does not answer: "+srv.URL+": the connection is refused")
	if c.Requests() < 2 {
		t.Errorf("%d requests", c.Requests())
	}
}

// Whatever fails, and however a client is printed, no secret shows.
func TestSecretsNeverShow(t *testing.T) {
	const secret = "S3cr3t-CANARY"
	var said []string
	for _, status := range []int{200, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503} {
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://u:"+secret+"@127.0.0.1:1/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}))
		u, err := url.Parse(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.RawQuery = url.UserPassword("app", secret), "key="+secret
		for _, cfg := range []Config{{}, {Username: "app", Password: secret}, {Token: secret}} {
			cfg.URLs, cfg.Compile, cfg.Cluster, cfg.Wait = []string{u.String()}, compile, "east", 50*time.Millisecond
			c := client(t, cfg)
			_, err := c.Schema(number(7))
			said = append(said, err.Error(), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg), fmt.Sprintf("%v %+v %#v %s", c, c, c, c))
			_, err = c.Register(t.Context(), "s", compiledFrom("x"))
			said = append(said, err.Error())
		}
	}
	all := strings.Join(said, "\n")
	for _, s := range []string{secret, base64.StdEncoding.EncodeToString([]byte("app:" + secret))} {
		if strings.Contains(all, s) {
			t.Errorf("a secret shows in\n%s", all)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 3, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                              0,
		"x":                             0,
		"-5":                            0,
		"0":                             0,
		"7":                             7 * time.Second,
		"900":                           time.Minute,
		"Tue, 03 Mar 2026 14:00:30 GMT": 30 * time.Second,
		"Tue, 03 Mar 2026 13:00:30 GMT": 0,
		"Tue, 03 Mar 2026 15:00:30 GMT": time.Minute,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		" a\n\tb\x00c\xffd ":           "a b c d",
		strings.Repeat("ü", 150):       strings.Repeat("ü", 100) + "…",
		strings.Repeat("x", 200):       strings.Repeat("x", 200),
		"x" + strings.Repeat("ü", 100): "x" + strings.Repeat("ü", 99) + "…",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
