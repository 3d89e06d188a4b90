package main

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The schemas of the shapes avro and protobuf, and the ids that the registry of
// this program has for them.
var (
	//go:embed order.avsc
	avroSchema string
	//go:embed order.proto
	protobufSchema string
)

const (
	avroID     = 1
	protobufID = 2
)

// purchase is what one record of those shapes holds.
type purchase struct {
	id       int64
	customer string
	email    string // empty: none
	status   int    // of four
	total    int64  // cents
	currency string
	at       time.Time
	street   string
	town     string
	zip      int
	items    []item
	paid     bool
	weight   float64
	note     string
}

type item struct {
	sku   string
	count int
	price float64
}

func newPurchase(rng *rand.Rand, i int, at time.Time) purchase {
	towns := [...]string{"Old Town", "Newcastle", "Springfield", "Bad Homburg"}
	notes := [...]string{"please leave it with our neighbour", "ring twice", "behind the blue door, thanks", ""}
	p := purchase{
		id: int64(i), customer: fmt.Sprintf("c-%06d", rng.IntN(1_000_000)), status: rng.IntN(4),
		total: int64(rng.IntN(1_000_000)), currency: "EUR", at: at,
		street: fmt.Sprintf("Long Street %d", rng.IntN(300)), town: towns[rng.IntN(len(towns))], zip: 10_000 + rng.IntN(90_000),
		paid: rng.IntN(2) == 0, weight: float64(rng.IntN(10_000)) / 1000, note: notes[rng.IntN(len(notes))],
	}
	if rng.IntN(3) > 0 {
		p.email = p.customer + "@mail.example"
	}
	for range 2 + rng.IntN(3) {
		p.items = append(p.items, item{fmt.Sprintf("A-%05d", rng.IntN(100_000)), 1 + rng.IntN(9), float64(rng.IntN(10_000)) / 100})
	}
	return p
}

// framed makes the records of one encoding with Confluent's frame.
func framed(id uint32, prefix string, encode func(dst []byte, p purchase) []byte) func() func(int, time.Time) (key, value []byte) {
	return func() func(int, time.Time) (key, value []byte) {
		rng := newRNG()
		return func(i int, at time.Time) (key, value []byte) {
			value = binary.BigEndian.AppendUint32([]byte{0}, id)
			return keyOf(rng), encode(append(value, prefix...), newPurchase(rng, i, at))
		}
	}
}

// appendAvro writes p by order.avsc: zigzag varints are those of binary.
func appendAvro(dst []byte, p purchase) []byte {
	text := func(s string) { dst = append(binary.AppendVarint(dst, int64(len(s))), s...) }
	long := func(n int64) { dst = binary.AppendVarint(dst, n) }
	double := func(f float64) { dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)) }
	long(p.id)
	text(p.customer)
	if p.email == "" {
		long(0)
	} else {
		long(1)
		text(p.email)
	}
	long(int64(p.status))
	text(string([]byte{byte(p.total >> 24), byte(p.total >> 16), byte(p.total >> 8), byte(p.total)}))
	text(p.currency)
	long(p.at.UnixMilli())
	text(p.street)
	text(p.town)
	long(int64(p.zip))
	long(int64(len(p.items)))
	for _, it := range p.items {
		text(it.sku)
		long(int64(it.count))
		double(it.price)
	}
	long(0)
	if p.paid {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	double(p.weight)
	text(p.note)
	return dst
}

// appendProtobuf writes p by order.proto, fields by number, zeros left out.
func appendProtobuf(dst []byte, p purchase) []byte {
	dst = appendInt(dst, 1, p.id)
	dst = appendText(dst, 2, p.customer)
	dst = appendText(dst, 3, p.email)
	dst = appendInt(dst, 4, int64(p.status))
	dst = appendText(dst, 5, fmt.Sprintf("%d.%02d", p.total/100, p.total%100))
	dst = appendText(dst, 6, p.currency)
	at := appendInt(appendInt(nil, 1, p.at.Unix()), 2, int64(p.at.Nanosecond()))
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 7, protowire.BytesType), at)
	address := appendInt(appendText(appendText(nil, 1, p.street), 2, p.town), 3, int64(p.zip))
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 8, protowire.BytesType), address)
	for _, it := range p.items {
		line := appendDouble(appendInt(appendText(nil, 1, it.sku), 2, int64(it.count)), 3, it.price)
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 9, protowire.BytesType), line)
	}
	if p.paid {
		dst = appendInt(dst, 10, 1)
	}
	dst = appendDouble(dst, 11, p.weight)
	return appendText(dst, 12, p.note)
}

func appendInt(dst []byte, field protowire.Number, n int64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), uint64(n))
}

func appendText(dst []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), s)
}

func appendDouble(dst []byte, field protowire.Number, f float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), math.Float64bits(f))
}
