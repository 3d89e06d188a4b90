package codec

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/record"
)

var (
	errNotUTF8 = errors.New("not valid UTF-8")
	errNotJSON = errors.New("not valid JSON")
)

// plain shows bytes as they are.
func plain(raw []byte) record.Value {
	if utf8.Valid(raw) {
		return record.Value{Kind: record.Text, Bytes: raw}
	}
	return record.Value{Kind: record.Binary, Bytes: raw}
}

func failed(err error) record.Value { return record.Value{Err: err} }

func decodeRaw(dst, raw []byte) (record.Value, []byte) { return plain(raw), dst }

func decodeString(dst, raw []byte) (record.Value, []byte) {
	if !utf8.Valid(raw) {
		return failed(errNotUTF8), dst
	}
	return record.Value{Kind: record.Text, Bytes: raw}, dst
}

// auto embeds JSON objects and arrays only: a lone number or word is more often
// a text that happens to look like JSON. It sees every key and value that nobody
// says more about, so it fills the Value in place.
type auto struct{ shape shape }

// Decode implements Decoder.
func (a *auto) Decode(v *record.Value, dst, raw []byte, _ *record.Record) []byte {
	v.Kind, v.Bytes, v.SchemaID, v.Err = record.Null, raw, "", nil
	if raw == nil {
		return dst
	}
	if first := firstByte(raw); first == '{' || first == '[' {
		if ok, spaced := a.shape.valid(raw); ok {
			v.Kind = record.JSON
			if spaced {
				start := len(dst)
				dst = CompactJSON(dst, raw)
				v.Bytes = dst[start:]
			}
			return dst
		}
	}
	v.Kind = record.Binary
	if utf8.Valid(raw) {
		v.Kind = record.Text
	}
	return dst
}

// decodeJSON embeds any JSON value.
func decodeJSON(dst, raw []byte) (record.Value, []byte) {
	ok, spaced := ValidJSON(raw)
	if !ok {
		return failed(errNotJSON), dst
	}
	return embed(dst, raw, spaced)
}

func embed(dst, raw []byte, spaced bool) (record.Value, []byte) {
	if !spaced {
		return record.Value{Kind: record.JSON, Bytes: raw}, dst
	}
	start := len(dst)
	dst = CompactJSON(dst, raw)
	return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
}

// firstByte returns the first byte that is no JSON whitespace; 0 when none is.
func firstByte(raw []byte) byte {
	for _, c := range raw {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

func decodeHex(dst, raw []byte) (record.Value, []byte) {
	start := len(dst)
	dst = hex.AppendEncode(dst, raw)
	return record.Value{Kind: record.Text, Bytes: dst[start:]}, dst
}

func decodeBase64(dst, raw []byte) (record.Value, []byte) {
	start := len(dst)
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return record.Value{Kind: record.Text, Bytes: dst[start:]}, dst
}

// decodeUUID takes 16 bytes, or the 36 characters that Kafka's UUIDSerializer
// writes, and shows the latter.
func decodeUUID(dst, raw []byte) (record.Value, []byte) {
	switch {
	case len(raw) == 16:
		start := len(dst)
		for i, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
			if i > 0 {
				dst = append(dst, '-')
			}
			dst = hex.AppendEncode(dst, part)
		}
		return record.Value{Kind: record.Text, Bytes: dst[start:]}, dst
	case isUUIDText(raw):
		return record.Value{Kind: record.Text, Bytes: raw}, dst
	default:
		return failed(fmt.Errorf("not a UUID: %d bytes, neither 16 nor its 36 characters", len(raw))), dst
	}
}

func isUUIDText(raw []byte) bool {
	if len(raw) != 36 {
		return false
	}
	for i, c := range raw {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !isHex(c) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
