package cluster

import (
	"net"
	"strconv"
	"time"
)

// Info is what a cluster says about itself.
type Info struct {
	ClusterID string // empty when the broker does not say
	Brokers   []Broker
	Via       string // the bootstrap address that answered
}

// Broker is one broker as the cluster advertises it.
type Broker struct {
	ID      int32
	Host    string
	Port    int32
	Rack    string // empty when it has none
	Version string // a guess such as "v4.1", by Brokers only
	Features
	Err error // why it cannot be reached, when that is known
}

// Features are a cluster's features as a broker knows them (KIP-584), by Brokers
// only.
type Features struct {
	Epoch     int64            // of Finalized; -1 when the broker does not say
	Finalized map[string]int16 // the levels that the cluster works at, such as metadata.version
	Supported map[string][2]int16
}

// Addr returns host:port.
func (b Broker) Addr() string { return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) }

// Tuning holds the properties that take effect in packages that fetch. A zero
// value means that the property is not set.
type Tuning struct {
	Rack                  string        // client.rack
	ClientID              string        // client.id; "kcm" when not set
	FetchMaxBytes         int32         // fetch.max.bytes
	FetchMaxPartitionSize int32         // max.partition.fetch.bytes, fetch.message.max.bytes
	FetchMinBytes         int32         // fetch.min.bytes
	FetchMaxWait          time.Duration // fetch.max.wait.ms, fetch.wait.max.ms
	FetchMaxWaitSet       bool          // whether it is set: 0 is a value
	FetchErrorBackoff     time.Duration // fetch.error.backoff.ms
	ReconnectBackoff      time.Duration // reconnect.backoff.ms
	ReconnectBackoffMax   time.Duration // reconnect.backoff.max.ms
	RetryBackoff          time.Duration // retry.backoff.ms
	RetryBackoffMax       time.Duration // retry.backoff.max.ms
	RequestTimeout        time.Duration // request.timeout.ms, socket.timeout.ms
	MetadataMaxAge        time.Duration // metadata.max.age.ms, topic.metadata.refresh.interval.ms; never zero
	MetadataMaxAgeSet     bool          // whether it is set
	Isolation             string        // isolation.level: "", read_uncommitted or read_committed
}
