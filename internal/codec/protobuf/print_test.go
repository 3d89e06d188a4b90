package protobuf

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

const printable = `syntax = "proto3";

package a.b;

import "google/protobuf/timestamp.proto";

import "elsewhere.proto";

option java_package = "x.y";

message M {
  reserved 10 to 12, 20;

  reserved "old";

  int32 id = 1;

  optional string name = 2 [json_name = "title"];

  repeated sint64 list = 3 [deprecated = true, packed = false];

  map<string, N> by_name = 4;

  google.protobuf.Timestamp at = 5;

  other.Thing thing = 6;

  oneof choice {
    bytes raw = 7;

    N n = 8;
  }

  message N {
    E e = 1;
  }

  enum E {
    option allow_alias = true;

    ZERO = 0;

    NONE = 0;

    LOW = -1;
  }
}

service S {
  rpc Do ( M ) returns ( stream M.N );
}
`

// The printer's own layout apart, it is the text that the descriptor was made of.
func TestDescriptorsAreReadable(t *testing.T) {
	stored := stored(t, printable, map[string]string{"elsewhere.proto": `syntax = "proto3"; package other; message Thing {}`})
	got, made := Text(stored)
	if !made || got != printable {
		t.Errorf("made: %t\n%s", made, got)
	}
	for _, text := range []string{printable, "", "AAAA", "not base64!", `syntax = "proto3"`} {
		if got, made := Text(text); made && text != "" || got != text {
			t.Errorf("%q: made %t, %q", text, made, got)
		}
	}
}

// Options of a kind that is declared elsewhere.
func TestDescriptorsWithCustomOptions(t *testing.T) {
	const declared = `syntax = "proto3"; package o; import "google/protobuf/descriptor.proto"; extend google.protobuf.FieldOptions { string tag = 50001; }`
	const text = `syntax = "proto3"; import "o.proto"; message M { int32 id = 1 [(o.tag) = "PII"]; }`
	got, made := Text(stored(t, text, map[string]string{"o.proto": declared}))
	const want = "// Options that are declared in other files are left out.\nsyntax = \"proto3\";\n\nimport \"o.proto\";\n\nmessage M {\n  int32 id = 1;\n}\n"
	if !made || got != want {
		t.Errorf("made: %t\n%s", made, got)
	}
}

// A descriptor whose names no text can have stays as it is.
func TestDescriptorsWithoutAText(t *testing.T) {
	for _, f := range []*descriptorpb.FileDescriptorProto{
		{Name: proto.String("x"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("a b;{")}}},
		{Name: proto.String("x"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("f"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), TypeName: proto.String("relative.Name"),
			}},
		}}},
	} {
		text := base64Of(t, f)
		if got, made := Text(text); made || got != text {
			t.Errorf("made %t, %s", made, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte{0x0a, 1, 'x', 0x22, 3, 0x0a, 1, 'M'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		stored := base64.StdEncoding.EncodeToString(raw)
		got, made := Text(stored)
		if !made && got != stored {
			t.Errorf("%q became %q", stored, got)
		}
		if made && !strings.Contains(got, "syntax") && !strings.Contains(got, "edition") {
			t.Errorf("it made %q", got)
		}
	})
}

func base64Of(t *testing.T, f *descriptorpb.FileDescriptorProto) string {
	t.Helper()
	raw, err := proto.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// stored compiles a text with protocompile alone, and gives its descriptor as
// clients register it.
func stored(t *testing.T, text string, imports map[string]string) string {
	t.Helper()
	imports["main.proto"] = text
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(imports)})}
	files, err := compiler.Compile(t.Context(), "main.proto")
	if err != nil {
		t.Fatal(err)
	}
	return base64Of(t, protodesc.ToFileDescriptorProto(files[0]))
}
