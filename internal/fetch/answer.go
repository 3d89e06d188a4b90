package fetch

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/batch"
)

// versionIDs is the first version of Fetch that names topics by id (KIP-516).
const versionIDs = 13

// read makes outcomes of an answer. It runs beside the loop and looks only at
// what does not change in flight. What the answer does not speak of has no
// outcome: nothing has changed there.
func (f *Fetcher) read(resp *kmsg.FetchResponse, fl *flight) []*outcome {
	if resp.ErrorCode != 0 {
		return nil
	}
	names := map[[16]byte]string{}
	if resp.Version >= versionIDs {
		for key, w := range fl.wants {
			names[w.at.TopicID] = key.Topic
		}
		delete(names, [16]byte{})
	}
	outs := nameless(resp, fl)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name := t.Topic
		if resp.Version >= versionIDs {
			name = names[t.TopicID]
		}
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			if w := fl.wants[Partition{name, rp.Partition}]; w != nil && !w.p.gone.Load() {
				outs = append(outs, f.readPartition(rp, w, fl))
			}
		}
	}
	return outs
}

// nameless are outcomes for partitions that were asked for by an id that is not
// known: the look-up was answered by a broker too old for ids, the fetch by one
// that takes nothing else. The answer does not say which topic is meant.
func nameless(resp *kmsg.FetchResponse, fl *flight) (outs []*outcome) {
	if resp.Version < versionIDs {
		return nil
	}
	for _, w := range fl.wants {
		if w.at.TopicID == [16]byte{} {
			outs = append(outs, &outcome{fl: fl, w: w, code: kerr.UnknownTopicID.Code, bounds: w.bounds, leader: -1, diverging: -1})
		}
	}
	return outs
}

func (f *Fetcher) readPartition(rp *kmsg.FetchResponseTopicPartition, w *want, fl *flight) *outcome {
	o := &outcome{
		fl: fl, w: w, code: rp.ErrorCode, next: w.at.Offset, epoch: w.at.Epoch,
		bounds:    bounds{rp.LogStartOffset, rp.LastStableOffset, rp.HighWatermark},
		leader:    rp.CurrentLeader.LeaderID,
		leaderAt:  rp.CurrentLeader.LeaderEpoch,
		diverging: -1,
		replica:   rp.PreferredReadReplica,
		bytes:     len(rp.RecordBatches),
	}
	if o.code != 0 {
		o.bounds = w.bounds
		return o
	}
	if rp.DivergingEpoch.EndOffset >= 0 {
		o.diverging = rp.DivergingEpoch.EndOffset
		o.bounds = w.bounds
		return o
	}
	var filter *batch.Filter
	if f.cfg.Committed {
		aborted := make([]batch.Aborted, len(rp.AbortedTransactions))
		for i, a := range rp.AbortedTransactions {
			aborted[i] = batch.Aborted{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset}
		}
		filter = batch.NewFilter(aborted)
	}
	o.readBatches(rp.RecordBatches, filter)
	return o
}

// readBatches cuts the batches out and keeps what is to be delivered, up to the
// first that is damaged.
func (o *outcome) readBatches(b []byte, filter *batch.Filter) {
	for len(b) > 0 {
		raw, h, rest, err := batch.Next(b)
		if errors.Is(err, batch.ErrCut) {
			if h.Length > 0 && o.next == o.w.at.Offset {
				o.cut = h.Size()
			}
			return
		}
		if err == nil {
			err = raw.Check()
		}
		if err != nil {
			o.damage = &Damaged{Partition: o.w.p.key, Offset: o.next, Err: err}
			return
		}
		b = rest
		keep := filter.Keep(h, raw) // it wants to see every batch, also those before the position
		if h.Next() <= o.next {
			continue
		}
		o.next, o.epoch = h.Next(), h.LeaderEpoch
		if keep {
			o.batches = append(o.batches, raw)
		}
	}
}

// held is how many bytes the batches of o keep in memory: a response is in one
// piece, so one batch that is wanted holds its whole partition's part.
func (o *outcome) held() int {
	if len(o.batches) == 0 {
		return 0
	}
	return o.bytes
}
