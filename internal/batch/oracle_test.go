package batch_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/batch/batchtest"
	"github.com/kcm-cli/kcm/internal/record"
)

// response is what a fetch of one partition brought.
type response struct {
	log     []byte
	aborted []batch.Aborted
}

// byKgo reads a response with the Kafka client that kcm does not read with.
func byKgo(r response, start int64, committed bool) ([]kept, error) {
	rp := &kmsg.FetchResponseTopicPartition{RecordBatches: r.log, HighWatermark: 1 << 40}
	opts := kgo.ProcessFetchPartitionOpts{Offset: start, Topic: "t"}
	if committed {
		opts.IsolationLevel = kgo.ReadCommitted()
		for _, a := range r.aborted {
			rp.AbortedTransactions = append(rp.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
		}
	}
	fp, _ := kgo.ProcessFetchPartition(opts, rp, kgo.DefaultDecompressor(), nil)
	var all []kept
	for _, r := range fp.Records {
		k := kept{Offset: r.Offset, Time: r.Timestamp.UnixMilli(), Epoch: r.LeaderEpoch, Producer: r.ProducerID, Key: r.Key, Value: r.Value}
		if r.Attrs.TimestampType() == 1 {
			k.Stamp = record.LogAppendTime
		} else if r.Attrs.TimestampType() < 0 {
			k.Time = -1
		}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, record.Header{Key: []byte(h.Key), Value: h.Value})
		}
		all = append(all, k)
	}
	return all, fp.Err
}

// byKcm does with this package what fetch and source do with it.
func byKcm(r response, start int64, committed bool) ([]kept, error) {
	var filter *batch.Filter
	if committed {
		filter = batch.NewFilter(r.aborted)
	}
	d := batch.NewDecoder(&batch.Pool{Poison: true})
	var all []kept
	for b := r.log; ; {
		raw, h, rest, err := batch.Next(b)
		if errors.Is(err, batch.ErrCut) {
			return all, nil
		}
		if err == nil {
			err = raw.Check()
		}
		if err != nil {
			return all, err
		}
		b = rest
		if !filter.Keep(h, raw) || h.LastOffset() < start {
			continue
		}
		recs, err := walk(d, raw, 0)
		for _, k := range recs {
			if k.Attributes = 0; k.Offset >= start { // kgo gives them per message in the older formats
				all = append(all, k)
			}
		}
		if err != nil {
			return all, err
		}
	}
}

func drawBytes(t *rapid.T, label string) []byte {
	switch rapid.IntRange(0, 6).Draw(t, label+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return bytes.Repeat([]byte("0123456789abcdef"), rapid.IntRange(1, 12_000).Draw(t, label+" length"))
	default:
		return rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, label)
	}
}

// drawRecords draws records from offset on.
func drawRecords(t *rapid.T, offset int64) []batchtest.Record {
	recs := make([]batchtest.Record, rapid.IntRange(1, 12).Draw(t, "records"))
	for i := range recs {
		// Times that kgo keeps right: about 1678 to 2262.
		recs[i] = batchtest.Record{
			Offset: offset, Time: rapid.Int64Range(-9_000_000_000_000, 9_000_000_000_000).Draw(t, "time"),
			Key: drawBytes(t, "key"), Value: drawBytes(t, "value"),
		}
		if rapid.Bool().Draw(t, "near") {
			recs[i].Time = recs[0].Time + int64(i)*rapid.Int64Range(-50, 5000).Draw(t, "step")
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			h := record.Header{Key: drawBytes(t, "header key"), Value: drawBytes(t, "header value")}
			if h.Key == nil {
				h.Key = []byte{}
			}
			recs[i].Headers = append(recs[i].Headers, h)
		}
		if offset++; rapid.IntRange(0, 3).Draw(t, "hole") == 0 {
			offset += rapid.Int64Range(1, 20_000).Draw(t, "hole size")
		}
	}
	return recs
}

type drawn struct {
	response
	ends []int64 // of aborted: the markers' offsets
	next int64
	open map[int64]int64 // transactions that are open, by producer: their first offsets
}

func (d *drawn) batch(t *rapid.T) {
	b := batchtest.New(drawRecords(t, d.next+rapid.SampledFrom([]int64{0, 0, 3}).Draw(t, "hole before"))...)
	b.Base = d.next // as the cleaner leaves it
	s := rapid.SampledFrom(shapes).Draw(t, "shape")
	b.Codec, b.Framing = s.codec, s.framing
	b.LeaderEpoch = rapid.Int32Range(0, 9).Draw(t, "epoch")
	b.LogAppend = rapid.Bool().Draw(t, "log append")
	b.Last += rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "hole behind")
	if id := rapid.Int64Range(-1, 3).Draw(t, "producer"); id >= 0 {
		b.ProducerID, b.ProducerEpoch, b.Sequence = id, 0, 0
		if b.Transactional = rapid.Bool().Draw(t, "transactional"); b.Transactional {
			if _, ok := d.open[id]; !ok {
				d.open[id] = b.Base
			}
		}
	}
	d.log = append(d.log, b.Bytes()...)
	d.next = b.Last + 1
}

func (d *drawn) marker(t *rapid.T) {
	id, commit := rapid.Int64Range(0, 3).Draw(t, "producer"), rapid.Bool().Draw(t, "commit")
	first, ok := d.open[id]
	if !ok {
		return
	}
	delete(d.open, id)
	if !commit {
		d.aborted = append(d.aborted, batch.Aborted{ProducerID: id, FirstOffset: first})
		d.ends = append(d.ends, d.next)
	}
	d.log = append(d.log, batchtest.Marker(d.next, id, 0, commit)...)
	d.next++
}

func (d *drawn) legacy(t *rapid.T) {
	recs := drawRecords(t, d.next)
	magic := rapid.ByteRange(0, 1).Draw(t, "magic")
	s := rapid.SampledFrom(shapes[:7]).Draw(t, "shape")
	if s.codec == batch.None {
		for _, r := range recs {
			d.log = append(d.log, batchtest.Message(magic, r)...)
		}
	} else {
		d.log = append(d.log, batchtest.Set{Magic: magic, Codec: s.codec, Framing: s.framing, Time: recs[0].Time, Records: recs}.Bytes()...)
	}
	d.next = recs[len(recs)-1].Offset + 1
}

// fetched is what a broker would send from start on: whole batches, and the
// transactions that did not end before.
func (d *drawn) fetched(t *rapid.T, start int64) (r response) {
	r.log = d.log
	for {
		_, h, rest, err := batch.Next(r.log)
		if err != nil || h.LastOffset() >= start {
			break
		}
		r.log = rest
	}
	for i, a := range d.aborted {
		if d.ends[i] >= start {
			r.aborted = append(r.aborted, a)
		}
	}
	r.aborted = rapid.Permutation(r.aborted).Draw(t, "aborted")
	return r
}

// TestAsKgoReads reads partitions of every make, from any offset and in both
// isolation levels.
func TestAsKgoReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{open: map[int64]int64{}}
		if rapid.Bool().Draw(t, "old") { // no partition goes back to an older format
			for range rapid.IntRange(0, 3).Draw(t, "sets") {
				d.legacy(t)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				d.marker(t)
			} else {
				d.batch(t)
			}
		}
		if cut := rapid.IntRange(0, 100).Draw(t, "cut off"); cut < len(d.log) {
			d.log = d.log[:len(d.log)-cut]
		}
		start := rapid.Int64Range(0, d.next).Draw(t, "start")
		r := d.fetched(t, start)
		for _, committed := range []bool{false, true} {
			want, err := byKgo(r, start, committed)
			if err != nil {
				t.Fatalf("kgo: %v", err)
			}
			got, err := byKcm(r, start, committed)
			if err != nil {
				t.Fatalf("committed %v: %v", committed, err)
			}
			if len(got) != len(want) {
				t.Fatalf("committed %v: %d records, kgo has %d", committed, len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("committed %v, record %d:\n got %.300s\nwant %.300s", committed, i, fmt.Sprintf("%#v", got[i]), fmt.Sprintf("%#v", want[i]))
				}
			}
		}
	})
}

// TestKgoKeepsNoFarTimes pins the reason why kcm reads timestamps itself. When
// it fails, kgo has been mended.
func TestKgoKeepsNoFarTimes(t *testing.T) {
	const far = 1_700_000_000_123_456
	r := response{log: slices.Concat(
		batchtest.New(batchtest.Record{Offset: 0, Time: far}).Bytes(),
		batchtest.New(batchtest.Record{Offset: 1, Time: far}, batchtest.Record{Offset: 2, Time: -far}).Bytes(),
	)}
	want, err := byKgo(r, 0, false)
	if err != nil || len(want) != 3 || want[0].Time != 2899545342177 {
		t.Errorf("kgo: %v, %v", want, err)
	}
	got, err := byKcm(r, 0, false)
	if err != nil || len(got) != 3 || got[0].Time != far || got[1].Time != far || got[2].Time != -far {
		t.Errorf("%v, %v", got, err)
	}
}
