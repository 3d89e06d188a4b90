package batch

import (
	"encoding/binary"
	"slices"
)

// ControlType says what a control batch marks.
type ControlType int8

// The control batches that a transaction ends with (KIP-98), and all others.
const (
	ControlUnknown ControlType = iota - 1
	ControlAbort
	ControlCommit
)

// String gives the word for t.
func (t ControlType) String() string {
	switch t {
	case ControlAbort:
		return "abort"
	case ControlCommit:
		return "commit"
	default:
		return "unknown"
	}
}

// ControlType returns what raw marks: it reads the key of the first record,
// which has a version and a type of two bytes each. What is no control batch of
// format 2, or is one that cannot be read, is ControlUnknown.
func (raw Raw) ControlType() ControlType {
	if len(raw) < atRecords || raw[atMagic] != 2 {
		return ControlUnknown
	}
	var h Header
	h.read(raw)
	if !h.Control() || h.Codec() != None || h.NumRecords < 1 {
		return ControlUnknown
	}
	b := raw[atRecords:]
	length, p := varint(b, 0)
	if length <= 0 || p > len(b) || length > int64(len(b)-p) {
		return ControlUnknown
	}
	_, p = varint(b, p+1)
	_, p = varint(b, p)
	key, _, ok := field(b, p)
	if !ok || len(key) < 4 || int16(binary.BigEndian.Uint16(key)) < 0 {
		return ControlUnknown
	}
	switch binary.BigEndian.Uint16(key[2:]) {
	case 0:
		return ControlAbort
	case 1:
		return ControlCommit
	default:
		return ControlUnknown
	}
}

// Aborted is one entry of a fetch response's list of aborted transactions.
type Aborted struct {
	ProducerID  int64
	FirstOffset int64
}

// Filter drops what a reader of committed records must not see. It belongs to
// one partition of one fetch response and wants that one's batches in order. A
// nil Filter drops control batches only, as a reader of uncommitted records does.
type Filter struct {
	waiting []Aborted // by first offset
	aborted map[int64]struct{}
}

// NewFilter makes the filter for a response's aborted transactions, in any order.
func NewFilter(list []Aborted) *Filter {
	waiting := slices.Clone(list)
	slices.SortFunc(waiting, func(a, b Aborted) int {
		switch {
		case a.FirstOffset < b.FirstOffset:
			return -1
		case a.FirstOffset > b.FirstOffset:
			return 1
		default:
			return 0
		}
	})
	return &Filter{waiting: waiting, aborted: make(map[int64]struct{}, len(list))}
}

// Keep reports whether the records of the batch are for the reader. It decides
// as Kafka's own consumer does: a transaction of the list begins to count at the
// first batch of any producer that reaches its first offset, and ends at its
// producer's next abort marker.
func (f *Filter) Keep(h Header, raw Raw) bool {
	if f == nil {
		return !h.Control()
	}
	if h.ProducerID < 0 {
		return !h.Control()
	}
	last := h.LastOffset()
	for len(f.waiting) > 0 && f.waiting[0].FirstOffset <= last {
		f.aborted[f.waiting[0].ProducerID] = struct{}{}
		f.waiting = f.waiting[1:]
	}
	if h.Control() {
		if raw.ControlType() == ControlAbort {
			delete(f.aborted, h.ProducerID)
		}
		return false
	}
	if !h.Transactional() || len(f.aborted) == 0 {
		return true
	}
	_, dropped := f.aborted[h.ProducerID]
	return !dropped
}
