package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kafkatest.M(m)) }

// stub is a registry of scripted answers that logs what it is asked. It serves
// over the network, or as a transport within a bubble of time.
type stub struct {
	mu      sync.Mutex
	log     []string // method and path with its query, of each request
	times   []time.Time
	answers map[string][]reply // by method and path; the last one stays
	every   *reply             // before those; nil: none
}

// reply is one answer, or what becomes of a request without one.
type reply struct {
	status int // 0: 200
	body   string
	header map[string]string
	err    error         // in place of an answer, as a transport only
	hang   bool          // no answer until the request's end
	after  time.Duration // how long it takes
}

func (s *stub) set(path string, replies ...reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string][]reply{}
	}
	if !strings.Contains(path, " ") {
		path = "GET " + path
	}
	s.answers[path] = replies
}

func (s *stub) all(r *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every = r
}

func (s *stub) schema(id int, text string, refs ...storedReference) {
	s.set(fmt.Sprintf("/schemas/ids/%d", id), reply{body: encoded(stored{Text: text, References: refs})})
}

func (s *stub) version(subject string, version int, text string, refs ...storedReference) {
	s.set(fmt.Sprintf("/subjects/%s/versions/%d?deleted=true", subject, version),
		reply{body: encoded(stored{Subject: subject, Version: version, ID: 100, Text: text, References: refs})})
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *stub) next(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Method + " " + r.URL.RequestURI()
	s.log = append(s.log, key)
	s.times = append(s.times, time.Now())
	if s.every != nil {
		return *s.every
	}
	list := s.answers[key]
	switch len(list) {
	case 0:
		return reply{status: http.StatusNotFound, body: `{"error_code":40403,"message":"Schema not found"}`}
	case 1:
		return list[0]
	}
	s.answers[key] = list[1:]
	return list[0]
}

func (s *stub) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.next(r)
	if a.hang {
		<-r.Context().Done()
		return
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.body)
}

// RoundTrip answers without a network.
func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s.next(r)
	ctx := r.Context()
	if a.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := &http.Response{StatusCode: max(a.status, http.StatusOK), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}
	for k, v := range a.header {
		resp.Header.Set(k, v)
	}
	return resp, nil
}

// made is the schema that the tests' compile makes.
type made struct{ codec.Definition }

func (m made) Type() codec.SchemaType { return m.Definition.Type }

func (m made) AppendJSON(dst, payload []byte) ([]byte, error) { return append(dst, payload...), nil }

func compile(d codec.Definition) (codec.Schema, error) {
	if strings.Contains(d.Text, "bad") {
		return nil, errors.New("unknown type bad")
	}
	return made{d}, nil
}

// inBubble is a client of stubs without a network, one at each address.
func inBubble(t *testing.T, stubs ...*stub) *Client {
	t.Helper()
	byHost := map[string]*stub{}
	cfg := Config{Cluster: "east", Compile: compile}
	for i, s := range stubs {
		host := fmt.Sprintf("sr%d:8081", i)
		byHost[host] = s
		cfg.URLs = append(cfg.URLs, "http://"+host)
	}
	c := client(t, cfg)
	c.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme != "http" {
			return nil, fmt.Errorf("asked by %s", r.URL.Scheme)
		}
		return byHost[r.URL.Host].RoundTrip(r)
	})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve runs a stub on the loopback address.
func serve(t *testing.T, s http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv
}

func number(n int64) codec.ID { return codec.ID{Number: n} }

// textOf returns the text of a schema that compile made.
func textOf(t *testing.T, c *Client, id codec.ID) string {
	t.Helper()
	s, err := c.Schema(id)
	if err != nil {
		t.Fatalf("schema %s: %v", id, err)
	}
	return s.(made).Text
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v\n            want %s", err, want)
	}
}

func wantLog(t *testing.T, s *stub, want ...string) {
	t.Helper()
	if got := s.asked(); !slices.Equal(got, want) {
		t.Errorf("requests:\n %s\nwant:\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

// body reads what was sent.
func sent(t *testing.T, r *http.Request) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r.Body); err != nil {
		t.Error(err)
	}
	return b.String()
}

func compiledFrom(text string) codec.Definition {
	return codec.Definition{Type: codec.Avro, Text: text}
}
