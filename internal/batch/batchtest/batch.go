// Package batchtest makes record batches for tests: of format 2 with every
// codec, attribute and gap, transaction markers, and messages of the formats 0 and
// 1. It is written apart from package batch, so that the one can test the other,
// and must not be imported outside tests.
package batchtest

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/record"
)

// Record is a record to be written. A nil Key or Value is null.
type Record struct {
	Offset  int64 // absolute
	Time    int64 // milliseconds
	Key     []byte
	Value   []byte
	Headers []record.Header
}

// Batch is a batch of format 2 to be written; make one with New.
type Batch struct {
	Base, Last    int64 // the offsets that it covers
	LeaderEpoch   int32
	Codec         batch.Codec
	Framing       Framing
	LogAppend     bool
	Transactional bool
	Control       bool
	DeleteHorizon bool
	BaseTime      int64
	MaxTime       int64
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32
	Records       []Record
}

// New returns a batch of records with ascending offsets, which covers what is
// from its first record to its last, without a producer, epoch or codec. There
// must be a record.
func New(records ...Record) Batch {
	b := Batch{
		Base: records[0].Offset, Last: records[len(records)-1].Offset,
		BaseTime: records[0].Time, MaxTime: math.MinInt64,
		LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, Sequence: -1,
		Records: records,
	}
	for _, r := range records {
		b.MaxTime = max(b.MaxTime, r.Time)
	}
	return b
}

// Bytes returns the batch as a broker would send it.
func (b Batch) Bytes() []byte {
	var payload []byte
	for _, r := range b.Records {
		payload = b.appendRecord(payload, r)
	}
	return b.Wrap(len(b.Records), Compress(b.Codec, b.Framing, payload))
}

// Wrap returns the batch with a payload that is already compressed, or is none.
func (b Batch) Wrap(count int, payload []byte) []byte {
	attributes := int16(b.Codec)
	for i, set := range []bool{b.LogAppend, b.Transactional, b.Control, b.DeleteHorizon} {
		if set {
			attributes |= 8 << i
		}
	}
	out := binary.BigEndian.AppendUint64(nil, uint64(b.Base))
	out = binary.BigEndian.AppendUint32(out, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(b.LeaderEpoch))
	out = append(out, 2, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint16(out, uint16(attributes))
	out = binary.BigEndian.AppendUint32(out, uint32(b.Last-b.Base))
	out = binary.BigEndian.AppendUint64(out, uint64(b.BaseTime))
	out = binary.BigEndian.AppendUint64(out, uint64(b.MaxTime))
	out = binary.BigEndian.AppendUint64(out, uint64(b.ProducerID))
	out = binary.BigEndian.AppendUint16(out, uint16(b.ProducerEpoch))
	out = binary.BigEndian.AppendUint32(out, uint32(b.Sequence))
	out = binary.BigEndian.AppendUint32(out, uint32(count))
	return Seal(append(out, payload...))
}

// Seal writes the length and the checksum that belong to the bytes of a batch or
// message of any format, in place, and returns it.
func Seal(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	if raw[16] == 2 {
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	} else {
		binary.BigEndian.PutUint32(raw[12:], crc32.ChecksumIEEE(raw[16:]))
	}
	return raw
}

// Marker returns the control batch that ends a transaction.
func Marker(offset, producerID int64, epoch int16, commit bool) []byte {
	key := []byte{0, 0, 0, 0}
	if commit {
		key[3] = 1
	}
	b := New(Record{Offset: offset, Time: 1, Key: key, Value: make([]byte, 6)})
	b.ProducerID, b.ProducerEpoch, b.Transactional, b.Control = producerID, epoch, true, true
	return b.Bytes()
}

func (b Batch) appendRecord(dst []byte, r Record) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, r.Time-b.BaseTime)
	body = binary.AppendVarint(body, r.Offset-b.Base)
	body = appendBytes(body, r.Key)
	body = appendBytes(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendBytes(body, h.Value)
	}
	dst = binary.AppendVarint(dst, int64(len(body)))
	return append(dst, body...)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
