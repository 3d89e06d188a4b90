// Package batch owns Kafka's record batches as bytes: it cuts them out of a
// fetch response, checks and decompresses them, walks their records in place
// and tells the aborted ones. Batches of format 2 (KIP-98) and messages of the
// formats 0 and 1 (KIP-32) look the same to whoever uses it.
//
// It does no I/O, knows no Kafka client, trusts no length that it reads and
// copies no record.
package batch

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"strconv"
)

// Where the fields of a batch of format 2 start. The first 17 bytes mean the
// same in every format, but for bytes 12 to 15: the leader epoch in format 2, the
// checksum in the formats 0 and 1.
const (
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atCRC        = 17
	atAttributes = 21
	atLastDelta  = 23
	atBaseTime   = 27
	atMaxTime    = 35
	atProducer   = 43
	atProdEpoch  = 51
	atSequence   = 53
	atCount      = 57
	atRecords    = 61

	beforeLength = 12 // what comes before the bytes that the length counts
	preamble     = 17 // up to and with the magic byte
)

// The attributes of a batch.
const (
	codecMask         = 0x07
	bitLogAppend      = 0x08
	bitTransactional  = 0x10
	bitControl        = 0x20
	bitDeleteHorizon  = 0x40
	legacyKnownBits   = codecMask | bitLogAppend
	smallestMessageV0 = 26 // offset, length, checksum, magic, attributes, two lengths of -1
	smallestMessageV1 = 34 // the same and a timestamp
)

// ErrCut is what Next answers when the last batch goes on behind the end of the
// bytes. That is how Kafka fills a response up to its size, not a fault.
var ErrCut = errors.New("the batch is cut")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Raw is one whole batch as it came: of format 2, or one message of format 0 or
// 1, which may be a compressed set of messages.
type Raw []byte

// Codec is a compression codec as the attributes name it.
type Codec int8

// Kafka's compression codecs.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String gives Kafka's word for the codec, or its number.
func (c Codec) String() string {
	if words := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}; c >= 0 && int(c) < len(words) {
		return words[c]
	}
	return "codec " + strconv.Itoa(int(c))
}

// Header is the head of a batch. For the formats 0 and 1, which have less:
// BaseOffset is the offset of the message (for a compressed set, of the last
// message in it) and LastOffsetDelta 0, both timestamps are the message's (-1 in
// format 0), the epochs, the producer and the sequence are -1, Attributes have
// only the codec and the timestamp type, and NumRecords is 1, or -1 for a
// compressed set.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes behind this field, as stored
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // milliseconds
	MaxTimestamp    int64 // milliseconds
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	NumRecords      int32
}

// Size returns how many bytes the whole batch takes.
func (h *Header) Size() int64 { return beforeLength + int64(h.Length) }

// LastOffset returns the last offset that the batch covers; the record that
// had it may be gone.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// Next returns the position behind the batch.
func (h *Header) Next() int64 { return h.LastOffset() + 1 }

// Codec returns how the records are compressed.
func (h *Header) Codec() Codec { return Codec(h.Attributes & codecMask) }

// Transactional reports whether the batch belongs to a transaction.
func (h *Header) Transactional() bool { return h.Attributes&bitTransactional != 0 }

// Control reports whether the batch holds markers and no records of a user.
func (h *Header) Control() bool { return h.Attributes&bitControl != 0 }

// LogAppend reports whether the broker set the timestamp: then MaxTimestamp is
// that of every record.
func (h *Header) LogAppend() bool { return h.Attributes&bitLogAppend != 0 }

// DeleteHorizon reports whether BaseTimestamp is also the time after which the
// log cleaner may drop tombstones and markers (KIP-534). Timestamps of records
// still count from it.
func (h *Header) DeleteHorizon() bool { return h.Attributes&bitDeleteHorizon != 0 }

// Next cuts the first batch off b. With ErrCut the batch does not end in b: h
// then has BaseOffset and Length (and Size) if b goes that far, else a Length of
// 0. At the end of b raw is nil and err is ErrCut, too. A batch that cannot be
// one is a *DamagedError. The checksum is not looked at: see Check.
func Next(b []byte) (raw Raw, h Header, rest []byte, err error) {
	if len(b) < beforeLength {
		return nil, Header{}, b, ErrCut
	}
	h.BaseOffset = int64(binary.BigEndian.Uint64(b))
	h.Length = int32(binary.BigEndian.Uint32(b[atLength:]))
	size := h.Size()
	if size < smallestMessageV0 {
		return nil, h, b, damaged(h.BaseOffset, "its length of %d is too small", h.Length)
	}
	if len(b) < preamble {
		return nil, h, b, ErrCut
	}
	h.Magic = int8(b[atMagic])
	if smallest := smallestSize(h.Magic); smallest == 0 {
		return nil, h, b, damaged(h.BaseOffset, "no such format as %d", h.Magic)
	} else if size < smallest {
		return nil, h, b, damaged(h.BaseOffset, "its length of %d is too small for format %d", h.Length, h.Magic)
	}
	if size > int64(len(b)) {
		return nil, h, b, ErrCut
	}
	raw, rest = Raw(b[:size:size]), b[size:]
	if h.Magic == 2 {
		h.read(raw)
		err = h.check()
	} else {
		err = h.readLegacy(raw)
	}
	return raw, h, rest, err
}

// Head returns the header of raw, which must be one whole batch and nothing
// else; if it is not, the error is a *DamagedError.
func (raw Raw) Head() (Header, error) {
	_, h, rest, err := Next(raw)
	if err == nil && len(rest) > 0 {
		err = damaged(h.BaseOffset, "%d bytes follow it", len(rest))
	}
	if errors.Is(err, ErrCut) {
		err = damaged(h.BaseOffset, "only %d of its %d bytes are there", len(raw), h.Size())
	}
	return h, err
}

func smallestSize(magic int8) int64 {
	switch magic {
	case 0:
		return smallestMessageV0
	case 1:
		return smallestMessageV1
	case 2:
		return atRecords
	default:
		return 0
	}
}

func (h *Header) read(raw Raw) {
	_ = raw[atRecords-1]
	h.LeaderEpoch = int32(binary.BigEndian.Uint32(raw[atEpoch:]))
	h.CRC = binary.BigEndian.Uint32(raw[atCRC:])
	h.Attributes = int16(binary.BigEndian.Uint16(raw[atAttributes:]))
	h.LastOffsetDelta = int32(binary.BigEndian.Uint32(raw[atLastDelta:]))
	h.BaseTimestamp = int64(binary.BigEndian.Uint64(raw[atBaseTime:]))
	h.MaxTimestamp = int64(binary.BigEndian.Uint64(raw[atMaxTime:]))
	h.ProducerID = int64(binary.BigEndian.Uint64(raw[atProducer:]))
	h.ProducerEpoch = int16(binary.BigEndian.Uint16(raw[atProdEpoch:]))
	h.BaseSequence = int32(binary.BigEndian.Uint32(raw[atSequence:]))
	h.NumRecords = int32(binary.BigEndian.Uint32(raw[atCount:]))
}

// check refuses what would make a position go back or overflow.
func (h *Header) check() error {
	switch {
	case h.BaseOffset < 0:
		return damaged(h.BaseOffset, "its offset is negative")
	case h.LastOffsetDelta < 0 || h.BaseOffset >= math.MaxInt64-int64(h.LastOffsetDelta):
		return damaged(h.BaseOffset, "its last offset is %d behind its first", h.LastOffsetDelta)
	case h.NumRecords < 0:
		return damaged(h.BaseOffset, "its number of records is %d", h.NumRecords)
	default:
		return nil
	}
}

// Check compares the checksum of raw, which Next has cut, with its bytes:
// CRC-32C in format 2, CRC-32 in the others. The error is a *DamagedError.
func (raw Raw) Check() error {
	if len(raw) < smallestMessageV0 {
		return damaged(0, "it has only %d bytes", len(raw))
	}
	var want, got uint32
	if raw[atMagic] == 2 {
		want, got = binary.BigEndian.Uint32(raw[atCRC:]), crc32.Checksum(raw[atAttributes:], castagnoli)
	} else {
		want, got = binary.BigEndian.Uint32(raw[atEpoch:]), crc32.ChecksumIEEE(raw[atMagic:])
	}
	if want != got {
		return damaged(int64(binary.BigEndian.Uint64(raw)), "its checksum is %08x and should be %08x", got, want)
	}
	return nil
}
