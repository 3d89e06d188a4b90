package cluster

import (
	"math"
	"time"
)

// wire holds the properties that take effect in the package's own dialer and
// clients.
type wire struct {
	setup       time.Duration // 0: each role's own
	idle        time.Duration
	readBuffer  int
	writeBuffer int
	keepAlive   bool
	noDelay     bool
	network     string // tcp, tcp4 or tcp6
	maxRead     int32
	pushMetrics bool

	session   time.Duration
	heartbeat time.Duration
	rebalance time.Duration
	instance  string
}

const (
	defaultMaxRead = 256 << 20
	maxIdle        = 15 * time.Minute // kgo's own bounds
	maxTimeout     = 15 * time.Minute
	maxMetaAge     = time.Hour
	minSpan        = 100 * time.Millisecond
)

// tuning reads the properties that are handed on to packages that fetch.
func (b *builder) tuning() (Tuning, error) {
	p := b.p
	t := Tuning{Rack: p.text("client.rack"), ClientID: p.text("client.id")}
	if t.ClientID == "" {
		t.ClientID = "kcm"
	}
	for _, n := range []struct {
		key string
		to  *int32
		lo  int64
	}{
		{"fetch.max.bytes", &t.FetchMaxBytes, 1},
		{"max.partition.fetch.bytes", &t.FetchMaxPartitionSize, 1},
		{"fetch.min.bytes", &t.FetchMinBytes, 0},
	} {
		v, err := p.number(n.key, n.lo, math.MaxInt32, 0)
		if err != nil {
			return t, err
		}
		*n.to = int32(v) //nolint:gosec // checked to fit
	}
	_, t.FetchMaxWaitSet = p.get("fetch.max.wait.ms")
	for _, d := range []struct {
		key string
		to  *time.Duration
	}{
		{"fetch.max.wait.ms", &t.FetchMaxWait},
		{"fetch.error.backoff.ms", &t.FetchErrorBackoff},
		{"reconnect.backoff.ms", &t.ReconnectBackoff},
		{"reconnect.backoff.max.ms", &t.ReconnectBackoffMax},
		{"retry.backoff.ms", &t.RetryBackoff},
		{"retry.backoff.max.ms", &t.RetryBackoffMax},
		{"request.timeout.ms", &t.RequestTimeout},
	} {
		v, err := p.millis(d.key, 0)
		if err != nil {
			return t, err
		}
		*d.to = v
	}
	if t.RequestTimeout > 0 {
		t.RequestTimeout = min(max(t.RequestTimeout, minSpan), maxTimeout)
	}
	var err error
	if t.MetadataMaxAge, err = b.span("metadata.max.age.ms", 5*time.Minute, maxMetaAge); err != nil {
		return t, err
	}
	_, t.MetadataMaxAgeSet = p.get("metadata.max.age.ms")
	t.Isolation, err = p.choice("isolation.level", "read_committed", "read_uncommitted")
	return t, err
}

// span reads a duration of which 0 and -1 stand for the longest there is.
func (b *builder) span(key string, def, longest time.Duration) (time.Duration, error) {
	n, err := b.p.number(key, -1, math.MaxInt64/int64(time.Millisecond), int64(def/time.Millisecond))
	if err != nil {
		return 0, err
	}
	if n <= 0 {
		return longest, nil
	}
	return min(max(time.Duration(n)*time.Millisecond, minSpan), longest), nil
}

// wire reads the properties that take effect in connections and clients.
func (b *builder) wire() (wire, error) {
	p := b.p
	w := wire{network: "tcp", instance: p.text("group.instance.id")}
	var err error
	if w.setup, err = p.millis("socket.connection.setup.timeout.ms", 0); err != nil {
		return w, err
	}
	if w.idle, err = b.span("connections.max.idle.ms", 9*time.Minute, maxIdle); err != nil {
		return w, err
	}
	for _, x := range []struct {
		key string
		to  *int
	}{{"receive.buffer.bytes", &w.readBuffer}, {"send.buffer.bytes", &w.writeBuffer}} {
		n, err := p.number(x.key, -1, math.MaxInt32, -1)
		if err != nil {
			return w, err
		}
		*x.to = int(n)
	}
	if w.keepAlive, err = p.boolean("socket.keepalive.enable", true); err != nil {
		return w, err
	}
	if w.noDelay, err = p.boolean("socket.nagle.disable", true); err != nil {
		return w, err
	}
	if w.pushMetrics, err = p.boolean("enable.metrics.push", false); err != nil {
		return w, err
	}
	n, err := p.number("receive.message.max.bytes", 1024, math.MaxInt32, defaultMaxRead)
	if err != nil {
		return w, err
	}
	w.maxRead = int32(min(n, 1<<30)) //nolint:gosec // kgo's own upper bound
	return w, b.wireChoices(&w)
}

func (b *builder) wireChoices(w *wire) error {
	family, err := b.p.choice("broker.address.family", "any", "v4", "v6")
	if err != nil {
		return err
	}
	switch family {
	case "v4":
		w.network = "tcp4"
	case "v6":
		w.network = "tcp6"
	}
	if x, ok := b.p.get("client.dns.lookup"); ok && x.Value.Reveal() != "use_all_dns_ips" {
		return b.p.wrong(x, "only use_all_dns_ips is supported")
	}
	for _, d := range []struct {
		key string
		to  *time.Duration
	}{
		{"session.timeout.ms", &w.session},
		{"heartbeat.interval.ms", &w.heartbeat},
		{"max.poll.interval.ms", &w.rebalance},
	} {
		v, err := b.p.millis(d.key, 0)
		if err != nil {
			return err
		}
		*d.to = v
	}
	return nil
}
