package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/kcm-cli/kcm/internal/record"
)

// Builder puts records into batches of format 2, to be produced. It keeps
// timestamps as they are, any 64 bits, and belongs to one goroutine. The zero
// Builder is ready.
type Builder struct {
	records []byte
	offsets []int64 // where the records come from
	base    int64   // timestamp of the first
	latest  int64
	compressor
}

// Len returns how many records there are.
func (b *Builder) Len() int { return len(b.offsets) }

// Size returns how many bytes the batch takes without compression.
func (b *Builder) Size() int { return atRecords + len(b.records) }

// SizeOf returns how many bytes a record would add to the batch at most.
func SizeOf(r *record.Record) int {
	const numbers = binary.MaxVarintLen32 + 1 + binary.MaxVarintLen64 + 4*binary.MaxVarintLen32
	return numbers + len(r.Key) + len(r.Value) + len(r.Headers.Raw)
}

// Add appends a record: its timestamp, key, value and headers. Its offset is kept
// for Finish only.
func (b *Builder) Add(r *record.Record) {
	if len(b.offsets) == 0 {
		b.base, b.latest = r.Timestamp, r.Timestamp
	}
	b.latest = max(b.latest, r.Timestamp)
	delta := int64(len(b.offsets))
	b.offsets = append(b.offsets, r.Offset)
	size := 1 + varintSize(r.Timestamp-b.base) + varintSize(delta) + fieldSize(r.Key) + fieldSize(r.Value) +
		varintSize(int64(r.Headers.Count)) + len(r.Headers.Raw)
	out := binary.AppendVarint(b.records, int64(size))
	out = append(out, 0)
	out = binary.AppendVarint(out, r.Timestamp-b.base) // wraps, and wraps back when it is read
	out = binary.AppendVarint(out, delta)
	out = appendField(out, r.Key)
	out = appendField(out, r.Value)
	out = binary.AppendVarint(out, int64(r.Headers.Count))
	b.records = append(out, r.Headers.Raw...)
}

// Finish returns the batch, in the memory of in if that is large enough, and begins
// the next one. It is compressed with codec unless that makes it larger. The offsets are those of the
// records that were added, in order. There must be a record.
func (b *Builder) Finish(codec Codec, in []byte) (raw Raw, offsets []int64) {
	payload := b.records
	if packed := b.compress(codec, b.records); packed != nil && len(packed) < len(payload) {
		payload = packed
	} else {
		codec = None
	}
	if size := atRecords + len(payload); cap(in) >= size {
		raw = in[:size]
	} else {
		raw = make(Raw, size)
	}
	copy(raw[atRecords:], payload)
	be := binary.BigEndian
	be.PutUint64(raw, 0)
	be.PutUint32(raw[atLength:], uint32(len(raw)-beforeLength))
	be.PutUint32(raw[atEpoch:], math.MaxUint32)
	raw[atMagic] = 2
	be.PutUint16(raw[atAttributes:], uint16(codec))
	be.PutUint32(raw[atLastDelta:], uint32(len(b.offsets)-1))
	be.PutUint64(raw[atBaseTime:], uint64(b.base))
	be.PutUint64(raw[atMaxTime:], uint64(b.latest))
	be.PutUint64(raw[atProducer:], math.MaxUint64)
	be.PutUint16(raw[atProdEpoch:], math.MaxUint16)
	be.PutUint32(raw[atSequence:], math.MaxUint32)
	be.PutUint32(raw[atCount:], uint32(len(b.offsets)))
	be.PutUint32(raw[atCRC:], crc32.Checksum(raw[atAttributes:], castagnoli))
	offsets = append([]int64(nil), b.offsets...)
	b.Reset()
	return raw, offsets
}

// Reset drops what was added. Of a very large batch the memory is not kept.
func (b *Builder) Reset() {
	if b.records, b.offsets = b.records[:0], b.offsets[:0]; cap(b.records) > 1<<largestClass {
		b.records = nil
	}
}

func varintSize(n int64) int {
	v := uint64(n)<<1 ^ uint64(n>>63)
	size := 1
	for ; v >= 0x80; v >>= 7 {
		size++
	}
	return size
}

func fieldSize(f []byte) int {
	if f == nil {
		return 1
	}
	return varintSize(int64(len(f))) + len(f)
}

func appendField(out, f []byte) []byte {
	if f == nil {
		return append(out, 1) // -1
	}
	return append(binary.AppendVarint(out, int64(len(f))), f...)
}
