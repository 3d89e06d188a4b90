package protobuf

import (
	"errors"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kcm-cli/kcm/internal/codec"
)

var errText = errors.New("a string that is not UTF-8")

// scalar writes a value that is no message: v is the number, or where in b the text lies.
func (f *field) scalar(dst, b []byte, v uint64) ([]byte, error) {
	switch f.kind {
	case kindString:
		dst, ok := codec.AppendText(dst, at(b, v))
		if !ok {
			return dst, errText
		}
		return dst, nil
	case kindBytes:
		return codec.AppendBytes(dst, at(b, v)), nil
	case kindInt32:
		return strconv.AppendInt(dst, int64(int32(v)), 10), nil
	case kindUint32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10), nil
	case kindSint32:
		return strconv.AppendInt(dst, protowire.DecodeZigZag(v&math.MaxUint32), 10), nil
	case kindInt64:
		return append(strconv.AppendInt(append(dst, '"'), int64(v), 10), '"'), nil
	case kindUint64:
		return append(strconv.AppendUint(append(dst, '"'), v, 10), '"'), nil
	case kindSint64:
		return append(strconv.AppendInt(append(dst, '"'), protowire.DecodeZigZag(v), 10), '"'), nil
	case kindBool:
		return strconv.AppendBool(dst, v != 0), nil
	case kindFloat:
		return codec.AppendFloat(dst, float64(math.Float32frombits(uint32(v))), 32), nil
	case kindDouble:
		return codec.AppendFloat(dst, math.Float64frombits(v), 64), nil
	default:
		return f.enum.append(dst, int32(v)), nil
	}
}

// append writes the name of a value, or its number when it has none: nothing is
// lost, also with the closed enums of proto2.
func (e *enum) append(dst []byte, n int32) []byte {
	switch name := e.name(n); {
	case e.null:
		return append(dst, "null"...)
	case name != nil:
		return append(dst, name...)
	default:
		return strconv.AppendInt(dst, int64(n), 10)
	}
}

// mapKey writes a map's key, which JSON wants as a string.
func (f *field) mapKey(dst, b []byte, v uint64) ([]byte, error) {
	switch f.kind {
	case kindString, kindInt64, kindUint64, kindSint64:
		return f.scalar(dst, b, v)
	default:
		dst, err := f.scalar(append(dst, '"'), b, v)
		return append(dst, '"'), err
	}
}
