package cluster

import (
	"context"
	"errors"
)

// Topic is one topic as the metadata shows it.
type Topic struct {
	Name       string
	ID         [16]byte // zero on brokers before 2.8
	Internal   bool
	Partitions []Partition // by id
	Err        error       // why there is no more to say about it
}

// Partition is one partition as the metadata shows it.
type Partition struct {
	ID          int32
	Leader      int32 // -1 when there is none
	LeaderEpoch int32 // -1 when unknown
	Replicas    []int32
	ISR         []int32
	Offline     []int32
	Err         error
}

// TopicPartition names a partition within a cluster.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Point is a place in a partition that can be looked up.
type Point struct {
	timestamp int64
	stable    bool
}

// The points that every partition has.
var (
	Start  = Point{timestamp: -2}               // the first offset of the log
	End    = Point{timestamp: -1}               // the high watermark
	Stable = Point{timestamp: -1, stable: true} // the last stable offset, where read_committed ends
	MaxTS  = Point{timestamp: -3}               // the record with the highest timestamp (KIP-734)
)

// AtTime is the first record whose timestamp is ms or later.
func AtTime(ms int64) Point { return Point{timestamp: ms} }

// Offset is the answer for one Point of one partition.
type Offset struct {
	Offset      int64 // -1 when there is no such record
	Timestamp   int64 // of the record, for AtTime and MaxTS; else -1
	LeaderEpoch int32 // -1 when unknown
	Err         error // a *fault.Error; Offset is then -1
}

// Topics returns the named topics in the order of names, or every topic by name
// when none is given. What is wrong with one topic or partition stands there;
// the error is about the cluster as a whole.
func (c *Cluster) Topics(ctx context.Context, names ...string) ([]Topic, error) { return nil, errTodo }

// Nearest returns up to three names of existing topics that resemble name, the
// nearest first; for "did you mean".
func (c *Cluster) Nearest(ctx context.Context, name string) ([]string, error) { return nil, errTodo }

// Offsets looks up points of partitions, one request per broker and point. The
// slices of the result are parallel to points, and every partition asked for is
// in it. A leaderless partition or a dead broker is marked within 5 s and the
// others are answered; the error is about the cluster as a whole.
func (c *Cluster) Offsets(ctx context.Context, of []TopicPartition, points ...Point) (map[TopicPartition][]Offset, error) {
	return nil, errTodo
}

// Configs are the settings of one topic.
type Configs struct {
	Topic   string
	Entries []ConfigEntry // by name
	Err     error
}

// ConfigEntry is one setting. A sensitive one has no value.
type ConfigEntry struct {
	Name      string
	Value     *string
	Default   bool // not set on the topic itself
	Sensitive bool
	ReadOnly  bool
}

// TopicConfigs returns the settings of topics in the order of names.
func (c *Cluster) TopicConfigs(ctx context.Context, names ...string) ([]Configs, error) {
	return nil, errTodo
}

// Brokers returns the brokers with their racks and a guess of their versions;
// one that does not answer within 5 s has its Err set.
func (c *Cluster) Brokers(ctx context.Context) ([]Broker, error) { return nil, errTodo }
var errTodo = errors.New("not there yet")
