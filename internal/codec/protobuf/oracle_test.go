package protobuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kcm-cli/kcm/internal/codec"
)

// goldenDef is the schema of which golden.proto3, proto2 and edition2023 are
// the parts.
func goldenDef(t testing.TB) codec.Definition {
	t.Helper()
	def := codec.Definition{Name: "golden", Text: `syntax = "proto3"; package golden;
		import public "proto3.proto"; import public "proto2.proto"; import public "edition2023.proto";`}
	for _, name := range []string{"proto3.proto", "proto2.proto", "edition2023.proto"} {
		text, err := os.ReadFile("testdata/golden/" + name)
		if err != nil {
			t.Fatal(err)
		}
		def.References = append(def.References, codec.Reference{Name: name, Text: string(text)})
	}
	return def
}

// library decodes with Go's own dynamic messages, slower but by others.
type library struct {
	md    protoreflect.MessageDescriptor
	types *dynamicpb.Types
	json  protojson.MarshalOptions
}

// both compile one message of the golden schema for kcm and for the library.
func both(t testing.TB, message string, o Options) (*schema, *library) {
	t.Helper()
	s := compile(t, goldenDef(t), o).(*schema)
	md := s.types.messages[message]
	if md == nil {
		t.Fatalf("no message %s", message)
	}
	files := new(protoregistry.Files)
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(f.Path(), "google/protobuf/") {
			if err := files.RegisterFile(f); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	for _, path := range []string{"proto3.proto", "proto2.proto", "edition2023.proto"} {
		if err := files.RegisterFile(findFile(s, path)); err != nil {
			t.Fatal(err)
		}
	}
	types := dynamicpb.NewTypes(files)
	return &schema{types: s.types, message: s.types.table(md)}, &library{
		md: md, types: types,
		json: protojson.MarshalOptions{AllowPartial: true, EmitDefaultValues: o.Defaults, Resolver: types},
	}
}

func findFile(s *schema, path string) protoreflect.FileDescriptor {
	for _, m := range s.types.messages {
		if m.ParentFile().Path() == path {
			return m.ParentFile()
		}
	}
	return nil
}

// errPanic is what the library makes of a map's entry with two keys of which the
// second is of another wire type (protobuf-go 1.36.11).
var errPanic = errors.New("the library panicked")

func (l *library) message(payload []byte) (m *dynamicpb.Message, err error) {
	defer func() {
		if recover() != nil {
			m, err = nil, errPanic
		}
	}()
	m = dynamicpb.NewMessage(l.md)
	return m, proto.UnmarshalOptions{AllowPartial: true, Resolver: l.types, RecursionLimit: maxDepth + 1}.Unmarshal(payload, m)
}

// sameJSON reports whether two JSON texts mean the same: objects in any order,
// numbers by value.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(tree(t, a), tree(t, b))
}

func tree(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if d.More() {
		t.Fatalf("more than one value in %s", text)
	}
	return canonical(v)
}

func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return v
		}
		sign := ""
		if strings.HasPrefix(string(v), "-") && r.Sign() == 0 {
			sign = "-"
		}
		return sign + r.RatString()
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = canonical(v[k])
		}
	}
	return v
}

// compare holds kcm's JSON of payload against the library's.
func compare(t testing.TB, s *schema, l *library, payload []byte) {
	t.Helper()
	got, gotErr := s.AppendJSON(nil, payload)
	m, err := l.message(payload)
	if errors.Is(err, errPanic) {
		return
	}
	if err != nil {
		if gotErr == nil {
			t.Fatalf("%x: kcm prints %s, the library refuses: %v", payload, got, err)
		}
		return
	}
	if gotErr != nil {
		if strings.Contains(gotErr.Error(), errText.Error()) {
			return // the library looks only at strings that are shown
		}
		if _, err := l.json.Marshal(m); err != nil {
			return // an Any that holds no message of its type
		}
		t.Fatalf("%x: kcm refuses: %v", payload, gotErr)
	}
	if !json.Valid(got) {
		t.Fatalf("%x: no JSON: %s", payload, got)
	}
	want, err := l.json.Marshal(m)
	if err != nil {
		return // what the library cannot show and kcm can: see TestWhatTheLibraryRefuses
	}
	if !sameJSON(t, got, want) {
		t.Fatalf("%x:\n kcm     %s\n library %s", payload, got, want)
	}
}

// filler makes random messages.
type filler struct {
	*rand.Rand
	types *dynamicpb.Types
}

func (f *filler) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if f.IntN(3) > 0 || fd.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			mm := m.Mutable(fd).Map()
			for range f.IntN(4) {
				mm.Set(f.value(fd.MapKey(), nil, depth).MapKey(), f.value(fd.MapValue(), mm.NewValue, depth))
			}
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range f.IntN(4) {
				l.Append(f.value(fd, l.NewElement, depth))
			}
		default:
			m.Set(fd, f.value(fd, func() protoreflect.Value { return m.NewField(fd) }, depth))
		}
	}
	f.tame(m)
}

// tame makes values of the well-known types sensible mostly.
func (f *filler) tame(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	set := func(name string, v any) { m.Set(fields.ByName(protoreflect.Name(name)), protoreflect.ValueOf(v)) }
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		set("seconds", f.Int64N(lastSecond-firstSecond)+firstSecond)
		set("nanos", f.nanos())
	case "google.protobuf.Duration":
		sign := int64(f.IntN(2)*2 - 1)
		set("seconds", sign*f.Int64N(315_576_000_000))
		set("nanos", int32(sign)*f.nanos())
	case "google.protobuf.FieldMask":
		l := m.Mutable(fields.ByName("paths")).List()
		for i := range l.Len() {
			l.Set(i, protoreflect.ValueOfString([]string{"a", "a_b.c", "one_two_three", "x1"}[f.IntN(4)]))
		}
	case "google.protobuf.Any":
		name := []protoreflect.FullName{"golden.Inner", "golden.Two", "google.protobuf.Duration", "google.protobuf.Empty", "golden.Edition"}[f.IntN(5)]
		mt, err := f.types.FindMessageByName(name)
		if err != nil {
			panic(err)
		}
		in := mt.New()
		f.fill(in, 1)
		raw, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(in.Interface())
		if err != nil {
			panic(err)
		}
		set("type_url", "type.googleapis.com/"+string(name))
		set("value", raw)
	case "google.protobuf.Value":
		if m.WhichOneof(m.Descriptor().Oneofs().Get(0)) == nil {
			set("bool_value", true)
		}
		if n := fields.ByName("number_value"); m.Has(n) {
			set("number_value", float64(f.IntN(1000))/8)
		}
	}
}

func (f *filler) nanos() int32 {
	return []int32{0, 500_000_000, 123_000, 123_456_789, 1, 999_999_999}[f.IntN(6)]
}

func (f *filler) value(fd protoreflect.FieldDescriptor, message func() protoreflect.Value, depth int) protoreflect.Value {
	n := []uint64{0, 1, math.MaxUint64, f.Uint64(), f.Uint64() >> f.IntN(64), math.MaxInt64, 1 << 63, math.MaxInt32}[f.IntN(8)]
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 1)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if f.IntN(4) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
		}
		return protoreflect.ValueOfEnum(values.Get(f.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(n)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32([]float32{0, float32(math.Copysign(0, -1)), 1.5, float32(math.NaN()), float32(math.Inf(-1)), math.Float32frombits(uint32(n))}[f.IntN(6)])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, math.Copysign(0, -1), 1e300, math.NaN(), math.Inf(1), math.Float64frombits(n)}[f.IntN(6)])
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "x", "<a href=\"x\">\\&\n\u2028", "\x00\x1f\x7f", "größer 日本 🙂", strings.Repeat("long ", f.IntN(20)), fmt.Sprint(n)}[f.IntN(7)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(fmt.Sprint(n))[:f.IntN(2)])
	default:
		v := message()
		f.fill(v.Message(), depth-1)
		return v
	}
}

var goldenMessages = []string{"golden.Three", "golden.Two", "golden.Edition", "golden.Inner"}

// TestLikeTheLibrary decodes random messages, whole, with fields out of order and repeated,
// and damaged, and holds the JSON against that of Go's Protobuf library.
func TestLikeTheLibrary(t *testing.T) {
	const rounds = 200
	for _, name := range goldenMessages {
		for _, defaults := range []bool{false, true} {
			t.Run(fmt.Sprint(name, defaults), func(t *testing.T) {
				s, l := both(t, name, Options{Defaults: defaults})
				f := &filler{rand.New(rand.NewPCG(1, 2)), l.types}
				for range rounds {
					payload := f.payload(t, l)
					compare(t, s, l, payload)
					compare(t, s, l, append(payload[:len(payload):len(payload)], f.payload(t, l)...)) // merged
					if len(payload) > 0 {
						payload[f.IntN(len(payload))] ^= byte(1) << f.IntN(8)
						compare(t, s, l, payload)
						compare(t, s, l, payload[:f.IntN(len(payload))])
					}
				}
			})
		}
	}
}

// payload is a random message, its fields in the order of their numbers or in any.
func (f *filler) payload(t testing.TB, l *library) []byte {
	m := dynamicpb.NewMessage(l.md)
	f.fill(m, 2)
	raw, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if f.IntN(2) == 0 {
		return raw
	}
	var fields [][]byte
	for rest := raw; len(rest) > 0; {
		_, _, n := protowire.ConsumeField(rest)
		fields = append(fields, rest[:n])
		rest = rest[n:]
	}
	f.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return bytes.Join(fields, nil)
}
