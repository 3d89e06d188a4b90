package kafkatest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
)

// RegistryOptions say what schema registry a test needs.
type RegistryOptions struct {
	// Auth wants basic authentication of every request: AdminUser may do
	// anything, AppUser may read.
	Auth bool
	// TLS makes URL an https address, with the server certificate of Certificates.
	TLS bool
}

// SchemaRegistry is a real registry that speaks Confluent's REST API: Apicurio
// Registry, which keeps its schemas in a file. It knows no GUIDs and no contexts,
// and heeds no mode.
type SchemaRegistry struct {
	t    testing.TB
	opts RegistryOptions
	s    registryServer
	http *http.Client
}

// registryServer is a registry's process.
type registryServer interface {
	// address returns the http or https base address, with its path.
	address(tls bool) string
	stop() error
	start() error
	pause() error
	resume() error
	security() *Certificates
}

// SchemaRef is what a schema refers to by name.
type SchemaRef struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// Registry returns the test binary's registry with those options, starting it
// if needed, which takes ten seconds. Use Name for subjects. It fails the test
// when real clusters are not Wanted or it can't be had.
func Registry(t testing.TB, opts RegistryOptions) *SchemaRegistry {
	t.Helper()
	return newRegistry(t, opts, sharedRegistry)
}

// StartRegistry returns a registry of the test's own, which it may stop and
// which ends with it.
func StartRegistry(t testing.TB, opts RegistryOptions) *SchemaRegistry {
	t.Helper()
	return newRegistry(t, opts, ownRegistry)
}

func newRegistry(t testing.TB, opts RegistryOptions, get func(testing.TB, RegistryOptions) registryServer) *SchemaRegistry {
	t.Helper()
	if !Wanted() {
		t.Fatal("this test runs on a real registry only: run it with KCM_TEST_KAFKA=1 or -tags kafka")
	}
	r := &SchemaRegistry{t: t, opts: opts, s: get(t, opts)}
	transport := &http.Transport{}
	if opts.TLS {
		transport.TLSClientConfig = r.ClientConfig()
	}
	t.Cleanup(transport.CloseIdleConnections)
	r.http = &http.Client{Transport: transport, Timeout: startPatience}
	return r
}

// URL is the base address, with a path.
func (r *SchemaRegistry) URL() string { return r.s.address(r.opts.TLS) }

// PlainURL is the http address, of a registry with TLS too.
func (r *SchemaRegistry) PlainURL() string { return r.s.address(false) }

// Certificates are those that a registry with TLS presents, and its authority.
func (r *SchemaRegistry) Certificates() *Certificates { return r.s.security() }

// ClientConfig is a client's TLS configuration.
func (r *SchemaRegistry) ClientConfig() *tls.Config {
	r.t.Helper()
	cfg, err := r.s.security().ClientConfig()
	r.check(err)
	return cfg
}

// Name returns a subject that no other test uses: base and a hash.
func (r *SchemaRegistry) Name(base string) string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s %d %p", r.t.Name(), os.Getpid(), r)
	return fmt.Sprintf("%s-%08x", base, h.Sum32())
}

// Register makes a version of a subject, of type AVRO, PROTOBUF or JSON, and
// returns its id and version.
func (r *SchemaRegistry) Register(subject, schemaType, text string, refs ...SchemaRef) (id, version int) {
	r.t.Helper()
	body := map[string]any{"schemaType": schemaType, "schema": text, "references": refs}
	if refs == nil {
		body["references"] = []SchemaRef{}
	}
	var got struct{ ID, Version int }
	r.call(http.MethodPost, "/subjects/"+url.PathEscape(subject)+"/versions", body, &got)
	id = got.ID
	r.call(http.MethodPost, "/subjects/"+url.PathEscape(subject), body, &got)
	if id == 0 || got.Version == 0 {
		r.t.Fatalf("subject %s was registered as id %d, version %d", subject, id, got.Version)
	}
	return id, got.Version
}

// Delete deletes a version of a subject, as usual and with permanent for good.
func (r *SchemaRegistry) Delete(subject string, version int, permanent bool) {
	r.t.Helper()
	path := "/subjects/" + url.PathEscape(subject) + "/versions/" + strconv.Itoa(version)
	var n int
	r.call(http.MethodDelete, path, nil, &n)
	if permanent {
		r.call(http.MethodDelete, path+"?permanent=true", nil, &n)
	}
}

// SetCompatibility sets the level of a subject, such as BACKWARD.
func (r *SchemaRegistry) SetCompatibility(subject, level string) {
	r.t.Helper()
	r.call(http.MethodPut, "/config/"+url.PathEscape(subject), map[string]string{"compatibility": level}, &struct{}{})
}

// Stop ends the process; Start brings it back on the same ports with what it
// had.
func (r *SchemaRegistry) Stop() {
	r.t.Helper()
	r.check(r.s.stop())
}

// Start starts a stopped registry and waits until it answers.
func (r *SchemaRegistry) Start() {
	r.t.Helper()
	r.check(r.s.start())
}

// Pause stops the registry from answering, Resume lets it go on.
func (r *SchemaRegistry) Pause() {
	r.t.Helper()
	r.check(r.s.pause())
}

// Resume ends a Pause.
func (r *SchemaRegistry) Resume() {
	r.t.Helper()
	r.check(r.s.resume())
}

// call is one request by the helpers themselves, as an admin.
func (r *SchemaRegistry) call(method, path string, body, into any) {
	r.t.Helper()
	text, err := json.Marshal(body)
	r.check(err)
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, bytes.NewReader(text))
	r.check(err)
	req.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	if r.opts.Auth {
		req.SetBasicAuth(AdminUser, AdminPassword)
	}
	resp, err := r.http.Do(req)
	r.check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	r.check(err)
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("registry: %s %s: %s: %s", method, path, resp.Status, answer)
	}
	r.check(json.Unmarshal(answer, into))
}

func (r *SchemaRegistry) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("registry: %v", err)
	}
}
