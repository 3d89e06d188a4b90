package batchtest

import (
	"encoding/binary"

	"github.com/kcm-cli/kcm/internal/batch"
)

// Message returns a message of format 0 or 1 that is not compressed. Format 0
// has no time, neither has headers.
func Message(magic byte, r Record) []byte { return message(magic, 0, r) }

// AppendedMessage returns a message of format 1 whose time the broker set.
func AppendedMessage(r Record) []byte { return message(1, 8, r) }

// Set is a compressed set of messages of format 0 or 1. The set's offset is
// that of its last record. In format 1 the offsets inside count from the first
// record's, in format 0 they are absolute.
type Set struct {
	Magic     byte
	Codec     batch.Codec
	Framing   Framing
	LogAppend bool  // format 1: the time of the set is that of its records
	Time      int64 // of the set, format 1
	Records   []Record
}

// Bytes returns the set as a broker would send it.
func (s Set) Bytes() []byte {
	var inner []byte
	for _, r := range s.Records {
		if s.Magic == 1 {
			r.Offset -= s.Records[0].Offset
		}
		inner = append(inner, Message(s.Magic, r)...)
	}
	return s.Wrap(s.Records[len(s.Records)-1].Offset, inner)
}

// Wrap returns a set with an offset and messages of the caller's making.
func (s Set) Wrap(offset int64, inner []byte) []byte {
	attributes := byte(s.Codec)
	if s.LogAppend {
		attributes |= 8
	}
	return message(s.Magic, attributes, Record{Offset: offset, Time: s.Time, Value: Compress(s.Codec, s.Framing, inner)})
}

func message(magic, attributes byte, r Record) []byte {
	out := binary.BigEndian.AppendUint64(nil, uint64(r.Offset))
	out = append(out, 0, 0, 0, 0, 0, 0, 0, 0, magic, attributes)
	if magic == 1 {
		out = binary.BigEndian.AppendUint64(out, uint64(r.Time))
	}
	for _, b := range [][]byte{r.Key, r.Value} {
		if b == nil {
			out = append(out, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return Seal(out)
}
