package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/kcm-cli/kcm/internal/record"
)

// Where the fields of a message of format 0 or 1 start (KIP-32 for format 1).
const (
	atLegacyAttributes = 17
	atLegacyTime       = 18 // format 1 only
	atLegacyKeyV0      = 18
	atLegacyKeyV1      = 26
)

// readLegacy reads the head of one message.
func (h *Header) readLegacy(raw Raw) error {
	h.LeaderEpoch, h.ProducerID, h.ProducerEpoch, h.BaseSequence = -1, -1, -1, -1
	h.CRC = binary.BigEndian.Uint32(raw[atEpoch:])
	h.BaseTimestamp, h.MaxTimestamp, h.NumRecords = -1, -1, 1
	h.Attributes = int16(raw[atLegacyAttributes]) & codecMask
	if h.Magic == 1 {
		h.Attributes = int16(raw[atLegacyAttributes]) & legacyKnownBits
		h.BaseTimestamp = int64(binary.BigEndian.Uint64(raw[atLegacyTime:]))
		h.MaxTimestamp = h.BaseTimestamp
	}
	if h.Codec() != None {
		h.NumRecords = -1
	}
	if h.BaseOffset < 0 || h.BaseOffset == math.MaxInt64 {
		return damaged(h.BaseOffset, "no message can have this offset")
	}
	return nil
}

// message is one message of format 0 or 1, seen in place.
type message struct {
	offset     int64
	time       int64 // -1 in format 0
	magic      byte
	codec      Codec
	key, value []byte
	size       int // of all of it
}

// cutMessage reads the message that b begins with. The reason is empty when it
// is a good one; the checksum is not looked at.
func cutMessage(b []byte) (m message, reason string) {
	if len(b) < smallestMessageV0 {
		return m, "a message is cut"
	}
	m.offset, m.time = int64(binary.BigEndian.Uint64(b)), -1
	size := beforeLength + int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	magic := b[atMagic]
	switch {
	case magic > 1:
		return m, "a message of format 0 or 1 holds one of another format"
	case size < smallestSize(int8(magic)) || size > int64(len(b)):
		return m, "a message goes beyond its end"
	}
	b = b[:size]
	m.size, m.magic, m.codec = int(size), magic, Codec(b[atLegacyAttributes]&codecMask)
	p := atLegacyKeyV0
	if magic == 1 {
		m.time, p = int64(binary.BigEndian.Uint64(b[atLegacyTime:])), atLegacyKeyV1
	}
	var ok bool
	if m.key, p, ok = legacyField(b, p); !ok {
		return m, "a message's key is broken"
	}
	if m.value, p, ok = legacyField(b, p); !ok {
		return m, "a message's value is broken"
	}
	if p != len(b) {
		return m, "a message is longer than its parts"
	}
	return m, ""
}

// legacyField cuts what a length of four bytes stands before: nil for -1.
func legacyField(b []byte, p int) ([]byte, int, bool) {
	if len(b)-p < 4 {
		return nil, p, false
	}
	n := int64(int32(binary.BigEndian.Uint32(b[p:])))
	if p += 4; n < 0 {
		return nil, p, n == -1
	}
	if n > int64(len(b)-p) {
		return nil, p, false
	}
	end := p + int(n)
	return b[p:end:end], end, true
}

// openLegacy makes b of one message, or of the compressed set in it. Within a
// set, offsets are absolute in format 0 and count from the set's first offset in
// format 1, where the set itself carries its last one (KIP-31).
func (d *Decoder) openLegacy(b *Batch, raw Raw, limit int64) error {
	m, reason := cutMessage(raw)
	if reason != "" {
		return &DamagedError{Offset: b.Header.BaseOffset, Reason: reason}
	}
	if m.codec == None {
		b.count = 1
		return d.open(b, raw, limit)
	}
	if m.value == nil {
		return damaged(m.offset, "a compressed set without a value")
	}
	if err := d.open(b, m.value, limit); err != nil {
		return err
	}
	last := int64(0)
	b.count, last, reason = measureSet(b.records)
	if reason == "" && b.Header.Magic == 1 && m.offset > 0 { // some writers left a set's offset at 0
		if last > m.offset {
			reason = "a compressed set ends behind its own offset"
		}
		b.shift = m.offset - last
	}
	if reason != "" {
		return &DamagedError{Offset: m.offset, Reason: reason}
	}
	return nil
}

// measureSet checks the messages of a decompressed set, counts them and returns
// the offset of the last.
func measureSet(set []byte) (count int, last int64, reason string) {
	last = -1
	for ; len(set) > 0; count++ {
		m, reason := cutMessage(set)
		switch {
		case reason != "":
			return 0, 0, reason
		case m.codec != None:
			return 0, 0, "a compressed set holds another one"
		case m.offset < 0:
			return 0, 0, "a message's offset is negative"
		case crc32.ChecksumIEEE(set[atMagic:m.size]) != binary.BigEndian.Uint32(set[atEpoch:]):
			return 0, 0, "a message in a compressed set has a wrong checksum"
		}
		last, set = m.offset, set[m.size:]
	}
	if count == 0 {
		return 0, 0, "an empty compressed set"
	}
	return count, last, ""
}

func (w *Walker) nextLegacy(rec *record.Record) bool {
	m, reason := cutMessage(w.buf[w.pos:])
	if reason != "" {
		return w.fail(reason)
	}
	w.pos += m.size
	w.left--
	rec.Offset = m.offset + w.shift
	rec.Timestamp, rec.TimestampType = m.time, record.CreateTime
	if w.stamp == record.LogAppendTime && m.magic == 1 { // the time of a set is that of its messages
		rec.Timestamp, rec.TimestampType = w.time, w.stamp
	}
	rec.Key, rec.Value, rec.Headers = m.key, m.value, record.Headers{}
	rec.LeaderEpoch, rec.ProducerID, rec.ProducerEpoch = -1, -1, -1
	rec.Attributes = w.h.Attributes
	return true
}
