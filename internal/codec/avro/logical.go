package avro

import "math"

// logical is a logical type of the specification.
type logical uint8

const (
	plain logical = iota // none
	decimal
	bigDecimal
	uuid
	date
	timeOfDay      // size of unit: typ.scale
	timestamp      // a point in time
	localTimestamp // a date and a time without a zone
	duration
)

// maxScale bounds the zeros that a damaged schema can ask for. No database has
// decimals of a tenth as many digits.
const maxScale = 10_000

// logicalTypes says what each name means on which base type. The number is the
// count of decimals of a second.
var logicalTypes = map[string]struct {
	logical  logical
	base     kind
	decimals int
}{
	"date":                   {date, kindInt, 0},
	"time-millis":            {timeOfDay, kindInt, 3},
	"time-micros":            {timeOfDay, kindLong, 6},
	"timestamp-millis":       {timestamp, kindLong, 3},
	"timestamp-micros":       {timestamp, kindLong, 6},
	"timestamp-nanos":        {timestamp, kindLong, 9},
	"local-timestamp-millis": {localTimestamp, kindLong, 3},
	"local-timestamp-micros": {localTimestamp, kindLong, 6},
	"local-timestamp-nanos":  {localTimestamp, kindLong, 9},
	"big-decimal":            {bigDecimal, kindBytes, 0},
}

// annotate takes over a logical type. One that is unknown, stands on a type that
// it is not for, or has attributes that the specification forbids is passed
// over: the value is shown as what it is stored as.
func (t *typ) annotate(v map[string]any) {
	name, _ := v["logicalType"].(string)
	t.annotated = name != ""
	switch {
	case name == "decimal" && (t.kind == kindBytes || t.kind == kindFixed):
		t.decimal(v)
	case name == "uuid" && t.kind == kindFixed && t.size == 16:
		t.logical = uuid
	case name == "duration" && t.kind == kindFixed && t.size == 12:
		t.logical = duration
	default:
		if l, ok := logicalTypes[name]; ok && l.base == t.kind {
			t.logical, t.scale = l.logical, l.decimals
		}
	}
}

func (t *typ) decimal(v map[string]any) {
	precision, ok := whole(v["precision"])
	scale := 0
	if s, given := v["scale"]; given {
		var fine bool
		scale, fine = whole(s)
		ok = ok && fine
	}
	if !ok || precision < 1 || scale < 0 || scale > precision || scale > maxScale {
		return
	}
	if t.kind == kindFixed && float64(precision) > math.Floor(math.Log10(2)*float64(8*t.size-1)) {
		return
	}
	t.logical, t.scale = decimal, scale
}
