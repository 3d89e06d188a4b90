// Package internals shows what is in Kafka's own topics as JSON: committed
// offsets and groups, transactions, the state of share groups, and MirrorMaker
// 2's checkpoints, offset syncs and heartbeats. It owns the tables of their
// formats, taken from Kafka's message definitions; it knows nothing of schemas
// that a registry holds.
package internals

import (
	"github.com/kcm-cli/kcm/internal/mirror"
)

// Topic decodes the records of one topic. It is safe for use by several
// goroutines.
//
// Both methods append one compact JSON value to dst; nil is null. What a value
// holds is told by its key. A record of a type or version that this program does
// not know is no error: it is an object of its version and its bytes. Errors say
// where the bytes are damaged; then what was appended means nothing. Neither
// panics nor allocations come of any bytes, but for dst.
type Topic interface {
	AppendKey(dst, key []byte) ([]byte, error)
	AppendValue(dst, key, value []byte) ([]byte, error)
}

// For returns the decoder of the topic of that name; nil when it is none of
// Kafka's or MirrorMaker 2's.
func For(topic string) Topic {
	switch topic {
	case "__consumer_offsets":
		return &consumerOffsets
	case "__transaction_state":
		return &transactionState
	case "__share_group_state":
		return &shareGroupState
	}
	switch mirror.Recognize(topic).Kind {
	case mirror.Checkpoints:
		return &checkpoints
	case mirror.OffsetSyncs:
		return &offsetSyncs
	case mirror.Heartbeats:
		return &heartbeats
	}
	return nil
}
