package mirror

import "encoding/binary"

// Checkpoint says where a group of the source stands, in the target's offsets.
// Group, Topic and Metadata are parts of the record that it was read from.
type Checkpoint struct {
	Group     []byte
	Topic     []byte // as the topic is called on the target
	Partition int32
	// Deleted is a record with a key alone: the group has no checkpoint for the
	// partition any longer. The fields below are zero then.
	Deleted    bool
	Upstream   int64  // the group's committed offset on the source
	Downstream int64  // what that is on the target; as stored, even if negative
	Metadata   []byte // of the commit
	// Extra counts the bytes behind what the format defines, in the key and the
	// value. MirrorMaker 2 passes over them.
	Extra int
}

// ParseCheckpoint reads a record of a checkpoints topic (Checkpoint.java).
// Errors wrap ErrMalformed or ErrVersion.
func ParseCheckpoint(key, value []byte) (Checkpoint, error) {
	var c Checkpoint
	k := open(key, "key")
	c.Group, c.Topic, c.Partition = k.string("group"), k.string("topic"), k.int32("partition")
	if k.err != nil {
		return Checkpoint{}, k.err
	}
	if value == nil {
		c.Deleted, c.Extra = true, len(k.rest)
		return c, nil
	}
	v := open(value, "value")
	v.version()
	c.Upstream, c.Downstream = v.int64("upstream offset"), v.int64("offset")
	c.Metadata = v.string("metadata")
	c.Extra = len(k.rest) + len(v.rest)
	if v.err != nil {
		return Checkpoint{}, v.err
	}
	return c, nil
}

// AppendKey appends the record's key to dst.
func (c Checkpoint) AppendKey(dst []byte) []byte {
	dst = appendString(appendString(dst, c.Group), c.Topic)
	return binary.BigEndian.AppendUint32(dst, uint32(c.Partition))
}

// AppendValue appends the record's value, which a Deleted one does not have.
func (c Checkpoint) AppendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Upstream))
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Downstream))
	return appendString(dst, c.Metadata)
}

// OffsetSync says which offset on the target a record of the source has. Topic
// is a part of the record that it was read from.
type OffsetSync struct {
	Topic      []byte // as the topic is called on the source
	Partition  int32
	Deleted    bool // a record with a key alone: the offsets are zero then
	Upstream   int64
	Downstream int64
	Extra      int // bytes behind what the format defines
}

// ParseOffsetSync reads a record of an offset syncs topic (OffsetSync.java),
// whose values have no version. Errors wrap ErrMalformed.
func ParseOffsetSync(key, value []byte) (OffsetSync, error) {
	var s OffsetSync
	k := open(key, "key")
	s.Topic, s.Partition = k.string("topic"), k.int32("partition")
	if k.err != nil {
		return OffsetSync{}, k.err
	}
	if value == nil {
		s.Deleted, s.Extra = true, len(k.rest)
		return s, nil
	}
	v := open(value, "value")
	s.Upstream, s.Downstream = v.int64("upstream offset"), v.int64("downstream offset")
	s.Extra = len(k.rest) + len(v.rest)
	if v.err != nil {
		return OffsetSync{}, v.err
	}
	return s, nil
}

// AppendKey appends the record's key to dst.
func (s OffsetSync) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(appendString(dst, s.Topic), uint32(s.Partition))
}

// AppendValue appends the record's value, which a Deleted one does not have.
func (s OffsetSync) AppendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Upstream))
	return binary.BigEndian.AppendUint64(dst, uint64(s.Downstream))
}

// Heartbeat says that a flow was alive at a time. Source and Target are parts of
// the record that it was read from.
type Heartbeat struct {
	Source    []byte // alias of the cluster that is mirrored
	Target    []byte // alias of the cluster that is mirrored to
	Deleted   bool   // a record with a key alone
	Timestamp int64  // milliseconds since 1970
	Extra     int    // bytes behind what the format defines
}

// ParseHeartbeat reads a record of a heartbeats topic (Heartbeat.java). Errors
// wrap ErrMalformed or ErrVersion.
func ParseHeartbeat(key, value []byte) (Heartbeat, error) {
	var h Heartbeat
	k := open(key, "key")
	h.Source, h.Target = k.string("source alias"), k.string("target alias")
	if k.err != nil {
		return Heartbeat{}, k.err
	}
	if value == nil {
		h.Deleted, h.Extra = true, len(k.rest)
		return h, nil
	}
	v := open(value, "value")
	v.version()
	h.Timestamp = v.int64("timestamp")
	h.Extra = len(k.rest) + len(v.rest)
	if v.err != nil {
		return Heartbeat{}, v.err
	}
	return h, nil
}

// AppendKey appends the record's key to dst.
func (h Heartbeat) AppendKey(dst []byte) []byte {
	return appendString(appendString(dst, h.Source), h.Target)
}

// AppendValue appends the record's value, which a Deleted one does not have.
func (h Heartbeat) AppendValue(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(dst, 0), uint64(h.Timestamp))
}
