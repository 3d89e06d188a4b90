package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Lags are the lags of consumer groups at one moment.
type Lags struct {
	Up     map[string]bool // whether a cluster has answered
	Groups []GroupLag
}

// GroupLag is a group on one cluster.
type GroupLag struct {
	Cluster, Group, Kind, State string
	Members                     int
	Topics                      []TopicLag
}

// TopicLag is what a group has to do with one topic.
type TopicLag struct {
	Topic             string
	Lag, Max          int64 // all that is known; of the partition that is furthest behind
	Known, Partitions int   // partitions of which the lag is known; all
}

// Add counts a partition in, those of one topic one after the other. A nil lag is
// not known.
func (g *GroupLag) Add(topic string, lag *int64) {
	if n := len(g.Topics); n == 0 || g.Topics[n-1].Topic != topic {
		g.Topics = append(g.Topics, TopicLag{Topic: topic})
	}
	t := &g.Topics[len(g.Topics)-1]
	t.Partitions++
	if lag != nil {
		t.Known++
		t.Lag += max(*lag, 0)
		t.Max = max(t.Max, *lag)
	}
}

var (
	topicLabels = []string{"cluster", "group", "topic"}
	groupLag    = prometheus.NewDesc("kcm_group_lag_records", "Offsets between a group's commits and the ends of a topic's partitions; missing while none is known.", topicLabels, nil)
	groupMaxLag = prometheus.NewDesc("kcm_group_max_lag_records", "Lag of the partition that is furthest behind; missing while none is known.", topicLabels, nil)
	groupLacks  = prometheus.NewDesc("kcm_group_unknown_partitions", "Partitions of which the lag is not known: nothing was committed, or they do not answer.", topicLabels, nil)
	groupSize   = prometheus.NewDesc("kcm_group_members", "Members of a group.", []string{"cluster", "group"}, nil)
	groupState  = prometheus.NewDesc("kcm_group_state", "1 for the state that a group is in.", []string{"cluster", "group", "kind", "state"}, nil)
)

// Lags shows the lags of groups, until it is called again.
func (m *Metrics) Lags(l Lags) {
	if m != nil {
		m.lags.Store(&l)
	}
}

// lagCollector shows the last lags.
type lagCollector struct{ m *Metrics }

// Describe implements prometheus.Collector. The state of clusters is described
// with what a run reads.
func (c lagCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{groupLag, groupMaxLag, groupLacks, groupSize, groupState} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c lagCollector) Collect(ch chan<- prometheus.Metric) {
	lags := c.m.lags.Load()
	if lags == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		for i := range labels {
			labels[i] = valid(labels[i])
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	for i := range lags.Groups {
		g := &lags.Groups[i]
		gauge(groupSize, int64(g.Members), g.Cluster, g.Group)
		if g.State != "" {
			gauge(groupState, 1, g.Cluster, g.Group, g.Kind, g.State)
		}
		for _, t := range g.Topics {
			gauge(groupLacks, int64(t.Partitions-t.Known), g.Cluster, g.Group, t.Topic)
			if t.Known > 0 {
				gauge(groupLag, t.Lag, g.Cluster, g.Group, t.Topic)
				gauge(groupMaxLag, t.Max, g.Cluster, g.Group, t.Topic)
			}
		}
	}
	for name, up := range lags.Up {
		var v int64
		if up {
			v = 1
		}
		gauge(clusterUp, v, name)
	}
}
