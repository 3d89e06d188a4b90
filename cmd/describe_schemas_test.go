package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// A registry that lacks what another one has is no failure, whether a version or
// an id was asked for.
func TestOneRegistryHasIt(t *testing.T) {
	schemaRig(t)
	for _, c := range []struct{ args, has, lacks string }{
		{"orders-value@2", "east orders-value@2", "west"},
		{"orders-value@7", "east orders-value@2", "west"},
		{"orders-value@40", "west orders-value@1", "east"},
		{"leaf", "east leaf@1", "west"},
		{"@40", "west schema 40", "east"},
	} {
		r := runKcm(t, world{}, "describe", "schema", c.args)
		if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "\n"+c.has+"\n") || strings.Contains(r.stdout, c.lacks) {
			t.Errorf("%s: code %d, %s%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
	r := runKcm(t, world{}, "describe", "schema", "orders-value@9")
	want := `kcm: subject orders-value of the registry of east has neither a version nor a schema 9; subject orders-value of the registry of west has neither a version nor a schema 9
kcm: hint: east has versions 1, 2; west has version 1
`
	if r.code != 1 || r.stderr != want {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
}

// One registry lacks it, the other one refuses access: the row, the error and its
// cluster are about the right one.
func TestRefusedByOneRegistry(t *testing.T) {
	_, west := schemaRig(t)
	west.Fail(1000, 401)
	r := runKcm(t, world{}, "describe", "schema", "leef")
	want := `CLUSTER  SUBJECT  VERSION  ID  TYPE  COMPATIBILITY  ERROR
east     leef           -   -  -     -              subject leef is not in the registry of east
west     leef           -   -  -     -              the registry of west refuses requests without credentials (401)
`
	if r.code != 3 || r.stdout != want {
		t.Errorf("code %d,\n%s\nwant\n%s", r.code, r.stdout, want)
	}
	r = runKcm(t, world{}, "describe", "schema", "leef", "-o", "json")
	var said struct{ Error, Cluster, Hint string }
	if err := json.Unmarshal([]byte(r.stderr), &said); err != nil {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	if said.Cluster != "west" || said.Hint != "did you mean leaf?" ||
		said.Error != "subject leef is not in the registry of east; the registry of west refuses requests without credentials (401)" {
		t.Errorf("%+v", said)
	}
	r = runKcm(t, world{}, "describe", "schema", "leaf")
	if r.code != 3 || !strings.Contains(r.stdout, "west     leaf           -   -  -     -                  the registry of west refuses") {
		t.Errorf("code %d,\n%s", r.code, r.stdout)
	}
}

func TestDeletedSubjects(t *testing.T) {
	east, _ := schemaRig(t)
	east.Bury("orders-value", true)
	east.Bury("leaf", false)
	r := runKcm(t, world{}, "describe", "schemas", "-o", "wide")
	want := `CLUSTER  SUBJECT       VERSIONS                 ID  TYPE      DELETED  ERROR
east     a/b.proto     1                         8  PROTOBUF  no
east     leaf          -                         -  -         yes
east     orders-value  1 (deleted),2 (deleted)   -  -         yes
west     orders-value  1                        40  AVRO      no
`
	if r.code != 0 || r.stdout != want {
		t.Errorf("code %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
	}
	r = runKcm(t, world{}, "describe", "schema", "east/orders-value@1", "-o", "wide")
	if r.code != 0 || !strings.Contains(r.stdout, "1 (deleted),2 (deleted)  -     yes\n") || !strings.HasSuffix(r.stdout, "\"string\"\n") {
		t.Errorf("code %d, %s%s", r.code, r.stderr, r.stdout)
	}
	const gone = "kcm: subject leaf of the registry of east is deleted, and the registry gives its versions no more\n"
	if r = runKcm(t, world{}, "describe", "schema", "east/leaf", "-o", "wide"); r.code != 1 || r.stderr != gone {
		t.Errorf("code %d, %s%s", r.code, r.stderr, r.stdout)
	}
	const both = "kcm: subject leaf of the registry of east is deleted, and the registry gives its versions no more; subject leaf is not in the registry of west\n"
	if r = runKcm(t, world{}, "describe", "schema", "leaf"); r.code != 1 || r.stderr != both {
		t.Errorf("code %d, %s%s", r.code, r.stderr, r.stdout)
	}
}

// Some clients register a descriptor in place of a text.
func TestProtobufDescriptorsAreShownAsText(t *testing.T) {
	east, _ := schemaRig(t)
	const stored = "CgF4IhMKAU0SDgoCaWQYASABKAVSAmlkYgZwcm90bzM="
	east.Add(kafkatest.Schema{Subject: "binary", Type: "PROTOBUF", Text: stored})
	r := runKcm(t, world{}, "describe", "schema", "east/binary")
	if want := "east binary@1 (stored as a descriptor)\nsyntax = \"proto3\";\n\nmessage M {\n  int32 id = 1;\n}\n"; r.code != 0 || !strings.HasSuffix(r.stdout, want) {
		t.Errorf("code %d, %s%s", r.code, r.stderr, r.stdout)
	}
	if r = runKcm(t, world{}, "describe", "schema", "east/binary", "-o", "json"); !strings.Contains(r.stdout, `"schema": "`+stored+`"`) {
		t.Errorf("%s%s", r.stderr, r.stdout)
	}
}

// A table needs one request a subject, and one more where there are versions.
func TestRequestsOfAList(t *testing.T) {
	east, _ := schemaRig(t)
	east.Add(kafkatest.Schema{Subject: "gone", Text: `"int"`})
	east.Bury("gone", true)
	for _, c := range []struct {
		format string
		want   int
	}{
		{"table", 1 + 3 + 1},        // the list; the latest of each; the versions of one
		{"wide", 2 + 3 + 3 + 1 + 1}, // with deleted ones; the versions of each; which of two are alive; of the deleted one
		{"json", 2 + 3 + 3 + 1 + 1},
	} {
		before := len(east.Asked(""))
		r := runKcm(t, world{}, "describe", "schemas", "east", "-o", c.format)
		if n := len(east.Asked("")) - before; n != c.want || r.code != 0 {
			t.Errorf("-o %s: code %d, %d requests, want %d: %q", c.format, r.code, n, c.want, east.Asked("")[before:])
		}
	}
}

// TestSlowLists: many are asked for at once over few connections, and a list that
// takes its time is told.
func TestSlowLists(t *testing.T) {
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("s%03d", i)
	}
	var mu sync.Mutex
	open, most, conns := 0, 0, 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/subjects" {
			_ = json.NewEncoder(w).Encode(names)
			return
		}
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		open--
		mu.Unlock()
		_, _ = fmt.Fprint(w, `{"subject":"s","version":1,"id":7,"schema":"{}"}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			mu.Lock()
			conns++
			mu.Unlock()
		}
	}
	srv.Start()
	defer srv.Close()
	c, err := registry.New(t.Context(), registry.Config{Cluster: "east", URLs: []string{srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	told := make(chan string, 1)
	l := subjectLister{slow: time.Millisecond, tell: func(format string, args ...any) { told <- fmt.Sprintf(format, args...) }}
	docs, err := l.list(t.Context(), "east", c)
	if err != nil || len(docs) != len(names) || docs[199].Subject != "s199" || *docs[199].ID != 7 {
		t.Fatalf("%d subjects, %v", len(docs), err)
	}
	mu.Lock()
	defer mu.Unlock()
	if most < 16 || most > atOnce || conns > atOnce+1 {
		t.Errorf("%d at once, over %d connections", most, conns)
	}
	if line := <-told; !strings.HasPrefix(line, "the registry of east answers slowly: ") {
		t.Error(line)
	}
}
