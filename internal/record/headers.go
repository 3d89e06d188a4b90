package record

import (
	"encoding/binary"
	"iter"
)

// Header is one record header. Keys may repeat and be empty; a nil Value is
// null and an empty one is empty.
type Header struct {
	Key   []byte
	Value []byte
}

// Headers are a record's headers in the order in which they were written, kept
// in their encoded form (KIP-98's record format: for each header a zigzag
// varint key length, the key, a zigzag varint value length or -1, the value).
// The zero Headers holds none. Whoever makes one has checked Raw with
// CheckHeaders, so that All cannot fail.
type Headers struct {
	Count int
	Raw   []byte
}

// All yields the headers in order. Their slices point into Raw.
func (h Headers) All() iter.Seq[Header] {
	return func(yield func(Header) bool) {
		raw := h.Raw
		for range h.Count {
			var hd Header
			var ok bool
			if hd, raw, ok = cutHeader(raw); !ok || !yield(hd) {
				return
			}
		}
	}
}

// CheckHeaders reports whether raw holds count well-formed headers and nothing
// behind them.
func CheckHeaders(count int, raw []byte) bool {
	if count == 0 {
		return len(raw) == 0
	}
	if count < 0 || count > len(raw)/2 {
		return false
	}
	for range count {
		var ok bool
		if _, raw, ok = cutHeader(raw); !ok {
			return false
		}
	}
	return len(raw) == 0
}

func cutHeader(raw []byte) (Header, []byte, bool) {
	key, raw, ok := cutBytes(raw)
	if !ok || key == nil {
		return Header{}, nil, false
	}
	value, raw, ok := cutBytes(raw)
	return Header{Key: key, Value: value}, raw, ok
}

func cutBytes(raw []byte) (cut, rest []byte, ok bool) {
	n, used := binary.Varint(raw)
	if used <= 0 || n > int64(len(raw)-used) {
		return nil, nil, false
	}
	if n < 0 {
		return nil, raw[used:], n == -1
	}
	end := used + int(n)
	return raw[used:end:end], raw[end:], true
}
