// Package metrics shows a run to Prometheus: what has been read and written, how
// far behind it is, what has changed on the way, and what Kafka's clients do. It
// must not change the run: each value is looked up when somebody asks.
package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kcm-cli/kcm/internal/source"
)

// Metrics are those of one run. A nil Metrics takes everything and shows
// nothing. It is safe for use by several goroutines at once.
type Metrics struct {
	registry   *prometheus.Registry
	partitions *prometheus.CounterVec
	events     *prometheus.CounterVec
	readings   *prometheus.CounterVec
	snapshot   atomic.Pointer[func() source.Snapshot]
	lags       atomic.Pointer[Lags]

	mu      sync.Mutex
	clients map[string]*client
}

// New makes the metrics of a run that has not begun.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), clients: map[string]*client{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.partitions = counter("kcm_partitions_changed_total", "Partitions that came or went while the run went on.", "cluster", "change")
	m.events = counter("kcm_events_total", "What happened to clusters and partitions.", "cluster", "event")
	m.readings = counter("kcm_metadata_refreshes_total", "Versions of the metadata that were read while the run went on.", "result")
	for _, result := range []string{"ok", "failed"} {
		m.readings.WithLabelValues(result) // 0 is shown, too
	}
	m.registry.MustRegister(
		collector{m}, lagCollector{m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Watch has the values that change all the time taken from snapshot.
func (m *Metrics) Watch(snapshot func() source.Snapshot) {
	if m != nil {
		m.snapshot.Store(&snapshot)
	}
}

// Happened counts what the engine tells.
func (m *Metrics) Happened(ev source.Event) {
	if m == nil {
		return
	}
	switch ev.Kind {
	case source.Added, source.Drained, source.Removed:
		m.partitions.WithLabelValues(ev.Split.Cluster, string(ev.Kind)).Add(float64(ev.Partitions))
	case source.Lost, source.Back, source.Gap, source.Recreated, source.Failed:
		m.events.WithLabelValues(ev.Split.Cluster, string(ev.Kind)).Inc()
	}
}

// Refreshed counts a version of the metadata that was read, and that it was bad
// if there is an error.
func (m *Metrics) Refreshed(err error) {
	if m == nil {
		return
	}
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.readings.WithLabelValues(result).Inc()
}
