package kafkatest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Codec is how a batch's records are compressed; its number is the one in the
// batch's attributes.
type Codec int16

// The codecs. SnappyJava is snappy in the stream framing of the Java client
// (snappy-java); plain Snappy is one block, as other clients write it.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
	SnappyJava Codec = 0x100 | Snappy
)

// Batch is a record batch of format 2 (KIP-98) to be written with ProduceRaw,
// for what a client would not write: any timestamp, holes between offsets, a
// codec's variants, flags. The zero Batch is an ordinary one.
type Batch struct {
	Codec         Codec
	BaseTimestamp int64 // added to every record's Time
	LogAppendTime bool  // the flag only; brokers refuse it from producers
	MaxTimestamp  int64 // the largest record time when 0
	Records       []Record
	Deltas        []int32 // each record's offset behind the first; 0, 1, 2 … when nil
	LastDelta     int32   // the last delta when 0
	// ProducerID, Epoch and Sequence are written when Transactional or Control
	// is set, or ProducerID is not 0; otherwise all are -1.
	ProducerID    int64
	Epoch         int16
	Sequence      int32
	Transactional bool
	Control       bool
}

// Bytes returns the batch as Produce requests carry it, with base offset 0.
func (b Batch) Bytes(t testing.TB) []byte {
	t.Helper()
	payload := b.payload()
	if b.Codec != None {
		payload = compress(t, b.Codec, payload)
	}
	attributes := int16(b.Codec & 7)
	for bit, set := range map[int16]bool{1 << 3: b.LogAppendTime, 1 << 4: b.Transactional, 1 << 5: b.Control} {
		if set {
			attributes |= bit
		}
	}
	pid, epoch, seq := int64(-1), int16(-1), int32(-1)
	if b.Transactional || b.Control || b.ProducerID != 0 {
		pid, epoch, seq = b.ProducerID, b.Epoch, b.Sequence
	}
	be := binary.BigEndian
	var tail []byte // what the checksum covers
	tail = be.AppendUint16(tail, uint16(attributes))
	tail = be.AppendUint32(tail, uint32(b.lastDelta()))
	tail = be.AppendUint64(tail, uint64(b.BaseTimestamp))
	tail = be.AppendUint64(tail, uint64(b.maxTimestamp()))
	tail = be.AppendUint64(tail, uint64(pid))
	tail = be.AppendUint16(tail, uint16(epoch))
	tail = be.AppendUint32(tail, uint32(seq))
	tail = be.AppendUint32(tail, uint32(len(b.Records)))
	tail = append(tail, payload...)

	out := be.AppendUint64(nil, 0)                  // base offset
	out = be.AppendUint32(out, uint32(len(tail)+9)) // what follows: epoch, magic, checksum
	out = be.AppendUint32(out, ^uint32(0))          // leader epoch -1
	out = append(out, 2)
	out = be.AppendUint32(out, crc32.Checksum(tail, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, tail...)
}

func (b Batch) delta(i int) int32 {
	if b.Deltas != nil {
		return b.Deltas[i]
	}
	return int32(i)
}

func (b Batch) lastDelta() int32 {
	if b.LastDelta != 0 || len(b.Records) == 0 {
		return b.LastDelta
	}
	return b.delta(len(b.Records) - 1)
}

func (b Batch) maxTimestamp() int64 {
	if b.MaxTimestamp != 0 || len(b.Records) == 0 {
		return b.MaxTimestamp
	}
	most := b.BaseTimestamp + b.Records[0].Time
	for _, r := range b.Records {
		most = max(most, b.BaseTimestamp+r.Time)
	}
	return most
}

func (b Batch) payload() []byte {
	var out []byte
	for i, r := range b.Records {
		rec := []byte{0}
		rec = binary.AppendVarint(rec, r.Time)
		rec = binary.AppendVarint(rec, int64(b.delta(i)))
		rec = appendBytes(rec, r.Key)
		rec = appendBytes(rec, r.Value)
		rec = binary.AppendVarint(rec, int64(len(r.Headers)))
		for _, h := range r.Headers {
			rec = appendBytes(rec, append([]byte{}, h.Key...))
			rec = appendBytes(rec, h.Value)
		}
		out = append(binary.AppendVarint(out, int64(len(rec))), rec...)
	}
	return out
}

func appendBytes(out, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(out, -1)
	}
	return append(binary.AppendVarint(out, int64(len(b))), b...)
}

// compress uses the client's own compressors, which are not kcm's code.
func compress(t testing.TB, codec Codec, payload []byte) []byte {
	t.Helper()
	by := map[Codec]kgo.CompressionCodec{
		Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
	}[codec&7]
	c, err := kgo.DefaultCompressor(by)
	if err != nil || c == nil {
		t.Fatalf("no compressor for codec %d: %v", codec, err)
	}
	out, _ := c.Compress(&bytes.Buffer{}, payload)
	out = bytes.Clone(out)
	if codec != SnappyJava {
		return out
	}
	// Magic, version 1, compatible version 1, then blocks behind their lengths.
	framed := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
	framed = binary.BigEndian.AppendUint32(framed, uint32(len(out)))
	return append(framed, out...)
}
