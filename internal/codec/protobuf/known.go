package protobuf

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kcm-cli/kcm/internal/codec"
)

// form is how a message type is written: as an object, or as JSON's mapping of
// Protobuf says for those of google.protobuf that mean something else.
type form uint8

const (
	plain form = iota
	formAny
	formTimestamp
	formDuration
	formWrapper
	formStruct
	formListValue
	formValue
	formFieldMask
	formEmpty
)

// known are the types with a form of their own, and the kinds that their fields
// must have, by number from 1 on, for a type of that name to be taken for one.
var known = map[protoreflect.FullName]struct {
	form  form
	kinds []kind
	shape shape
}{
	"google.protobuf.Any":         {formAny, []kind{kindString, kindBytes}, singular},
	"google.protobuf.Timestamp":   {formTimestamp, []kind{kindInt64, kindInt32}, singular},
	"google.protobuf.Duration":    {formDuration, []kind{kindInt64, kindInt32}, singular},
	"google.protobuf.BoolValue":   {formWrapper, []kind{kindBool}, singular},
	"google.protobuf.Int32Value":  {formWrapper, []kind{kindInt32}, singular},
	"google.protobuf.Int64Value":  {formWrapper, []kind{kindInt64}, singular},
	"google.protobuf.UInt32Value": {formWrapper, []kind{kindUint32}, singular},
	"google.protobuf.UInt64Value": {formWrapper, []kind{kindUint64}, singular},
	"google.protobuf.FloatValue":  {formWrapper, []kind{kindFloat}, singular},
	"google.protobuf.DoubleValue": {formWrapper, []kind{kindDouble}, singular},
	"google.protobuf.StringValue": {formWrapper, []kind{kindString}, singular},
	"google.protobuf.BytesValue":  {formWrapper, []kind{kindBytes}, singular},
	"google.protobuf.Struct":      {formStruct, []kind{kindMessage}, mapped},
	"google.protobuf.ListValue":   {formListValue, []kind{kindMessage}, list},
	"google.protobuf.Value":       {formValue, []kind{kindEnum, kindDouble, kindString, kindBool, kindMessage, kindMessage}, singular},
	"google.protobuf.FieldMask":   {formFieldMask, []kind{kindString}, list},
	"google.protobuf.Empty":       {formEmpty, nil, singular},
}

func formOf(md protoreflect.MessageDescriptor, t *table) form {
	k, ok := known[md.FullName()]
	if !ok || len(t.fields) != len(k.kinds) {
		return plain
	}
	for i, want := range k.kinds {
		if t.slot(uint64(i+1)).place != int32(i) || t.fields[i].kind != want || t.fields[i].shape != k.shape {
			return plain
		}
		if k.form == formValue && t.fields[i].oneof != 0 {
			return plain
		}
	}
	return k.form
}

// write writes m in its type's form.
func (w *walker) write(dst []byte, m *content) ([]byte, error) {
	switch m.t.form {
	case plain:
		return w.writePlain(dst, m)
	case formAny:
		return w.writeAny(dst, m)
	case formTimestamp:
		return w.writeTimestamp(dst, m)
	case formDuration:
		return w.writeDuration(dst, m)
	case formWrapper:
		f := &m.t.fields[0]
		v, err := last(m, 0)
		if err != nil {
			return dst, err
		}
		return f.scalar(dst, m.b, v)
	case formStruct:
		dst, some, err := w.entriesOf(dst, m, &m.t.fields[0], m.all)
		if !some && err == nil {
			dst = append(dst, "{}"...)
		}
		return dst, err
	case formListValue:
		return w.writeList(dst, m)
	case formValue:
		return w.writeValue(dst, m)
	case formFieldMask:
		return w.writeMask(dst, m)
	default:
		return append(dst, "{}"...), nil
	}
}

// writePlain writes m as an object of its fields.
func (w *walker) writePlain(dst []byte, m *content) ([]byte, error) {
	start := len(dst)
	dst, err := w.members(dst, m)
	if err != nil {
		return dst, err
	}
	return closed(dst, start), nil
}

// closed makes an object of members that begin at start, each with a comma before it.
func closed(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// last returns the value of a singular field that is no message, 0 when there is
// none: of several the last. A text that is not there is the empty span.
func last(m *content, place int32) (uint64, error) {
	f := &m.t.fields[place]
	var v uint64
	seen := false
	for _, o := range m.all {
		if o.place != place {
			continue
		}
		if seen {
			if err := check(m.b, f, found{v: v}, m.depth); err != nil {
				return 0, err
			}
		}
		v, seen = o.v, true
	}
	return v, nil
}

func secondsAndNanos(m *content) (seconds, nanos int64) {
	for _, o := range m.all {
		if o.place == 0 {
			seconds = int64(o.v)
		} else {
			nanos = int64(int32(o.v))
		}
	}
	return seconds, nanos
}

// writeTimestamp writes RFC 3339 with 0, 3, 6 or 9 digits of a second; what is
// outside the years 1 to 9999 is shown as the two numbers that it consists of.
func (w *walker) writeTimestamp(dst []byte, m *content) ([]byte, error) {
	seconds, nanos := secondsAndNanos(m)
	if !isInstant(seconds, nanos) {
		return w.writePlain(dst, m)
	}
	return appendTimestamp(dst, seconds, nanos), nil
}

func isInstant(seconds, nanos int64) bool {
	return seconds >= firstSecond && seconds <= lastSecond && nanos >= 0 && nanos <= 999_999_999
}

func appendTimestamp(dst []byte, seconds, nanos int64) []byte {
	dst = appendDateTime(append(dst, '"'), seconds)
	dst = appendFraction(dst, nanos)
	return append(dst, 'Z', '"')
}

// plainInstant reads a Timestamp of which each field is there once at most, in
// order, and nothing else.
func plainInstant(b []byte) (seconds, nanos int64, ok bool) {
	for i, last := 0, uint64(0); i < len(b); {
		tag, v, end := next(b, i)
		number := tag >> 3
		switch {
		case end < 0 || tag&7 != wireVarint || number <= last || number > 2:
			return 0, 0, false
		case number == 1:
			seconds = int64(v)
		default:
			nanos = int64(int32(v))
		}
		last, i = number, end
	}
	return seconds, nanos, isInstant(seconds, nanos)
}

// writeDuration writes seconds with 0, 3, 6 or 9 digits and an s behind them;
// what is beyond 10000 years or has two signs is shown as the two numbers that
// it consists of.
func (w *walker) writeDuration(dst []byte, m *content) ([]byte, error) {
	const most = 315_576_000_000
	seconds, nanos := secondsAndNanos(m)
	if seconds < -most || seconds > most || nanos < -999_999_999 || nanos > 999_999_999 ||
		seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		return w.writePlain(dst, m)
	}
	dst = append(dst, '"')
	if seconds < 0 || nanos < 0 {
		dst, seconds, nanos = append(dst, '-'), -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	dst = appendFraction(dst, nanos)
	return append(dst, 's', '"'), nil
}

func (w *walker) writeList(dst []byte, m *content) ([]byte, error) {
	dst = append(dst, '[')
	open := len(dst)
	dst, err := w.elements(dst, m, &m.t.fields[0], m.all)
	if err != nil || len(dst) == open {
		return append(dst, ']'), err
	}
	dst[len(dst)-1] = ']'
	return dst, nil
}

// writeValue writes a value of JSON; one that holds nothing is null.
func (w *walker) writeValue(dst []byte, m *content) ([]byte, error) {
	if len(m.all) == 0 {
		return append(dst, "null"...), nil
	}
	// The fields are those of one oneof: only one is left.
	start := len(dst)
	f := &m.t.fields[m.all[0].place]
	dst, err := w.singular(dst, m, f, m.all)
	if err != nil {
		return dst, err
	}
	n := copy(dst[start:], dst[start+f.label.Len():])
	return dst[:start+n], nil
}

// writeMask writes paths in lower camel case with commas between them; those
// that could not be read back are shown as they are.
func (w *walker) writeMask(dst []byte, m *content) ([]byte, error) {
	for _, o := range m.all {
		if !validPath(at(m.b, o.v)) {
			return w.writePlain(dst, m)
		}
	}
	dst = append(dst, '"')
	for i, o := range m.all {
		if i > 0 {
			dst = append(dst, ',')
		}
		upper := false
		for _, c := range at(m.b, o.v) {
			switch {
			case c == '_':
				upper = true
			case upper:
				dst, upper = append(dst, c-'a'+'A'), false
			default:
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"'), nil
}

// validPath reports whether a path consists of names between points, and each
// underscore stands before a lower-case letter, so that camel case tells where it was.
func validPath(path []byte) bool {
	first := true
	for i, c := range path {
		switch {
		case 'a' <= c && c <= 'z':
		case '0' <= c && c <= '9' && !first:
		case c == '.' && !first:
			first = true
			continue
		case c == '_' && i+1 < len(path) && 'a' <= path[i+1] && path[i+1] <= 'z':
		default:
			return false
		}
		first = false
	}
	return !first
}

// The seconds of the years 1 to 9999.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// appendDateTime writes date and time of day of UTC, for the years 1 to 9999
// (Howard Hinnant's civil_from_days, with years that begin in March).
func appendDateTime(dst []byte, seconds int64) []byte {
	const daySeconds, toMarchYear0 = 86400, 719468
	days := seconds / daySeconds
	rest := seconds % daySeconds
	if rest < 0 {
		rest += daySeconds
		days--
	}
	z := uint64(days + toMarchYear0)
	era := z / 146097
	doe := z % 146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day := doy - (153*mp+2)/5 + 1
	month := mp + 3
	year := yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = appendTwo(append(dst, '-'), month)
	dst = appendTwo(append(dst, '-'), day)
	s := uint64(rest)
	dst = appendTwo(append(dst, 'T'), s/3600)
	dst = appendTwo(append(dst, ':'), s/60%60)
	return appendTwo(append(dst, ':'), s%60)
}

func appendTwo(dst []byte, n uint64) []byte {
	return append(dst, '0'+byte(n/10), '0'+byte(n%10))
}

// appendFraction writes nanoseconds with 0, 3, 6 or 9 digits.
func appendFraction(dst []byte, nanos int64) []byte {
	if nanos == 0 {
		return dst
	}
	n, digits := uint64(nanos), 9
	for digits > 3 && n%1000 == 0 {
		n, digits = n/1000, digits-3
	}
	dst = append(dst, '.')
	for p := uint64(math.Pow10(digits - 1)); p > 0; p /= 10 {
		dst = append(dst, '0'+byte(n/p%10))
	}
	return dst
}

// writeAny writes the message that m holds, with its type's address as @type: its
// fields beside that, or what it is under value when its type has another form
// than an object. A message of a type that the schema does not know is shown as
// its bytes, under value and in base64.
func (w *walker) writeAny(dst []byte, m *content) ([]byte, error) {
	address, err := last(m, 0)
	if err != nil {
		return dst, err
	}
	value, err := last(m, 1)
	if err != nil {
		return dst, err
	}
	name, in := at(m.b, address), at(m.b, value)
	if len(name)+len(in) == 0 {
		return append(dst, "{}"...), nil
	}
	dst = append(dst, `{"@type":`...)
	dst, ok := codec.AppendText(dst, name)
	if !ok {
		return dst, errText
	}
	t := w.types.named(name)
	switch {
	case t == nil:
		dst = codec.AppendBytes(append(dst, `,"value":`...), in)
	case t.form != plain:
		dst, err = w.message(append(dst, `,"value":`...), in, t, m.depth-1)
	default:
		start := len(dst)
		if dst, err = w.message(dst, in, t, m.depth-1); err != nil {
			return dst, err
		}
		if len(dst) == start+len("{}") {
			return append(dst[:start], '}'), nil
		}
		dst[start] = ','
		return dst, nil
	}
	return append(dst, '}'), err
}
