package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

func TestTextsThatMeanTheSame(t *testing.T) {
	for _, c := range []struct {
		kind codec.SchemaType
		a, b string
		same bool
	}{
		{codec.Avro, `{"type":"long","x":1}`, "{\n \"x\": 1, \"type\": \"long\" }", true},
		{codec.Avro, `{"default":1.0}`, `{"default":1}`, false},
		{codec.Avro, `{"default":9007199254740993}`, `{"default":9007199254740992}`, false},
		{codec.Avro, `"long"`, `"int"`, false},
		{codec.Avro, `long`, `long `, false}, // it is no JSON
		{codec.JSONSchema, `{"enum":["a","b"]}`, `{"enum":["b","a"]}`, false},
		{codec.Protobuf, "syntax='proto3'; // it\nmessage M{int32 a=1;}", "syntax = 'proto3';\n/* and */ message M {\r\n\tint32 a = 1;\n}\n", true},
		{codec.Protobuf, "message M{int32 a=1;}", "message M{int32 a=2;}", false},
		{codec.Protobuf, "message M{int32 ab=1;}", "message M{int32 a b=1;}", false},
		{codec.Protobuf, `option x = "a // b";`, `option x = "a // c";`, false},
		{codec.Protobuf, `option x = "a b";`, `option x = "ab";`, false},
		{codec.Protobuf, `option x = "\"//";`, `option x = "\"//" ;`, true},
		{codec.Protobuf, `option x = "open`, `option x = "open`, true},
		{codec.Protobuf, `a /* open`, `a`, true},
		{codec.Protobuf, `a // open`, `a`, true},
	} {
		if got := sameText(c.kind, c.a, c.b); got != c.same {
			t.Errorf("%s: %q and %q: %v", c.kind, c.a, c.b, got)
		}
		if got := sameText(c.kind, c.b, c.a); got != c.same {
			t.Errorf("%s: %q and %q: %v", c.kind, c.b, c.a, got)
		}
	}
}

func TestDefinitionsThatDiffer(t *testing.T) {
	def := func(kind codec.SchemaType, text string, refs ...codec.Reference) codec.Definition {
		return codec.Definition{Type: kind, Text: text, References: refs}
	}
	leaf := codec.Reference{Name: "Leaf", Subject: "leaf", Version: 1, Text: `"int"`}
	moved, other := leaf, leaf
	moved.Version, other.Text = 7, `"long"`
	renamed := leaf
	renamed.Name = "L"
	for _, c := range []struct {
		a, b codec.Definition
		want string
	}{
		{def(codec.Avro, `"a"`, leaf), def(codec.Avro, ` "a"`, moved), ""},
		{def(codec.Avro, `"a"`), def(codec.JSONSchema, `"a"`), "their types: AVRO and JSON"},
		{def(codec.Avro, `"a"`), def(codec.Avro, `"b"`), "their texts"},
		{def(codec.Avro, `"a"`, leaf), def(codec.Avro, `"a"`), "their references: 1 and 0"},
		{def(codec.Avro, `"a"`, leaf), def(codec.Avro, `"a"`, renamed), "their references: only one has Leaf"},
		{def(codec.Avro, `"a"`, leaf), def(codec.Avro, `"a"`, other), "the text of their reference Leaf"},
	} {
		if got := difference(c.a, c.b); got != c.want {
			t.Errorf("%+v and %+v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// movingRig is two registries inside the test with clients.
func movingRig(t *testing.T, wait time.Duration) (east, west *kafkatest.Schemas, p *Copier) {
	t.Helper()
	east, west = kafkatest.NewSchemas(t, 1), kafkatest.NewSchemas(t, 100)
	client := func(name string, s *kafkatest.Schemas) *Client {
		c, err := New(t.Context(), Config{Cluster: name, URLs: []string{s.URL()}, Wait: wait})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	return east, west, NewCopier(client("east", east), client("west", west))
}

func TestMovedSchemasGetTheirSubjects(t *testing.T) {
	east, west, p := movingRig(t, time.Second)
	east.GiveGUIDs("aaaaaaaa")
	for i, subject := range []string{"orders-value", "orders-key", ":.ctx:clicks-value", "x", "b", "a"} {
		east.Add(kafkatest.Schema{Subject: subject, Text: `"t` + subject + `"`, ID: i + 1})
	}
	east.Add(kafkatest.Schema{Subject: "a", Text: `"tb"`, ID: 5})
	guid := func(id int) codec.ID {
		for _, s := range east.All() {
			if s.ID == id {
				return codec.ID{GUID: parseGUID(s.GUID)}
			}
		}
		return codec.ID{}
	}
	for _, c := range []struct {
		id   codec.ID
		at   Place
		want []string
	}{
		{codec.ID{Number: 1}, Place{From: "orders", To: "copy"}, []string{"copy-value"}},
		{codec.ID{Number: 1}, Place{From: "orders", To: "copy", Key: true}, []string{"orders-value"}},
		{codec.ID{Number: 2}, Place{From: "orders", To: "copy", Key: true}, []string{"copy-key"}},
		{codec.ID{Number: 3}, Place{From: "clicks", To: "copy"}, []string{"copy-value"}},
		{codec.ID{Number: 4}, Place{From: "orders", To: "copy"}, []string{"x"}},
		{codec.ID{Number: 5}, Place{From: "orders", To: "copy"}, []string{"a", "b"}},
		{guid(1), Place{From: "orders", To: "copy2"}, []string{"copy2-value"}},
	} {
		m, err := p.Move(t.Context(), c.id, c.at)
		if err != nil || m.ID < 100 || !slices.Equal(m.Subjects, c.want) {
			t.Errorf("%s, %+v: %+v, %v, want %q", c.id, c.at, m, err, c.want)
		}
	}
	if m, err := p.Move(t.Context(), codec.ID{Number: 99}, Place{From: "a", To: "b"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%+v, %v", m, err)
	}
	if got := len(west.All()); got != 8 {
		t.Errorf("%d versions in all: %v", got, west.All())
	}
}

// What is not there is a short matter for all who ask after the first.
func TestARegistryThatIsDownIsWaitedForOnce(t *testing.T) {
	east, west, p := movingRig(t, 300*time.Millisecond)
	east.Add(kafkatest.Schema{Subject: "s", Text: `"int"`})
	west.Stop()
	at := Place{From: "s", To: "s"}
	_, first := p.Move(t.Context(), codec.ID{Number: 1}, at)
	if first == nil || !strings.Contains(first.Error(), "the registry of west does not answer") {
		t.Fatal(first)
	}
	before := time.Now()
	for range 100 {
		if _, err := p.Move(t.Context(), codec.ID{Number: 1}, at); !errors.Is(err, first) {
			t.Fatal(err)
		}
	}
	if d := time.Since(before); d > 200*time.Millisecond {
		t.Errorf("a hundred took %v", d)
	}
	west.Start()
	p.from.wait, p.to.wait = time.Minute, time.Minute // a slow machine answers late
	p.downUntil = time.Time{}                         // as after a while
	if m, err := p.Move(t.Context(), codec.ID{Number: 1}, at); err != nil || m.ID != 100 {
		t.Errorf("%+v, %v", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Move(ctx, codec.ID{Number: 2}, at); err == nil {
		t.Error("a run that has ended goes on")
	}
}

func FuzzProtoWords(f *testing.F) {
	f.Add("message M { string a = 1; } // x")
	f.Add("'\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range protoWords(text) {
			if w == "" || !strings.Contains(text, w) {
				t.Errorf("%q is none of %q", w, text)
			}
		}
		if !sameText(codec.Protobuf, text, " "+text) {
			t.Errorf("%q differs from itself behind a blank", text)
		}
	})
}
