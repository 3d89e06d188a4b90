package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"
)

// client are the metrics of all of a cluster's Kafka clients together.
type client struct {
	*kprom.Metrics
	once sync.Once
}

// Client returns the hook that makes the Kafka clients of a cluster count what
// they do, the same one for all of them; nil for a nil Metrics.
func (m *Metrics) Client(cluster string) kgo.Hook {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clients[cluster]
	if c == nil {
		c = &client{Metrics: kprom.NewMetrics("kcm", kprom.Subsystem("client"), kprom.Registerer(countersOf{m.registry}),
			kprom.WithStaticLabel(prometheus.Labels{"cluster": valid(cluster)}))}
		m.clients[cluster] = c
	}
	return c
}

// OnNewClient makes the metrics when the first client is made: kprom would make
// them for each, and each cluster has several, which come and go.
func (c *client) OnNewClient(cl *kgo.Client) { c.once.Do(func() { c.Metrics.OnNewClient(cl) }) }

// OnClientClosed keeps the metrics: there are other clients.
func (c *client) OnClientClosed(*kgo.Client) {}

// countersOf leaves out what kprom looks up in the client that it was made for,
// which is closed long before the others.
type countersOf struct{ *prometheus.Registry }

// MustRegister implements prometheus.Registerer.
func (r countersOf) MustRegister(list ...prometheus.Collector) {
	for _, c := range list {
		if _, looksUp := c.(prometheus.GaugeFunc); !looksUp {
			r.Registry.MustRegister(c)
		}
	}
}

// valid makes a label's value of a name: Prometheus takes UTF-8 only.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
