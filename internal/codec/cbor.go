package codec

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/x448/float16"

	"github.com/kcm-cli/kcm/internal/record"
)

// CBOR's major types and the arguments that mean something by themselves
// (RFC 8949, section 3).
const (
	cborUint = iota
	cborNegative
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple

	cborIndefinite = 31
	cborBreak      = 0xff
)

// maxBignum bounds the bytes of a CBOR bignum: writing one out takes time that
// grows with their square.
const maxBignum = 4096

var errBignum = fmt.Errorf("bignum of more than %d bytes", maxBignum)

// cborMode checks well-formedness before anything is written, so that
// cborReader may trust lengths and counts.
var cborMode = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		MaxNestedLevels:  maxNesting,
		MaxArrayElements: math.MaxInt32,
		MaxMapPairs:      math.MaxInt32,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
}()

func decodeCBOR(dst, raw []byte) (record.Value, []byte) {
	if err := cborMode.Wellformed(raw); err != nil {
		return failed(cborFault(err)), dst
	}
	start := len(dst)
	r := cborReader{b: raw}
	dst, err := r.value(dst)
	if err != nil {
		return failed(fmt.Errorf("not valid CBOR: %w", err)), dst
	}
	return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
}

func cborFault(err error) error {
	if _, ok := errors.AsType[*cbor.ExtraneousDataError](err); ok {
		err = errLeftOver
	}
	return fmt.Errorf("not valid CBOR: %w", err)
}

// cborReader writes one well-formed CBOR value as JSON. The library decodes
// into Go values only, which would lose the order of keys, equal keys and
// integers of 64 bits and a sign.
type cborReader struct {
	b     []byte
	i     int
	inKey bool // inside a key that is an array or a map
}

// head reads the type and argument of an item. indefinite items have none.
func (r *cborReader) head() (major byte, arg uint64, indefinite bool) {
	c := r.b[r.i]
	r.i++
	major, info := c>>5, c&31
	switch {
	case info < 24:
		return major, uint64(info), false
	case info == cborIndefinite:
		return major, 0, true
	default:
		size := 1 << (info - 24)
		arg = bigEndian(r.b[r.i : r.i+size])
		r.i += size
		return major, arg, false
	}
}

func (r *cborReader) value(dst []byte) ([]byte, error) {
	first := r.b[r.i]
	major, arg, indefinite := r.head()
	switch major {
	case cborUint:
		return strconv.AppendUint(dst, arg, 10), nil
	case cborNegative:
		return appendNegative(dst, arg), nil
	case cborBytes:
		return AppendBytes(dst, r.chunks(arg, indefinite)), nil
	case cborText:
		text := r.chunks(arg, indefinite)
		if !utf8.Valid(text) {
			return dst, errNotUTF8
		}
		return AppendString(dst, text), nil
	case cborArray:
		return r.array(dst, arg, indefinite)
	case cborMap:
		return r.object(dst, arg, indefinite)
	case cborTag:
		return r.tag(dst, arg)
	default:
		return appendSimple(dst, first&31, arg), nil
	}
}

// appendNegative writes -1-n.
func appendNegative(dst []byte, n uint64) []byte {
	if n == math.MaxUint64 {
		return append(dst, "-18446744073709551616"...)
	}
	return strconv.AppendUint(append(dst, '-'), n+1, 10)
}

// chunks returns the bytes of a string: in place, or joined when they come in
// pieces of unknown number.
func (r *cborReader) chunks(n uint64, indefinite bool) []byte {
	if !indefinite {
		end := r.i + int(n)
		b := r.b[r.i:end]
		r.i = end
		return b
	}
	var joined []byte
	for r.b[r.i] != cborBreak {
		_, n, _ := r.head()
		joined = append(joined, r.b[r.i:r.i+int(n)]...)
		r.i += int(n)
	}
	r.i++
	return joined
}

// more reports whether another element follows, and passes the break of an
// indefinite array or map.
func (r *cborReader) more(done, n uint64, indefinite bool) bool {
	if !indefinite {
		return done < n
	}
	if r.b[r.i] != cborBreak {
		return true
	}
	r.i++
	return false
}

func (r *cborReader) array(dst []byte, n uint64, indefinite bool) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i := uint64(0); r.more(i, n, indefinite); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.value(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (r *cborReader) object(dst []byte, n uint64, indefinite bool) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	for i := uint64(0); r.more(i, n, indefinite); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		if dst, err = r.key(dst); err != nil {
			return dst, err
		}
		dst = append(keyAsString(dst, start), ':')
		if dst, err = r.value(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// key reads a map's key; see msgpackReader.key for what it refuses. Tags count
// as more than a plain value, whatever they hold.
func (r *cborReader) key(dst []byte) ([]byte, error) {
	if major := r.b[r.i] >> 5; major != cborArray && major != cborMap && major != cborTag {
		return r.value(dst)
	}
	if r.inKey {
		return dst, errKeyInKey
	}
	r.inKey = true
	dst, err := r.value(dst)
	r.inKey = false
	return dst, err
}

// Tags that change how their content is shown (RFC 8949, section 3.4).
const (
	tagEpoch     = 1
	tagPositive  = 2
	tagNegativeN = 3
)

// tag writes times and big integers; the content of any other tag is shown
// without it.
func (r *cborReader) tag(dst []byte, tag uint64) ([]byte, error) {
	first := r.b[r.i]
	switch {
	case tag == tagEpoch:
		return r.epoch(dst)
	case (tag == tagPositive || tag == tagNegativeN) && first>>5 == cborBytes:
		_, n, indefinite := r.head()
		b := r.chunks(n, indefinite)
		if len(b) > maxBignum {
			return dst, errBignum
		}
		var value big.Int
		value.SetBytes(b)
		if tag == tagNegativeN {
			value.Not(&value)
		}
		return value.Append(dst, 10), nil
	default:
		return r.value(dst)
	}
}

// epoch writes seconds since 1970 as RFC 3339; what that cannot express stays
// the number that it is.
func (r *cborReader) epoch(dst []byte) ([]byte, error) {
	at := r.i
	first := r.b[at]
	major, arg, _ := r.head()
	seconds, nanos, ok := int64(0), int64(0), false
	switch {
	case major == cborUint && arg <= math.MaxInt64:
		seconds, ok = int64(arg), true
	case major == cborNegative && arg <= math.MaxInt64:
		seconds, ok = ^int64(arg), true
	case major == cborSimple:
		if f, _, is := cborFloat(first&31, arg); is && math.Abs(f) < 1<<53 {
			floor := math.Floor(f)
			t := time.Unix(int64(floor), int64((f-floor)*1e9))
			seconds, nanos, ok = t.Unix(), int64(t.Nanosecond()), true
		}
	}
	if ok {
		if dst, ok = AppendTime(dst, seconds, nanos); ok {
			return dst, nil
		}
	}
	r.i = at
	return r.value(dst)
}

// cborFloat returns the float that a simple item holds and its bits.
func cborFloat(info byte, arg uint64) (f float64, bits int, ok bool) {
	switch info {
	case 25:
		return float64(float16.Frombits(uint16(arg)).Float32()), 32, true
	case 26:
		return float64(math.Float32frombits(uint32(arg))), 32, true
	case 27:
		return math.Float64frombits(arg), 64, true
	default:
		return 0, 0, false
	}
}

func appendSimple(dst []byte, info byte, arg uint64) []byte {
	if f, bits, ok := cborFloat(info, arg); ok {
		return AppendFloat(dst, f, bits)
	}
	switch arg {
	case 20:
		return append(dst, "false"...)
	case 21:
		return append(dst, "true"...)
	case 22, 23:
		return append(dst, "null"...) // null and undefined
	default:
		dst = append(dst, `"simple(`...)
		dst = strconv.AppendUint(dst, arg, 10)
		return append(dst, `)"`...)
	}
}
