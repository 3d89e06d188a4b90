package protobuf

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kcm-cli/kcm/internal/codec"
)

// three decodes a golden.Three.
func three(t testing.TB, o Options) codec.Schema {
	t.Helper()
	s, err := FromFiles(Files{Sets: []string{"testdata/golden/with.binpb"}, Message: "golden.Three"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// field encodes a message as the field of that number.
func inField(t testing.TB, number protowire.Number, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), raw)
}

// What JSON's mapping of Protobuf has no form for is shown in one that loses
// nothing; the library refuses the whole message.
func TestWhatTheLibraryRefuses(t *testing.T) {
	s := three(t, Options{})
	for _, c := range []struct {
		name    string
		payload []byte
		want    string
	}{
		{"a timestamp before the year 1", inField(t, 71, &timestamppb.Timestamp{Seconds: firstSecond - 1}), `{"at":{"seconds":"-62135596801"}}`},
		{"a timestamp behind 9999", inField(t, 71, &timestamppb.Timestamp{Seconds: lastSecond + 1, Nanos: 5}), `{"at":{"seconds":"253402300800","nanos":5}}`},
		{"a timestamp of negative nanos", inField(t, 71, &timestamppb.Timestamp{Nanos: -1}), `{"at":{"nanos":-1}}`},
		{"a timestamp of too many nanos", inField(t, 71, &timestamppb.Timestamp{Nanos: 1_000_000_000}), `{"at":{"nanos":1000000000}}`},
		{"a duration of two signs", inField(t, 72, &durationpb.Duration{Seconds: 1, Nanos: -1}), `{"took":{"seconds":"1","nanos":-1}}`},
		{"a duration too long", inField(t, 72, &durationpb.Duration{Seconds: 315_576_000_001}), `{"took":{"seconds":"315576000001"}}`},
		{"a value of nothing", inField(t, 74, &structpb.Value{}), `{"value":null}`},
		{"a value that is no number", inField(t, 74, structpb.NewNumberValue(math.NaN())), `{"value":"NaN"}`},
		{"a path that is not in snake case", inField(t, 76, &fieldmaskpb.FieldMask{Paths: []string{"a", "bC"}}), `{"mask":{"paths":["a","bC"]}}`},
		{"a path with two underscores", inField(t, 76, &fieldmaskpb.FieldMask{Paths: []string{"a__b"}}), `{"mask":{"paths":["a__b"]}}`},
		{"an any of an unknown type", inField(t, 78, &anypb.Any{TypeUrl: "x.y/un.Known", Value: []byte{8, 1}}), `{"any":{"@type":"x.y/un.Known","value":"CAE="}}`},
		{"an any of an unknown type and nothing", inField(t, 78, &anypb.Any{TypeUrl: "un.Known"}), `{"any":{"@type":"un.Known","value":""}}`},
		{"an any without type", inField(t, 78, &anypb.Any{Value: []byte{8, 1}}), `{"any":{"@type":"","value":"CAE="}}`},
		{"an any of a map's entry", inField(t, 78, &anypb.Any{TypeUrl: "/golden.Three.ByTextEntry"}), `{"any":{"@type":"/golden.Three.ByTextEntry","value":""}}`},
		{"an any of the empty message", inField(t, 78, &anypb.Any{TypeUrl: "/google.protobuf.Empty"}), `{"any":{"@type":"/google.protobuf.Empty","value":{}}}`},
		{"an any of a type of Google's that is not imported", inField(t, 78, &anypb.Any{TypeUrl: "/google.protobuf.SourceContext", Value: []byte{10, 1, 'x'}}), `{"any":{"@type":"/google.protobuf.SourceContext","fileName":"x"}}`},
		{"null", inField(t, 74, structpb.NewNullValue()), `{"value":null}`},
		{"an empty message", inField(t, 77, &emptypb.Empty{}), `{"empty":{}}`},
	} {
		got, err := s.AppendJSON(nil, c.payload)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// A closed enum's value that the enum does not name is shown by its number, as
// with the open ones, though the specification counts it as an unknown field.
func TestClosedEnum(t *testing.T) {
	s, err := FromFiles(Files{Protos: []string{"testdata/golden/proto2.proto"}, Message: "Two"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.AppendJSON(nil, unhex(t, "20 63 28 03 28 63"))
	if want := `{"closed":99,"closeds":["FIRST",99]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestDamage(t *testing.T) {
	s := three(t, Options{})
	for _, c := range []struct{ payload, want string }{
		{"08", "golden.Three: cut short"},
		{"88", "golden.Three: cut short"},
		{"08 ff ff ff ff ff ff ff ff ff 02", "golden.Three: a number longer than 64 bits"},
		{"00", "golden.Three: a field number that cannot be"},
		{"80 80 80 80 10 00", "golden.Three: a field number that cannot be"}, // 2^29
		{"0c", "golden.Three: a wire type that cannot be"},
		{"0e", "golden.Three: a wire type that cannot be"},
		{"4a 05 78", "golden.Three: cut short"},
		{"4a ff ff ff ff 0f 78", "golden.Three: cut short"},
		{"4a ff ff ff ff ff ff ff ff ff 01 78", "golden.Three: cut short"},
		{"3d 00 00 00", "golden.Three: cut short"},
		{"41 00 00 00 00 00 00 00", "golden.Three: cut short"},
		{"b3 bb 03 08 01", "golden.Three: a damaged group"},
		{"b3 bb 03 b4 bb 04", "golden.Three: a damaged group"},
		{"4a 01 ff", "golden.Three.text: a string that is not UTF-8"},
		{"4a 03 ed a0 80", "golden.Three.text: a string that is not UTF-8"},
		{"4a 01 ff 4a 01 78", "golden.Three.text: a string that is not UTF-8"},
		{"8a 01 02 12 01", "golden.Inner: cut short"},
		{"8a 01 02 12 01 8a 01 00", "golden.Inner: cut short"},
		{"8a 01 03 12 01 ff", "golden.Inner.b: a string that is not UTF-8"},
		{"da 02 02 12 01 c8 02 01", "golden.Inner: cut short"},
		{"aa 01 01 ff", "golden.Three.i32s: cut short"},
		{"ba 01 03 00 00 00", "golden.Three.f32s: cut short"},
		{"9a 03 02 0a 05", "golden.Three.ByTextEntry: cut short"},
		{"9a 03 03 0a 01 ff", "golden.Three.ByTextEntry: a string that is not UTF-8"},
		{"a2 03 07 12 01 ff 12 02 6f 6b", "golden.Three.ByIntEntry: a string that is not UTF-8"},
	} {
		got, err := s.AppendJSON(nil, unhex(t, c.payload))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.payload, got, err, c.want)
		}
	}
}

// nested is an Inner of so many levels below the outermost message.
func nested(levels int) []byte {
	var b []byte
	for i := range levels {
		number := protowire.Number(4)
		if i == levels-1 {
			number = 17
		}
		b = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
	}
	return b
}

func TestDepth(t *testing.T) {
	s := three(t, Options{})
	got, err := s.AppendJSON(nil, nested(maxDepth))
	if want := `{"inner":` + strings.Repeat(`{"one":`, maxDepth-1) + "{}" + strings.Repeat("}", maxDepth); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.AppendJSON(nil, nested(maxDepth+1)); err == nil || err.Error() != errDepth.Error() {
		t.Errorf("one level too deep: %v", err)
	}
	// Merging reads what lies deep twice at most, not twice on every level.
	var twice []byte
	for i := range maxDepth {
		number := protowire.Number(4)
		if i == maxDepth-1 {
			number = 17
		}
		twice = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), twice)
		twice = protowire.AppendBytes(protowire.AppendTag(twice, number, protowire.BytesType), nil)
	}
	if got, err := s.AppendJSON(nil, twice); err != nil || len(got) != len(`{"inner":{}}`)+(maxDepth-1)*len(`{"one":}`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDefaults(t *testing.T) {
	s := three(t, Options{Defaults: true})
	got, err := s.AppendJSON(nil, unhex(t, "9a 03 00 c8 02 00 08 00"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"i32":0,"i64":"0","u32":0,"u64":"0","s32":0,"s64":"0","f32":0,"f64":"0","text":"","sf32":0,"sf64":"0",` +
		`"floatValue":0,"doubleValue":0,"yes":false,"raw":"","colour":"COLOUR_UNSPECIFIED",` +
		`"i32s":[],"s64s":[],"f32s":[],"doubles":[],"bools":[],"colours":[],"texts":[],"raws":[],"inners":[],"unpacked":[],` +
		`"number":0,"byText":{"":0},"byInt":{},"byBool":{},"bySint":{},"byFixed":{},"byUint":{},` +
		`"nothing":null,"times":[],"wrapped":{},"anys":[],"snakeCaseName":0,"other <name>":0,"UPPERCase":0,"far":0}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Fields that the schema does not have are left out, or shown as they lie on the
// wire, those of messages within the message in their place.
func TestUnknown(t *testing.T) {
	const payload = "08 01 b8 bb 03 05 c2 bb 03 01 78 8a 01 04 08 02 7a 00 0a 00"
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, `{"i32":1,"inner":{"a":2}}`},
		{Options{Unknown: true}, `{"i32":1,"inner":{"a":2,"@unknown":"egA="},"@unknown":"uLsDBcK7AwF4CgA="}`},
	} {
		got, err := three(t, c.o).AppendJSON(nil, unhex(t, payload))
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.o, got, err, c.want)
		}
	}
}

// After a damaged record the next one is read as if nothing had been.
func TestAfterDamage(t *testing.T) {
	s := three(t, Options{Unknown: true})
	good := append(unhex(t, "b8 bb 03 05"), readGolden(t)[0].payload...)
	want, err := s.AppendJSON(nil, good)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := s.AppendJSON(nil, unhex(t, "b8 bb 03 05 08 01 9a 03 03 0a 01 61 aa 03 03 12 01 ff")); err == nil {
			t.Fatal("accepted")
		}
		if got, err := s.AppendJSON(nil, good); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	all := readGolden(t)
	shared := three(t, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, g := range all {
				if g.message != "golden.Three" {
					continue
				}
				got, err := shared.AppendJSON(nil, g.payload)
				if err != nil || len(got) < len("{}") {
					t.Errorf("%s: %s, %v", g.name, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func ExampleCompile() {
	s, err := Compile(codec.Definition{Name: "subject orders-value", Text: `syntax = "proto3"; message Order { int64 id = 1; }`}, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	json, err := s.AppendJSON(nil, []byte{0, 0x08, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10})
	fmt.Println(string(json), err)
	// Output: {"id":"9007199254740993"} <nil>
}
