package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/kcm-cli/kcm/internal/record"
)

// The numbers are what Kafka's own serializers write: big-endian, of exactly
// their size.

func decodeInt(size int) decodeFunc {
	return func(dst, raw []byte) (record.Value, []byte) {
		if len(raw) != size {
			return failed(wrongSize("int", size, raw)), dst
		}
		unused := 64 - 8*size
		start := len(dst)
		dst = strconv.AppendInt(dst, int64(bigEndian(raw)<<unused)>>unused, 10)
		return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
	}
}

func decodeUint(size int) decodeFunc {
	return func(dst, raw []byte) (record.Value, []byte) {
		if len(raw) != size {
			return failed(wrongSize("uint", size, raw)), dst
		}
		start := len(dst)
		dst = strconv.AppendUint(dst, bigEndian(raw), 10)
		return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
	}
}

func decodeFloat32(dst, raw []byte) (record.Value, []byte) {
	if len(raw) != 4 {
		return failed(wrongSize("float", 4, raw)), dst
	}
	start := len(dst)
	dst = AppendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(raw))), 32)
	return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
}

func decodeFloat64(dst, raw []byte) (record.Value, []byte) {
	if len(raw) != 8 {
		return failed(wrongSize("float", 8, raw)), dst
	}
	start := len(dst)
	dst = AppendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(raw)), 64)
	return record.Value{Kind: record.JSON, Bytes: dst[start:]}, dst
}

func wrongSize(kind string, size int, raw []byte) error {
	return fmt.Errorf("%s%d is %d bytes, not %d", kind, 8*size, size, len(raw))
}

func bigEndian(raw []byte) uint64 {
	var n uint64
	for _, c := range raw {
		n = n<<8 | uint64(c)
	}
	return n
}
