package source

import (
	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/fetch"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/spec"
)

// cut ends a delivery at the first record of a time or later. The offset that a
// broker names for a time may be that of a transaction's marker, or of a record
// that was aborted: neither is one to whoever asked, and the records that are
// meant may lie behind it, all of them if it was written long after its records'
// own times.
type cut struct {
	from int64 // offset that the broker names: no record before it is of that time or later
	time int64 // ms since 1970
}

// endAt lets a delivery end where the first of the bounds does, as far as that is
// known yet.
func (d *delivery) endAt(bounds ...spec.Bounds) {
	d.until = spec.Open
	for _, b := range bounds {
		last := b.Until
		if b.Cut != nil {
			last = b.Cut.Last
			d.cuts = append(d.cuts, cut{b.Until, b.Cut.Time})
		}
		d.until = min(d.until, last)
	}
}

// cutOff looks for the ends of deliveries in an answer, and leaves out of it what
// lies behind all of them. The caller holds handing.
func (s *split) cutOff(d *fetch.Data) {
	for _, of := range s.deliveries { // only their ends change
		left := of.cuts[:0]
		for _, c := range of.cuts {
			at, found := s.find(d.Batches, c)
			if !found {
				left = append(left, c)
				continue
			}
			s.mu.Lock()
			of.until, of.wish = min(of.until, at), min(of.wish, at)
			s.bind()
			s.mu.Unlock()
		}
		of.cuts = left
	}
	end := s.end()
	for n := len(d.Batches); n > 0; n-- {
		if h, err := d.Batches[n-1].Head(); err != nil || h.Magic < 2 || h.BaseOffset < end {
			d.Batches = d.Batches[:n]
			return
		}
	}
	d.Batches = nil
}

// find returns where the first record is that ends a delivery.
func (s *split) find(batches []batch.Raw, c cut) (at int64, found bool) {
	for _, raw := range batches {
		h, err := raw.Head()
		if err != nil || h.MaxTimestamp < c.time || h.LastOffset() < c.from {
			continue
		}
		// One that cannot be read is told when its turn comes.
		b, err := batch.NewDecoder(s.r.e.Pool).Decode(raw, s.r.e.MaxBatch)
		if err != nil {
			return 0, false
		}
		var rec record.Record
		for w := b.Records(); !found && w.Next(&rec); {
			at, found = rec.Offset, rec.Offset >= c.from && rec.Timestamp >= c.time
		}
		b.Release()
		if found {
			return at, true
		}
	}
	return 0, false
}
