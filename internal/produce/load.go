package produce

import (
	"fmt"
	"slices"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// Load is what of one partition's stretch of records goes to a cluster, in order.
type Load struct {
	batches []*Batch
	Records int
	Bytes   int
}

// Origin is where a load comes from.
type Origin struct {
	record.Split
	Partitions int // that the topic has there
}

// Loader makes Loads. It belongs to one goroutine.
type Loader struct {
	origin   Origin
	load     *Load
	building map[partitionKey]*building
	order    []*building // begun, in the order in which they were
	spare    []*building
	turn     int // for records without a key
}

// building is a batch in the making.
type building struct {
	batch.Builder
	topic     *Topic
	partition int32
	codec     batch.Codec
}

// NewLoader returns a loader.
func NewLoader() *Loader { return &Loader{building: map[partitionKey]*building{}} }

// mostBuilt is how large a built batch gets before it is compressed, unless a
// single record is larger.
const mostBuilt = 1 << 20

// Begin begins a load.
func (l *Loader) Begin(o Origin) {
	l.origin, l.load = o, &Load{}
	for _, b := range l.order {
		b.Reset()
	}
	l.recycle()
	l.turn++
}

func (l *Loader) recycle() {
	l.spare = append(l.spare, l.order...)
	l.order = l.order[:0]
	clear(l.building)
}

// Store adds a batch as it is stored, once for each topic, and reports whether it
// could: every topic must keep its partition and take a batch of its kind and
// size.
func (l *Loader) Store(topics []*Topic, h *batch.Header, raw batch.Raw) bool {
	for _, t := range topics {
		if !h.Copyable() || len(raw) > t.MaxBytes || !t.keeps(l.origin) {
			return false
		}
	}
	l.finish() // what was added before goes before
	for i, t := range topics {
		if i > 0 {
			raw = slices.Clone(raw) // its head is rewritten for each
		}
		l.add(&Batch{Topic: t, Partition: l.origin.Partition, Raw: raw, Records: int(h.NumRecords), First: h.BaseOffset})
	}
	return true
}

func (l *Loader) add(b *Batch) {
	l.load.batches = append(l.load.batches, b)
	l.load.Records += b.Records
	l.load.Bytes += len(b.Raw)
}

// Add adds one record, of which nothing is kept. The error is about a record that
// the topic cannot take.
func (l *Loader) Add(t *Topic, r *record.Record) error {
	p := l.partitionOf(t, r)
	b := l.building[partitionKey{t.Name, p}]
	if b == nil {
		b = l.begin(t, p)
	}
	codec := t.codec(batch.Codec(r.Attributes & 7))
	most := min(mostBuilt, t.MaxBytes)
	if b.Len() > 0 && (b.Size()+batch.SizeOf(r) > most || b.codec != codec) {
		if err := l.finishOne(b); err != nil {
			return err
		}
	}
	b.codec = codec
	b.Add(r)
	if b.Size() > most { // it is alone, and too large unless compression helps
		return l.finishOne(b)
	}
	return nil
}

func (l *Loader) begin(t *Topic, p int32) *building {
	var b *building
	if n := len(l.spare); n > 0 {
		b, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		b = &building{}
	}
	b.topic, b.partition = t, p
	l.building[partitionKey{t.Name, p}] = b
	l.order = append(l.order, b)
	return b
}

func (l *Loader) finishOne(b *building) error {
	if b.Len() == 0 {
		return nil
	}
	raw, offsets := b.Finish(b.codec)
	if len(raw) > b.topic.MaxBytes {
		return l.tooLarge(b.topic, offsets[0], len(raw))
	}
	l.add(&Batch{Topic: b.topic, Partition: b.partition, Raw: raw, Records: len(offsets), First: offsets[0], Offsets: offsets, Built: true})
	return nil
}

func (l *Loader) tooLarge(t *Topic, offset int64, size int) error {
	return fault.New(fault.Partial, "%s: the record at offset %d takes %d bytes as a batch, %s/%s takes at most %d",
		l.origin.Split, offset, size, t.cluster, t.Name, t.MaxBytes).On(t.cluster).
		WithHint("raise max.message.bytes of %s on %s; what comes before the record has been written", t.Name, t.cluster)
}

// finish finishes every batch that was begun. Only a record that is alone can be
// too large, and that has been finished.
func (l *Loader) finish() {
	for _, b := range l.order {
		_ = l.finishOne(b)
	}
	l.recycle()
}

// End returns the load.
func (l *Loader) End() *Load {
	l.finish()
	load := l.load
	l.load = nil
	return load
}

// partitionOf chooses a record's partition: the one that it has where the topics
// have as many, else by its key as Kafka's own producer does. Records without a
// key stay together for a load.
func (l *Loader) partitionOf(t *Topic, r *record.Record) int32 {
	switch {
	case t.keeps(l.origin):
		return l.origin.Partition
	case r.Key == nil:
		return int32((uint32(l.turn) + uint32(l.origin.Partition)) % uint32(t.Partitions))
	default:
		return int32((murmur2(r.Key) & 0x7fffffff) % uint32(t.Partitions))
	}
}

// String says how many records and bytes there are.
func (l *Load) String() string { return fmt.Sprintf("%d records, %d bytes", l.Records, l.Bytes) }

// murmur2 is the hash of Kafka's default partitioner (Utils.murmur2).
func murmur2(b []byte) uint32 {
	const m = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
