package filter

import (
	"fmt"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/output"
	"github.com/kcm-cli/kcm/internal/record"
)

// lazy is a Decoded as the command has it: with decoders that remember, and
// memory that is used again.
type lazy struct {
	pair             codec.Pair
	rec              *record.Record
	key, value       record.Value
	hasKey, hasValue bool
	scratch          []byte
}

func (l *lazy) Key() *record.Value {
	if !l.hasKey {
		l.scratch, l.hasKey = l.pair.Key.Decode(&l.key, l.scratch, l.rec.Key, l.rec), true
	}
	return &l.key
}

func (l *lazy) Value() *record.Value {
	if !l.hasValue {
		l.scratch, l.hasValue = l.pair.Value.Decode(&l.value, l.scratch, l.rec.Value, l.rec), true
	}
	return &l.value
}

// BenchmarkJudge is the cost of a verdict on one record of about 140 bytes;
// copying it is what the format raw does with one.
func BenchmarkJudge(b *testing.B) {
	var recs []record.Record
	for i := range 1000 {
		recs = append(recs, record.Record{
			Offset: int64(i), Timestamp: 1700000000000,
			Key:   fmt.Appendf(nil, "customer-%d", i%97),
			Value: fmt.Appendf(nil, `{"id":%d,"customer":"customer-%d","country":"DE","status":"paid","items":[{"sku":"tea-05","quantity":%d}],"total":%d.99,"currency":"EUR"}`, i, i%97, i%5, i),
		})
	}
	b.Run("raw", func(b *testing.B) {
		var out []byte
		for i := 0; b.Loop(); i++ {
			r := &recs[i%len(recs)]
			out = append(append(out[:0], r.Value...), '\n')
		}
	})
	for _, bb := range []struct {
		name string
		o    Options
	}{
		{"grep/text", Options{Grep: []string{"v:needle"}}},
		{"grep/anchored", Options{Grep: []string{"k:^customer-7$"}}},
		{"grep/regexp", Options{Grep: []string{`v:"quantity":[34]`}}},
		{"where/fast/number", Options{Where: ".value.total > 900"}},
		{"where/fast/key", Options{Where: `.key == "customer-7"`}},
		{"where/fast/both", Options{Where: `.value.status == "paid" and .value.items[0].quantity >= 3`}},
		{"where/gojq", Options{Where: ".value.total * 2 > 1800"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f, err := New(bb.o)
			if err != nil {
				b.Fatal(err)
			}
			format, err := output.NewFormat(output.FormatJSON, output.Options{})
			if err != nil {
				b.Fatal(err)
			}
			pair, err := codec.Choice{}.Pair(codec.Env{})
			if err != nil {
				b.Fatal(err)
			}
			j := f.Worker().Judge(Origin{Stream: "shop", Split: aSplit, Envelope: format.ForSplit("shop", aSplit)})
			d := &lazy{pair: pair}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r := &recs[i%len(recs)]
				d.rec, d.hasKey, d.hasValue, d.scratch = r, false, false, d.scratch[:0]
				if _, err := j.Keeps(r, d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
