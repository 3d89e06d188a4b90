package batch

import (
	"encoding/binary"
	"math"

	"github.com/kcm-cli/kcm/internal/record"
)

// Walker goes over the records of a batch in the order in which they are stored:
//
//	w := b.Records()
//	for w.Next(&rec) { … }
//	if err := w.Err(); err != nil { … }
//
// Every offset lies in the batch's range; that they ascend is the broker's word
// and not checked. It allocates nothing.
type Walker struct {
	buf   []byte
	pos   int
	left  int // records to come
	h     *Header
	time  int64 // of the first record; of every one, if stamp says so
	stamp record.TimestampType
	shift int64 // see Batch
	err   error
}

// Records returns a walker at the first record. It must not outlive the
// caller's reference to b.
func (b *Batch) Records() Walker {
	w := Walker{buf: b.records, left: b.count, h: &b.Header, time: b.Header.BaseTimestamp, shift: b.shift}
	if b.Header.LogAppend() {
		w.stamp, w.time = record.LogAppendTime, b.Header.MaxTimestamp
	}
	return w
}

// Err returns why Next stopped before the end: nil or a *DamagedError. The
// records before were good.
func (w *Walker) Err() error { return w.err }

// Next puts the next record into rec, every field of it, and reports whether
// there was one. Slices in rec are views into the batch.
func (w *Walker) Next(rec *record.Record) bool {
	switch {
	case w.left == 0:
		return w.end()
	case w.h.Magic != 2:
		return w.nextLegacy(rec)
	default:
		return w.nextPlain(rec)
	}
}

func (w *Walker) end() bool {
	if w.pos < len(w.buf) && w.err == nil {
		w.fail("bytes follow its last record")
	}
	return false
}

func (w *Walker) fail(reason string) bool {
	w.left, w.pos = 0, len(w.buf)
	w.err = &DamagedError{Offset: w.h.BaseOffset, Reason: reason}
	return false
}

// headRoom is more than the part of a record that nextPlain reads without
// looking where the bytes end: four varints of up to 3 bytes, one byte, and the
// 4 bytes that the last of them is read with.
const headRoom = 20

// nextPlain reads a record of the kind that nearly all are: numbers below a
// million, no headers, not at the very end of the batch. Everything else,
// damage too, is left to nextAny. Half of a record's cost is its numbers.
func (w *Walker) nextPlain(rec *record.Record) bool {
	b, p := w.buf, w.pos
	if len(b)-p < headRoom {
		return w.nextAny(rec)
	}
	length, n1 := short(binary.LittleEndian.Uint32(b[p:]))
	p += n1
	end := p + int(length>>1)
	p++ // the attributes have no meaning yet
	delta, n2 := short(binary.LittleEndian.Uint32(b[p:]))
	p += n2
	offset, n3 := short(binary.LittleEndian.Uint32(b[p:]))
	p += n3
	size, n4 := short(binary.LittleEndian.Uint32(b[p:]))
	p += n4
	if n1*n2*n3*n4 == 0 || (length|offset)&1 != 0 || end > len(b) {
		return w.nextAny(rec)
	}
	var key []byte
	if size != 1 { // -1
		next := p + int(size>>1)
		if size&1 != 0 || next > end {
			return w.nextAny(rec)
		}
		key = b[p:next:next]
		p = next
	}
	if len(b)-p < 4 {
		return w.nextAny(rec)
	}
	size, n1 = short(binary.LittleEndian.Uint32(b[p:]))
	p += n1
	next := p + int(size>>1)
	if n1 == 0 || size&1 != 0 || next != end-1 || b[next] != 0 || offset>>1 > uint32(w.h.LastOffsetDelta) {
		return w.nextAny(rec)
	}
	rec.Key, rec.Value, rec.Headers = key, b[p:next:next], record.Headers{}
	w.pos = end
	w.left--
	w.fill(rec, int64(offset>>1), int64(delta>>1)^-int64(delta&1))
	return true
}

// short reads a varint of up to 3 bytes from the first bytes of x, and returns
// how many those are; 0 if it is longer.
func short(x uint32) (v uint32, n int) {
	if x&0x80 == 0 {
		return x & 0x7f, 1
	}
	v = x&0x7f | x>>1&0x3f80
	if x&0x8000 == 0 {
		return v, 2
	}
	if x&0x800000 == 0 {
		return v | x>>2&0x1fc000, 3
	}
	return 0, 0
}

// nextAny reads any record and finds out what is wrong with a damaged one.
func (w *Walker) nextAny(rec *record.Record) bool {
	b := w.buf
	length, p := varint(b, w.pos)
	if length <= 0 || p > len(b) || length > int64(len(b)-p) {
		return w.fail("a record goes beyond its end")
	}
	b = b[:p+int(length)]
	delta, p := varint(b, p+1)
	offset, p := varint(b, p)
	var ok bool
	if rec.Key, p, ok = field(b, p); !ok {
		return w.fail("a record's key is broken")
	}
	if rec.Value, p, ok = field(b, p); !ok {
		return w.fail("a record's value is broken")
	}
	headers, p := varint(b, p)
	if p > len(b) || headers < 0 || headers > math.MaxInt32 {
		return w.fail("a record's number of headers is broken")
	}
	rec.Headers = record.Headers{}
	if headers > 0 {
		rec.Headers = record.Headers{Count: int(headers), Raw: b[p:len(b):len(b)]}
		if !record.CheckHeaders(rec.Headers.Count, rec.Headers.Raw) {
			return w.fail("a record's headers are broken")
		}
	} else if p != len(b) {
		return w.fail("a record is longer than its parts")
	}
	if offset < 0 || offset > int64(w.h.LastOffsetDelta) {
		return w.fail("a record's offset is not in its range")
	}
	w.pos = len(b)
	w.left--
	w.fill(rec, offset, delta)
	return true
}

// fill sets what a record has from its batch.
func (w *Walker) fill(rec *record.Record, offset, delta int64) {
	h := w.h
	rec.Offset = h.BaseOffset + offset
	if rec.Timestamp, rec.TimestampType = w.time, w.stamp; w.stamp == record.CreateTime {
		rec.Timestamp += delta // wraps as the writer's did
	}
	rec.LeaderEpoch = h.LeaderEpoch
	rec.ProducerID = h.ProducerID
	rec.ProducerEpoch = h.ProducerEpoch
	rec.Attributes = h.Attributes
}

// beyond is the position after a varint that is not there or too long; it is
// behind every end, and stays so when a little is added.
const beyond = math.MaxInt / 2

// varint reads the zigzag varint at p and returns the position behind it.
func varint(b []byte, p int) (int64, int) {
	if p >= len(b) {
		return 0, beyond
	}
	if b[p] < 0x80 {
		return int64(b[p]>>1) ^ -int64(b[p]&1), p + 1
	}
	v, n := binary.Varint(b[p:])
	if n <= 0 {
		return 0, beyond
	}
	return v, p + n
}

// field cuts what a varint length stands before: nil for -1.
func field(b []byte, p int) ([]byte, int, bool) {
	n, p := varint(b, p)
	if p > len(b) || n > int64(len(b)-p) {
		return nil, beyond, false
	}
	if n < 0 {
		return nil, p, n == -1
	}
	end := p + int(n)
	return b[p:end:end], end, true
}
