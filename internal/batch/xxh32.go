package batch

import (
	"encoding/binary"
	"math/bits"
)

// The primes of xxHash's 32-bit variant.
const (
	prime1 = 2654435761
	prime2 = 2246822519
	prime3 = 3266489917
	prime4 = 668265263
	prime5 = 374761393
)

// xxh32 returns the checksum of LZ4 frames: XXH32 with seed 0.
func xxh32(b []byte) uint32 {
	h := uint32(len(b))
	if len(b) < 16 {
		h += prime5
	} else {
		one, two := uint32(prime1), uint32(prime2)
		v1, v2, v3, v4 := one+two, two, uint32(0), -one
		for ; len(b) >= 16; b = b[16:] {
			v1 = xxhRound(v1, b)
			v2 = xxhRound(v2, b[4:])
			v3 = xxhRound(v3, b[8:])
			v4 = xxhRound(v4, b[12:])
		}
		h += bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	}
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

func xxhRound(v uint32, b []byte) uint32 {
	return bits.RotateLeft32(v+binary.LittleEndian.Uint32(b)*prime2, 13) * prime1
}
