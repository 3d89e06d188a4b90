package produce

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
)

// aTopic is a topic that is not looked up.
func aTopic(partitions, maxBytes int) *Topic {
	return &Topic{Name: "t", Partitions: partitions, MaxBytes: maxBytes, cluster: "west"}
}

// shape is what a load is made of: r or b for a stored or a built batch, its
// partition, records and first offset.
func shape(l *Load) (list []string) {
	for _, b := range l.batches {
		kind := "r"
		if b.Built {
			kind = "b"
		}
		list = append(list, fmt.Sprintf("%s%d:%d@%d", kind, b.Partition, b.Records, b.First))
	}
	return list
}

func TestStoredAndBuiltBatchesKeepTheirOrder(t *testing.T) {
	topic := aTopic(4, 1<<20)
	l := NewLoader()
	l.Begin(Origin{Split: record.Split{Partition: 2}, Partitions: 4})
	raw := func(from int64) batch.Raw {
		return batchtest.New(batchtest.Record{Offset: from}, batchtest.Record{Offset: from + 1}).Bytes()
	}
	add := func(from int64, n int) {
		for i := range n {
			if err := l.Add(topic, &record.Record{Offset: from + 2*int64(i), Key: []byte("k")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	store := func(from int64) {
		r := raw(from)
		h, _ := r.Head()
		if !l.Store([]*Topic{topic}, &h, r) {
			t.Fatal("not stored")
		}
	}
	store(0)
	add(2, 3)
	store(10)
	store(12)
	add(20, 2)
	load := l.End()
	if got, want := shape(load), []string{"r2:2@0", "b2:3@2", "r2:2@10", "r2:2@12", "b2:2@20"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if load.Records != 11 || !slices.Equal(load.batches[1].Offsets, []int64{2, 4, 6}) || load.batches[2].offset(1) != 11 {
		t.Errorf("%s, offsets %v", load, load.batches[1].Offsets)
	}
}

func TestWhatMayBeStored(t *testing.T) {
	ok := batchtest.New(batchtest.Record{Offset: 5}, batchtest.Record{Offset: 6})
	hole := batchtest.New(batchtest.Record{Offset: 5}, batchtest.Record{Offset: 7})
	for _, tt := range []struct {
		name       string
		topic      *Topic
		partitions int
		b          batchtest.Batch
		want       bool
	}{
		{"as many partitions", aTopic(3, 1000), 3, ok, true},
		{"more partitions", aTopic(4, 1000), 3, ok, false},
		{"a hole", aTopic(3, 1000), 3, hole, false},
		{"too large", aTopic(3, 60), 3, ok, false},
	} {
		l := NewLoader()
		l.Begin(Origin{Split: record.Split{Partition: 1}, Partitions: tt.partitions})
		raw := batch.Raw(tt.b.Bytes())
		h, _ := raw.Head()
		if got := l.Store([]*Topic{tt.topic}, &h, raw); got != tt.want || (l.End().Records > 0) != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// For two topics at once each has bytes of its own: the heads are rewritten.
func TestStoredTwice(t *testing.T) {
	l := NewLoader()
	l.Begin(Origin{Partitions: 1})
	raw := batch.Raw(batchtest.New(batchtest.Record{}).Bytes())
	h, _ := raw.Head()
	if !l.Store([]*Topic{aTopic(1, 1000), aTopic(1, 1000)}, &h, raw) {
		t.Fatal("not stored")
	}
	list := l.End().batches
	if len(list) != 2 || &list[0].Raw[0] == &list[1].Raw[0] || !bytes.Equal(list[0].Raw, list[1].Raw) {
		t.Errorf("%d batches", len(list))
	}
}

// Records whose topic has another number of partitions go where Kafka's own
// partitioner, as another client has it, would put their key.
func TestKeysChooseThePartitionAsElsewhere(t *testing.T) {
	const n = 7
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	l := NewLoader()
	l.Begin(Origin{Split: record.Split{Partition: 3}, Partitions: 5})
	for i := range 300 {
		key := []byte(strings.Repeat("k", 9) + fmt.Sprint(i))[9-i%9 : 10+i%3%(1+len(fmt.Sprint(i)))]
		if i == 0 {
			key = []byte{}
		}
		got := l.partitionOf(aTopic(n, 1), &record.Record{Key: key})
		if want := theirs.Partition(&kgo.Record{Key: key}, n); int(got) != want {
			t.Errorf("key %q: partition %d, want %d", key, got, want)
		}
	}
	first := l.partitionOf(aTopic(n, 1), &record.Record{})
	l.Begin(Origin{Split: record.Split{Partition: 3}, Partitions: 5})
	if next := l.partitionOf(aTopic(n, 1), &record.Record{}); next == first || next >= n {
		t.Errorf("records without a key go to %d, then to %d", first, next)
	}
}

// Built batches stay below the topic's limit, with all that comes before a record
// that is too large.
func TestARecordThatIsTooLarge(t *testing.T) {
	topic := aTopic(1, 10_000)
	l := NewLoader()
	l.Begin(Origin{Split: record.Split{Cluster: "east", Topic: "src", Partition: 0}, Partitions: 1})
	for i := range 30 {
		if err := l.Add(topic, &record.Record{Offset: int64(i), Timestamp: math.MinInt64 + int64(i), Value: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	err := l.Add(topic, &record.Record{Offset: 30, Value: noise})
	const want = "east/src/0: the record at offset 30 takes 20072 bytes as a batch, west/t takes at most 10000"
	if fault.KindOf(err) != fault.Partial || err.Error() != want || !strings.Contains(fault.HintOf(err), "max.message.bytes") {
		t.Errorf("%v, want %s", err, want)
	}
	load := l.End()
	if load.Records != 30 {
		t.Errorf("%d records, want those before", load.Records)
	}
	for _, b := range load.batches {
		if len(b.Raw) > topic.MaxBytes || b.Records < 2 {
			t.Errorf("a batch of %d records and %d bytes", b.Records, len(b.Raw))
		}
	}
	// What is small enough once it is compressed is no trouble.
	l.Begin(Origin{Partitions: 1})
	if err := l.Add(topic, &record.Record{Value: make([]byte, 100_000), Attributes: int16(batch.Zstd)}); err != nil {
		t.Error(err)
	}
	if load := l.End(); load.Records != 1 {
		t.Errorf("%s", load)
	}
}

func TestHalves(t *testing.T) {
	for n := 1; n < 20; n++ {
		l := NewLoader()
		l.Begin(Origin{Partitions: 1})
		for i := range n {
			if err := l.Add(aTopic(1, 1<<20), &record.Record{
				Offset: 10 + 3*int64(i), Timestamp: int64(i), Value: fmt.Appendf(nil, "%d", i), Attributes: int16(batch.LZ4),
				Headers: headersOf(record.Header{Key: []byte("h"), Value: nil}),
			}); err != nil {
				t.Fatal(err)
			}
		}
		b := l.End().batches[0]
		b.Lane, b.block = &Lane{}, &block{open: 1}
		one, two, err := halves(b)
		if n == 1 {
			if err == nil {
				t.Error("a single record was halved")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if one.Records+two.Records != n || one.Records != n/2 || b.block.open != 2 ||
			!slices.Equal(slices.Concat(one.Offsets, two.Offsets), b.Offsets) {
			t.Errorf("%d records: %d and %d, %v and %v", n, one.Records, two.Records, one.Offsets, two.Offsets)
		}
		got := slices.Concat(values(t, one.Raw), values(t, two.Raw))
		if !slices.Equal(got, values(t, b.Raw)) {
			t.Errorf("%d records: %v", n, got)
		}
	}
}

// values are a batch's times and values.
func values(t *testing.T, raw batch.Raw) (list []string) {
	t.Helper()
	b, err := batch.NewDecoder(new(batch.Pool)).Decode(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	w := b.Records()
	var r record.Record
	for w.Next(&r) {
		list = append(list, fmt.Sprintf("%d %s %d", r.Timestamp, r.Value, r.Headers.Count))
	}
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	return list
}
