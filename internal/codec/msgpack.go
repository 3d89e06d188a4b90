package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/kcm-cli/kcm/internal/record"
)

// maxNesting bounds how deep MessagePack and CBOR values may be nested.
const maxNesting = 1000

var (
	errTooDeep  = fmt.Errorf("nested deeper than %d levels", maxNesting)
	errCut      = errors.New("ends in the middle of a value")
	errLeftOver = errors.New("bytes are left over behind the value")
	errKeyInKey = errors.New("a map as a key holds a key that is no plain value")
)

// msgpackReader writes one MessagePack value as JSON. The library's token
// calls are used because its maps would lose the order and equal keys, and its
// numbers their digits.
type msgpackReader struct {
	raw []byte
	rd  bytes.Reader
	dec *msgpack.Decoder

	inKey bool // inside a key that is an array or a map
}

var msgpackReaders = sync.Pool{New: func() any {
	r := &msgpackReader{dec: msgpack.NewDecoder(nil)}
	return r
}}

func decodeMsgpack(dst, raw []byte) (record.Value, []byte) {
	r, _ := msgpackReaders.Get().(*msgpackReader)
	defer msgpackReaders.Put(r)
	r.raw, r.inKey = raw, false
	r.rd.Reset(raw)
	r.dec.Reset(&r.rd)
	start := len(dst)
	dst, err := r.value(dst, 0)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	case err == nil && r.rd.Len() > 0:
		err = errLeftOver
	}
	r.raw = nil
	if err != nil {
		return failed(fmt.Errorf("not valid MessagePack: %w", err)), dst
	}
	return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
}

func (r *msgpackReader) value(dst []byte, depth int) ([]byte, error) {
	if depth > maxNesting {
		return dst, errTooDeep
	}
	code, err := r.dec.PeekCode()
	if err != nil {
		return dst, err
	}
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return r.array(dst, depth)
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return r.object(dst, depth)
	case msgpcode.IsString(code), msgpcode.IsBin(code):
		return r.text(dst, msgpcode.IsBin(code))
	case msgpcode.IsExt(code):
		return r.ext(dst)
	default:
		return r.scalar(dst, code)
	}
}

func (r *msgpackReader) scalar(dst []byte, code byte) ([]byte, error) {
	switch code {
	case msgpcode.Nil:
		return append(dst, "null"...), r.dec.DecodeNil()
	case msgpcode.True, msgpcode.False:
		b, err := r.dec.DecodeBool()
		return strconv.AppendBool(dst, b), err
	case msgpcode.Float:
		f, err := r.dec.DecodeFloat32()
		return AppendFloat(dst, float64(f), 32), err
	case msgpcode.Double:
		f, err := r.dec.DecodeFloat64()
		return AppendFloat(dst, f, 64), err
	case msgpcode.Uint64:
		n, err := r.dec.DecodeUint64()
		return strconv.AppendUint(dst, n, 10), err
	default:
		n, err := r.dec.DecodeInt64()
		return strconv.AppendInt(dst, n, 10), err
	}
}

// take returns the next n bytes in place.
func (r *msgpackReader) take(n int) ([]byte, error) {
	if n < 0 || n > r.rd.Len() {
		return nil, errCut
	}
	at := len(r.raw) - r.rd.Len()
	_, err := r.rd.Seek(int64(n), io.SeekCurrent)
	return r.raw[at : at+n], err
}

// text writes a string as it is and bytes as base64; so are strings that are
// not UTF-8, which writers of the first MessagePack had for bytes.
func (r *msgpackReader) text(dst []byte, binary bool) ([]byte, error) {
	n, err := r.dec.DecodeBytesLen()
	if err != nil {
		return dst, err
	}
	b, err := r.take(n)
	if err != nil {
		return dst, err
	}
	if binary || !utf8.Valid(b) {
		return AppendBytes(dst, b), nil
	}
	return AppendString(dst, b), nil
}

func (r *msgpackReader) array(dst []byte, depth int) ([]byte, error) {
	n, err := r.dec.DecodeArrayLen()
	if err != nil {
		return dst, err
	}
	if n < 0 || n > r.rd.Len() {
		return dst, errCut
	}
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.value(dst, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (r *msgpackReader) object(dst []byte, depth int) ([]byte, error) {
	n, err := r.dec.DecodeMapLen()
	if err != nil {
		return dst, err
	}
	if n < 0 || n > r.rd.Len()/2 {
		return dst, errCut
	}
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		if dst, err = r.key(dst, depth+1); err != nil {
			return dst, err
		}
		dst = append(keyAsString(dst, start), ':')
		if dst, err = r.value(dst, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// key reads a map's key. A key that is an array or a map becomes a string of
// JSON; keys like that inside one another would double their quoting, and with
// it their size, at each level.
func (r *msgpackReader) key(dst []byte, depth int) ([]byte, error) {
	code, err := r.dec.PeekCode()
	if err != nil {
		return dst, err
	}
	if plain := !msgpcode.IsFixedArray(code) && !msgpcode.IsFixedMap(code) &&
		code != msgpcode.Array16 && code != msgpcode.Array32 && code != msgpcode.Map16 && code != msgpcode.Map32; plain {
		return r.value(dst, depth)
	}
	if r.inKey {
		return dst, errKeyInKey
	}
	r.inKey = true
	dst, err = r.value(dst, depth)
	r.inKey = false
	return dst, err
}

// timestampExt is the type of MessagePack's own timestamps.
const timestampExt = -1

// ext writes a timestamp as RFC 3339 and any other extension as its type and
// bytes.
func (r *msgpackReader) ext(dst []byte) ([]byte, error) {
	id, n, err := r.dec.DecodeExtHeader()
	if err != nil {
		return dst, err
	}
	b, err := r.take(n)
	if err != nil {
		return dst, err
	}
	if id == timestampExt {
		if seconds, nanos, ok := msgpackTime(b); ok {
			if dst, ok = AppendTime(dst, seconds, nanos); ok {
				return dst, nil
			}
		}
	}
	dst = append(dst, `{"ext":`...)
	dst = strconv.AppendInt(dst, int64(id), 10)
	dst = append(dst, `,"data":`...)
	return append(AppendBytes(dst, b), '}'), nil
}

// msgpackTime reads the three forms of a timestamp: seconds; 30 bits of
// nanoseconds and 34 of seconds; nanoseconds and 64 bits of seconds.
func msgpackTime(b []byte) (seconds, nanos int64, ok bool) {
	switch len(b) {
	case 4:
		return int64(bigEndian(b)), 0, true
	case 8:
		n := bigEndian(b)
		return int64(n & (1<<34 - 1)), int64(n >> 34), true
	case 12:
		return int64(bigEndian(b[4:])), int64(bigEndian(b[:4])), true
	default:
		return 0, 0, false
	}
}
