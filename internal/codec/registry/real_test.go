//go:build kafka

package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/codec/avro"
	"github.com/kcm-cli/kcm/internal/codec/jsonschema"
	"github.com/kcm-cli/kcm/internal/codec/protobuf"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// decoder compiles with kcm's own decoders and keeps the definition.
type decoder struct {
	codec.Schema
	definition codec.Definition
}

func decoderOf(d codec.Definition) (s codec.Schema, err error) {
	switch d.Type {
	case codec.Avro:
		s, err = avro.Compile(d, avro.Options{})
	case codec.Protobuf:
		s, err = protobuf.Compile(d, protobuf.Options{})
	case codec.JSONSchema:
		s, err = jsonschema.Compile(d, jsonschema.Options{Validate: true})
	default:
		err = fmt.Errorf("type %s", d.Type)
	}
	return decoder{s, d}, err
}

// real is a client of a real registry.
func real(t *testing.T, r *kafkatest.SchemaRegistry, change ...func(*Config)) *Client {
	t.Helper()
	return of(t, r.URL(), append([]func(*Config){func(cfg *Config) { cfg.Compile, cfg.Wait = decoderOf, time.Minute }}, change...)...)
}

func decode(t *testing.T, c *Client, id int, payload string) (string, codec.Definition) {
	t.Helper()
	s, err := c.Schema(number(int64(id)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.AppendJSON(nil, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return string(out), s.(decoder).definition
}

// orders is one order in the three types, with references three levels deep of
// which one is needed twice. In texts, and as subjects, names are as they are in
// the references of the levels above.
type orders struct {
	schemaType string
	levels     []level // leaf first; the last one is the order
	payload    string
	want       string
}

type level struct {
	name, text string
	refs       []int // of the levels before it
}

func allOrders() []orders {
	return []orders{
		{
			schemaType: "AVRO",
			levels: []level{
				{"shop.Currency", `{"type":"enum","name":"Currency","namespace":"shop","symbols":["EUR","USD"]}`, nil},
				{"shop.Money", `{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"amount","type":"long"},{"name":"currency","type":"Currency"}]}`, []int{0}},
				{"shop.Item", `{"type":"record","name":"Item","namespace":"shop","fields":[{"name":"price","type":"shop.Money"},{"name":"tax","type":["null","shop.Money"]}]}`, []int{1}},
				{"", `{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"item","type":"shop.Item"},{"name":"in","type":"shop.Currency"}]}`, []int{2, 0}},
			},
			payload: "\x14\x00\x02\x04\x02\x02",
			want:    `{"item":{"price":{"amount":10,"currency":"EUR"},"tax":{"amount":2,"currency":"USD"}},"in":"USD"}`,
		},
		{
			schemaType: "PROTOBUF",
			levels: []level{
				{"shop/currency.proto", "syntax = \"proto3\";\npackage shop;\n\nenum Currency {\n  EUR = 0;\n  USD = 1;\n}\n", nil},
				{"shop/money.proto", "syntax = \"proto3\";\npackage shop;\n\nimport \"shop/currency.proto\";\n\nmessage Money {\n  int64 amount = 1;\n  Currency currency = 2;\n}\n", []int{0}},
				{"shop/item.proto", "syntax = \"proto3\";\npackage shop;\n\nimport \"shop/money.proto\";\n\nmessage Item {\n  Money price = 1;\n  Money tax = 2;\n}\n", []int{1}},
				{"", "syntax = \"proto3\";\npackage shop;\n\nimport \"shop/item.proto\";\nimport \"shop/currency.proto\";\n\nmessage Order {\n  Item item = 1;\n  Currency in = 2;\n}\n", []int{2, 0}},
			},
			payload: "\x00\x0a\x0a\x0a\x02\x08\x0a\x12\x04\x08\x02\x10\x01\x10\x01",
			want:    `{"item":{"price":{"amount":"10"},"tax":{"amount":"2","currency":"USD"}},"in":"USD"}`,
		},
		{
			schemaType: "JSON",
			levels: []level{
				{"currency.json", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"currency.json","enum":["EUR","USD"]}`, nil},
				{"money.json", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"money.json","type":"object","properties":{"currency":{"$ref":"currency.json"}}}`, []int{0}},
				{"item.json", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"item.json","type":"object","properties":{"price":{"$ref":"money.json"}}}`, []int{1}},
				{"", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"order.json","type":"object","properties":{"item":{"$ref":"item.json"},"in":{"$ref":"currency.json"}}}`, []int{2, 0}},
			},
			payload: `{"item": {"price": {"currency": "EUR"}}, "in": "USD"}`,
			want:    `{"item":{"price":{"currency":"EUR"}},"in":"USD"}`,
		},
	}
}

// registered registers the levels and returns the order's id and subject, and
// what its references are to be.
func (o orders) registered(r *kafkatest.SchemaRegistry) (id int, subject string, want []codec.Reference) {
	versions := make([]int, len(o.levels))
	subjects := make([]string, len(o.levels))
	for i, l := range o.levels {
		subjects[i] = r.Name(o.schemaType + "/" + l.name)
		var refs []kafkatest.SchemaRef
		for _, n := range l.refs {
			refs = append(refs, kafkatest.SchemaRef{Name: o.levels[n].name, Subject: subjects[n], Version: versions[n]})
		}
		id, versions[i] = r.Register(subjects[i], o.schemaType, l.text, refs...)
		if l.name != "" {
			want = append(want, codec.Reference{Name: l.name, Subject: subjects[i], Version: versions[i], Text: l.text})
		}
	}
	return id, subjects[len(subjects)-1], want
}

func TestRealReferences(t *testing.T) {
	for _, o := range allOrders() {
		t.Run(o.schemaType, func(t *testing.T) {
			r := kafkatest.Registry(t, kafkatest.RegistryOptions{})
			c := real(t, r)
			id, _, refs := o.registered(r)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					got, d := decode(t, c, id, o.payload)
					if got != o.want {
						t.Errorf("decoded as\n%s\nwant\n%s", got, o.want)
					}
					want := codec.Definition{Type: codec.SchemaType(o.schemaType), Text: o.levels[3].text, Name: fmt.Sprintf("schema %d of %s", id, r.URL()), References: refs}
					if diff := cmp.Diff(want, d); diff != "" {
						t.Error(diff)
					}
				})
			}
			all.Wait()
			if n := c.Requests(); n != 4 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// What was deleted is still there for the records that were written with it.
// (Apicurio tells no text by subject and version once all versions are deleted.)
func TestRealDeletedSchemas(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{})
	for _, o := range allOrders() {
		id, subject, refs := o.registered(r)
		r.Register(refs[2].Subject, o.schemaType, o.levels[0].text) // another version
		r.Delete(subject, 1, false)
		r.Delete(refs[2].Subject, refs[2].Version, false)
		c := real(t, r)
		if got, _ := decode(t, c, id, o.payload); got != o.want {
			t.Errorf("decoded as\n%s\nwant\n%s", got, o.want)
		}
		versions, err := c.Versions(t.Context(), subject)
		if diff := cmp.Diff([]Version{{Number: 1, Deleted: true}}, versions); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		e, err := c.Entry(t.Context(), refs[2].Subject, refs[2].Version)
		if err != nil || !e.Deleted || e.Definition.Text != refs[2].Text || len(e.References) != 1 {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

func TestRealDescribe(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{})
	c, ctx := real(t, r), t.Context()
	o := allOrders()[0]
	id, subject, refs := o.registered(r)
	e, err := c.Entry(ctx, subject, 0)
	want := &Entry{
		Subject: subject, Version: 1, ID: int64(id),
		Definition: codec.Definition{Type: codec.Avro, Text: o.levels[3].text, Name: "subject " + subject + " version 1", References: refs},
		References: []codec.Reference{refs[2], refs[0]},
	}
	if diff := cmp.Diff(want, e); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if uses, err := c.Uses(ctx, int64(id)); err != nil || len(uses) != 1 || uses[0] != (Use{subject, 1}) {
		t.Errorf("%+v, %v", uses, err)
	}
	subjects, err := c.Subjects(ctx)
	seen := 0
	for _, s := range subjects {
		if s.Name == subject && !s.Deleted {
			seen++
		}
	}
	if seen != 1 || err != nil {
		t.Errorf("%+v, %v", subjects, err)
	}
	// Apicurio gives the global level for a subject that has none of its own.
	if got, err := c.Compatibility(ctx, subject); err != nil || got != (Compatibility{Level: "NONE"}) {
		t.Errorf("%+v, %v", got, err)
	}
	r.SetCompatibility(subject, "BACKWARD")
	if got, err := c.Compatibility(ctx, subject); err != nil || got != (Compatibility{Level: "BACKWARD"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRealMisses(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{})
	c := real(t, r)
	for range 100 {
		_, err := c.Schema(number(999_999))
		wantError(t, err, "schema 999999 is not in the registry of east ("+r.URL()+")")
	}
	if n := c.Requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
	for path, ask := range map[string]func() error{
		"version 1 of subject nope":          func() error { _, err := c.Entry(t.Context(), "nope", 1); return err },
		"the latest version of subject nope": func() error { _, err := c.Entry(t.Context(), "nope", 0); return err },
		"subject nope":                       func() error { _, err := c.Versions(t.Context(), "nope"); return err },
	} {
		err := ask()
		wantError(t, err, path+" is not in the registry of east ("+r.URL()+")")
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%v is not ErrNotFound", err)
		}
	}
	root := strings.TrimSuffix(r.URL(), "/apis/ccompat/v7")
	_, err := of(t, root).Schema(number(1))
	wantError(t, err, "the registry of east does not answer: "+root+": the answer is not a schema registry's; does its address lack a path, such as /apis/ccompat/v7?")
	_, err = c.Schema(codec.ID{GUID: [16]byte{1}})
	wantError(t, err, "the registry of east has no look-up of schemas by GUID (Confluent's has one since 8.0)")
}

func TestRealAuthAndTLS(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{Auth: true, TLS: true})
	id, _ := r.Register(r.Name("orders-value"), "AVRO", `"string"`)
	login := func(user, password string) func(*Config) {
		return func(cfg *Config) { cfg.Username, cfg.Password, cfg.TLS = user, password, r.ClientConfig() }
	}
	reader := real(t, r, login(kafkatest.AppUser, kafkatest.AppPassword))
	if got, _ := decode(t, reader, id, "\x04hi"); got != `"hi"` {
		t.Errorf("decoded as %s", got)
	}
	for _, tt := range []struct {
		user, password, want string
	}{
		{kafkatest.AppUser, "S3cr3t", "the registry of east refuses user app (401)"},
		{"", "", "the registry of east refuses requests without credentials (401)"},
	} {
		c := real(t, r, login(tt.user, tt.password))
		for range 10 {
			_, err := c.Schema(number(int64(id)))
			wantError(t, err, tt.want)
			if k := fault.KindOf(err); k != fault.Auth {
				t.Errorf("kind %d", k)
			}
		}
		if n := c.Requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
	}
	_, err := reader.Register(t.Context(), r.Name("orders-value"), compiledFrom(`"long"`))
	wantError(t, err, "the registry of east forbids user app to register a version of subject "+r.Name("orders-value")+" (403)")
	writer := real(t, r, login(kafkatest.AdminUser, kafkatest.AdminPassword))
	if n, err := writer.Register(t.Context(), r.Name("orders-value"), compiledFrom(`"long"`)); err != nil || n <= int64(id) {
		t.Errorf("%d, %v", n, err)
	}

	_, err = real(t, r, func(cfg *Config) { cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12} }).Schema(number(1))
	wantError(t, err, "the registry of east does not answer: "+r.URL()+": its certificate is signed by an authority that is not trusted")
	wrong := strings.Replace(r.URL(), "https://", "http://", 1)
	_, err = of(t, wrong, func(cfg *Config) { cfg.Wait = time.Second }).Schema(number(1))
	if err == nil || !strings.HasPrefix(err.Error(), "the registry of east does not answer: "+wrong+": ") {
		t.Errorf("http to its https port: %v", err)
	}
	plain := strings.Replace(r.PlainURL(), "http://", "https://", 1)
	_, err = of(t, plain, func(cfg *Config) { cfg.Wait = time.Second }).Schema(number(1))
	wantError(t, err, "the registry of east does not answer: "+plain+": it does not speak TLS: an address without TLS begins with http://")
}

func TestRealDownAndBack(t *testing.T) {
	r := kafkatest.StartRegistry(t, kafkatest.RegistryOptions{})
	var ids []int
	for _, text := range []string{`"string"`, `"long"`, `"bytes"`} {
		id, _ := r.Register("s-"+text[1:4], "AVRO", text)
		ids = append(ids, id)
	}
	c := real(t, r, func(cfg *Config) { cfg.Wait = 2 * time.Second })
	decode(t, c, ids[0], "\x04hi")
	back := func(id int) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			if _, err := c.Schema(number(int64(id))); err == nil {
				return
			} else if time.Now().After(end) {
				t.Fatalf("it is not back: %v", err)
			}
		}
	}
	for i, trouble := range []struct {
		begin, end func()
		why        string
	}{
		{r.Stop, r.Start, "the connection is refused"},
		{r.Pause, r.Resume, "no answer in time"},
	} {
		trouble.begin()
		began := time.Now()
		for range 1000 {
			_, err := c.Schema(number(int64(ids[i+1])))
			wantError(t, err, "the registry of east does not answer: "+r.URL()+": "+trouble.why)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("a thousand callers of a registry that is down waited %s", took)
		}
		if got, _ := decode(t, c, ids[0], "\x04hi"); got != `"hi"` {
			t.Errorf("decoded as %s", got)
		}
		trouble.end()
		back(ids[i+1])
	}
}

func TestRealCopy(t *testing.T) {
	east := kafkatest.Registry(t, kafkatest.RegistryOptions{})
	west := kafkatest.Registry(t, kafkatest.RegistryOptions{Auth: true, TLS: true})
	from := real(t, east)
	to := real(t, west, func(cfg *Config) {
		cfg.Cluster, cfg.TLS = "west", west.ClientConfig()
		cfg.Username, cfg.Password = kafkatest.AdminUser, kafkatest.AdminPassword
	})
	copier := NewCopier(from, to)
	for _, o := range allOrders() {
		t.Run(o.schemaType, func(t *testing.T) {
			id, subject, refs := o.registered(east)
			n, err := copier.Copy(t.Context(), number(int64(id)), "copied-"+subject)
			if err != nil {
				t.Fatal(err)
			}
			got, d := decode(t, to, int(n), o.payload)
			if got != o.want {
				t.Errorf("decoded as\n%s\nwant\n%s", got, o.want)
			}
			if diff := cmp.Diff(refs, d.References); diff != "" {
				t.Error(diff)
			}
			e, err := to.Entry(t.Context(), "copied-"+subject, 0)
			if err != nil || e.ID != n || len(e.References) != 2 || e.References[0].Name != o.levels[2].name || e.References[1].Name != o.levels[0].name {
				t.Errorf("%+v, %v", e, err)
			}
			if again, err := NewCopier(from, to).Copy(t.Context(), number(int64(id)), "copied-"+subject); again != n || err != nil {
				t.Errorf("again: %d, %v", again, err)
			}
		})
	}
	t.Run("incompatible", func(t *testing.T) {
		subject := west.Name("strict-value")
		west.Register(subject, "AVRO", `"string"`)
		west.SetCompatibility(subject, "BACKWARD")
		id, _ := east.Register(east.Name("strict-value"), "AVRO", `"long"`)
		_, err := copier.Copy(t.Context(), number(int64(id)), subject)
		if fault.KindOf(err) != fault.Refused || !strings.HasPrefix(err.Error(), "subject "+subject+" cannot be registered: the registry of west finds the schema incompatible with the earlier versions: 409 ") {
			t.Errorf("%v", err)
		}
	})
}
