package registry

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/kcm-cli/kcm/internal/codec"
)

func TestDescribe(t *testing.T) {
	r, _ := fake(t)
	register(t, r, "address", `"string"`)
	register(t, r, "customer", `"double"`, refTo("address", "address", 1))
	register(t, r, "orders/value", `"int"`)
	id, _ := register(t, r, "orders/value", `"long"`, refTo("customer", "customer", 1))
	register(t, r, "copy", `"long"`, refTo("customer", "customer", 1))
	register(t, r, "gone", `"bytes"`)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	admin, err := sr.NewClient(sr.URLs(r.URL()), sr.HTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.DeleteSchema(t.Context(), "orders/value", 1, sr.SoftDelete); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteSubject(t.Context(), "gone", sr.SoftDelete); err != nil {
		t.Fatal(err)
	}
	ctx, c := t.Context(), of(t, r.URL())

	subjects, err := c.Subjects(ctx)
	want := []Subject{{Name: "address"}, {Name: "copy"}, {Name: "customer"}, {Name: "gone", Deleted: true}, {Name: "orders/value"}}
	if diff := cmp.Diff(want, subjects, cmpopts.SortSlices(func(a, b Subject) bool { return a.Name < b.Name })); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	versions, err := c.Versions(ctx, "orders/value")
	if diff := cmp.Diff([]Version{{Number: 1, Deleted: true}, {Number: 2}}, versions); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	versions, err = c.Versions(ctx, "gone")
	if diff := cmp.Diff([]Version{{Number: 1, Deleted: true}}, versions); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}

	latest, err := c.Entry(ctx, "orders/value", 0)
	if err != nil {
		t.Fatal(err)
	}
	customer := codec.Reference{Name: "customer", Subject: "customer", Version: 1, Text: `"double"`}
	wantEntry := &Entry{
		Subject: "orders/value", Version: 2, ID: int64(id), GUID: latest.GUID,
		Definition: codec.Definition{Type: codec.Avro, Text: `"long"`, Name: "subject orders/value version 2", References: []codec.Reference{
			{Name: "address", Subject: "address", Version: 1, Text: `"string"`}, customer,
		}},
		References: []codec.Reference{customer},
	}
	if diff := cmp.Diff(wantEntry, latest); diff != "" || latest.GUID == "" {
		t.Error(diff)
	}
	first, err := c.Entry(ctx, "orders/value", 1)
	if err != nil || !first.Deleted || first.Definition.Text != `"int"` {
		t.Errorf("version 1 is %+v, %v", first, err)
	}
	second, err := c.Entry(ctx, "orders/value", 2)
	if diff := cmp.Diff(wantEntry, second); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	byID, err := c.EntryByID(ctx, number(int64(id)))
	if err != nil || byID.ID != int64(id) || byID.Subject != "" || byID.Definition.Text != `"long"` || len(byID.References) != 1 {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	uses, err := c.Uses(ctx, int64(id))
	if diff := cmp.Diff([]Use{{"copy", 1}, {"orders/value", 2}}, uses, cmpopts.SortSlices(func(a, b Use) bool { return a.Subject < b.Subject })); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}

	for _, miss := range []struct {
		want string
		ask  func() error
	}{
		{"subject nope is not in the registry of east (" + r.URL() + ")", func() error { _, err := c.Versions(ctx, "nope"); return err }},
		{"version 9 of subject address is not in the registry of east (" + r.URL() + ")", func() error { _, err := c.Entry(ctx, "address", 9); return err }},
		{"the latest version of subject nope is not in the registry of east (" + r.URL() + ")", func() error { _, err := c.Entry(ctx, "nope", 0); return err }},
		{"schema 99 is not in the registry of east (" + r.URL() + ")", func() error { _, err := c.EntryByID(ctx, number(99)); return err }},
	} {
		err := miss.ask()
		wantError(t, err, miss.want)
		if !errors.Is(err, ErrNotFound) {
			t.Error("it is not ErrNotFound")
		}
	}
}

// A schema that refers to what was deleted since.
func TestDeletedReferences(t *testing.T) {
	r, _ := fake(t)
	register(t, r, "address", `"string"`)
	id, _ := register(t, r, "orders-value", `"long"`, refTo("address", "address", 1))
	c := of(t, r.URL())
	for _, subject := range []string{"orders-value", "address"} {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		admin, err := sr.NewClient(sr.URLs(r.URL()), sr.HTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.DeleteSubject(t.Context(), subject, sr.SoftDelete); err != nil {
			t.Fatal(err)
		}
	}
	d := definition(t, c, number(int64(id)))
	if len(d.References) != 1 || d.References[0].Text != `"string"` {
		t.Errorf("got %+v", d)
	}
	e, err := c.Entry(t.Context(), "orders-value", 1)
	if err != nil || !e.Deleted || len(e.References) != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestAskingEndsWithItsContext(t *testing.T) {
	var s stub
	s.all(&reply{hang: true})
	c := of(t, serve(t, &s).URL, func(cfg *Config) { cfg.Wait = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := c.Subjects(ctx)
	wantError(t, err, "the question to the registry of east was cut short")
}

func TestCompatibility(t *testing.T) {
	var s stub
	s.set("/config/own%2Fone", reply{body: `{"compatibilityLevel":"FULL_TRANSITIVE"}`})
	s.set("/config/none", reply{status: 404, body: `{"error_code":40408,"message":"Subject 'none' does not have subject-level compatibility configured"}`})
	s.set("/config", reply{body: `{"compatibilityLevel":"BACKWARD","normalize":true}`})
	c := of(t, serve(t, &s).URL)
	for subject, want := range map[string]Compatibility{"own/one": {Level: "FULL_TRANSITIVE"}, "none": {Level: "BACKWARD", Global: true}} {
		if got, err := c.Compatibility(t.Context(), subject); got != want || err != nil {
			t.Errorf("%s: %+v, %v", subject, got, err)
		}
	}
	s.set("/config", reply{body: `{}`})
	_, err := c.Compatibility(t.Context(), "none")
	wantError(t, err, "the registry of east answers without a level for the compatibility level")
}
