package avro

// kind is what a type is in the schema language.
type kind uint8

const (
	kindRef kind = iota // a name that stands for a type defined elsewhere
	kindNull
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindRecord
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindFixed
)

// kinds gives the words of the schema language. An error is a record that a
// protocol may raise.
var kinds = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong,
	"float": kindFloat, "double": kindDouble, "bytes": kindBytes, "string": kindString,
	"record": kindRecord, "error": kindRecord, "enum": kindEnum, "array": kindArray,
	"map": kindMap, "fixed": kindFixed,
}

var kindNames = [...]string{
	"", "null", "boolean", "int", "long", "float", "double", "bytes", "string",
	"record", "enum", "array", "map", "union", "fixed",
}

func (k kind) primitive() bool { return k >= kindNull && k <= kindString }

// typ is one type of a schema as parsed.
type typ struct {
	kind     kind
	name     string // full name of a record, enum or fixed
	fields   []field
	symbols  []string
	items    *typ   // of arrays and maps; what a reference stands for
	branches []*typ // of a union
	size     int    // of a fixed
	logical  logical
	// annotated says that a logical type is named, known or not.
	annotated bool
	scale     int // of a decimal
}

type field struct {
	name string
	typ  *typ
}

// real follows a reference to the type that it stands for.
func (t *typ) real() *typ {
	if t.kind == kindRef {
		return t.items
	}
	return t
}

// typeName is the name by which a union's value is tagged: the full name of a
// named type, else the word of the schema language.
func (t *typ) typeName() string {
	t = t.real()
	if t.name != "" {
		return t.name
	}
	return kindNames[t.kind]
}
