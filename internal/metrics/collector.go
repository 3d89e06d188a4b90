package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kcm-cli/kcm/internal/source"
)

// flowLabels are those of a topic of a cluster as one stream takes it. Partitions
// have none: there may be 100,000.
var flowLabels = []string{"cluster", "stream", "topic"}

// flowMetric is a metric with a value for each flow.
type flowMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(p source.Progress) (v float64, known bool)
}

func count(name, help string, value func(source.Progress) int64) flowMetric {
	return flowMetric{
		prometheus.NewDesc(name, help, flowLabels, nil), prometheus.CounterValue,
		func(p source.Progress) (float64, bool) { return float64(value(p)), true },
	}
}

func gauge(name, help string, value func(source.Progress) (float64, bool)) flowMetric {
	return flowMetric{prometheus.NewDesc(name, help, flowLabels, nil), prometheus.GaugeValue, value}
}

var flowMetrics = []flowMetric{
	count("kcm_records_total", "Records written.", func(p source.Progress) int64 { return p.Records }),
	count("kcm_bytes_total", "Bytes written.", func(p source.Progress) int64 { return p.Bytes }),
	count("kcm_filtered_total", "Records that a filter left out.", func(p source.Progress) int64 { return p.Filtered }),
	count("kcm_undecodable_total", "Records whose key or value could not be decoded.", func(p source.Progress) int64 { return p.Undecoded }),
	gauge("kcm_partitions", "Partitions that are read, or have been read to their ends.",
		func(p source.Progress) (float64, bool) { return float64(p.Splits), true }),
	gauge("kcm_lag_records", "Offsets between the positions and the ends; missing while the ends are not known.",
		func(p source.Progress) (float64, bool) { return float64(p.Lag), p.Lag >= 0 }),
	gauge("kcm_lag_seconds", "Age of the last record written of the partition that is furthest behind; 0 without lag, missing while it is not known.",
		func(p source.Progress) (float64, bool) { return p.Behind.Seconds(), p.Behind >= 0 }),
}

var clusterUp = prometheus.NewDesc("kcm_cluster_up", "1 while the cluster answers or nothing more is wanted of it, 0 while it is lost, or after something of it was not read to its end.", []string{"cluster"}, nil)

// collector looks the run's values up.
type collector struct{ m *Metrics }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range flowMetrics {
		ch <- f.desc
	}
	ch <- clusterUp
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	snapshot := c.m.snapshot.Load()
	if snapshot == nil {
		return
	}
	snap := (*snapshot)()
	for _, flow := range snap.Flows {
		for _, f := range flowMetrics {
			if v, known := f.value(flow.Progress); known {
				ch <- prometheus.MustNewConstMetric(f.desc, f.kind, v, valid(flow.Cluster), valid(flow.Stream), valid(flow.Topic))
			}
		}
	}
	for name, cl := range snap.Clusters {
		up := 1.0
		if cl.State == source.ClusterLost {
			up = 0
		}
		ch <- prometheus.MustNewConstMetric(clusterUp, prometheus.GaugeValue, up, valid(name))
	}
}
