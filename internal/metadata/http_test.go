package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
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
		if agent := r.UserAgent(); agent != "kcm" {
			t.Errorf("the server is told of %q", agent)
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

// answers is a server of the answers that are errors, by path.
func answers(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/loop":
		http.Redirect(w, r, "/loop?S3cr3t", http.StatusFound)
	case "/away":
		w.Header().Set("Location", "file:///etc/passwd?S3cr3t")
		w.WriteHeader(http.StatusFound)
	case "/large":
		fmt.Fprint(w, strings.Repeat(" ", maxSource+1))
	case "/slow":
		<-r.Context().Done()
	case "/half":
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "clusters:")
	case "/hang-up", "/noise":
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if r.URL.Path == "/noise" {
			fmt.Fprint(conn, "S3cr3t\n\n")
		}
		conn.Close()
	case "/busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/invalid":
		fmt.Fprint(w, "clusters: {east: {bootstrap: a}}")
	case "/relative":
		fmt.Fprint(w, "clusters: {east: {bootstrap: 'a:1', tls: {ca: ca.pem}}}")
	case "/password":
		fmt.Fprint(w, "clusters: {east: {bootstrap: 'a:1', sasl: {username: 'file:/etc/hostname'}}}")
	case "/ca":
		fmt.Fprint(w, "clusters: {east: {bootstrap: 'a:1', tls: {ca: 'file:/etc/hostname'}}}")
	default:
		http.NotFound(w, r)
	}
}

func TestErrorsOfHTTP(t *testing.T) {
	addr := server(t, answers)
	in, shown := "http://u:S3cr3t@"+addr, "http://******@"+addr
	source := "metadata source " + shown
	for path, want := range map[string]struct {
		kind    fault.Kind
		message string
	}{
		"/none":     {fault.Usage, source + "/none: the server answered 404 Not Found"},
		"/busy":     {fault.Unreachable, source + "/busy: the server answered 503 Service Unavailable"},
		"/loop":     {fault.Usage, source + "/loop: too many redirects"},
		"/away":     {fault.Usage, source + "/away: it redirects to an address that is neither http nor https"},
		"/large":    {fault.Usage, source + "/large: it is too large: the limit is 16 MiB"},
		"/slow":     {fault.Unreachable, source + "/slow: no answer in time"},
		"/half":     {fault.Unreachable, source + "/half: the answer of " + addr + " breaks off"},
		"/hang-up":  {fault.Unreachable, source + "/hang-up: " + addr + " closed the connection without an answer"},
		"/noise":    {fault.Unreachable, source + "/noise: the answer of " + addr + " cannot be understood"},
		"/invalid":  {fault.Usage, shown + `/invalid:1:30: bootstrap: "a" must be HOST:PORT`},
		"/relative": {fault.Usage, shown + "/relative:1:47: ca must be an absolute path: this source has no folder on this machine"},
		"/password": {fault.Usage, shown + "/password:1:54: username: a source read over HTTP cannot read files of this machine into values; use ${VAR}"},
		"/ca":       {fault.Usage, shown + "/ca:1:47: ca: a source read over HTTP cannot read files of this machine into values; use ${VAR}"},
	} {
		timeout := time.Minute
		if path == "/slow" {
			timeout = 50 * time.Millisecond
		}
		t.Run(path, func(t *testing.T) {
			_, err := Load(t.Context(), []string{in + path}, Options{HTTP: &http.Client{Timeout: timeout}})
			wantFault(t, err, want.kind, want.message)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, []string{in}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled load gives %v", err)
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	plain := server(t, answers)
	s := httptest.NewUnstartedServer(http.HandlerFunc(answers))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	secure := s.Listener.Addr().String()
	trusting := s.Client()
	moved := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+closed+"/?S3cr3t", http.StatusFound)
	})
	// The certificate of the package httptest names example.com and 127.0.0.1.
	elsewhere := trusting.Transport.(*http.Transport).Clone()
	elsewhere.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, secure)
	}
	nameless := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Name: "no-such-host", IsNotFound: true}}
	}}
	for _, c := range []struct {
		source, want string
		client       *http.Client
	}{
		{"http://u:S3cr3t@" + closed, "http://******@" + closed + ": " + closed + " refuses the connection", nil},
		{"http://" + moved, "http://" + moved + ": " + closed + " refuses the connection", nil},
		{"https://" + plain, "https://" + plain + ": " + plain + " does not speak TLS\nhint: an address without TLS begins with http://", nil},
		{
			"https://" + secure, "https://" + secure + ": the certificate of " + secure + " is signed by an authority that is not trusted\n" +
				"hint: SSL_CERT_FILE names a file with the authorities to trust", nil,
		},
		{"https://other.test", "https://other.test: the certificate of other.test is for example.com, *.example.com, 127.0.0.1, ::1", &http.Client{Transport: elsewhere}},
		{"http://no-such-host", "http://no-such-host: no host of the name no-such-host is known", &http.Client{Transport: nameless}},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := Load(t.Context(), []string{c.source}, Options{HTTP: c.client})
			wantFault(t, err, fault.Unreachable, "metadata source "+c.want)
		})
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
