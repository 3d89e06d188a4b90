package offsets

import (
	"encoding/binary"
	"hash/crc32"
)

// reseal makes the checksum of a batch right again.
func reseal(batch []byte) {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
}

func spot(topic string, partition int32) Partition {
	return Partition{Topic: topic, Partition: partition}
}
