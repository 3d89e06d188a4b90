package protobuf

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kcm-cli/kcm/internal/codec"
)

// order is a message as people have them: 12 fields, some 200 bytes.
const order = `syntax = "proto3";
package shop;
message Order {
  int64 id = 1;
  string customer = 2;
  double total = 3;
  string currency = 4;
  bool paid = 5;
  Status status = 6;
  int64 created = 7;
  Address address = 8;
  repeated string tags = 9;
  repeated int32 quantities = 10;
  oneof payment { string card = 11; string iban = 12; }
  bytes amount = 13;
  enum Status { UNKNOWN = 0; OPEN = 1; SHIPPED = 2; }
  message Address { string street = 1; string city = 2; string zip = 3; int32 floor = 4; }
}`

const orderJSON = `{"id":"9007199254740993","customer":"customer-0004711","total":1234.56,"currency":"EUR","paid":true,
"status":"SHIPPED","created":"1700000000123","address":{"street":"Lange Strasse 12","city":"Hamburg","zip":"20095","floor":3},
"tags":["express","gift","first-order"],"quantities":[1,2,300,40000],"iban":"DE02120300000000202051","amount":"AeJA"}`

func orderMessage(t testing.TB) (s *schema, md protoreflect.MessageDescriptor, payload []byte) {
	t.Helper()
	s = compile(t, codec.Definition{Name: "order", Text: order}, Options{}).(*schema)
	md = s.types.messages["shop.Order"]
	m := dynamicpb.NewMessage(md)
	if err := protojson.Unmarshal([]byte(orderJSON), m); err != nil {
		t.Fatal(err)
	}
	return s, md, append([]byte{0}, byNumber(t, m)...)
}

// byNumber encodes a message with its fields in the order of their numbers, as
// most serializers do.
func byNumber(t testing.TB, m protoreflect.Message) []byte {
	t.Helper()
	fields := map[int][]byte{}
	var numbers []int
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		one := dynamicpb.NewMessage(m.Descriptor())
		one.Set(fd, v)
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, int(fd.Number()))
		fields[int(fd.Number())] = raw
		return true
	})
	slices.Sort(numbers)
	var all []byte
	for _, n := range numbers {
		all = append(all, fields[n]...)
	}
	return all
}

func TestOrder(t *testing.T) {
	s, _, payload := orderMessage(t)
	got, err := s.AppendJSON(nil, payload)
	if want := strings.ReplaceAll(orderJSON, "\n", ""); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// Nothing is allocated for a record once a walker's scratch space has grown. The
// walker is taken out of its pool, which loses some on purpose under the race
// detector.
func TestNoAllocation(t *testing.T) {
	s, _, payload := orderMessage(t)
	dst := make([]byte, 0, 4096)
	w := s.types.walkers.Get().(*walker)
	if n := testing.AllocsPerRun(1000, func() {
		table, rest, err := s.choose.choose(payload)
		if err == nil {
			dst, err = w.record(dst[:0], rest, table)
		}
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}

func BenchmarkOrder(b *testing.B) {
	s, _, payload := orderMessage(b)
	b.Run("kcm", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(payload)))
		var dst []byte
		for b.Loop() {
			var err error
			if dst, err = s.AppendJSON(dst[:0], payload); err != nil {
				b.Fatal(err)
			}
		}
	})
	_, md, _ := orderMessage(b)
	b.Run("dynamicpb-protojson", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			m := dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(payload[1:], m); err != nil {
				b.Fatal(err)
			}
			var err error
			if dst, err = (protojson.MarshalOptions{}).MarshalAppend(dst[:0], m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("map-encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(payload[1:], m); err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(asMap(m)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// asMap is what a loop of the obvious calls makes of a message.
func asMap(m protoreflect.Message) map[string]any {
	all := map[string]any{}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList():
			var l []any
			for i := range v.List().Len() {
				l = append(l, v.List().Get(i).Interface())
			}
			all[fd.JSONName()] = l
		case fd.Message() != nil:
			all[fd.JSONName()] = asMap(v.Message())
		default:
			all[fd.JSONName()] = v.Interface()
		}
		return true
	})
	return all
}
