package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

func ref(name string, version int) storedReference {
	return storedReference{Name: name, Subject: name, Version: version}
}

func definition(t *testing.T, c *Client, id codec.ID) codec.Definition {
	t.Helper()
	s, err := c.Schema(id)
	if err != nil {
		t.Fatalf("schema %s: %v", id, err)
	}
	return s.(made).Definition
}

// order needs customer and money; both need address, and customer a part of its
// own, which needs money.
func diamond(s *stub) {
	s.schema(7, "order", ref("customer", 3), ref("money", 1))
	s.schema(8, "invoice", ref("money", 1), ref("address", 2))
	s.version("customer", 3, "customer text", ref("address", 2), storedReference{Name: "part", Subject: "customer/part", Version: 1})
	s.version("money", 1, "money text", ref("address", 2))
	s.version("address", 2, "address text")
	s.version("customer%2Fpart", 1, "part text", ref("money", 1))
}

func TestReferencesLeavesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		diamond(&s)
		c := inBubble(t, &s)
		want := codec.Definition{
			Type: codec.Avro, Text: "order", Name: "schema 7 of http://sr0:8081",
			References: []codec.Reference{
				{Name: "address", Subject: "address", Version: 2, Text: "address text"},
				{Name: "money", Subject: "money", Version: 1, Text: "money text"},
				{Name: "part", Subject: "customer/part", Version: 1, Text: "part text"},
				{Name: "customer", Subject: "customer", Version: 3, Text: "customer text"},
			},
		}
		if diff := cmp.Diff(want, definition(t, c, number(7))); diff != "" {
			t.Error(diff)
		}
		wantLog(t, &s, "GET /schemas/ids/7", "GET /subjects/customer/versions/3?deleted=true", "GET /subjects/address/versions/2?deleted=true",
			"GET /subjects/customer%2Fpart/versions/1?deleted=true", "GET /subjects/money/versions/1?deleted=true")
		// Another schema with the same references asks for none of them.
		if got := definition(t, c, number(8)).References; len(got) != 2 || got[0].Name != "address" || got[1].Name != "money" {
			t.Errorf("references of 8: %+v", got)
		}
		if n := len(s.asked()); n != 6 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestReferencesAreAskedForOnceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		for id := range 20 {
			s.schema(id+1, fmt.Sprint("s", id+1), ref("shared", 1))
		}
		s.set("/subjects/shared/versions/1?deleted=true", reply{status: 500, after: time.Second}, reply{body: `{"schema":"shared text"}`, after: time.Second})
		c := inBubble(t, &s)
		var all sync.WaitGroup
		for id := range 20 {
			all.Go(func() {
				if got := definition(t, c, number(int64(id+1))).References; len(got) != 1 || got[0].Text != "shared text" {
					t.Errorf("references of %d: %+v", id+1, got)
				}
			})
		}
		all.Wait()
		if n := len(s.asked()); n != 22 {
			t.Errorf("%d requests", n)
		}
	})
}

// Who waits for another's request for a reference sends its own when that one
// was cut short.
func TestReferenceOfAQuestionThatWasCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.schema(1, "one", ref("shared", 1))
		s.schema(2, "two", ref("shared", 1))
		s.set("/subjects/shared/versions/1?deleted=true", reply{hang: true}, reply{body: `{"schema":"shared text"}`})
		c := inBubble(t, &s)
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.Definition(ctx, number(1))
			wantError(t, err, eastDown+"no answer in time")
		})
		time.Sleep(time.Millisecond)
		if got := definition(t, c, number(2)).References; len(got) != 1 || got[0].Text != "shared text" {
			t.Errorf("references: %+v", got)
		}
		all.Wait()
	})
}

func TestMissingReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		diamond(&s)
		s.set("/subjects/address/versions/2?deleted=true", reply{status: 404, body: `{"error_code":40402,"message":"Version 2 not found."}`})
		c := inBubble(t, &s)
		for range 100 {
			_, err := c.Schema(number(7))
			wantError(t, err, "schema 7 of http://sr0:8081 refers to address, version 2 of subject address, which is not in the registry of east")
			if !errors.Is(err, ErrNotFound) || !errors.Is(err, ErrReference) {
				t.Error("it is not ErrNotFound of a reference")
			}
		}
		if n := len(s.asked()); n != 3 {
			t.Errorf("%d requests", n)
		}
		s.version("address", 2, "address text")
		time.Sleep(keepError)
		if n := len(definition(t, c, number(7)).References); n != 4 {
			t.Errorf("%d references", n)
		}
	})
}

func TestReferencesInACircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.schema(7, "order", ref("a", 1))
		s.version("a", 1, "a", ref("b", 2))
		s.version("b", 2, "b", storedReference{Name: "another name", Subject: "a", Version: 1})
		c := inBubble(t, &s)
		_, err := c.Schema(number(7))
		wantError(t, err, "the references of schema 7 of http://sr0:8081 go in a circle: a@1 → b@2 → a@1")
	})
}

func TestReferencesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.schema(1, "deep", ref("d0", 1))
		for i := range maxDepth + 5 {
			s.version(fmt.Sprint("d", i), 1, "d", ref(fmt.Sprint("d", i+1), 1))
		}
		var many []storedReference
		for i := range maxReferences + 5 {
			many = append(many, ref(fmt.Sprint("m", i), 1))
			s.version(fmt.Sprint("m", i), 1, "m")
		}
		s.schema(2, "many", many...)
		large := strings.Repeat("x", 15<<20)
		var heavy []storedReference
		for i := range 3 {
			heavy = append(heavy, ref(fmt.Sprint("h", i), 1))
			s.version(fmt.Sprint("h", i), 1, large)
		}
		s.schema(3, "heavy", heavy...)
		c := inBubble(t, &s)
		_, err := c.Schema(number(1))
		wantError(t, err, "schema 1 of http://sr0:8081 has too many references")
		_, err = c.Schema(number(2))
		wantError(t, err, "schema 2 of http://sr0:8081 has too many references")
		_, err = c.Schema(number(3))
		wantError(t, err, "schema 3 of http://sr0:8081 is larger than 32 MiB with its references")
	})
}

// Two versions of one subject under one name: the first one counts, as in
// Confluent's own deserializers.
func TestFirstTextOfANameCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.schema(7, "order", ref("a", 1), ref("common", 2))
		s.version("a", 1, "a", ref("common", 1))
		s.version("common", 1, "one")
		s.version("common", 2, "two")
		c := inBubble(t, &s)
		got := definition(t, c, number(7)).References
		if len(got) != 2 || got[0].Text != "one" || got[1].Name != "a" {
			t.Errorf("references %+v", got)
		}
	})
}

func TestTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		c := inBubble(t, &s)
		for i, tt := range []struct {
			sent string
			want codec.SchemaType
		}{{"", codec.Avro}, {"AVRO", codec.Avro}, {"PROTOBUF", codec.Protobuf}, {"JSON", codec.JSONSchema}, {"protobuf", codec.Protobuf}} {
			s.set(fmt.Sprintf("/schemas/ids/%d", i+1), reply{body: encoded(stored{Type: tt.sent, Text: "x"})})
			if got := definition(t, c, number(int64(i+1))).Type; got != tt.want {
				t.Errorf("%q: %q", tt.sent, got)
			}
		}
	})
}

// fake is franz-go's registry, which knows GUIDs and contexts: the real one of
// the tests does not.
func fake(t *testing.T) (*srfake.Registry, *[]string) {
	t.Helper()
	r := srfake.New()
	t.Cleanup(r.Close)
	var mu sync.Mutex
	var log []string
	r.Intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, req.Method+" "+req.RequestURI)
		return false
	})
	return r, &log
}

func register(t *testing.T, r *srfake.Registry, subject, text string, refs ...sr.SchemaReference) (id, version int) {
	t.Helper()
	id, version, err := r.RegisterSchema(subject, sr.Schema{Schema: text, References: refs})
	if err != nil {
		t.Fatal(err)
	}
	return id, version
}

func TestSchemaByGUID(t *testing.T) {
	r, log := fake(t)
	register(t, r, "address", `"string"`)
	register(t, r, "orders-value", `"long"`, sr.SchemaReference{Name: "address", Subject: "address", Version: 1})
	s, ok := r.GetSchema("orders-value", 1)
	if !ok || s.GUID == "" {
		t.Fatalf("the fake has %+v", s)
	}
	var id codec.ID
	if n, err := hex.Decode(id.GUID[:], []byte(strings.ReplaceAll(s.GUID, "-", ""))); n != 16 || err != nil {
		t.Fatal(err)
	}
	c := of(t, r.URL())
	for range 3 {
		d := definition(t, c, id)
		if d.Text != `"long"` || len(d.References) != 1 || d.References[0].Text != `"string"` || d.Name != "schema "+s.GUID+" of "+r.URL() {
			t.Errorf("got %+v", d)
		}
	}
	if diff := cmp.Diff([]string{"GET /schemas/guids/" + s.GUID, "GET /subjects/address/versions/1?deleted=true"}, *log); diff != "" {
		t.Error(diff)
	}
	_, err := c.Schema(codec.ID{GUID: [16]byte{1, 2, 3}})
	wantError(t, err, "schema 01020300-0000-0000-0000-000000000000 is not in the registry of east ("+r.URL()+")")
}

// A registry from before GUIDs answers like any server that lacks a path.
func TestNoLookUpByGUID(t *testing.T) {
	srv := serve(t, http.NotFoundHandler())
	_, err := of(t, srv.URL).Schema(codec.ID{GUID: [16]byte{1}})
	wantError(t, err, "the registry of east has no look-up of schemas by GUID (Confluent's has one since 8.0)")
	if !errors.Is(err, ErrNoLookup) || fault.KindOf(err) != fault.Failed {
		t.Errorf("of kind %v, %v", fault.KindOf(err), err)
	}
}

func TestContexts(t *testing.T) {
	r, _ := fake(t)
	register(t, r, ":.other:address", `"string"`)
	id, _ := register(t, r, "orders-value", `"long"`, sr.SchemaReference{Name: "address", Subject: ":.other:address", Version: 1})
	d := definition(t, of(t, r.URL()), number(int64(id)))
	if len(d.References) != 1 || d.References[0].Subject != ":.other:address" || d.References[0].Text != `"string"` {
		t.Errorf("got %+v", d)
	}
	inside, _ := register(t, r, ":.other:users-value", `"int"`)
	if got := definition(t, of(t, r.URL()+"/contexts/.other"), number(int64(inside))); got.Text != `"int"` {
		t.Errorf("got %+v", got)
	}
	_, err := of(t, r.URL()+"/contexts/.third").Schema(number(int64(inside)))
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("another context gives %v", err)
	}
}
