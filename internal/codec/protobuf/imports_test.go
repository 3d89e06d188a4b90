package protobuf

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

// imported is a schema with what it imports, by path.
var imported = map[string]string{
	"order.proto": `syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "common/money.proto";
message Order { int64 id = 1; google.protobuf.Timestamp at = 2; google.protobuf.Int64Value limit = 3; common.Money price = 4; }`,
	"common/money.proto": `syntax = "proto3"; package common;
import "common/currency.proto";
message Money { Currency currency = 1; int64 units = 2; int32 nanos = 3; }`,
	"common/currency.proto": `syntax = "proto3"; package common; enum Currency { NONE = 0; EUR = 1; }`,
}

const (
	importedPayload = "08 81 80 80 80 80 80 80 10 12 0b 08 80 e2 cf aa 06 10 95 9a ef 3a 1a 02 08 05 22 06 08 01 10 07 18 09"
	importedJSON    = `{"id":"9007199254740993","at":"2023-11-14T22:13:20.123456789Z","limit":"5","price":{"currency":"EUR","units":"7","nanos":9}}`
)

// The files that a schema imports are found three ways, Google's whether
// they are registered or not.
func TestImports(t *testing.T) {
	google := map[string]string{
		"google/protobuf/timestamp.proto": `syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }`,
		"google/protobuf/wrappers.proto":  `syntax = "proto3"; package google.protobuf; message Int64Value { int64 value = 1; }`,
	}
	def := codec.Definition{Name: "orders", Text: imported["order.proto"], References: []codec.Reference{
		{Name: "common/currency.proto", Text: imported["common/currency.proto"]},
		{Name: "common/money.proto", Text: imported["common/money.proto"]},
	}}
	registered := def
	for name, text := range google {
		registered.References = append(registered.References, codec.Reference{Name: name, Text: text})
	}
	dir := t.TempDir()
	for path, text := range imported {
		write(t, filepath.Join(dir, path), text)
	}
	local, err := FromFiles(Files{Protos: []string{filepath.Join(dir, "order.proto")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	payload := unhex(t, importedPayload)
	for name, c := range map[string]struct {
		s       codec.Schema
		payload []byte
	}{
		"Google's files not registered": {compile(t, def, Options{}), append([]byte{0}, payload...)},
		"Google's files registered":     {compile(t, registered, Options{}), append([]byte{0}, payload...)},
		"from a directory":              {local, payload},
		"descriptors in base64":         {compile(t, inBase64(t, def), Options{}), append([]byte{0}, payload...)},
	} {
		got, err := c.s.AppendJSON(nil, c.payload)
		if err != nil || string(got) != importedJSON {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// inBase64 is the definition with its text and one of its references as a
// registry gives them when asked for format=serialized.
func inBase64(t testing.TB, def codec.Definition) codec.Definition {
	t.Helper()
	c := newCompiler(func(path string) (source, bool, error) {
		text, ok := imported[path]
		return source{text: text}, ok, nil
	})
	if _, err := c.file("order.proto"); err != nil {
		t.Fatal(err)
	}
	serialized := func(path string) string {
		fdp := protodesc.ToFileDescriptorProto(c.units[path].desc)
		fdp.Name = proto.String("default")
		raw, err := proto.Marshal(fdp)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(raw)
	}
	def.Text = serialized("order.proto")
	def.References = append([]codec.Reference(nil), def.References...)
	def.References[1].Text = serialized("common/money.proto")
	return def
}

// All that is bundled compiles, and a schema may import it.
func TestBundle(t *testing.T) {
	if len(bundle()) != 20 {
		t.Fatalf("%d files are bundled", len(bundle()))
	}
	text := `syntax = "proto3"; import "confluent/meta.proto"; import "confluent/types/decimal.proto";
message M {
  option (confluent.message_meta).doc = "about it";
  google.type.Money money = 1; google.type.Date date = 2; google.type.DayOfWeek day = 3; confluent.type.Decimal amount = 4 [(confluent.field_meta) = {tags: ["PII"]}];
}`
	for path := range bundle() {
		if strings.HasPrefix(path, "google/") {
			text += "import \"" + path + "\";\n"
		}
	}
	s := compile(t, codec.Definition{Text: text}, Options{})
	got, err := s.AppendJSON(nil, unhex(t, "00 0a 0a 0a 03 45 55 52 10 01 18 80 65 12 07 08 e8 0f 10 02 18 1d 18 03 22 06 0a 02 01 e0 18 02"))
	want := `{"money":{"currencyCode":"EUR","units":"1","nanos":12928},"date":{"year":2024,"month":2,"day":29},"day":"WEDNESDAY","amount":{"value":"AeA=","scale":2}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	own := codec.Definition{
		Text:       `syntax = "proto3"; import "google/type/money.proto"; message M { google.type.Money money = 1; }`,
		References: []codec.Reference{{Name: "google/type/money.proto", Text: `syntax = "proto3"; package google.type; message Money { string mine = 1; }`}},
	}
	got, err = compile(t, own, Options{}).AppendJSON(nil, unhex(t, "00 0a 03 0a 01 78"))
	if err != nil || string(got) != `{"money":{"mine":"x"}}` {
		t.Errorf("a registered file does not come before the bundled one: %s, %v", got, err)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no schema", `{"type": "record"}`, "orders: 1:1: syntax error: unexpected '{'"},
		{"a slip", "syntax = \"proto3\";\nmessage A { int32 a 1; }", "orders: 2:21: syntax error: expecting ';'"},
		{"an unknown type", "syntax = \"proto3\";\nmessage A { B b = 1; }", "orders: 2:13: field A.b: unknown type B"},
		{"an import that is needed", `syntax = "proto3"; import "b.proto"; message A { B b = 1; }`, "orders: 1:50: field A.b: unknown type B (not found: b.proto)"},
		{"an import of itself", `syntax = "proto3"; import "schema.proto";`, "orders: schema.proto imports itself, by way of others or not"},
		{"a number twice", `syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }`, "orders: proto: message \"A\" has conflicting fields: \"b\" with \"a\""},
		{"an edition that is too new", `edition = "2024"; message A {}`, "orders: 1:11: edition value \"2024\" not recognized; should be one of [\"2023\"]"},
	} {
		_, err := Compile(codec.Definition{Name: "orders", Text: c.text}, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// A file that only holds options need not be there.
func TestMissingImports(t *testing.T) {
	s := compile(t, codec.Definition{Text: `syntax = "proto3"; import "gogoproto/gogo.proto"; import "google/protobuf/java_features.proto";
message A { option (gogoproto.marshaler) = true; int32 a = 1 [(gogoproto.nullable) = false]; }`}, Options{})
	if got, err := s.AppendJSON(nil, unhex(t, "00 08 01")); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestFromFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a/orders.proto"), `syntax = "proto3"; package shop.v1; import "b/item.proto"; message Order { b.Item item = 1; message Line { int32 n = 1; } }`)
	write(t, filepath.Join(dir, "in/b/item.proto"), `syntax = "proto3"; package b; message Item { int32 id = 1; } message Other {}`)
	write(t, filepath.Join(dir, "two.proto"), `syntax = "proto3"; package two; message Order { int32 a = 1; } message Invoice { int32 b = 1; message Line {} } message Receipt { message Line {} }`)
	write(t, filepath.Join(dir, "none.proto"), `syntax = "proto3"; enum E { ZERO = 0; }`)
	write(t, filepath.Join(dir, "broken.proto"), "syntax = \"proto3\";\nmessage {")
	write(t, filepath.Join(dir, "edition2024.binpb"), edition2024(t))
	orders, in, two := filepath.Join(dir, "in/a/orders.proto"), filepath.Join(dir, "in"), filepath.Join(dir, "two.proto")
	for _, c := range []struct {
		name  string
		files Files
		want  string // the JSON of {1: 7} or {1: {1: 7}}, or an error and its hint
	}{
		{"one message", Files{Protos: []string{orders}, Paths: []string{in}}, `{"item":{"id":7}}`},
		{"a path below a directory", Files{Protos: []string{"a/orders.proto"}, Paths: []string{in}}, `{"item":{"id":7}}`},
		{"a directory that has it by a longer path", Files{Protos: []string{orders}, Paths: []string{dir, in}}, `{"item":{"id":7}}`},
		{"the end of a name", Files{Protos: []string{orders}, Paths: []string{in}, Message: "Order"}, `{"item":{"id":7}}`},
		{"a nested one", Files{Protos: []string{orders}, Paths: []string{in}, Message: "Order.Line"}, `{"n":0}`},
		{"an imported one", Files{Protos: []string{orders}, Paths: []string{in}, Message: "Item"}, `{"id":0}`},
		{"two files", Files{Protos: []string{orders, two}, Paths: []string{in, dir}, Message: "two.Order"}, `{"a":0}`},
		{"an edition that only descriptor sets can have", Files{Sets: []string{filepath.Join(dir, "edition2024.binpb")}}, `{"a":0}`},
		{"no message", Files{Protos: []string{filepath.Join(dir, "none.proto")}}, "the Protobuf files declare no message"},
		{"several messages", Files{Protos: []string{two}}, "the Protobuf files declare 3 messages: --message NAME says which one the records hold | messages: two.Invoice, two.Invoice.Line, two.Order, two.Receipt, two.Receipt.Line"},
		{"an ambiguous end", Files{Protos: []string{two}, Message: "Line"}, "more than one message ends in Line: two.Invoice.Line, two.Receipt.Line"},
		{"a slip", Files{Protos: []string{two}, Message: "two.Invioce"}, `no message "two.Invioce" in the Protobuf files | did you mean two.Invoice?`},
		{"a slip in a short name", Files{Protos: []string{two}, Message: "Invoce"}, `no message "Invoce" in the Protobuf files | did you mean two.Invoice?`},
		{"another name", Files{Protos: []string{orders}, Paths: []string{in}, Message: "Customer"}, `no message "Customer" in the Protobuf files | messages: shop.v1.Order, shop.v1.Order.Line`},
		{"an import that is not there", Files{Protos: []string{orders}}, "orders.proto:1:76: field shop.v1.Order.item: unknown type b.Item | not found: b/item.proto; --proto-path DIR names the directory that imports are relative to"},
		{"a file that is not there", Files{Protos: []string{"no.proto"}}, "the .proto file no.proto cannot be read: file does not exist"},
		{"a broken file", Files{Protos: []string{filepath.Join(dir, "broken.proto")}}, "broken.proto:2:9: syntax error: unexpected '{'"},
		{"no descriptor set", Files{Sets: []string{two}}, two + " is no descriptor set | protoc --include_imports --descriptor_set_out=FILE and buf build -o FILE.binpb write one; --proto takes .proto files"},
		{"a set that is not there", Files{Sets: []string{"no.binpb"}}, "the descriptor set cannot be read: open no.binpb: no such file or directory"},
	} {
		s, err := FromFiles(c.files, Options{Defaults: true})
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: the kind is %v", c.name, fault.KindOf(err))
			}
			if got := strings.TrimSuffix(err.Error()+" | "+fault.HintOf(err), " | "); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			continue
		}
		payload := ""
		if strings.Contains(c.want, "7") {
			payload = "0a 02 08 07"
		}
		got, err := s.AppendJSON(nil, unhex(t, payload))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// edition2024 is a descriptor set in the edition 2024.
func edition2024(t testing.TB) string {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("new.proto"), Syntax: proto.String("editions"), Edition: descriptorpb.Edition_EDITION_2024.Enum(),
		Options: &descriptorpb.FileOptions{Features: &descriptorpb.FeatureSet{FieldPresence: descriptorpb.FeatureSet_IMPLICIT.Enum()}},
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("A"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("a"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
