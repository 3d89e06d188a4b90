package produce

import (
	"errors"

	"github.com/kcm-cli/kcm/internal/batch"
	"github.com/kcm-cli/kcm/internal/record"
)

// errWhole is why a batch cannot be halved.
var errWhole = errors.New("a single record")

// halves makes two batches of one that a broker has refused: what is good in it
// still arrives, up to the record that is not.
func halves(b *Batch) (one, two *Batch, err error) {
	if b.Records < 2 {
		return nil, nil, errWhole
	}
	d := batch.NewDecoder(new(batch.Pool))
	whole, err := d.Decode(b.Raw, 0)
	if err != nil {
		return nil, nil, err
	}
	defer whole.Release()
	codec := whole.Header.Codec()
	middle := b.Records / 2
	var parts [2]*Batch
	var builder batch.Builder
	walker := whole.Records()
	var rec record.Record
	for i := 0; walker.Next(&rec); i++ {
		rec.Offset = b.offset(i)
		builder.Add(&rec)
		if half := i / middle; i == middle-1 || i == b.Records-1 {
			raw, offsets := builder.Finish(codec, nil)
			n := *b
			n.Raw, n.Records, n.First, n.Offsets, n.Built = raw, len(offsets), offsets[0], offsets, true
			n.stamped, n.err, n.sentTo = false, nil, nil
			parts[min(half, 1)] = &n
		}
	}
	if err := walker.Err(); err != nil {
		return nil, nil, err
	}
	if parts[0] == nil || parts[1] == nil {
		return nil, nil, errors.New("it does not hold the records that it counts")
	}
	b.Lane.split(b)
	return parts[0], parts[1], nil
}
