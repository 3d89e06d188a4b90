package internals

import (
	"fmt"

	"github.com/kcm-cli/kcm/internal/codec"
)

// mirrored is a topic of MirrorMaker 2: keys without a version, values with one
// of two bytes or none.
type mirrored struct {
	name       string
	key, value message
	versioned  bool
	unsure     bool // the topic's name alone says little: errors are codec.ErrOther
}

// The formats of Checkpoint.java, OffsetSync.java and Heartbeat.java.
var (
	checkpoints = mirrored{
		name: "checkpoint", versioned: true,
		key:   old(text("group"), text("topic"), int32s("partition")),
		value: old(int64s("upstream_offset"), int64s("downstream_offset"), text("metadata")),
	}
	offsetSyncs = mirrored{
		name:  "offset_sync",
		key:   old(text("topic"), int32s("partition")),
		value: old(int64s("upstream_offset"), int64s("downstream_offset")),
	}
	heartbeats = mirrored{
		name: "heartbeat", versioned: true, unsure: true,
		key:   old(text("source_cluster_alias"), text("target_cluster_alias")),
		value: old(int64s("timestamp")),
	}
)

// AppendKey implements Topic.
func (m *mirrored) AppendKey(dst, key []byte) ([]byte, error) {
	if key == nil {
		return append(dst, "null"...), nil
	}
	dst, err := m.object(dst, &m.key, key)
	if err != nil {
		return dst, m.wrong("key", err)
	}
	return dst, nil
}

// AppendValue implements Topic. A heartbeat is told by both sides of its record.
func (m *mirrored) AppendValue(dst, key, value []byte) ([]byte, error) {
	start := len(dst)
	if m.unsure {
		var err error
		if dst, err = m.object(dst, &m.key, key); err != nil {
			return dst, m.wrong("key", err)
		}
		dst = dst[:start]
	}
	if value == nil {
		return append(dst, "null"...), nil
	}
	if !m.versioned {
		dst, err := m.object(dst, &m.value, value)
		if err != nil {
			return dst, m.wrong("value", err)
		}
		return dst, nil
	}
	version, body, err := cutVersion(value)
	if err != nil {
		return dst, m.wrong("value", err)
	}
	if version != 0 && !m.unsure {
		return unknown(dst, version, body), nil
	}
	if version != 0 {
		return dst, m.wrong("value", fmt.Errorf("version %d", version))
	}
	r := reader{rest: body}
	if dst, err = r.message(appendHead(dst, version), &m.value, 0); err != nil {
		return dst, m.wrong("value", err)
	}
	return append(dst, '}'), nil
}

// object appends a message that has no version.
func (m *mirrored) object(dst []byte, of *message, b []byte) ([]byte, error) {
	r := reader{rest: b}
	start := len(dst)
	dst, err := r.message(dst, of, 0)
	if err != nil {
		return dst, err
	}
	dst[start] = '{' // where the first field has its comma
	return append(dst, '}'), nil
}

func (m *mirrored) wrong(side string, err error) error {
	if m.unsure {
		return fmt.Errorf("%s of %s: %w: %w", side, m.name, codec.ErrOther, err)
	}
	return fmt.Errorf("%s of %s: %w", side, m.name, err)
}
