package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// shape is a kind of value. maker returns what makes the records one by one: the
// same ones in every run.
type shape struct {
	size  string // for people
	least int    // bytes that a record has at least, with its key
	maker func() func(i int, at time.Time) (key, value []byte)
	coded string // what the values are in; JSON if empty
}

func (s shape) encoding() string {
	if s.coded == "" {
		return "JSON"
	}
	return s.coded
}

// needle is in one record of needleEvery: what -G looks for.
const (
	needle      = "needle"
	needleEvery = 1000
)

var shapes = map[string]shape{
	"order": {size: "140 bytes", least: 130, maker: func() func(int, time.Time) (key, value []byte) {
		rng := newRNG()
		return func(i int, at time.Time) (key, value []byte) {
			return keyOf(rng), append(order(rng, i, at), '}')
		}
	}},
	"page": {size: "1 KB", least: 700, maker: func() func(int, time.Time) (key, value []byte) {
		rng := newRNG()
		return func(i int, at time.Time) (key, value []byte) {
			return keyOf(rng), page(rng, i, at)
		}
	}},
	// To about a quarter lz4 compresses these.
	"wide": {size: "260 bytes", least: 240, maker: func() func(int, time.Time) (key, value []byte) {
		rng := newRNG()
		return func(i int, at time.Time) (key, value []byte) {
			return keyOf(rng), append(order(rng, i, at),
				`,"shop":{"name":"The corner shop","street":"Long Street 17","town":"Old Town","country":"DE","open":true},"v":3}`...)
		}
	}},
	"avro":     {size: "200 bytes, 12 fields", least: 120, maker: framed(avroID, "", appendAvro), coded: "Avro"},
	"protobuf": {size: "200 bytes, 12 fields", least: 120, maker: framed(protobufID, "\x00", appendProtobuf), coded: "Protobuf"},
}

func newRNG() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func keyOf(rng *rand.Rand) []byte { return fmt.Appendf(nil, "c-%06d", rng.IntN(1_000_000)) }

// order is one JSON record of about 140 bytes, without its closing brace.
func order(rng *rand.Rand, id int, at time.Time) []byte {
	statuses := [...]string{"new", "paid", "shipped", "returned"}
	sku := fmt.Appendf(nil, "A-%05d", rng.IntN(100_000))
	if id%needleEvery == 0 {
		sku = []byte(needle)
	}
	return fmt.Appendf(nil, `{"id":%d,"customer":"c-%06d","status":%q,"amount":%d.%02d,"currency":"EUR","sku":"%s","at":%q`,
		id, rng.IntN(1_000_000), statuses[rng.IntN(len(statuses))], rng.IntN(500), rng.IntN(100), sku,
		at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// page is one JSON record of about 1 KB: an order with its items and some text.
func page(rng *rand.Rand, id int, at time.Time) []byte {
	words := [...]string{"please", "leave", "the", "parcel", "with", "our", "neighbour", "or", "behind", "blue", "door", "thanks", "gift", "wrap", "ring", "twice"}
	out := append(order(rng, id, at), `,"items":[`...)
	for n := range 6 {
		if n > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"sku":"A-%05d","quantity":%d,"price":%d.%02d,"tax":19}`,
			rng.IntN(100_000), 1+rng.IntN(9), rng.IntN(100), rng.IntN(100))
	}
	out = append(out, `],"note":"`...)
	for n := range 96 {
		if n > 0 {
			out = append(out, ' ')
		}
		out = append(out, words[rng.IntN(len(words))]...)
	}
	return append(out, `"}`...)
}
