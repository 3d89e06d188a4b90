package kafkatest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Schemas is a schema registry inside the test, where SchemaRegistry is a real
// one: it speaks as much of Confluent's REST API as readers and serializers use,
// logs what it is asked, and fails as it is told. Its ids are the test's to
// choose, and it knows GUIDs. It checks no schema.
type Schemas struct {
	t    testing.TB
	addr string

	mu     sync.Mutex
	srv    *http.Server // nil while it is stopped
	stored []storedSchema
	next   int
	asked  []string
	refuse int // how many requests get status
	status int
}

// Schema is one version of a subject.
type Schema struct {
	Subject    string      `json:"subject"`
	Type       string      `json:"schemaType,omitempty"` // left out for Avro
	Text       string      `json:"schema"`
	References []SchemaRef `json:"references,omitempty"`
	ID         int         `json:"id"`             // 0: the next one
	GUID       string      `json:"guid,omitempty"` // may be empty
}

type storedSchema struct {
	Schema
	Version int `json:"version"`
}

// NewSchemas starts a registry on a port of its own, whose first id is first. It
// ends with the test.
func NewSchemas(t testing.TB, first int) *Schemas {
	t.Helper()
	s := &Schemas{t: t, addr: "127.0.0.1:0", next: first}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// URL is the address that metadata takes.
func (s *Schemas) URL() string { return "http://" + s.addr }

// Start has it answer, on the same port as before.
func (s *Schemas) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv != nil {
		return
	}
	l, err := net.Listen("tcp", s.addr) //nolint:noctx // of a test, at once
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.srv = &http.Server{Handler: s} //nolint:gosec // no timeouts: only the test talks to it
	go func(srv *http.Server) { _ = srv.Serve(l) }(s.srv)
}

// Stop ends it as a crash would: its connections break, nobody listens.
func (s *Schemas) Stop() {
	s.mu.Lock()
	srv := s.srv
	s.srv = nil
	s.mu.Unlock()
	if srv != nil {
		_ = srv.Close()
	}
}

// Add stores a schema and returns its id and its version in the subject. The
// same text with the same references keeps its id.
func (s *Schemas) Add(n Schema) (id, version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(n)
}

// Register is Add as a serializer does it.
func (s *Schemas) Register(subject, schemaType, text string, refs ...SchemaRef) (id, version int) {
	if schemaType == "AVRO" {
		schemaType = ""
	}
	return s.Add(Schema{Subject: subject, Type: schemaType, Text: text, References: refs})
}

func (s *Schemas) add(n Schema) (id, version int) {
	version = 1
	for _, old := range s.stored {
		same := old.Text == n.Text && old.Type == n.Type && slices.Equal(old.References, n.References)
		if old.Subject == n.Subject {
			if same && (n.ID == 0 || n.ID == old.ID) {
				return old.ID, old.Version
			}
			version++
		}
		if same && n.ID == 0 {
			n.ID = old.ID
		}
	}
	if n.ID == 0 {
		n.ID = s.next
	}
	s.next = max(s.next, n.ID+1)
	s.stored = append(s.stored, storedSchema{n, version})
	return n.ID, version
}

// Fail has it answer the next n requests with a status.
func (s *Schemas) Fail(n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.status = n, status
}

// Forget removes a schema: its id is not found any more.
func (s *Schemas) Forget(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = slices.DeleteFunc(s.stored, func(o storedSchema) bool { return o.ID == id })
}

// Asked lists the requests so far, such as GET /schemas/ids/7, that contain a
// text.
func (s *Schemas) Asked(text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, a := range s.asked {
		if strings.Contains(a, text) {
			list = append(list, a)
		}
	}
	return list
}

// ServeHTTP implements http.Handler.
func (s *Schemas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.EscapedPath())
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	if s.refuse > 0 {
		s.refuse--
		answer(w, s.status, map[string]any{"error_code": s.status*100 + 1, "message": http.StatusText(s.status)})
		return
	}
	var path []string
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		name, err := url.PathUnescape(part)
		if err != nil {
			answer(w, http.StatusBadRequest, nil)
			return
		}
		path = append(path, name)
	}
	if r.Method == http.MethodPost {
		s.post(w, r, path)
		return
	}
	s.get(w, path)
}

func (s *Schemas) post(w http.ResponseWriter, r *http.Request, path []string) {
	n := Schema{}
	if len(path) < 2 || path[0] != "subjects" || json.NewDecoder(r.Body).Decode(&n) != nil {
		answer(w, http.StatusBadRequest, nil)
		return
	}
	n.Subject, n.ID = path[1], 0
	if n.Type == "AVRO" {
		n.Type = ""
	}
	if len(path) == 3 && path[2] == "versions" {
		id, _ := s.add(n)
		answer(w, http.StatusOK, map[string]int{"id": id})
		return
	}
	for _, old := range s.stored {
		if old.Subject == n.Subject && old.Text == n.Text && old.Type == n.Type && slices.Equal(old.References, n.References) {
			answer(w, http.StatusOK, old)
			return
		}
	}
	notFound(w, 40403, "Schema not found")
}

func (s *Schemas) get(w http.ResponseWriter, path []string) {
	switch {
	case len(path) >= 3 && path[0] == "schemas" && (path[1] == "ids" || path[1] == "guids"):
		s.getSchema(w, path)
	case path[0] == "config":
		answer(w, http.StatusOK, map[string]string{"compatibilityLevel": "BACKWARD"})
	case len(path) == 1 && path[0] == "subjects":
		names := []string{}
		for _, o := range s.stored {
			if !slices.Contains(names, o.Subject) {
				names = append(names, o.Subject)
			}
		}
		answer(w, http.StatusOK, names)
	case len(path) >= 3 && path[0] == "subjects" && path[2] == "versions":
		s.getVersion(w, path[1], path[3:])
	default:
		notFound(w, 404, "HTTP 404 Not Found")
	}
}

func (s *Schemas) getSchema(w http.ResponseWriter, path []string) {
	var uses []storedSchema
	for _, o := range s.stored {
		if path[1] == "ids" && strconv.Itoa(o.ID) == path[2] || path[1] == "guids" && o.GUID == path[2] {
			uses = append(uses, o)
		}
	}
	switch {
	case len(uses) == 0:
		notFound(w, 40403, fmt.Sprintf("Schema %s not found", path[2]))
	case len(path) == 4 && path[3] == "versions":
		answer(w, http.StatusOK, uses)
	default: // what an id gives has neither a subject nor a version
		answer(w, http.StatusOK, map[string]any{"schema": uses[0].Text, "schemaType": typeOf(uses[0].Type), "references": uses[0].References})
	}
}

func (s *Schemas) getVersion(w http.ResponseWriter, subject string, rest []string) {
	var versions []storedSchema
	var numbers []int
	for _, o := range s.stored {
		if o.Subject == subject {
			versions, numbers = append(versions, o), append(numbers, o.Version)
		}
	}
	switch {
	case len(versions) == 0:
		notFound(w, 40401, fmt.Sprintf("Subject '%s' not found.", subject))
	case len(rest) == 0:
		answer(w, http.StatusOK, numbers)
	case rest[0] == "latest":
		answer(w, http.StatusOK, versions[len(versions)-1])
	default:
		for _, v := range versions {
			if strconv.Itoa(v.Version) == rest[0] {
				answer(w, http.StatusOK, v)
				return
			}
		}
		notFound(w, 40402, "Version "+rest[0]+" not found.")
	}
}

func typeOf(t string) string {
	if t == "" {
		return "AVRO"
	}
	return t
}

func notFound(w http.ResponseWriter, code int, message string) {
	answer(w, http.StatusNotFound, map[string]any{"error_code": code, "message": message})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
