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
// It allocates nothing.
type Walker struct {
	buf   []byte
	pos   int
	left  int // records to come
	magic int8
	h     *Header
	time  int64 // of every record, if logAppend
	stamp record.TimestampType
	shift int64 // see Batch
	err   error
}

// Records returns a walker at the first record. It must not outlive the
// caller's reference to b.
func (b *Batch) Records() Walker {
	w := Walker{buf: b.records, left: b.count, h: &b.Header, magic: b.Header.Magic, shift: b.shift}
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
	if w.left == 0 {
		return w.end()
	}
	if w.magic != 2 {
		return w.nextLegacy(rec)
	}
	return w.next(rec)
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

func (w *Walker) next(rec *record.Record) bool {
	b := w.buf
	length, p := varint(b, w.pos)
	if length <= 0 || p > len(b) || length > int64(len(b)-p) {
		return w.fail("a record goes beyond its end")
	}
	b = b[:p+int(length)]
	delta, p := varint(b, p+1) // behind the attributes, which have no meaning yet
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

func (w *Walker) fill(rec *record.Record, offset, delta int64) {
	rec.Offset = w.h.BaseOffset + offset
	rec.TimestampType = w.stamp
	rec.Timestamp = w.time
	if w.stamp == record.CreateTime {
		rec.Timestamp = w.h.BaseTimestamp + delta // wraps as stored
	}
	rec.LeaderEpoch = w.h.LeaderEpoch
	rec.ProducerID = w.h.ProducerID
	rec.ProducerEpoch = w.h.ProducerEpoch
	rec.Attributes = w.h.Attributes
}

// beyond is the position after a varint that is not there or too long; it is
// behind every end, and stays so when a little is added.
const beyond = math.MaxInt / 2

// varint reads the zigzag varint at p and returns the position behind it.
func varint(b []byte, p int) (int64, int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return int64(b[p]>>1) ^ -int64(b[p]&1), p + 1
	}
	return longVarint(b, p)
}

func longVarint(b []byte, p int) (int64, int) {
	if p >= len(b) {
		return 0, beyond
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
