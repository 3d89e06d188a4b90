package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Stamp is what a producer puts into the head of a batch (KIP-98). The zero Stamp
// is that of producer 0; NoProducer is that of nobody.
type Stamp struct {
	ProducerID    int64
	Epoch         int16
	Sequence      int32 // of the batch's first record
	Transactional bool
}

// NoProducer is the stamp of a batch that no producer has numbered.
var NoProducer = Stamp{ProducerID: -1, Epoch: -1, Sequence: -1}

// Copyable reports whether a batch with this header can be produced again as it
// is, by nothing but another head: it is of format 2, holds records of a user at
// their own times, and every offset that it covers has its record. All else has
// to be taken apart: a broker refuses holes and the flag of LogAppendTime.
func (h *Header) Copyable() bool {
	return h.Magic == 2 && !h.Control() && !h.LogAppend() && h.Codec() <= Zstd &&
		h.NumRecords > 0 && int64(h.NumRecords) == int64(h.LastOffsetDelta)+1
}

// Restamp rewrites the head of raw in place for a Produce request: base offset 0,
// no leader epoch, the producer's stamp, only the attributes that a producer may
// set, and the checksum of all that. Records and timestamps stay as they are; what
// KIP-534 calls the delete horizon is only a flag, the records count from the same
// base timestamp with and without it. Raw must be one whole batch of format 2.
func (raw Raw) Restamp(s Stamp) {
	_ = raw[atRecords-1]
	binary.BigEndian.PutUint64(raw, 0)
	binary.BigEndian.PutUint32(raw[atEpoch:], math.MaxUint32)
	attributes := binary.BigEndian.Uint16(raw[atAttributes:]) & codecMask
	if s.Transactional {
		attributes |= bitTransactional
	}
	binary.BigEndian.PutUint16(raw[atAttributes:], attributes)
	binary.BigEndian.PutUint64(raw[atProducer:], uint64(s.ProducerID))
	binary.BigEndian.PutUint16(raw[atProdEpoch:], uint16(s.Epoch))
	binary.BigEndian.PutUint32(raw[atSequence:], uint32(s.Sequence))
	binary.BigEndian.PutUint32(raw[atCRC:], crc32.Checksum(raw[atAttributes:], castagnoli))
}

// NextSequence is the sequence number behind a batch of n records that begins at
// s: they wrap from the largest number to 0.
func NextSequence(s int32, n int) int32 {
	return int32((int64(s) + int64(n)) & math.MaxInt32)
}
