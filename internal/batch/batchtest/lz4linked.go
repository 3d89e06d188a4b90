package batchtest

import (
	"encoding/binary"
)

const (
	linkedBlock  = 64 << 10
	linkedWindow = 64<<10 - 1
)

// linkedFrame writes an LZ4 frame of blocks that refer to the blocks before
// them, as librdkafka and the lz4 tool may. pierrec/lz4 reads those but writes
// none.
func linkedFrame(data []byte) []byte {
	// Magic, version 1 with linked blocks, 64 KiB; 0xc0 is the checksum of the two.
	out := []byte{0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0}
	var last [1 << 16]int32 // position+1 of the last occurrence of four bytes, by hash
	for start := 0; start < len(data); start += linkedBlock {
		end := min(start+linkedBlock, len(data))
		block := linkedPart(data, start, end, &last)
		if len(block) >= end-start {
			out = binary.LittleEndian.AppendUint32(out, uint32(end-start)|1<<31)
			out = append(out, data[start:end]...)
			continue
		}
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(block))), block...)
	}
	return append(out, 0, 0, 0, 0)
}

// linkedPart compresses data[start:end] with everything before it as window.
func linkedPart(data []byte, start, end int, last *[1 << 16]int32) []byte {
	var out []byte
	literals := start
	for p := start; p+12 < end; {
		word := binary.LittleEndian.Uint32(data[p:])
		slot := &last[word*2654435761>>16]
		found := int(*slot) - 1
		*slot = int32(p + 1)
		if found < 0 || p-found > linkedWindow || binary.LittleEndian.Uint32(data[found:]) != word {
			p++
			continue
		}
		n := 4
		for p+n < end-5 && data[found+n] == data[p+n] {
			n++
		}
		out = sequence(out, data[literals:p], p-found, n)
		p += n
		literals = p
	}
	return sequence(out, data[literals:end], 0, 0)
}

// sequence appends literals and, unless length is 0, a match.
func sequence(out, literals []byte, distance, length int) []byte {
	token := byte(min(len(literals), 15)) << 4
	if length > 0 {
		token |= byte(min(length-4, 15))
	}
	out = appendLength(append(out, token), len(literals))
	out = append(out, literals...)
	if length == 0 {
		return out
	}
	out = binary.LittleEndian.AppendUint16(out, uint16(distance))
	return appendLength(out, length-4)
}

// appendLength appends what of a length does not fit into its 4 bits.
func appendLength(out []byte, n int) []byte {
	if n < 15 {
		return out
	}
	for n -= 15; n >= 255; n -= 255 {
		out = append(out, 255)
	}
	return append(out, byte(n))
}
