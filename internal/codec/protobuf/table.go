package protobuf

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kcm-cli/kcm/internal/codec"
)

// table is a message type, ready for decoding.
type table struct {
	name   string
	form   form
	fields []field // by number, extensions among them
	dense  []slot  // by number
	sparse map[uint64]slot
	oneofs int // how many, proto3's optional not counted
	key    *field
	val    *field // of a map's entry; nil otherwise
}

// shape says how often a field can be there.
type shape uint8

const (
	singular shape = iota
	list
	mapped
)

// kind says how a value is written. Kinds that differ on the wire only are one.
type kind uint8

const (
	kindInt32 kind = iota
	kindSint32
	kindUint32
	kindInt64
	kindSint64
	kindUint64
	kindBool
	kindFloat
	kindDouble
	kindString
	kindBytes
	kindEnum
	kindMessage
)

// field is a field of a message type.
type field struct {
	label    codec.Literal // its name in JSON with a comma before and a colon behind
	absent   []byte        // what it is without a value, where such fields are shown; else nil
	mask     uint64        // the bits that count
	msg      *table        // of a message, a group, or a map's entry
	enum     *enum
	oneof    int32 // the oneof's place, -1 without one
	kind     kind
	shape    shape
	wire     uint8 // the wire type of one value
	packable bool
	presence bool // whether zero differs from nothing
}

// zero reports whether v, which is no message, is the value of a field without presence
// that is not there.
func (f *field) zero(v uint64) bool {
	if f.kind == kindString || f.kind == kindBytes {
		return v>>32 == uint64(uint32(v))
	}
	return v&f.mask == 0
}

// slot is what has to be known of a field to find its values on the wire.
type slot struct {
	place    int32 // in fields, or -1 when no field has the number
	oneof    int16 // the oneof's place, those behind the 63rd as one; -1 without one
	wire     uint8
	packable bool
}

// inOneof is the bit of the field's oneof, 0 without one.
func (s slot) inOneof() uint64 {
	if s.oneof < 0 {
		return 0
	}
	return 1 << s.oneof
}

// slot returns that of a field number.
func (t *table) slot(number uint64) slot {
	if number < uint64(len(t.dense)) {
		return t.dense[number]
	}
	if s, ok := t.sparse[number]; ok {
		return s
	}
	return slot{place: -1}
}

// takes reports whether a field's value may have that wire type: numbers may be
// packed whatever the schema says.
func (s slot) takes(wire uint8) bool {
	return s.place >= 0 && (wire == s.wire || wire == wireBytes && s.packable)
}

// denseMost is how far numbers are looked up in a slice.
const denseMost = 1024

// builder makes tables, each once. Its lock is held by its user.
type builder struct {
	tables     map[string]*table
	extensions map[protoreflect.FullName][]protoreflect.ExtensionDescriptor
	defaults   bool
}

// build returns the table of a message type, and makes those of all that it
// consists of.
func (b *builder) build(md protoreflect.MessageDescriptor) *table {
	name := string(md.FullName())
	if t := b.tables[name]; t != nil {
		return t
	}
	t := &table{name: name}
	b.tables[name] = t
	fields := slices.Clone(b.extensions[md.FullName()])
	for i := range md.Fields().Len() {
		fields = append(fields, md.Fields().Get(i))
	}
	slices.SortStableFunc(fields, func(x, y protoreflect.FieldDescriptor) int { return int(x.Number()) - int(y.Number()) })
	fields = slices.CompactFunc(fields, func(x, y protoreflect.FieldDescriptor) bool { return x.Number() == y.Number() })
	oneofs := map[int]int32{}
	for i := range md.Oneofs().Len() {
		if !md.Oneofs().Get(i).IsSynthetic() {
			oneofs[i] = int32(len(oneofs))
		}
	}
	t.oneofs = len(oneofs)
	t.fields = make([]field, len(fields))
	for i, fd := range fields {
		f := b.field(fd, oneofs)
		t.fields[i] = f
		t.note(uint64(fd.Number()), slot{place: int32(i), oneof: int16(min(f.oneof, 63)), wire: f.wire, packable: f.packable})
	}
	if md.IsMapEntry() && len(fields) == 2 {
		t.key, t.val = &t.fields[0], &t.fields[1]
	}
	t.form = formOf(md, t)
	return t
}

func (t *table) note(number uint64, s slot) {
	if number > denseMost {
		if t.sparse == nil {
			t.sparse = map[uint64]slot{}
		}
		t.sparse[number] = s
		return
	}
	for uint64(len(t.dense)) <= number {
		t.dense = append(t.dense, slot{place: -1})
	}
	t.dense[number] = s
}

func (b *builder) field(fd protoreflect.FieldDescriptor, oneofs map[int]int32) field {
	f := field{oneof: -1, presence: fd.HasPresence(), mask: ^uint64(0)}
	f.label = codec.NewLiteral(append(codec.AppendString([]byte{','}, []byte(fd.JSONName())), ':'))
	f.kind, f.wire = kindOf(fd.Kind())
	switch {
	case fd.IsMap():
		f.shape = mapped
	case fd.IsList():
		f.shape = list
		f.packable = f.wire != wireBytes && f.wire != wireGroup
	}
	if o := fd.ContainingOneof(); o != nil && !fd.IsExtension() {
		if n, ok := oneofs[o.Index()]; ok {
			f.oneof = n
		}
	}
	switch f.kind {
	case kindInt32, kindSint32, kindUint32, kindFloat, kindEnum:
		f.mask = 1<<32 - 1
	}
	if fd.Enum() != nil {
		f.enum = newEnum(fd.Enum())
	}
	if fd.Message() != nil {
		f.msg = b.build(fd.Message())
	}
	if b.defaults && (f.shape != singular || !f.presence) && !fd.IsExtension() {
		f.absent = f.whenAbsent()
	}
	return f
}

// whenAbsent is the JSON of a field that is not there.
func (f *field) whenAbsent() []byte {
	switch f.shape {
	case list:
		return []byte("[]")
	case mapped:
		return []byte("{}")
	}
	text, err := f.scalar(nil, nil, 0)
	if err != nil { // not for nothing at all
		return []byte("null")
	}
	return text
}

func kindOf(k protoreflect.Kind) (kind, uint8) {
	switch k {
	case protoreflect.Int32Kind:
		return kindInt32, wireVarint
	case protoreflect.Sfixed32Kind:
		return kindInt32, wire32
	case protoreflect.Sint32Kind:
		return kindSint32, wireVarint
	case protoreflect.Uint32Kind:
		return kindUint32, wireVarint
	case protoreflect.Fixed32Kind:
		return kindUint32, wire32
	case protoreflect.Int64Kind:
		return kindInt64, wireVarint
	case protoreflect.Sfixed64Kind:
		return kindInt64, wire64
	case protoreflect.Sint64Kind:
		return kindSint64, wireVarint
	case protoreflect.Uint64Kind:
		return kindUint64, wireVarint
	case protoreflect.Fixed64Kind:
		return kindUint64, wire64
	default:
		return otherKind(k)
	}
}

func otherKind(k protoreflect.Kind) (kind, uint8) {
	switch k {
	case protoreflect.BoolKind:
		return kindBool, wireVarint
	case protoreflect.FloatKind:
		return kindFloat, wire32
	case protoreflect.DoubleKind:
		return kindDouble, wire64
	case protoreflect.StringKind:
		return kindString, wireBytes
	case protoreflect.BytesKind:
		return kindBytes, wireBytes
	case protoreflect.EnumKind:
		return kindEnum, wireVarint
	case protoreflect.GroupKind:
		return kindMessage, wireGroup
	default:
		return kindMessage, wireBytes
	}
}

// enum is an enum type, ready for decoding.
type enum struct {
	null  bool             // google.protobuf.NullValue: always null
	few   [][]byte         // the names of the numbers from 0 on, quoted; nil where there is none
	other map[int32][]byte // those of all other numbers
}

func newEnum(ed protoreflect.EnumDescriptor) *enum {
	e := &enum{null: ed.FullName() == "google.protobuf.NullValue", other: map[int32][]byte{}}
	values := ed.Values()
	for i := range values.Len() {
		number := values.Get(i).Number()
		name := []byte(`"` + string(values.ByNumber(number).Name()) + `"`)
		if number < 0 || number >= denseMost {
			e.other[int32(number)] = name
			continue
		}
		for len(e.few) <= int(number) {
			e.few = append(e.few, nil)
		}
		e.few[number] = name
	}
	return e
}

// name returns the JSON of a number that the enum names, else nil.
func (e *enum) name(n int32) []byte {
	if uint32(n) < uint32(len(e.few)) {
		return e.few[n]
	}
	return e.other[n]
}

// name is the field's name in JSON.
func (f *field) name() string { return strings.TrimSuffix(f.label.String()[len(`,"`):], `":`) }
