package registry

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

func refTo(name, subject string, version int) sr.SchemaReference {
	return sr.SchemaReference{Name: name, Subject: subject, Version: version}
}

// twoRegistries are one that has orders-value with references three levels deep,
// in which ids and versions are higher than they will be in the other.
func twoRegistries(t *testing.T) (from, to *Client, order codec.ID, log *[]string, target func(subject string, version int) sr.SubjectSchema) {
	t.Helper()
	east, _ := fake(t)
	west, log := fake(t)
	register(t, east, "unrelated", `"bytes"`)
	for _, old := range []string{`"int"`, `"long"`} {
		register(t, east, "address", old)
	}
	register(t, east, "address", `"string"`) // version 3
	register(t, east, "money", `"float"`, refTo("address", "address", 3))
	register(t, east, "customer", `"double"`, refTo("address", "address", 3), refTo("money", "money", 1))
	id, _ := register(t, east, "orders-value", `{"type":"array","items":"string"}`, refTo("customer", "customer", 1), refTo("money", "money", 1))
	target = func(subject string, version int) sr.SubjectSchema {
		t.Helper()
		s, ok := west.GetSchema(subject, version)
		if !ok {
			t.Fatalf("the other registry has no %s version %d", subject, version)
		}
		return s
	}
	return of(t, east.URL()), of(t, west.URL()), number(int64(id)), log, target
}

func TestCopyKeepsReferences(t *testing.T) {
	from, to, order, log, target := twoRegistries(t)
	copier := NewCopier(from, to)
	id, err := copier.Copy(t.Context(), order, "copied-value")
	if err != nil {
		t.Fatal(err)
	}
	got := target("copied-value", 1)
	if int64(got.ID) != id || got.Schema.Schema != `{"type":"array","items":"string"}` {
		t.Errorf("id %d: %+v", id, got)
	}
	if diff := cmp.Diff([]sr.SchemaReference{refTo("customer", "customer", 1), refTo("money", "money", 1)}, got.References); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]sr.SchemaReference{refTo("address", "address", 1), refTo("money", "money", 1)}, target("customer", 1).References); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]sr.SchemaReference{refTo("address", "address", 1)}, target("money", 1).References); diff != "" {
		t.Error(diff)
	}
	d, err := to.Definition(t.Context(), number(id))
	if err != nil || len(d.References) != 3 || d.References[0].Text != `"string"` {
		t.Errorf("the copy is %+v, %v", d, err)
	}

	// The same once more, by this copier and by another one: nothing is written.
	before := len(*log)
	for range 3 {
		if again, err := copier.Copy(t.Context(), order, "copied-value"); again != id || err != nil {
			t.Errorf("again: %d, %v", again, err)
		}
	}
	if n := len(*log) - before; n != 0 {
		t.Errorf("%d requests for what was copied already", n)
	}
	if again, err := NewCopier(from, to).Copy(t.Context(), order, "copied-value"); again != id || err != nil {
		t.Errorf("by another copier: %d, %v", again, err)
	}
	for _, line := range (*log)[before:] {
		if strings.Contains(line, "/versions") {
			t.Errorf("written again: %s", line)
		}
	}
	// Under another subject it has the same id.
	if other, err := copier.Copy(t.Context(), order, "other-value"); other != id || err != nil {
		t.Errorf("under another subject: %d, %v", other, err)
	}
	for _, line := range *log {
		if strings.Contains(line, "/config") || strings.Contains(line, "/mode") {
			t.Errorf("asked for %s", line)
		}
	}
}

func TestCopyWritesNothingWhenSomethingIsMissing(t *testing.T) {
	var s stub
	diamond(&s)
	s.set("/subjects/address/versions/2?deleted=true", reply{status: 404, body: `{"error_code":40402}`})
	to, log := fake(t)
	_, err := NewCopier(of(t, serve(t, &s).URL), of(t, to.URL())).Copy(t.Context(), number(7), "orders-value")
	wantError(t, err, "schema 7 of the registry of east refers to address, version 2 of subject address, which is not in the registry of east")
	if len(*log) != 0 {
		t.Errorf("the other registry was asked %q", *log)
	}
}

// What Confluent keeps with a schema comes along.
func TestCopyKeepsMetadataAndRules(t *testing.T) {
	var from stub
	from.set("/schemas/ids/7", reply{body: `{"schemaType":"JSON","schema":"{}","metadata":{"tags":{"a":["PII"]}},"ruleSet":{"domainRules":[{"name":"r"}]},"guid":"g","ts":1}`})
	var bodies []string
	to := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bodies = append(bodies, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+sent(t, r))
		if len(bodies) == 1 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error_code":40401}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":12,"version":3,"subject":"s"}`)
	}))
	id, err := NewCopier(of(t, serve(t, &from).URL), of(t, to.URL)).Copy(t.Context(), number(7), "s")
	if id != 12 || err != nil {
		t.Errorf("%d, %v", id, err)
	}
	const body = ` application/vnd.schemaregistry.v1+json {"schemaType":"JSON","schema":"{}","metadata":{"tags":{"a":["PII"]}},"ruleSet":{"domainRules":[{"name":"r"}]}}`
	if want := []string{"POST /subjects/s" + body, "POST /subjects/s/versions" + body, "POST /subjects/s" + body}; !slices.Equal(bodies, want) {
		t.Errorf("sent\n%s", strings.Join(bodies, "\n"))
	}
}

func TestRegisterADefinition(t *testing.T) {
	from, to, order, _, target := twoRegistries(t)
	d, err := from.Definition(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	id, err := to.Register(t.Context(), "orders-value", d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := to.Definition(t.Context(), number(id))
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.References {
		d.References[i].Version = 1
	}
	if diff := cmp.Diff(d.References, got.References); diff != "" || got.Text != d.Text {
		t.Errorf("%s %s", got.Text, diff)
	}
	all := []sr.SchemaReference{refTo("address", "address", 1), refTo("money", "money", 1), refTo("customer", "customer", 1)}
	if diff := cmp.Diff(all, target("orders-value", 1).References); diff != "" {
		t.Error(diff)
	}
	if again, err := to.Register(t.Context(), "orders-value", d); again != id || err != nil {
		t.Errorf("again: %d, %v", again, err)
	}
}

func TestWhyARegistryTakesNoSchema(t *testing.T) {
	const absent = `{"error_code":40401,"message":"Subject not found"}`
	for _, tt := range []struct {
		name   string
		answer reply
		want   string
		kind   fault.Kind
	}{
		{
			"incompatible",
			reply{status: 409, body: `{"error_code":409,"message":"Schema being registered is incompatible; field a is missing"}`},
			"subject s cannot be registered: the registry of east finds the schema incompatible with the earlier versions: 409 Schema being registered is incompatible; field a is missing", fault.Refused,
		},
		{
			"invalid",
			reply{status: 422, body: `{"error_code":42201,"message":"Invalid schema"}`},
			"subject s cannot be registered: the registry of east finds the schema invalid: 422 Invalid schema", fault.Refused,
		},
		{
			"read only",
			reply{status: 422, body: `{"error_code":42205,"message":"Subject s is in read-only mode"}`},
			"subject s cannot be registered: the registry of east takes no new versions: 422 Subject s is in read-only mode", fault.Refused,
		},
		{
			"another",
			reply{status: 422, body: `{"error_code":42299,"message":"odd"}`},
			"subject s cannot be registered: the registry of east answers 422 odd", fault.Refused,
		},
		{"forbidden", reply{status: 403}, "the registry of east forbids user app to register a version of subject s (403)", fault.Auth},
		{"down", reply{status: 502}, "the registry of east does not answer: URL: 502 Bad Gateway", fault.Unreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s stub
			s.set("POST /subjects/s", reply{status: 404, body: absent})
			s.set("POST /subjects/s/versions", tt.answer)
			srv := serve(t, &s)
			c := of(t, srv.URL, func(cfg *Config) { cfg.Username, cfg.Wait = "app", 100*time.Millisecond })
			_, err := c.Register(t.Context(), "s", compiledFrom(`"string"`))
			wantError(t, err, strings.ReplaceAll(tt.want, "URL", srv.URL))
			if k := fault.KindOf(err); k != tt.kind {
				t.Errorf("the kind is %d", k)
			}
		})
	}
}

func TestRegisterThatFailsOnceIsSentAgain(t *testing.T) {
	var s stub
	s.set("POST /subjects/s", reply{status: 404, body: `{"error_code":40403}`}, reply{body: `{"id":5,"version":2}`})
	s.set("POST /subjects/s/versions", reply{status: 503}, reply{body: `{"id":5}`})
	id, err := of(t, serve(t, &s).URL).Register(t.Context(), "s", compiledFrom(`"string"`))
	if id != 5 || err != nil {
		t.Errorf("%d, %v", id, err)
	}
	wantLog(t, &s, "POST /subjects/s", "POST /subjects/s/versions", "POST /subjects/s/versions", "POST /subjects/s")
}
